import assert from "node:assert/strict";
import { test } from "node:test";
import { partOf } from "../../../web/model/profile/parts.js";
import { addState, createSums } from "../../../web/model/profile/states.js";
import { factText } from "../../../web/model/threads/activity.js";
import { causedCounts, gilMatrix, gilOfCells } from "../../../web/model/threads/gil.js";

const ON_CPU = 1;
const UNKNOWN_WAITS = 1024;
const HOLDS = 2;
const WAITS = 4;

// rows: [thread, state, node, count, slot]
function report(rows, process = [0, 0, 0, 0]) {
  const column = (i) => rows.map((row) => row[i]);
  return { tree: { threads: { process } },
    cells: { thread: column(0), state: column(1), part: column(1).map((state) => partOf(state, null)), node: column(2),
      count: column(3), slot: column(4) } };
}

const ROWS = [[0, HOLDS, 1, 30, 0], [1, HOLDS, 2, 10, 0], [1, WAITS, 3, 6, 0], [2, WAITS, 3, 20, 0], [1, HOLDS, 2, 100,
  1]];

test("waiting is shared out among those that held the GIL in the same slot, as the server does it", () => {
  const gil = gilOfCells(report(ROWS), { threads: [] }, null);
  assert.deepEqual(gil, { waited: 26, unattributed: 0, threads: [0, 1, 2], pairs: [[0, 6, 15], [0, 0, 5], [0, 0, 0]],
    node: [1, 2], waits_caused: [21, 5] });
  assert.equal(gilOfCells(report(ROWS), { threads: [2] }, null).waited, 20);
  assert.equal(gilOfCells(report(ROWS), { threads: [] }, [false, true]).waited, 0);
});

test("processes have locks of their own; what nobody held is left over", () => {
  const gil = gilOfCells(report([[0, HOLDS, 1, 5, 0], [0, WAITS, 1, 1, 0], [1, WAITS, 2, 7, 0]], [0, 1]), {
    threads: [],
  }, null);
  assert.deepEqual([gil.waited, gil.unattributed, gil.pairs], [8, 8, []]);
});

test("what others waited belongs to the place that held the lock; nodes not known yet are left out", () => {
  assert.deepEqual(Array.from(causedCounts({ node: [1, 9], waits_caused: [2.5, 4] }, 3).self), [0, 2.5, 0]);
});

test("what was never known to be so, and is unknown in part, is unknown and not 0 %", () => {
  const sums = createSums();
  addState(sums, ON_CPU | UNKNOWN_WAITS, 0, 6);
  addState(sums, HOLDS, 0, 4);
  assert.equal(factText(sums, "waits_gil"), "—");
  assert.equal(factText(sums, "has_gil"), "40.0 %");
  assert.equal(factText(sums, "in_gc"), "0 %");
  addState(sums, WAITS, 1, 10);
  assert.equal(factText(sums, "waits_gil"), "50.0 %");
});

test("a thread that was renamed is one; those beyond the most are the others", () => {
  const gil = { threads: [0, 1, 2, 3], pairs: [[0, 0, 5, 1], [0, 0, 3, 0], [1, 0, 0, 0], [0, 0, 0, 0]] };
  const threads = [{ ids: [0, 1], tid: 1 }, { ids: [2], tid: 2 }, { ids: [3], tid: 3 }];
  const whole = gilMatrix(gil, threads, 9);
  assert.deepEqual(whole.holders.map((side) => [side.thread.tid, side.samples]), [[1, 9], [2, 1]]);
  assert.deepEqual(whole.waiters.map((side) => side.thread.tid), [2, 1, 3]);
  assert.deepEqual(whole.cells, [[8, 0, 1], [0, 1, 0]]);
  assert.equal(whole.hottest, 8);
  const short = gilMatrix(gil, threads, 2);
  assert.deepEqual(short.waiters.map((side) => [side.thread?.tid ?? null, side.count, side.samples]), [[2, 1, 8], [null,
    2, 2]]);
  assert.equal(short.cells.flat().reduce((sum, samples) => sum + samples, 0), 10);
  assert.deepEqual(gilMatrix({ threads: [], pairs: [] }, threads, 9), { holders: [], waiters: [], cells: [],
    hottest: 0 });
});

test("a report too has rows for those that waited and held most, and one for the rest", () => {
  const rows = Array.from({ length: 100 }, (_, thread) => [thread, HOLDS, 1, thread + 1, 0]).concat([[100, WAITS, 2,
    5050, 0]]);
  const gil = gilOfCells(report(rows, new Array(101).fill(0)), { threads: [] }, null);
  assert.equal(gil.threads.length, 64);
  assert.deepEqual([gil.threads[0], gil.threads[63]], [37, 100]);
  assert.equal(gil.pairs.length, 65);
  assert.ok(gil.pairs.every((row) => row.length === 65));
  assert.equal(gil.pairs[64][63], 37 * 38 / 2);
  assert.equal(gil.pairs[0][63], 38);
  const threads = gil.threads.map((id) => ({ ids: [id], name: "t" + id, tid: id }));
  const { holders } = gilMatrix(gil, threads, 12);
  assert.equal(holders.length, 12);
  assert.deepEqual([holders[11].thread, holders[11].count], [null, 0]);
  assert.equal(
    gilMatrix({ ...gil, threads: gil.threads.slice(0, 20),
      pairs: gil.pairs.slice(0, 20).map((row) => row.slice(0, 20).map(() => 1)) }, threads, 12).holders[11].count,
    9,
  );
});
