import assert from "node:assert/strict";
import { test } from "node:test";
import { adjustPValues, changeStyle, compareGroups, compareRows, pValueOfRates, pValueOfShares, comparedSides, verdictOf } from "../../../web/model/trees/compare.js";
import { binsCovered, emptyHeat, HEAT_MEASURES, heatColumn, heatMost, withHeat } from "../../../web/model/time/heatmap.js";
import { defaultAddress } from "../../../web/model/page/address.js";
import { createPicture } from "../../../web/model/page/picture.js";
import { createRecording, takeBaseline, takeDelivery } from "../../../web/model/trees/recording.js";
import { createState } from "../../../web/model/page/state.js";
import { createProgram } from "../support/made-up-program.mjs";
import { answersOf, outline, stateOf } from "../support/sample.mjs";

test("chances are those of the normal distribution, and none where there are too few samples", () => {
  // z = 0, 1.96 and 3: 1, 0.05, 0.0027.
  assert.ok(Math.abs(pValueOfShares(50, 50, 1000, 1000) - 1) < 1e-6);
  const z = (now) => Math.abs((now / 1000 - 0.05) / Math.sqrt(((50 + now) / 2000) * (1 - (50 + now) / 2000) * 0.002));
  assert.ok(Math.abs(z(71) - 1.97) < 0.02 && Math.abs(pValueOfShares(50, 71, 1000, 1000) - 0.049) < 0.002);
  assert.equal(pValueOfShares(4, 5, 1000, 1000), null);
  assert.equal(pValueOfShares(0, 50, 10, 100000), null);
  assert.equal(pValueOfShares(5, 5, 0, 100), null);
});

test("many comparisons make each less certain; what is unknown stays so", () => {
  assert.deepEqual(adjustPValues([0.01, 0.04, null, 0.03, 0.5]).map((q) => q && Number(q.toFixed(4))), [0.04, 0.0533, null, 0.0533, 0.5]);
  assert.deepEqual(adjustPValues([]), []);
});

test("a few samples are no news; new, gone, more and less are distinguished", () => {
  assert.deepEqual([verdictOf(0, 2, 100, 100, null), verdictOf(0, 60, 100, 100, 0.001), verdictOf(60, 0, 100, 100, 0.001), verdictOf(10, 60, 100, 100, 0.001), verdictOf(60, 10, 100, 100, 0.001), verdictOf(10, 60, 100, 100, 0.2)],
    ["few", "new", "gone", "more", "less", "same"]);
  assert.deepEqual([changeStyle("same", 0.4), changeStyle("more", 0.4), changeStyle("less", -0.01), changeStyle("new", 0.001)], ["", "more-3", "less-2", "more-1"]);
});

test("shares are compared, so twice the samples of the same program are no change", () => {
  const baseline = { total: [100, 60, 40], self: [0, 60, 40], sum: 100 };
  const current = { total: [200, 120, 80], self: [0, 120, 80], sum: 200 };
  const compared = compareGroups(baseline, current);
  assert.deepEqual([1, 2].map((g) => [compared.total(g).verdict, compared.total(g).currentShare - compared.total(g).baselineShare]), [["same", 0], ["same", 0]]);
  assert.deepEqual(Array.from(compared.totals("both").total), [2, 1.2, 0.8]);
  const rows = compareRows([{ frame: 1, self: 60, total: 60 }], [{ frame: 2, self: 50, total: 50 }], comparedSides(100, 100));
  assert.deepEqual(rows.map((row) => [row.frame, row.verdict]), [[1, "gone"], [2, "new"]]);
});

test("the picture has what changed, and what is gone is drawn", () => {
  const lines = ["m;a 100", "m;b 100", "m;gone 0"];
  const state = stateOf(lines, { view: "diff", baseline: { from: 0, to: 1 }, range: { from: 1, to: 2 } });
  takeBaseline(state.recording, { trees: [], view: answersOf(["m;a 100", "m;b 0", "m;gone 100"]).view });
  const { diff } = createPicture()({ ...state, recordingVersion: state.recording.version });
  assert.deepEqual([diff.baselineSum, diff.currentSum], [200, 200]);
  const drawn = outline(diff.drawing.root).map((line) => line.replace(/ +\w+\.py/, "").trim());
  assert.ok(drawn.some((line) => line.startsWith("− gone")) && drawn.some((line) => line.startsWith("+ b")), drawn.join());
  assert.deepEqual(diff.rows.map((row) => row.verdict).sort(), ["gone", "new", "same"].sort().concat(diff.rows.length > 3 ? ["few"] : []).sort());
  assert.throws(() => takeBaseline(state.recording, { trees: [], view: { node: [99], self: [1] } }), RangeError);
});

test("by time: twice the samples in twice the time are no change, twice in the same time are", () => {
  assert.ok(Math.abs(pValueOfRates(100, 200, 50, 100) - 1) < 1e-6);
  assert.ok(pValueOfRates(100, 200, 50, 50) < 0.001);
  assert.equal(pValueOfRates(4, 5, 50, 50), null);
  const [baseline, current] = [{ total: [100, 100], self: [0, 100], sum: 100 }, { total: [200, 200], self: [0, 200], sum: 200 }];
  const { currentShare, verdict } = compareGroups(baseline, current, comparedSides(100, 200, { baseline: 100, current: 100 })).total(1);
  assert.deepEqual([currentShare, verdict], [2, "more"]);
});

// A state with a baseline of another session: {lines, strings of moved functions}.
function comparedState(baseline, current, address = {}) {
  const state = { ...stateOf(current, { view: "diff", ...address }) };
  const other = answersOf(baseline);
  state.session = { ...state.session, selection: { duration_s: 10, to_s: 10, whole: true }, baseline: { by: "samples", session: {}, selection: { duration_s: 10, whole: true } } };
  const take = (view = other.view) => takeBaseline(state.recording, { trees: [], other: other.tree, view });
  take();
  return { state: { ...state, recordingVersion: state.recording.version }, other, take };
}

const drawnNames = (diff) => outline(diff.drawing.root).map((line) => line.replace(/ +\w+\.py/, "").trim());

test("a baseline of another session: functions of one name in one file are one, what is gone is drawn where it is asked for", () => {
  const { state } = comparedState(["m:1;f:5 60", "m:1;gone:7 40"], ["m:9;f:8 60", "m:9;b:2 40"]);
  const compute = createPicture();
  const { diff } = compute(state);
  assert.deepEqual([diff.baselineSum, diff.currentSum], [100, 100]);
  assert.deepEqual(Object.fromEntries(diff.rows.map((row) => [row.label.name, row.verdict])), { m: "few", f: "same", gone: "gone", b: "new" });
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
  assert.deepEqual(diff.rows.map((row) => [row.label.name, row.verdict, row.change]), [["<lambda>", "same", 0]]);
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
  const styles = Array.from(searched.byId.values(), ({ frame }) => [frame.name, searched.markOf(frame)]);
  assert.match(styles.find(([name]) => name.includes("g  "))[1], /^more-3 match$/);
  assert.match(styles.find(([name]) => name.includes("x  "))[1], /^less-3 other$/);
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
