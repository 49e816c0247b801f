import assert from "node:assert/strict";
import { test } from "node:test";
import { pageCommands } from "../../../web/model/page/commands.js";
import { createState } from "../../../web/model/page/state.js";
import { sinceStart, startsAt, startsOf, startText } from "../../../web/model/time/starts.js";

const target = (from_s, more) => ({ pid: 100 + from_s, parent: null, from_s, to_s: null, service: "shop", ...more });
const session = { elapsed_s: 3600,
  targets: [target(0), target(0.4), target(1200, { version: "4.2" }), target(1204, { version: "4.2" }),
    target(1203, { parent: 1300 }), target(902, { service: "mail", age_s: 2 }), target(500, { age_s: 600 }),
    target(1230, { version: "4.2" })] };

test("processes that were there from the beginning, or that others started, are no starts; those that start together are one", () => {
  assert.deepEqual(startsOf(session).map(({ at, service, version, count }) => [at, service, version, count]), [[900,
    "mail", "", 1], [1200, "shop", "4.2", 2], [1230, "shop", "4.2", 1]]);
  assert.deepEqual(startsOf(null), []);
  assert.deepEqual(startsOf({ elapsed_s: 5 }), []);
});

test("a start says which service, which version and how many", () => {
  const starts = startsOf(session);
  assert.deepEqual(starts.map(startText), ["mail started", "shop 4.2 started, 2 processes", "shop 4.2 started"]);
  assert.deepEqual(startsAt(starts, 1199, 2).map(startText), ["shop 4.2 started, 2 processes"]);
  assert.deepEqual(startsAt(starts, 1190, 2), []);
  assert.equal(startText({ service: "a\u202eb", version: "", count: 1 }).includes("\u202e"), false);
});

test("what came after a start is compared with as much time before it, or with what there is", () => {
  assert.deepEqual(sinceStart({ at: 1200 }, 1500), { range: { from: 1200, to: null },
    baseline: { from: 900, to: 1200 } });
  assert.deepEqual(sinceStart({ at: 1200 }, 3600), { range: { from: 1200, to: null },
    baseline: { from: 0, to: 1200 } });
  assert.deepEqual(sinceStart({ at: 1200 }, 1200), { range: { from: 1200, to: null },
    baseline: { from: 1199, to: 1200 } });
});

test("the palette offers the newest starts", () => {
  const found = pageCommands({ ...createState(true), session, picture: { selected: null } }).filter(({ label }) =>
    label.includes("before:")
  );
  assert.deepEqual(found.map(({ label }) => label), ["Compare with before: shop 4.2 started",
    "Compare with before: shop 4.2 started, 2 processes", "Compare with before: mail started"]);
  assert.deepEqual(found[1].action.changes, { view: "diff", range: { from: 1200, to: null },
    baseline: { from: 0, to: 1200 } });
});
