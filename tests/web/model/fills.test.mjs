import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { fillOf, FILLS, inkOf } from "../../../web/view/flame/fills.js";

const frame = { heat: 3, hue: "2", neutral: false };

test("what is found is blue, then changes, waits and what is no code, then heat or module", () => {
  assert.equal(fillOf({ ...frame, change: "more-1" }, "heat", true), "match");
  assert.equal(fillOf({ ...frame, hue: "wait-lock", change: "less-2" }, "heat", false), "less-2");
  assert.equal(fillOf({ ...frame, hue: "wait-lock", neutral: true }, "module", undefined), "wait-lock");
  assert.equal(fillOf({ ...frame, hue: "none", neutral: true }, "heat", undefined), "neutral");
  assert.equal(fillOf({ ...frame, hue: "none" }, "module", undefined), "neutral");
  assert.equal(fillOf({ ...frame, hue: "none", change: "" }, "heat", undefined), "heat-3");
  assert.equal(fillOf(frame, "heat", false), "heat-3");
  assert.equal(fillOf(frame, "module", false), "hue-2");
});

test("the style sheets have every fill and what is written on it", () => {
  const [rules, tokens] = ["app.css", "tokens.css"].map((name) =>
    readFileSync(new URL("../../../web/" + name, import.meta.url), "utf8")
  );
  const changes = ["more", "less"].flatMap((change) => [1, 2, 3].map((level) => change + "-" + level));
  for (const fill of [...FILLS, ...changes])
    assert.ok(rules.includes(".fill-" + fill + " { fill: var(--" + fill + "); color: var(--"), fill);
  for (const fill of FILLS) {
    assert.ok(rules.includes(".fill-" + fill + " { fill: var(--" + fill + "); color: var(--" + inkOf(fill) + ");"),
      fill);
    for (const colour of [fill, inkOf(fill)]) assert.ok(tokens.includes("--" + colour + ": "), colour);
  }
});
