// Threads with alike names as one row, silent ones folded away, the busiest first.

import assert from "node:assert/strict";
import { test } from "node:test";
import { createSums } from "../../../web/model/profile/states.js";
import { ALIKE_LEAST, alikeThreads, byCpu, threadPattern } from "../../../web/model/threads/alike.js";

const thread = (id, name, more = {}) => ({ ids: [id], tid: 100 + id, name, main: false, tasks: false, ...more });

// on_cpu is the first fact.
function states(entries) {
  return new Map(entries.map(([id, cpu, samples = 100, generation = 500]) => {
    const sums = createSums();
    sums.samples = samples;
    sums.yes[0] = cpu;
    return [id, Object.assign(sums, { generation })];
  }));
}

test("numbers and hexadecimal words make no other pattern", () => {
  const same = (...names) => assert.equal(new Set(names.map(threadPattern)).size, 1, names.join());
  same("AnyIO worker thread", "AnyIO worker thread 7", "AnyIO worker thread-12");
  same("ThreadPoolExecutor-0_1", "ThreadPoolExecutor-12_345");
  same("Thread-5 (serve)", "Thread-6 (serve)");
  same("conn 7f3a91c2", "conn 0011aabb", "conn 0x1F");
  assert.equal(threadPattern("ThreadPoolExecutor-0_1"), "ThreadPoolExecutor");
  assert.equal(threadPattern("Thread-5 (serve)"), "Thread-# (serve)");
  assert.equal(threadPattern("12"), "#");
  assert.notEqual(threadPattern("decade"), threadPattern("facade"));
  assert.notEqual(threadPattern("feed"), threadPattern("pool"));
});

test("alike threads are one row, others rows of their own, by CPU", () => {
  const pool = Array.from({ length: ALIKE_LEAST }, (_, i) => thread(i, "pool-" + i));
  const main = thread(10, "MainThread", { main: true });
  const few = [thread(11, "io-1"), thread(12, "io-2"), thread(13, "")];
  const rows = alikeThreads([main, ...pool, ...few],
    states([[0, 5], [1, 9], [2, 0], [3, 1], [10, 12], [11, 90], [12, 0, 7], [13, 0, 9]]));
  assert.deepEqual(rows.map((row) => [row.pattern, row.threads.map(({ ids }) => ids[0])]), [[null, [11]], ["pool", [1,
    0, 3, 2]], [null, [10]], [null, [13]], [null, [12]]]);
});

test("what has had no samples lately is folded away, unless nothing is known of when", () => {
  const threads = [thread(1, "a"), thread(2, "b"), thread(3, "c")];
  const rows = alikeThreads(threads, states([[1, 5, 100, 500], [2, 50, 100, 460], [3, 1, 100, 461]]));
  assert.deepEqual(rows.map((row) => [row.silent, row.threads.map(({ ids }) => ids[0])]), [[false, [1]], [false, [3]], [
    true,
    [2],
  ]]);
  assert.ok(alikeThreads(threads, states([[1, 5, 100, 0], [2, 50, 100, 0]])).every((row) => !row.silent));
  assert.ok(alikeThreads(threads, new Map()).every((row) => !row.silent));
});

test("ten thousand threads are arranged without comparing each with each", () => {
  const threads = Array.from({ length: 10000 }, (_, i) => thread(i, "worker " + i));
  const rows = alikeThreads(threads, states(threads.map((one, i) => [i, i % 97])));
  assert.deepEqual([rows.length, rows[0].threads.length, rows[0].pattern], [1, 10000, "worker"]);
  assert.equal(byCpu(threads, states([[7, 1]]))[0].tid, 107);
});
