import assert from "node:assert/strict";
import { test } from "node:test";
import { createPicture } from "../../../web/model/picture/picture.js";
import { PARTS } from "../../../web/model/profile/parts.js";
import { heavyPlaces, runsOfCells } from "../../../web/model/profile/report-runs.js";
import { checkedRuns, emptyRuns } from "../../../web/model/profile/runs.js";
import { createGrouping, extendGrouping } from "../../../web/model/trees/grouping.js";
import { takeRuns } from "../../../web/model/trees/recording.js";
import { boxAt, createPale, eachVisible, layOutRuns, runAt, unorderedParts } from "../../../web/model/trees/stacks.js";
import { answersOf, recordingOf, stateOf } from "../support/sample.mjs";

const LINES = ["main;a;x 5", "main;a 5", "main;b 5", "other 1"];
const { nodes } = answersOf(LINES);

// rows: [[start, end, stack, changes of the run]]
function runsOf(rows, key = "0") {
  const column = (of) => rows.map(of);
  return {
    ...emptyRuns(),
    key,
    from: rows[0]?.[0] ?? 0,
    to: rows.at(-1)?.[1] ?? 0,
    start: Float64Array.from(column((row) => row[0])),
    end: Float64Array.from(column((row) => row[1])),
    node: Int32Array.from(column((row) => nodes.get(row[2]))),
    state: Int32Array.from(column((row) => row[3]?.state ?? 1)),
    ordered: Uint8Array.from(column((row) => row[3]?.ordered ?? 1)),
    runs: Int32Array.from(column((row) => row[3]?.runs ?? 1)),
  };
}

function layoutOf(rows, filters = []) {
  const { profile } = recordingOf(LINES);
  const grouping = createGrouping("function", filters);
  extendGrouping(grouping, profile);
  const nameOf = (group) =>
    profile.strings[profile.functionName.values[grouping.frames.function[grouping.frame.values[group]]]];
  const layout = layOutRuns(runsOf(rows), grouping);
  return { ...layout,
    boxes: layout.levels.map((level) =>
      level.group.map((group, i) => nameOf(group) + " " + level.start[i] + "-" + level.end[i])
    ) };
}

test("a frame that goes on is one box, whatever it calls", () => {
  const { boxes } = layoutOf([[0, 1, "main;a;x"], [1, 2, "main;a"], [2, 3, "main;a;x"], [3, 4, "main;b"]]);
  assert.deepEqual(boxes, [["main 0-4"], ["a 0-3", "b 3-4"], ["x 0-1", "x 2-3"]]);
});

test("a frame that was left and entered again is two boxes", () => {
  const { boxes } = layoutOf([[0, 1, "main;a"], [1, 2, "other"], [2, 3, "main;a"]]);
  assert.deepEqual(boxes, [["main 0-1", "other 1-2", "main 2-3"], ["a 0-1", "a 2-3"]]);
});

test("a gap ends all boxes; one of a few ticks only those that are not there after it", () => {
  assert.deepEqual(layoutOf([[0, 1, "main;a"], [1.5, 2, "main;a"]]).boxes, [["main 0-1", "main 1.5-2"], ["a 0-1",
    "a 1.5-2"]]);
  assert.deepEqual(layoutOf([[0, 1, "main;a"], [1.01, 2, "main;b"]]).boxes, [["main 0-2"], ["a 0-1", "b 1.01-2"]]);
});

test("what is in order and what is not are never one box", () => {
  const layout = layoutOf([[0, 1, "main;a", { ordered: 0 }], [1, 2, "main;a"]]);
  assert.deepEqual(layout.boxes[0], ["main 0-1", "main 1-2"]);
  assert.deepEqual(unorderedParts(layout, { from: 0.5, to: 2 }), [{ from: 0.5, to: 1 }]);
});

test("filters apply: removed frames leave no level, dropped samples a gap", () => {
  const rows = [[0, 1, "main;a;x"], [1, 2, "main;b"]];
  assert.deepEqual(layoutOf(rows, ["hide function:/^a$/"]).boxes, [["main 0-2"], ["x 0-1", "b 1-2"]]);
  assert.deepEqual(layoutOf(rows, ["ignore function:/^b$/"]).boxes, [["main 0-1"], ["a 0-1"], ["x 0-1"]]);
});

test("a box and a run are found by their time", () => {
  const layout = layoutOf([[0, 1, "main;a"], [1, 2, "main;b"], [3, 4, "main;b"]]);
  assert.deepEqual([0.5, 1.5, 2.5, 3.5, 9].map((time) => boxAt(layout.levels[1], time)), [0, 1, -1, 2, -1]);
  assert.deepEqual([0, 1, 2.5, 3].map((time) => runAt(layout, time)), [0, 1, -1, 2]);
});

test("of 100,000 runs no more are drawn than there are pixels", () => {
  const rows = Array.from({ length: 100000 },
    (_, i) => [i / 1000, (i + 1) / 1000, i % 2 === 0 ? "main;a;x" : "main;b"]);
  const layout = layoutOf(rows);
  const drawn = (span) =>
    layout.levels.map((level) => {
      let count = 0;
      let last = -1;
      eachVisible(level, span, 1000 / (span.to - span.from), (index, x0, x1) => {
        assert.ok(x0 >= last && x1 > x0, x0 + " " + x1 + " after " + last);
        last = x1;
        count += 1;
      });
      return count;
    });
  assert.equal(layout.levels[1].end.length, 100000);
  assert.ok(drawn({ from: 0, to: 100 }).every((count) => count > 0 && count <= 1001),
    String(drawn({ from: 0, to: 100 })));
  assert.deepEqual(drawn({ from: 50.0005, to: 50.0995 }), [1, 100, 50]);
});

test("a stack of 10,000 frames is laid out without recursion", () => {
  const deep = Array.from({ length: 10000 }, (_, i) => "f" + (i % 3)).join(";");
  const recording = recordingOf([deep + " 3"]);
  const grouping = createGrouping("function");
  extendGrouping(grouping, recording.profile);
  const runs = { ...runsOf([[0, 1, "other"], [1, 2, "other"]]), node: Int32Array.from([10000, 9999]) };
  assert.equal(layOutRuns(runs, grouping).levels.length, 10000);
});

test("what waits is pale, and so is what is not asked for", () => {
  const paleParts = (words, parts) => PARTS.filter((_, part) => createPale(words, parts)(part === 0 ? 1 : 0, part));
  assert.deepEqual(paleParts([], PARTS), ["blocked", "idle"]);
  assert.deepEqual(paleParts([], ["running", "blocked"]), ["needs_gil", "needs_processor", "blocked", "idle"]);
  assert.deepEqual(paleParts(["on_cpu"], PARTS), PARTS.slice(1));
});

test("runs that do not fit are refused", () => {
  assert.throws(() => checkedRuns(runsOf([[0, 1, "main;a"]]), 1), RangeError);
  assert.throws(() => checkedRuns(runsOf([[1, 2, "main;a"], [0, 1, "main;b"]]), 99), RangeError);
  assert.throws(() => checkedRuns(runsOf([[1, NaN, "main;a"]]), 99), RangeError);
});

test("the picture has boxes of the thread that is shown, and of no other", () => {
  const state = stateOf(LINES, { view: "stacks" });
  takeRuns(state.recording, { trees: [], runs: runsOf([[0, 1, "main;a"]]) });
  const { stacks, stackThread } = createPicture()(state);
  assert.deepEqual([stackThread.tid, stacks.layout.levels.length, stacks.faceOf(stacks.layout.levels[1].group[0]).name],
    [7, 2, "a  app/a.py"]);
  takeRuns(state.recording, { trees: [], runs: runsOf([[0, 1, "main;a"]], "5") });
  assert.equal(createPicture()(state).stacks.layout, null);
});

test("in a report the largest stacks stand first in each slot", () => {
  const { tree } = answersOf(LINES);
  const of = (stack) => nodes.get(stack);
  const report = {
    tree,
    selection: { samples: 10, seconds: 2 },
    slots: { width: 1, start: [0, 1], end: [1, 2] },
    cells: { thread: [0, 0, 0, 9], state: [1, 1, 1, 1], node: [of("main;b"), of("main;a;x"), of("main;a"), of("other")],
      count: [1, 3, 1, 4], slot: [0, 0, 1, 0] },
  };
  const runs = runsOfCells(report, [0]);
  assert.deepEqual(Array.from(runs.node), [of("main;a;x"), of("main;b"), of("main;a")]);
  assert.deepEqual(Array.from(runs.start, (time) => time.toFixed(2)), ["0.00", "0.60", "1.00"]);
  assert.deepEqual(Array.from(runs.ordered), [0, 0, 0]);
  assert.equal(runsOfCells({ ...report, slots: undefined }, [0]), null);
  assert.deepEqual(Array.from(heavyPlaces(tree.nodes.parent, new Map([[of("main;b"), 1], [of("main;a"), 5]])).keys()), [
    0,
    of("main"),
    of("main;a"),
    of("main;b"),
  ]);
});

test("more samples than a slot has room for fill it", () => {
  const { tree } = answersOf(LINES);
  const report = { tree, selection: { samples: 1, seconds: 1 }, slots: { width: 1, start: [0], end: [1] },
    cells: { thread: [0, 0], state: [1, 1], node: [1, 2], count: [3, 1], slot: [0, 0] } };
  const { end } = runsOfCells(report, [0]);
  assert.deepEqual(Array.from(end), [0.75, 1]);
});
