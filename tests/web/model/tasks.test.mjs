import assert from "node:assert/strict";
import { test } from "node:test";
import { applyTree, createProfile } from "../../../web/model/profile/profile.js";
import { createTasksOffer, emptyTasks, TASK_ROWS_MAX, taskGroups, tasksReason, tasksRequest,
  tasksText } from "../../../web/model/threads/tasks.js";
import { TEXT } from "../../../web/text/session.js";

// Nodes: 1 <task main>, 2 main below it, 3 <task> below that, 4 read, 5 sleep.
function profile() {
  const made = createProfile();
  applyTree(made, {
    epoch: "e",
    generation: 1,
    since: 0,
    strings: { first: 0,
      values: ["", "~", "<task main>", "main", "/srv/app.py", "<task>", "read", "sleep",
        "/usr/lib/python3.13/asyncio/tasks.py"] },
    functions: { first: 0, name: [0, 2, 3, 5, 6, 7], file: [0, 1, 4, 1, 4, 8], line: [0, 0, 5, 0, 10, 600] },
    nodes: { first: 0, parent: [0, 0, 1, 2, 3, 4], function: [0, 1, 2, 3, 4, 5], line: [0, 0, 7, 0, 12, 665] },
    threads: { first: 0, process: [], tid: [], name: [], main: [] },
    processes: { first: 0, pid: [], name: [] },
  });
  return made;
}

const tasks = {
  ...emptyTasks(),
  sampled_s: 10,
  process: [1, 1, 1, 1],
  thread: [1, 1, 1, 1],
  name: ["main", "Task-2", "Task-3", "runner"],
  state: ["waiting", "waiting", "waiting", "running"],
  node: [2, 5, 5, 1],
  first_seen_s: [0, 1, 2, 3],
  unchanged_since_s: [1, 4, 2, 9],
  awaited_by: [[], [0], [0], []],
};

const rowsOf = ({ groups }) => groups.flatMap((group) => group.rows);

test("tasks at the same place are one row, with their stack from who awaits them", () => {
  const made = taskGroups(tasks, profile());
  assert.deepEqual(
    rowsOf(made).map((row) => [row.state, row.count, row.name, row.examples, row.at?.name, row.longest, row.awaiters]),
    [
      ["running", 1, "runner", [], undefined, 1, []],
      ["waiting", 1, "main", [], "main", 9, []],
      ["waiting", 2, "", ["Task-2", "Task-3"], "sleep", 8, ["main"]],
    ],
  );
  assert.deepEqual(rowsOf(made)[2].stack.map((label) => label.raw), ["<task main>", "main", "<task>", "read", "sleep"]);
  assert.equal(tasksText(made), "4 tasks, 1 running, 3 waiting, the longest for 9.00 s.");
  assert.match(tasksText(taskGroups({ ...tasks, limit_reached: true }, profile())), /^4 or more tasks, /);
});

test("equal coroutines are one group, what runs of them too, wherever they wait", () => {
  const made = taskGroups(tasks, profile());
  const short = (
    { coroutine, count, states, at, places, longest },
  ) => [coroutine?.near, count, states, at?.near, places, longest];
  assert.deepEqual(made.groups.map(short), [
    ["srv/app.py:5", 2, [["running", 1], ["waiting", 1]], "srv/app.py:7", 1, 9],
    ["srv/app.py:10", 2, [["waiting", 2]], "asyncio/tasks.py:665", 1, 8],
  ]);
  const one =
    taskGroups({ ...tasks, node: [5, 4, 5, 5], state: ["waiting", "waiting", "waiting", "waiting"] }, profile()).groups;
  assert.deepEqual(one.map(short), [["srv/app.py:10", 4, [["waiting", 4]], "asyncio/tasks.py:665", 2, 9]]);
});

test("a node that is not known yet leaves the stack empty, and hostile names stay text", () => {
  const made = taskGroups({ ...tasks, name: ["\u202eevil", "", "__proto__", "x".repeat(1000)], node: [99, 99, 99, 99] },
    profile());
  assert.deepEqual(made.groups.map(({ coroutine, count }) => [coroutine, count]), [[null, 4]]);
  assert.deepEqual(rowsOf(made).map((row) => row.stack.length), [0, 0, 0, 0]);
  assert.ok(rowsOf(made).every((row) => row.name.length < 300 && !row.name.includes("\u202e")));
});

test("more places than can be shown are counted", () => {
  const many = TASK_ROWS_MAX + 20;
  const column = (value) => Array(many).fill(value);
  const made = taskGroups({ ...tasks, process: column(1), thread: column(1),
    name: Array.from({ length: many }, (_, i) => "n" + i), state: column("waiting"), node: column(2),
    first_seen_s: column(0), unchanged_since_s: column(0), awaited_by: column([]) }, profile());
  assert.deepEqual([made.groups.length, made.groups[0].rows.length, made.groups[0].left, made.groups[0].count,
    made.count], [1, TASK_ROWS_MAX, 20, many, many]);
});

test("why there are none is said, and that greenlets cannot be listed", () => {
  assert.equal(tasksReason(tasks, { settings: { async: "all" } }, true, profile()), null);
  assert.match(tasksReason(emptyTasks(), { settings: {} }, true, profile()), /--async-aware/);
  assert.match(tasksReason(emptyTasks(), { settings: { async: "all" }, source: "live" }, true, profile()),
    new RegExp(TEXT.tasks.none));
  assert.match(tasksReason(emptyTasks(), { settings: { async: "all" }, source: "capture" }, true, profile()),
    /Captures/);
  assert.match(tasksReason(tasks, { settings: { async: "all" } }, false, profile()), /Reports/);
  const gevent = profile();
  gevent.strings[gevent.functionFile.values[4]] = "/srv/venv/lib/python3.13/site-packages/gevent/hub.py";
  assert.equal(tasksReason(emptyTasks(), { settings: {} }, true, gevent), TEXT.tasks.greenlets);
});

test("what runs asyncio is known by its loop", () => {
  const offered = (session, made, live = true) => createTasksOffer()({ live, session, recording: { profile: made } });
  const made = profile();
  assert.deepEqual([offered(null, made), offered({ settings: { async: "all" } }, made)], [false, true]);
  made.strings[made.functionFile.values[5]] = "/usr/lib/python3.13/asyncio/base_events.py";
  assert.deepEqual([offered(null, made), offered(null, made, false)], [true, false]);
});

test("the same is sampled again with tasks by an operator of a host, and nobody else", () => {
  const settings = {
    async: "off",
    rate_hz: 250,
    duration_s: 60,
    threads: "all",
    subprocesses: true,
    mode: "wall",
    native: "off",
    kernel: true,
    kernel_reason: null,
    gc: true,
    opcodes: false,
    engine: "remote",
    engine_reason: null,
    stop: "never",
    max_stop_percent: 1,
    max_cpu_percent: null,
    native_frames: "leaf",
    filters: [{ filter: "hide", pattern: "a" }, { filter: "hide", pattern: "b" }],
  };
  const targets = [{ pid: 7, parent: null, to_s: null }, { pid: 8, parent: 7, to_s: null }, { pid: 9, parent: null,
    to_s: 2 }];
  const access = { scope: "operator", host: true };
  const session = { name: "web", source: "live", settings, targets };
  assert.deepEqual(tasksRequest({ live: true, access, session }), {
    pids: [7],
    rate_hz: 250,
    duration_s: null,
    threads: "all",
    subprocesses: true,
    mode: "wall",
    native: "off",
    kernel: true,
    gc: true,
    opcodes: false,
    engine: "remote",
    stop: "never",
    max_stop_percent: 1,
    hide: ["a", "b"],
    name: "web",
    async: "all",
  });
  for (const other of [{ access: null }, { access: { ...access, scope: "viewer" } }, {
    access: { ...access, host: false },
  }, { live: false }, { session: null }, { session: { ...session, source: "capture" } }, {
    session: { ...session, settings: { ...settings, async: "all" } },
  }, { session: { ...session, targets: targets.slice(2) } }])
    assert.equal(tasksRequest({ live: true, access, session, ...other }), null);
});
