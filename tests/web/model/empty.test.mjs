import assert from "node:assert/strict";
import { test } from "node:test";
import { createState } from "../../../web/model/page/state.js";
import { createPicture } from "../../../web/model/picture/picture.js";
import { TEXT } from "../../../web/text/session.js";
import { stateOf } from "../support/sample.mjs";

const emptyOf = (changes, view = "flame") => {
  const state = { ...createState(true), connection: { state: "ok", detail: "", retryAt: null }, ...changes };
  return createPicture()({ ...state, address: { ...state.address, view } }).empty;
};
const session = (state, quality = {}) => ({ state, quality, settings: { mode: "wall" }, target: {} });

test("an empty view says why, and what to do, in every view", () => {
  const cases = [
    [{}, TEXT.empty.connecting],
    [{ connection: { state: "denied" } }, TEXT.empty.denied],
    [{ connection: { state: "lost" } }, TEXT.empty.lost],
    [{ session: session("running") }, TEXT.empty.waiting],
    [{ session: session("running", { failed: { perm: 1200, gone: 3 } }) }, TEXT.empty.failures("1,203")],
    [{ session: session("paused") }, TEXT.empty.paused],
    [{ session: session("ended") }, TEXT.empty.ended],
    [{ session: session("failed") }, TEXT.empty.failed],
    [{ session: session("running", { samples: 40, failed: { perm: 3 } }) }, TEXT.empty.reading],
    [{ session: session("ended", { samples: 40 }) }, TEXT.empty.reading],
    [{ session: session("ended", { samples: 40 }), connection: { state: "lost" } }, TEXT.empty.lost],
    [{ live: false }, TEXT.empty.report],
  ];
  for (const [changes, text] of cases)
    for (const view of ["flame", "table", "heatmap", "threads", "gil", "diff"])
      assert.equal(
        emptyOf(changes, view).text,
        text,
      );
  assert.equal(emptyOf({}, "tasks").text, TEXT.empty.connecting);
  assert.equal(emptyOf({ session: session("ended") }).actions[0].action.type, "qualityDialog");
});

test("views of threads are not empty because a filter leaves no stacks", () => {
  const state = stateOf(["a 5"], { filters: ["ignore a"] });
  const threadStates = new Map([[0, { samples: 5, yes: [], unknown: [], parts: [5, 0, 0, 0, 0] }]]);
  const emptyIn = (view) => createPicture()({ ...state, threadStates, address: { ...state.address, view } }).empty;
  assert.equal(emptyIn("flame").text, TEXT.empty.filtered("5"));
  assert.equal(emptyIn("threads"), null);
  assert.equal(emptyIn("gil"), null);
});
