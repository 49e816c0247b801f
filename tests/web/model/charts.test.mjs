import assert from "node:assert/strict";
import { test } from "node:test";
import { VIEWS } from "../../../web/model/page/address.js";
import { chartsOfView, imageName, imageTitle } from "../../../web/model/page/charts.js";
import { TEXT } from "../../../web/text/session.js";

const session = (command) => ({ started_at: "2026-01-31T10:00:01.000Z", target: { pid: 4711, command } });

test("a picture is called after its session and chart", () => {
  assert.equal(imageName({ session: session(["python3", "/srv/app.py", "--x"]) }, "flame", "png"),
    "app.py-4711-flame-graph-20260131-100001Z.png");
  assert.equal(imageName({ session: null }, "strip", "svg"), "timeline.svg");
  const hostile = imageName({ session: session(["python3", "/tmp/..\\\u202e\n<b>'\"ж" + "x".repeat(300)]) }, "heatmap",
    "svg");
  assert.match(hostile, /^[A-Za-z0-9_][A-Za-z0-9._-]{1,99}\.svg$/);
});

test("a picture says what it shows", () => {
  const title = imageTitle({ session: session(["python3", "/srv/app.py"]),
    address: { range: { from: 1, to: 2 }, filters: ["hide \u202elibraries"] } }, "flame");
  assert.match(title, /app\.py · Flame graph · 2026-01-31 10:00 UTC · .* · hide \\u202elibraries$/);
});

test("every chart of every view has a name", () => {
  for (const view of VIEWS) for (const chart of chartsOfView(view, true)) assert.ok(TEXT.charts[chart], chart);
});
