import assert from "node:assert/strict";
import { test } from "node:test";
import { adjustPValues, pValueOfShares, changeLook, compareGroups, compareRows, verdictOf } from "../../web/model/compare.js";
import { binsCovered, emptyHeat, HEAT_MEASURES, heatColumn, heatMost, withHeat } from "../../web/model/heatmap.js";
import { takeBaseline } from "../../web/model/recording.js";
import { createPicture } from "../../web/model/picture.js";
import { createProgram } from "./made-up-program.mjs";
import { answersOf, outline, stateOf } from "./sample.mjs";

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

test("a few samples are no news; new, gone, more and less are told apart", () => {
  assert.deepEqual([verdictOf(0, 2, 100, 100, null), verdictOf(0, 60, 100, 100, 0.001), verdictOf(60, 0, 100, 100, 0.001), verdictOf(10, 60, 100, 100, 0.001), verdictOf(60, 10, 100, 100, 0.001), verdictOf(10, 60, 100, 100, 0.2)],
    ["few", "new", "gone", "more", "less", "same"]);
  assert.deepEqual([changeLook("same", 0.4), changeLook("more", 0.4), changeLook("less", -0.01), changeLook("new", 0.001)], ["", "more-3", "less-2", "more-1"]);
});

test("shares are compared, so twice the samples of the same program are no change", () => {
  const baseline = { total: [100, 60, 40], self: [0, 60, 40], sum: 100 };
  const current = { total: [200, 120, 80], self: [0, 120, 80], sum: 200 };
  const compared = compareGroups(baseline, current);
  assert.deepEqual([1, 2].map((g) => [compared.verdict(g), compared.change(g)]), [["same", 0], ["same", 0]]);
  assert.deepEqual(Array.from(compared.totals.total), [2, 1.2, 0.8]);
  const rows = compareRows([{ frame: 1, self: 60, total: 60 }], [{ frame: 2, self: 50, total: 50 }], 100, 100);
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
