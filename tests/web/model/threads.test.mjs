import assert from "node:assert/strict";
import { test } from "node:test";
import { groupThreads, listThreads, processLabel, resolveThreads, threadIds, threadLabel, threadPlace,
  threadsWithStates } from "../../../web/model/threads/threads.js";

const profile = {
  processes: [{ pid: 100, name: "app" }],
  threads: [
    { id: 0, process: 0, tid: 20, name: "Thread-10", main: false },
    { id: 1, process: 0, tid: 10, name: "MainThread", main: true },
    { id: 2, process: 0, tid: 21, name: "Thread-9", main: false },
    { id: 3, process: 0, tid: 20, name: "renamed", main: false },
    { id: 4, process: 0, tid: 22, name: "", main: false },
    { id: 5, process: 0, tid: 23, name: "Thread-9", main: false },
  ],
};

test("the main thread comes first, then names as people count", () => {
  assert.deepEqual(listThreads(profile).map(threadLabel), ["MainThread", "renamed", "Thread 22", "Thread-9",
    "Thread-9"]);
});

test("a renamed thread is one thread with all its rows", () => {
  const thread = listThreads(profile).find((candidate) => candidate.tid === 20);
  assert.deepEqual(thread.ids, [0, 3]);
  assert.equal(thread.name, "renamed");
});

test("threads stand with their processes, as these joined", () => {
  const several = {
    processes: [{ pid: 300, name: "/usr/bin/python3" }, { pid: 100, name: "" }],
    threads: [
      { id: 0, process: 1, tid: 100, name: "MainThread", main: true },
      { id: 1, process: 0, tid: 301, name: "feed", main: false },
      { id: 2, process: 0, tid: 300, name: "MainThread", main: true },
    ],
  };
  const threads = listThreads(several);
  const groups = groupThreads(threads);
  assert.deepEqual(groups.map((group) => [group.pid, processLabel(group), group.threads.map((thread) => thread.tid)]), [
    [300, "python3", [300, 301]],
    [100, "Process 100", [100]],
  ]);
  assert.equal(threadPlace(threads[0], threads), "MainThread of 300");
  assert.equal(threadPlace(threads[0], groups[0].threads), "MainThread");
  assert.deepEqual(groupThreads([]), []);
});

test("waiting tasks are no thread whose states count, unless they are asked for", () => {
  const threads = listThreads({
    processes: [{ pid: 100, name: "app" }],
    threads: [
      { id: 0, process: 0, tid: 100, name: "MainThread", main: true },
      { id: 1, process: 0, tid: 0, name: "waiting tasks", main: false },
      // Until 3.10 a thread may have no number that is known.
      { id: 2, process: 0, tid: 0, name: "worker", main: false },
      { id: 3, process: 0, tid: 101, name: "waiting tasks", main: false },
    ],
  });
  const tasks = threads.filter((thread) => thread.tasks);
  assert.deepEqual(threadIds(tasks), [1]);
  assert.deepEqual(threadIds(threadsWithStates([], threads)), [0, 2, 3]);
  assert.deepEqual(threadsWithStates(tasks, threads), tasks);
});

test("threads of unknown number are apart by their names", () => {
  const row = (id, name) => ({ id, process: 0, tid: 0, name, main: false });
  const threads = listThreads({ processes: [{ pid: 7, name: "app.py" }],
    threads: [row(0, "one"), row(1, "two"), row(2, "one"), row(3, "waiting tasks")] });
  assert.deepEqual(threads.map(({ name, ids, tasks }) => [name, ids, tasks]), [["one", [0, 2], false], ["two", [1],
    false], ["waiting tasks", [3], true]]);
});

test("a link finds the thread by its number and any of its names", () => {
  const { chosen, missing } = resolveThreads(listThreads(profile), [{ tid: 20, name: "Thread-10" }, { tid: 22,
    name: "" }]);
  assert.deepEqual(threadIds(chosen), [0, 3, 4]);
  assert.equal(missing, 0);
});

test("in another run a link finds threads of the same name", () => {
  const { chosen, missing } = resolveThreads(listThreads(profile), [{ tid: 999, name: "Thread-9" }, { tid: 998,
    name: "gone" }]);
  assert.deepEqual(threadIds(chosen), [2, 5]);
  assert.equal(missing, 1);
});

test("a link to a process finds all its threads, also new ones", () => {
  const several = { processes: [{ pid: 300, name: "a" }, { pid: 100, name: "b" }],
    threads: [{ id: 0, process: 0, tid: 300, name: "MainThread", main: true }, { id: 1, process: 1, tid: 100,
      name: "MainThread", main: true }, { id: 2, process: 1, tid: 101, name: "feed", main: false }] };
  const { chosen, missing } = resolveThreads(listThreads(several), [{ tid: 300, name: "MainThread" }], [100, 7]);
  assert.deepEqual([threadIds(chosen), missing], [[0, 1, 2], 1]);
  assert.deepEqual(threadIds(resolveThreads(listThreads(several), [], [100]).chosen), [1, 2]);
});
