import assert from "node:assert/strict";
import { test } from "node:test";
import { shareInterval } from "../../../web/model/trees/blocks.js";
import { variationByRow } from "../../../web/model/trees/variation.js";
import { adjustPValues, changeStyle, compareGroups, compareRows, comparedSide, comparedSides, sumBlocks, verdictOf } from "../../../web/model/trees/compare.js";
import { studentQuantile, studentTails } from "../../../web/model/trees/student.js";
import { binsCovered, emptyHeat, HEAT_MEASURES, heatColumn, heatMost, withHeat } from "../../../web/model/time/heatmap.js";
import { defaultAddress } from "../../../web/model/page/address.js";
import { createPicture } from "../../../web/model/picture/picture.js";
import { isBaselineComing } from "../../../web/model/page/questions.js";
import { createRecording, takeBaseline, takeBlocks, takeDelivery } from "../../../web/model/trees/recording.js";
import { createState } from "../../../web/model/page/state.js";
import { createProgram } from "../support/made-up-program.mjs";
import { answersOf, outline, stateOf } from "../support/sample.mjs";

const near = (given, wanted, within = 1e-6) => assert.ok(Math.abs(given - wanted) <= within, given + ", not " + wanted);

// The numbers are those of tests/unit/server/report/test_compare.c.
test("quantiles are those of the tables", () => {
  near(studentQuantile(0.05, 1), 12.706205, 1e-5);
  near(studentQuantile(0.05, 9), 2.262157);
  near(studentQuantile(0.01, 23), 2.807336);
  near(studentTails(1, 1), 0.5, 1e-12);
  near(studentTails(-2.262157, 9), 0.05, 1e-7);
  assert.equal(studentTails(1e200, 3), 0);
});

// Blocks of one row: {units, columns: {row}}.
const blocksOf = (hits, all) => sumBlocks({ row: 1 }, (take) => hits.forEach((count) => take({ row: [count] }, all)));

test("a share is as certain as its blocks agree", () => {
  const uneven = blocksOf([15, 35, 15, 35, 15, 35, 15, 35, 15, 35], 100);
  const even = blocksOf(Array(10).fill(25), 100);
  const none = blocksOf(Array(10).fill(0), 100);
  const intervalOf = ({ units, columns }) => shareInterval(units, columns.row, 0);
  near(intervalOf(uneven).low, 0.182707);
  near(intervalOf(uneven).high, 0.332009);
  near(intervalOf(even).low, 0.22035);
  near(intervalOf(none).high, 0.005091);
  assert.ok(Number.isNaN(intervalOf(blocksOf([1, 2, 3, 4, 5], 100)).low));
});

// One number of groups, of both sides, as hits by block.
function compareBlocks(baseline, current, all) {
  const sums = [baseline, current].map((groups) => sumBlocks({ self: groups.length, total: groups.length }, (take) => groups[0].forEach((_, i) => take({ self: groups.map((hits) => hits[i]), total: groups.map((hits) => hits[i]) }, all))));
  const columns = (groups) => { const counts = groups.map((hits) => hits.reduce((sum, count) => sum + count, 0)); return { self: counts, total: counts, sum: counts.length }; };
  const sides = comparedSides(...sums.map(({ units }) => comparedSide(units.all, units)));
  return compareGroups(columns(baseline), columns(current), sides, { baseline: sums[0].columns, current: sums[1].columns });
}

test("samples of one moment are alike", () => {
  const zeros = Array(24).fill(0);
  const clumped = compareBlocks([zeros, zeros.map((_, i) => (i % 5 === 0 ? 600 : 0))], [zeros, zeros.map((_, i) => (i % 5 === 2 ? 660 : 0))], 625);
  assert.equal(clumped.self(1).verdict, "same");
  const spread = compareBlocks([zeros, zeros.map(() => 125)], [zeros, zeros.map(() => 137.5)], 625).self(1);
  assert.equal(spread.verdict, "more");
  assert.ok(spread.q < 0.001 && spread.half > 0.005 && spread.half < 0.015);
  assert.equal(compareBlocks([zeros.slice(5, 10), Array(5).fill(125)], [zeros.slice(5, 10), Array(5).fill(300)], 625).self(1).verdict, "few");
});

test("many comparisons make each less certain; what is unknown stays so", () => {
  assert.deepEqual(adjustPValues([0.01, 0.04, null, 0.03, 0.5]).map((q) => q && Number(q.toFixed(4))), [0.04, 0.0533, null, 0.0533, 0.5]);
  assert.deepEqual(adjustPValues([]), []);
});

test("what takes more time weighs more", () => {
  assert.deepEqual(adjustPValues([0.02, 0.02, null], (row) => [0.1, 0.3, 5][row]).map((q) => q && Number(q.toFixed(4))), [0.04, 0.0267, null]);
});

test("what all rows move is the variation between runs", () => {
  const rows = (moves, spread = 1e-9) => variationByRow(moves.map((by, i) => ({ row: i, pooled: 0.05, a: { share: 0.05, variance: spread }, b: { share: 0.05 * (1 + by), variance: spread } })));
  const moves = [-0.015, -0.01, -0.005, 0, 0.005, 0.01, 0.015];
  // Squares around their middle, 0: 7e-4 / 7 / 2.
  near(rows(moves)(99), Math.sqrt(5e-5), 5e-5);
  // The move of a row is no part of its own variation, and cut in that of others: at 16 times 2 * 0.005^2.
  near(rows([...moves, 0.5])(7), Math.sqrt(5e-5), 5e-5);
  near(rows([...moves, 0.5])(99), Math.sqrt((7e-4 + 16 * 5e-5) / 16), 1e-4);
  assert.equal(rows(moves.map((by) => by * 10), 1e-6)(99), 0.02);
  assert.equal(rows(moves.map(() => 0.1))(99), 0.005);
  assert.equal(rows(moves, 0.001)(99), 0.005);
  assert.equal(rows(moves)(0), 0.005, "six others are too few");
});

test("a few samples are no news, nor is a small change; new, gone, more and less are distinguished", () => {
  assert.deepEqual([verdictOf(0, 0.02, false, null), verdictOf(0, 0.6, true, 0.001), verdictOf(0.6, 0, true, 0.001), verdictOf(0.1, 0.6, true, 0.001), verdictOf(0.6, 0.1, true, 0.001), verdictOf(0.1, 0.6, true, 0.2), verdictOf(0.5, 0.514, true, 0.001), verdictOf(0, 0.004, true, 0.001)],
    ["few", "new", "gone", "more", "less", "same", "same", "same"]);
  assert.deepEqual([changeStyle("same", 0.4), changeStyle("more", 0.4), changeStyle("less", -0.01), changeStyle("new", 0.001)], ["", "more-3", "less-2", "more-1"]);
});

// The view of an answer, divided into ten equal blocks.
function withBlocks(view, seconds = 1) {
  const tenth = view.self.map((count) => count / 10);
  const ten = Array.from({ length: 10 });
  return { ...view, blocks: { rows: ten.map(() => view.node.length), seconds: ten.map(() => seconds), node: ten.flatMap(() => view.node), self: ten.flatMap(() => tenth) } };
}

test("the interval of one row is that of the table, with recursion and filters", () => {
  for (const filters of [[], ["hide b"], ["ignore c"]]) {
    const lines = ["m;a 30", "m;a;b;a 20", "m;b;a 40", "m;c 10"];
    const state = stateOf(lines, { view: "table", filters });
    takeBlocks(state.recording, { trees: [], view: withBlocks(answersOf(lines).view) });
    const picture = createPicture()({ ...state, recordingVersion: state.recording.version });
    assert.ok(picture.table.rows.length > 1);
    for (const { frame } of picture.table.rows) {
      for (const number of ["self", "total"]) {
        assert.ok(picture.intervalOf(frame, number).high > 0);
        assert.deepEqual(picture.intervalOfFunction(frame, number), picture.intervalOf(frame, number));
      }
    }
    const [first] = picture.tree.children(0);
    assert.deepEqual(picture.intervalOfGroup(first, "groupTotal"), picture.intervalOfFunction(picture.tree.frame(first), "total"));
  }
});

test("shares are compared, so twice the samples of the same program are no change", () => {
  const baseline = { total: [100, 60, 40], self: [0, 60, 40], sum: 100 };
  const current = { total: [200, 120, 80], self: [0, 120, 80], sum: 200 };
  const compared = compareGroups(baseline, current, comparedSides(comparedSide(100), comparedSide(200)));
  assert.deepEqual([1, 2].map((g) => compared.total(g).currentShare - compared.total(g).baselineShare), [0, 0]);
  assert.deepEqual(Array.from(compared.totals("both").total), [2, 1.2, 0.8]);
  const rows = compareRows({ self: [0, 60, 0], total: [0, 60, 0] }, { self: [0, 0, 50], total: [0, 0, 50] }, comparedSides(comparedSide(100), comparedSide(100)));
  assert.deepEqual(rows.map((row) => [row.frame, row.change, row.self.verdict]), [[1, -0.6, "few"], [2, 0.5, "few"]]);
});

test("the picture has what changed, and what is gone is drawn", () => {
  const lines = ["m;a 100", "m;b 100", "m;gone 0"];
  const state = stateOf(lines, { view: "diff", baseline: { from: 0, to: 1 }, range: { from: 1, to: 2 } });
  takeBaseline(state.recording, { trees: [], view: withBlocks(answersOf(["m;a 100", "m;b 0", "m;gone 100"]).view) });
  takeBlocks(state.recording, { trees: [], view: withBlocks(answersOf(lines).view) });
  const { diff } = createPicture()({ ...state, recordingVersion: state.recording.version });
  assert.deepEqual([diff.baselineSum, diff.currentSum], [200, 200]);
  const drawn = outline(diff.drawing.root).map((line) => line.replace(/  [\w/]+\.py/, "").trim());
  assert.ok(drawn.some((line) => line.startsWith("− gone")) && drawn.some((line) => line.startsWith("+ b")), drawn.join());
  assert.deepEqual(Object.fromEntries(diff.rows.map((row) => [row.label.name, row.self.verdict])), { m: "few", a: "same", b: "new", gone: "gone" });
  assert.throws(() => takeBlocks(state.recording, { trees: [], view: { blocks: { rows: [1], seconds: [1], node: [99], self: [1] } } }), RangeError);
  assert.throws(() => takeBaseline(state.recording, { trees: [], view: { node: [99], self: [1] } }), RangeError);
});

test("a baseline that the address names has not come until its samples have", () => {
  const state = stateOf(["m;a 100"], { view: "diff", baseline: { from: 0, to: 1 } });
  assert.equal(isBaselineComing(state), true);
  assert.equal(isBaselineComing({ ...state, address: { ...state.address, baseline: null } }), false);
  const other = { ...state, address: { ...state.address, baseline: null, against: "7" } };
  assert.deepEqual([isBaselineComing(other), isBaselineComing({ ...other, missing: "7" })], [true, false]);
  takeBaseline(state.recording, { trees: [], view: withBlocks({ ...answersOf(["m;a 100"]).view, generation: 1 }) });
  assert.equal(isBaselineComing(state), false);
});

test("by time: twice the samples in twice the time are no change, twice in the same time are", () => {
  const view = (count) => withBlocks(answersOf(["m;f " + count]).view);
  const state = (seconds) => {
    const made = stateOf(["m;f 2000"], { view: "diff" });
    made.session = { ...made.session, selection: { duration_s: seconds, to_s: seconds }, baseline: { by: "time", selection: { duration_s: 10 } } };
    Object.assign(made.recording.counts, { seconds: 20 });
    takeBaseline(made.recording, { trees: [], other: answersOf(["m;f 1000"]).tree, view: { ...view(1000), seconds: 10 } });
    takeBlocks(made.recording, { trees: [], view: withBlocks(answersOf(["m;f 2000"]).view, seconds / 10) });
    return { ...made, recordingVersion: made.recording.version };
  };
  const verdict = (seconds) => createPicture()(state(seconds)).diff.rows.map((row) => row.self.verdict).join();
  assert.deepEqual([verdict(20), verdict(10)], ["few,same", "more,few"]);
});

// A state with a baseline of another session: {lines, strings of moved functions}.
function comparedState(baseline, current, address = {}) {
  const state = { ...stateOf(current, { view: "diff", ...address }) };
  const other = answersOf(baseline);
  state.session = { ...state.session, selection: { duration_s: 10, to_s: 10, whole: true }, baseline: { by: "samples", session: {}, selection: { duration_s: 10, whole: true } } };
  const take = (view = other.view) => takeBaseline(state.recording, { trees: [], other: other.tree, view: withBlocks(view) });
  takeBlocks(state.recording, { trees: [], view: withBlocks(answersOf(current).view) });
  take();
  return { state: { ...state, recordingVersion: state.recording.version }, other, take };
}

const drawnNames = (diff) => outline(diff.drawing.root).map((line) => line.replace(/  [\w/]+\.py/, "").trim());

test("a baseline of another session: functions of one name in one file are one, what is gone is drawn where it is asked for", () => {
  const { state } = comparedState(["m:1;f:5 60", "m:1;gone:7 40"], ["m:9;f:8 60", "m:9;b:2 40"]);
  const compute = createPicture();
  const { diff } = compute(state);
  assert.deepEqual([diff.baselineSum, diff.currentSum], [100, 100]);
  assert.deepEqual(Object.fromEntries(diff.rows.map((row) => [row.label.name, row.self.verdict])), { m: "few", f: "same", gone: "gone", b: "new" });
  const widths = (diffWidth) => drawnNames(compute({ ...state, address: { ...state.address, diffWidth } }).diff).map((line) => line.replace(/ .*(gone|f|m|b|all).*/, "$1"));
  assert.ok(widths("baseline").join().includes("gone") && !widths("baseline").join().includes("+ b"));
  assert.ok(!widths("current").join().includes("gone"));
});

test("functions of one name in one file do not take each other's samples when both move", () => {
  const tree = (lines) => {
    const values = ["", "<lambda>", "/app/a.py"];
    return { epoch: "e" + lines, generation: 1, strings: { first: 0, values }, functions: { first: 0, name: [0, 1, 1], file: [0, 2, 2], line: [0, ...lines] }, nodes: { first: 0, parent: [0, 0, 0], function: [0, 1, 2], line: [0, ...lines] }, threads: { first: 0, tid: [], process: [], name: [], main: [] }, processes: { first: 0, pid: [], name: [] } };
  };
  const recording = createRecording();
  const view = (epoch) => ({ epoch, generation: 1, since: 0, total: 100, node: [1, 2], self: [70, 30], seconds: 1 });
  takeDelivery(recording, { restart: false, recount: true, trees: [tree([11, 21])], view: view("e") });
  takeBaseline(recording, { trees: [], other: tree([10, 20]), view: view("f") });
  const state = { ...createState(false), recording, recordingVersion: recording.version, width: 500, address: { ...defaultAddress(), view: "diff" }, session: { baseline: { by: "samples" } } };
  const { diff } = createPicture()(state);
  assert.deepEqual(diff.rows.map((row) => [row.label.name, row.self.verdict, row.change]), [["<lambda>", "few", 0]]);
});

test("another question to the same baseline is of the same nodes", () => {
  const { state, other, take } = comparedState(["m;f 60", "m;gone 40"], ["m;f 60"]);
  const nodes = state.recording.profile.nodeParent.length;
  take({ ...other.view, self: other.view.self.map((count) => count / 2) });
  assert.equal(state.recording.profile.nodeParent.length, nodes);
  assert.equal(createPicture()({ ...state, recordingVersion: state.recording.version }).diff.baselineSum, 50);
});

test("the comparison zooms in, and marks what is searched for beside what changed", () => {
  const { state } = comparedState(["m;f;x 60", "m;g 40"], ["m;f;x 20", "m;g 80"]);
  const compute = createPicture();
  const { diff } = compute(state);
  const idOf = (name) => Array.from(diff.drawing.byId.values()).find(({ frame }) => frame.name.includes(name)).frame.id;
  const zoomed = compute({ ...state, address: { ...state.address, zoom: diff.keysTo(idOf("f ")) } }).diff;
  assert.equal(String(zoomed.focus), idOf("f "));
  assert.ok(!drawnNames(zoomed).some((line) => line.includes("g ")));
  const searched = compute({ ...state, address: { ...state.address, search: "g.py" } }).diff.drawing;
  const marks = Array.from(searched.byId.values(), ({ frame }) => [frame.name, frame.change, searched.isMatch(frame)]);
  assert.deepEqual(marks.find(([name]) => name.includes("g  ")).slice(1), ["more-3", true]);
  assert.deepEqual(marks.find(([name]) => name.includes("x  ")).slice(1), ["less-3", false]);
});

test("cells of 20 ms: news take the place of what there was, old seconds are forgotten", () => {
  const program = createProgram({ threads: 4, now: () => 0 });
  program.advance(2.5);
  let heat = withHeat(emptyHeat(), program.heatmap({}));
  program.advance(5);
  heat = withHeat(heat, program.heatmap({ since: 1 }));
  assert.deepEqual(heat, withHeat(emptyHeat(), program.heatmap({})));
  const counted = Array.from(heat.columns.keys(), (second) => heatColumn(heat, second, "all").reduce((sum, count) => sum + count, 0));
  assert.equal(counted.reduce((sum, count) => sum + count, 0), program.view({}).total);
  for (const { key } of HEAT_MEASURES) assert.ok(heatMost(heat, key) >= 1);
  assert.equal(heatColumn(heat, 99, "all"), null);
  assert.equal(withHeat(heat, { ...program.heatmap({ since: 99 }), from: 2, to: 5 }).columns.size, 3);
  assert.deepEqual([binsCovered(heat, 3, { from: 3.5, to: 9 }), binsCovered(heat, 3, { from: 1, to: 2 })], [{ first: 25, end: 50 }, { first: 0, end: 0 }]);
});
