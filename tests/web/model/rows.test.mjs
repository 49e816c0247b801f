import assert from "node:assert/strict";
import { test } from "node:test";
import { formatCount } from "../../../web/model/base/numbers.js";
import { defaultAddress, formatAddress, parseAddress } from "../../../web/model/page/address.js";
import { diffRows, heatRows, laneRows, ROWS_SHOWN_MAX, sandwichRows, stackRows,
  stripRows } from "../../../web/model/page/rows.js";
import { createPicture } from "../../../web/model/picture/picture.js";
import { PARTS } from "../../../web/model/profile/parts.js";
import { emptyRuns } from "../../../web/model/profile/runs.js";
import { takeRuns } from "../../../web/model/trees/recording.js";
import { TEXT } from "../../../web/text/session.js";
import { answersOf, stateOf } from "../support/sample.mjs";

const parts = (counts) => PARTS.map((key) => counts[key] ?? 0);

// A timeline of slots of a second: {part: count, ...} each.
const timelineOf = (...seconds) => ({ width: 1, from: 0, to: seconds.length,
  slots: seconds.map((counts, i) => ({ slot: i, start: i, end: i + 1, samples: parts(counts).reduce((a, b) => a + b),
    parts: parts(counts), inGc: counts.gc ?? 0 })
  ) });

test("of many frames the heaviest are rows, each after the frame it stands on", () => {
  const lines = Array.from({ length: 900 }, (_, i) => "top;f;f" + i + " " + (i < 50 ? 9 : 2));
  const compute = createPicture();
  const state = { ...stateOf(lines, {}), width: 4000 };
  const about = compute(state).functions.find(({ label }) => label.name === "f").key;
  const { sandwich, sum } = compute({ ...state, address: { ...state.address, view: "sandwich", about } });
  const { rows, caption } = sandwichRows({ sandwich, sum, amountText: formatCount });
  const callees = rows.filter(({ side }) => side === "callees");
  assert.equal(callees.length, ROWS_SHOWN_MAX);
  assert.deepEqual(callees.slice(0, 2).map((row) => row.level), [0, 1]);
  assert.match(caption, /The 400 heaviest of 901 frames/);
});

test("a stack chart is a row a run, in the order of time", () => {
  const lines = ["main;a 5", "main;b 5"];
  const state = stateOf(lines, { view: "stacks" });
  const { nodes } = answersOf(lines);
  const runs = { ...emptyRuns(), key: "0", to: 3, start: Float64Array.of(0, 1), end: Float64Array.of(1, 3),
    node: Int32Array.of(nodes.get("main;b"), nodes.get("main;a")), state: Int32Array.of(1, 0),
    ordered: Uint8Array.of(0, 1), runs: Int32Array.of(1, 1) };
  takeRuns(state.recording, { trees: [], runs });
  const { rows, columns, caption } = stackRows(createPicture()(state).stacks, { from: 0, to: 3 });
  assert.deepEqual(rows.map((row) => [row.level, row.name.split(" ")[0], ...row.cells]), [[2, "b", "0:00.000", "1.00 s",
    TEXT.parts.running[0], "no"], [2, "a", "0:01.000", "2.00 s", TEXT.parts.blocked[0], "yes"]]);
  assert.equal(columns.length, 2 + rows[0].cells.length);
  assert.match(caption, /^2 runs/);
});

test("a sandwich is both sides, each beginning with the function itself", () => {
  const state = stateOf(["a;f;b 3", "c;f 1"], {});
  const compute = createPicture();
  const about = compute(state).functions.find(({ label }) => label.name === "f").key;
  const { sandwich, sum } = compute({ ...state, address: { ...state.address, view: "sandwich", about } });
  const { rows } = sandwichRows({ sandwich, sum, amountText: formatCount });
  assert.deepEqual(rows.map((row) => [row.side, row.level, row.name.split(" ")[0], row.cells[1]]), [
    ["callers", 0, "f", "100 %"],
    ["callers", 1, "a", "75.0 %"],
    ["callers", 1, "c", "25.0 %"],
    ["callees", 0, "f", "100 %"],
    ["callees", 1, "b", "75.0 %"],
  ]);
});

test("time is rows of slots put together, at most sixty, with the share of each state", () => {
  const timeline = timelineOf(...Array.from({ length: 150 }, () => ({ running: 1, blocked: 3, gc: 2 })));
  const { rows, columns } = stripRows(timeline, { from: 0, to: 150 });
  assert.equal(rows.length, 50);
  assert.equal(rows[0].name, "0:00 – 0:03");
  assert.deepEqual(rows[0].cells, ["12", "25.0 %", "0 %", "0 %", "75.0 %", "0 %", "50.0 %"]);
  assert.equal(columns.length, 1 + rows[0].cells.length);
  assert.equal(stripRows(timelineOf(), { from: 0, to: 1 }).rows.length, 0);
  timeline.slots.at(-1).end -= 0.92;
  const unfinished = stripRows(timeline, { from: 0, to: 150 }).rows;
  assert.deepEqual([unfinished[0].name, unfinished.at(-1).name], ["0:00.00 – 0:03.00", "2:27.00 – 2:29.08"]);
});

test("threads along time say how much they ran, and where nothing was seen", () => {
  const timeline = timelineOf({ running: 2, idle: 2 }, { blocked: 4 });
  const { rows, columns } = laneRows([{ name: "worker", timeline }], { from: 0, to: 12 });
  assert.deepEqual(rows[0].cells.slice(0, 3), ["50.0 %", "0 %", "—"]);
  assert.equal(columns.length, 13);
});

test("a second of the heat map says in which 20 ms most ran", () => {
  const bins = (value) => Array.from({ length: 50 }, (_, i) => (i === 7 ? value : 0));
  const heat = { from: 0, to: 4, bins: 50,
    columns: new Map([[3, PARTS.map((key) => bins(key === "running" ? 5 : 0))], [1, PARTS.map(() => bins(0))]]) };
  assert.deepEqual(heatRows(heat).rows.map((row) => [row.name, ...row.cells]), [["0:01", "0", "0", "0", "0", "0", "0",
    "", ""], ["0:03", "5", "0", "0", "0", "0", "5", "5", "140 ms"]]);
  const matches = { start: [1, 2.5], end: [2, 3.5], samples: [4, 8], matching: [1, 8] };
  assert.deepEqual(heatRows(heat, null, true).rows[1].cells, ["5", "—", "0", "0", "0", "5", "5", "140 ms"]);
  const searched = heatRows(heat, matches);
  assert.equal(searched.columns.at(-1).label, TEXT.asTable.searchMatches);
  assert.deepEqual(searched.rows.map((row) => row.cells.at(-1)), ["25.0 %", "100 %"]);
});

test("what changed is a row a frame, in percentage points, total and self", () => {
  const number = (baselineShare, currentShare, verdict) => ({ baselineShare, currentShare, verdict });
  const frame = (label, total, self, children = []) => ({ label, changes: { total, self }, value: 1, id: label,
    children });
  const { less, few } = TEXT.compare.verdicts;
  const { rows } = diffRows({
    drawing: {
      root: { label: "all", value: 1, id: "0",
        children: [frame("a", number(0.5, 0.25, "less"), number(0, 0.5, "few"))] },
    },
  });
  assert.deepEqual(rows.map((row) => row.cells), [Array(8).fill(""), ["50.0 %", "25.0 %", "−25.0 pp", less, "0 %",
    "50.0 %", "+50.0 pp", few]]);
});

test("which tables are open is in the address", () => {
  const address = { ...defaultAddress(), tables: ["strip", "flame"] };
  assert.equal(formatAddress(address), "v=1&tables=strip,flame");
  assert.deepEqual(parseAddress("#v=1&tables=flame,nonsense,strip,flame").tables, ["strip", "flame"]);
});
