import assert from "node:assert/strict";
import { test } from "node:test";
import { defaultAddress, formatAddress, parseAddress } from "../../../web/model/page/address.js";
import { createPicture } from "../../../web/model/page/picture.js";
import { diffRows, flameRows, heatRows, laneRows, ROWS_SHOWN_MAX, sandwichRows, stripRows } from "../../../web/model/page/rows.js";
import { STATE_DOINGS } from "../../../web/model/profile/states.js";
import { TEXT } from "../../../web/text/session.js";
import { stateOf } from "../support/sample.mjs";

const doing = (counts) => STATE_DOINGS.map((key) => counts[key] ?? 0);

// A timeline of slots of a second: {doing: count, ...} each.
const timelineOf = (...seconds) => ({ width: 1, from: 0, to: seconds.length, slots: seconds.map((counts, i) => ({ slot: i, start: i, end: i + 1, samples: doing(counts).reduce((a, b) => a + b), doing: doing(counts), inGc: counts.gc ?? 0 })) });

test("a flame graph is a row a frame, with its level, in the order of the stacks", () => {
  const { drawing, sum } = createPicture()(stateOf(["a;b 3", "a;c 1", "d 4"], {}));
  const { rows, columns, caption } = flameRows(drawing, sum);
  assert.deepEqual(rows.map((row) => [row.level, row.name.split(" ")[0], ...row.cells]), [
    [0, "all", "100 %", "8", "0 %", "0"], [1, "a", "50.0 %", "4", "0 %", "0"], [2, "b", "37.5 %", "3", "37.5 %", "3"], [2, "c", "12.5 %", "1", "12.5 %", "1"], [1, "d", "50.0 %", "4", "50.0 %", "4"],
  ]);
  assert.equal(columns.length, 2 + rows[0].cells.length);
  assert.match(caption, /^5 frames of .*percent of 8 samples\.$/);
});

test("of many frames the heaviest are rows, each after the frame it stands on", () => {
  const lines = Array.from({ length: 900 }, (_, i) => "top;f" + i + " " + (i < 50 ? 9 : 2));
  const { drawing, sum } = createPicture()({ ...stateOf(lines, {}), width: 4000 });
  const { rows, caption } = flameRows(drawing, sum);
  assert.equal(rows.length, ROWS_SHOWN_MAX);
  assert.deepEqual(rows.slice(0, 2).map((row) => row.level), [0, 1]);
  assert.equal(rows.filter((row) => row.cells[1] === "9").length, 50);
  assert.match(caption, /^The 400 heaviest of 902 frames/);
});

test("a sandwich is both sides, each beginning with the function itself", () => {
  const state = stateOf(["a;f;b 3", "c;f 1"], {});
  const compute = createPicture();
  const about = compute(state).functions().find(({ label }) => label.name === "f").key;
  const { sandwich, sum } = compute({ ...state, address: { ...state.address, view: "sandwich", about } });
  const { rows } = sandwichRows(sandwich, sum);
  assert.deepEqual(rows.map((row) => [row.side, row.level, row.name.split(" ")[0], row.cells[1]]), [
    ["callers", 0, "f", "100 %"], ["callers", 1, "a", "75.0 %"], ["callers", 1, "c", "25.0 %"], ["callees", 0, "f", "100 %"], ["callees", 1, "b", "75.0 %"],
  ]);
});

test("time is rows of slots put together, at most sixty, with the share of each state", () => {
  const timeline = timelineOf(...Array.from({ length: 150 }, () => ({ holds_gil: 1, waits: 3, gc: 2 })));
  const { rows, columns } = stripRows(timeline, { from: 0, to: 150 });
  assert.equal(rows.length, 50);
  assert.equal(rows[0].name, "0:00 – 0:03");
  assert.deepEqual(rows[0].cells, ["12", "25.0 %", "0 %", "0 %", "0 %", "75.0 %", "0 %", "50.0 %"]);
  assert.equal(columns.length, 1 + rows[0].cells.length);
  assert.equal(stripRows(timelineOf(), { from: 0, to: 1 }).rows.length, 0);
});

test("threads along time say how much they ran, and where nothing was seen", () => {
  const timeline = timelineOf({ holds_gil: 1, on_cpu: 1, waits: 2 }, { waits: 4 });
  const { rows, columns } = laneRows([{ name: "worker", timeline }], { from: 0, to: 12 });
  assert.deepEqual(rows[0].cells.slice(0, 3), ["50.0 %", "0 %", "—"]);
  assert.equal(columns.length, 13);
});

test("a second of the heat map says in which 20 ms most ran", () => {
  const bins = (value) => Array.from({ length: 50 }, (_, i) => (i === 7 ? value : 0));
  const heat = { from: 0, to: 4, bins: 50, columns: new Map([[3, STATE_DOINGS.map((key) => bins(key === "on_cpu" ? 5 : 0))], [1, STATE_DOINGS.map(() => bins(0))]]) };
  assert.deepEqual(heatRows(heat).rows.map((row) => [row.name, ...row.cells]), [["0:01", "0", "0", "0", "0", "0", "", ""], ["0:03", "5", "0", "0", "0", "5", "5", "140 ms"]]);
  const matches = { start: [1, 2.5], end: [2, 3.5], samples: [4, 8], matching: [1, 8] };
  const searched = heatRows(heat, matches);
  assert.equal(searched.columns.at(-1).label, TEXT.asTable.searchMatches);
  assert.deepEqual(searched.rows.map((row) => row.cells.at(-1)), ["25.0 %", "100 %"]);
});

test("what changed is a row a frame, in percentage points, total and self", () => {
  const number = (baselineShare, currentShare, verdict) => ({ baselineShare, currentShare, verdict });
  const frame = (label, total, self, children = []) => ({ label, changes: { total, self }, value: 1, id: label, children });
  const { less, few } = TEXT.compare.verdicts;
  const { rows } = diffRows({ drawing: { root: { label: "all", value: 1, id: "0", children: [frame("a", number(0.5, 0.25, "less"), number(0, 0.5, "few"))] } } });
  assert.deepEqual(rows.map((row) => row.cells), [Array(8).fill(""), ["50.0 %", "25.0 %", "−25.0 pp", less, "0 %", "50.0 %", "+50.0 pp", few]]);
});

test("which tables are open is in the address", () => {
  const address = { ...defaultAddress(), tables: ["strip", "flame"] };
  assert.equal(formatAddress(address), "v=1&tables=strip,flame");
  assert.deepEqual(parseAddress("#v=1&tables=flame,nonsense,strip,flame").tables, ["strip", "flame"]);
});
