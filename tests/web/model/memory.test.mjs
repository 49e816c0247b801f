import assert from "node:assert/strict";
import { test } from "node:test";
import { memoryRows } from "../../../web/model/page/rows.js";
import { emptyMemory, growthText, MEMORY_LAYERS, memoryBoxes, memoryGrowth, memoryOf, memoryOfAnswer, memoryText,
  memoryTop } from "../../../web/model/time/memory.js";

const MIB = 1 << 20;

// Four slots: a process that grows from 10 MiB by 10 each, and one of 5 MiB that ends before the last.
function made(limit = null) {
  const grows = [10, 20, 30, 40].map((mib) => mib * MIB);
  const stays = [5, 5, 5, 0].map((mib) => mib * MIB);
  const row = (pid, rss) => ({ pid, peak: Math.max(...rss), rss, swap: [0, 0, 0, 0], minor_faults: [1, 2, 3, 4],
    major_faults: [0, 0, 1, 0] });
  return memoryOfAnswer({ start: [0, 1, 2, 3], end: [1, 2, 3, 4], rss: grows.map((bytes, i) => bytes + stays[i]),
    swap: [0, MIB, 0, 0], minor_faults: [2, 4, 6, 8], major_faults: [0, 0, 2, 0],
    peak: [15, 25, 60, 40].map((mib) => mib * MIB), limit: [limit, limit, limit, limit],
    processes: [row(1, grows), row(2, stays)], others: 3 });
}

const SPAN = { from: 0, to: 4 };

test("the memory of chosen processes is that of their rows, and of all if one has none", () => {
  const memory = made();
  const one = memoryOf(memory, ["2"]);
  assert.deepEqual(one.slots.map(({ rss }) => rss / MIB), [5, 5, 5, 0]);
  assert.deepEqual(one.slots.map(({ minor, major }) => minor + major), [1, 2, 4, 4]);
  assert.equal(memoryOf(memory, ["2", "9"]), memory);
  assert.equal(memoryOf(memory, []), memory);
});

test("boxes lie within the lane, and a limit is shown unless it is far away", () => {
  for (const [limit, top] of [[null, 60], [100 * MIB, 104], [1000 * MIB, 60]]) {
    const memory = made(limit);
    assert.equal(Math.round(memoryTop(memory, SPAN) / MIB), top);
    const layers = memoryBoxes(memory, SPAN);
    assert.equal(layers.length, MEMORY_LAYERS.length);
    for (const boxes of layers)
      for (const { x0, x1, y0, y1 } of boxes)
        assert.ok(0 <= x0 && x0 < x1 && x1 <= 1 && 0 <= y0 && y0 <= y1 && y1 <= 1);
    const line = layers[MEMORY_LAYERS.indexOf("limit")];
    assert.equal(line.some(({ y0, y1 }) => y1 > y0), limit === 100 * MIB);
  }
  assert.equal(memoryTop(emptyMemory(), SPAN), 0);
  assert.deepEqual(memoryBoxes(emptyMemory(), SPAN), MEMORY_LAYERS.map(() => []));
});

test("a range has grown since the slot before it", () => {
  const memory = made();
  assert.deepEqual(memoryGrowth(memory, { from: 1, to: 3 }), { bytes: 20 * MIB, faults: 12 });
  assert.deepEqual(memoryGrowth(memory, { from: 3, to: 4 }), { bytes: 5 * MIB, faults: 8 });
  assert.equal(memoryGrowth(memory, { from: 7, to: 9 }), null);
  assert.equal(growthText(memory, { from: 1, to: 3 }), "RSS +20 MiB, 12 page faults");
  assert.equal(growthText(memoryOf(memory, ["2"]), { from: 3, to: 4 }), "RSS −5.0 MiB, 4 page faults");
  assert.equal(growthText(memory, { from: 0, to: 0.4 }), "");
});

test("words say what there is, and of whom where there are several", () => {
  assert.equal(memoryText(made(64 * MIB), 2.5),
    "RSS 35 MiB · 8 page faults · 2 from disk · limit 64 MiB · process 1: 30 MiB · process 2: 5.0 MiB · 3 more");
  assert.equal(memoryText(memoryOf(made(), ["1"]), 0), "RSS 10 MiB · 1 page fault");
  assert.equal(memoryText(made(), 1),
    "RSS 25 MiB · swap 1.0 MiB · 4 page faults · process 1: 20 MiB · process 2: 5.0 MiB · 3 more");
  assert.equal(memoryText(made(), 9), "no memory was read");
});

test("the table has a column for each process, and unknown limits are not 0", () => {
  const { columns, rows, caption } = memoryRows(made(), { from: 1, to: 4 });
  assert.equal(columns.length, 9);
  assert.deepEqual(rows.map(({ name, cells }) => [name, ...cells].join(" ")), [
    "0:01 – 0:02 25 MiB 25 MiB 1.0 MiB 4 0 — 20 MiB 5.0 MiB",
    "0:02 – 0:03 35 MiB 60 MiB 0 B 8 2 — 30 MiB 5.0 MiB",
    "0:03 – 0:04 40 MiB 40 MiB 0 B 8 0 — 40 MiB 0 B",
  ]);
  assert.match(caption, / 3 more\.$/);
});
