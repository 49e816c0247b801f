import assert from "node:assert/strict";
import { test } from "node:test";
import { createOwnLines, extendOwnLines, hottestOwnLines, ownProblem, waitingOwnLines } from "../../../web/model/code/own.js";
import { createCounts, takeDelivery, takeRunning } from "../../../web/model/trees/recording.js";
import { createPicture } from "../../../web/model/picture/picture.js";
import { stateOf } from "../support/sample.mjs";
import { createGrouping, extendGrouping } from "../../../web/model/trees/grouping.js";
import { applyTree, createProfile } from "../../../web/model/profile/profile.js";

const LIBRARY = "/usr/lib/python3.13/json/decoder.py";
const PACKAGE = "/srv/venv/lib/python3.13/site-packages/numpy/core.py";

// stacks: [[[function, file, line of the call], …], samples], outermost first
function recordingOf(stacks) {
  const strings = ["", "~"];
  const functions = { first: 0, name: [0], file: [0], line: [0] };
  const nodes = { first: 0, parent: [0], function: [0], line: [0] };
  const stringId = (text) => (strings.includes(text) ? strings.indexOf(text) : strings.push(text) - 1);
  const known = new Map();
  const self = [0];
  for (const [stack, samples] of stacks) {
    let at = 0;
    for (const [name, file, line] of stack) {
      const [key, under] = [name + "\n" + file, at + "\n" + name + "\n" + file + "\n" + line];
      if (!known.has(key)) known.set(key, functions.name.push(stringId(name)) - 1), functions.file.push(stringId(file)), functions.line.push(1);
      if (!known.has(under)) known.set(under, nodes.parent.push(at) - 1), nodes.function.push(known.get(key)), nodes.line.push(line), self.push(0);
      at = known.get(under);
    }
    self[at] += samples;
  }
  const profile = createProfile();
  const none = { first: 0, process: [], tid: [], name: [], main: [], pid: [] };
  applyTree(profile, { epoch: "e", generation: 1, strings: { first: 0, values: strings }, functions, nodes, processes: none, threads: none });
  const counts = { ...createCounts(), self: Float64Array.from(self), total: self.reduce((sum, count) => sum + count, 0) };
  return { profile, counts };
}

function hottest(stacks, patterns = "", filters = [], most = 5) {
  const { profile, counts } = recordingOf(stacks);
  const [lines, grouping] = [createOwnLines(patterns), createGrouping("function", filters)];
  extendOwnLines(lines, profile);
  extendGrouping(grouping, profile);
  const { rows, samples } = hottestOwnLines(lines, profile, grouping, counts, counts, most);
  return { rows: rows.map(({ path, line, name, samples: count }) => [path + ":" + line, name, count]), samples };
}

const STACKS = [
  [[["main", "/srv/app.py", 3], ["load", "/srv/app.py", 10], ["decode", LIBRARY, 40]], 30],
  [[["main", "/srv/app.py", 3], ["load", "/srv/app.py", 10], ["decode", LIBRARY, 41], ["<native>", "~", 0]], 20],
  [[["main", "/srv/app.py", 3], ["load", "/srv/app.py", 11]], 15],
  [[["main", "/srv/app.py", 4], ["dot", PACKAGE, 8], ["callback", "/srv/app.py", 20]], 25],
  [[["run", "<frozen runpy>", 88], ["main", "<string>", 1]], 10],
  [[["<module>", "/srv/venv/bin/serve", 8], ["run", "/srv/venv/lib/python3.13/site-packages/serve.py", 5]], 7],
];

test("a sample counts at the innermost line of your code, whatever that has called", () => {
  assert.deepEqual(hottest(STACKS), { samples: 90, rows: [["/srv/app.py:10", "load", 50], ["/srv/app.py:20", "callback", 25], ["/srv/app.py:11", "load", 15]] });
});

test("what a command runs is your code, what was generated is not", () => {
  assert.deepEqual(hottest([[[["spin", "<command>", 4]], 5], [[["__init__", "<string>", 2]], 9]]).rows, [["<command>:4", "spin", 5]]);
});

test("what waits counts at the line that it waits for, by cause and without what is idle; what runs there does not", () => {
  const query = ["query", "/srv/app.py", 30];
  const stacks = [
    [[query, ["commit", PACKAGE, 1], ["<waits: disk>", "~", 0]], 50], [[query, ["commit", PACKAGE, 1], ["<waits: GIL>", "~", 0]], 10], [[query, ["commit", PACKAGE, 1]], 20],
    [[["serve", "/srv/app.py", 7], ["<waits: event loop>", "~", 0]], 90], [[["lock", "/srv/app.py", 9]], 5], [[["run", LIBRARY, 1], ["<waits: disk>", "~", 0]], 9],
  ];
  const { profile, counts } = recordingOf(stacks);
  const [lines, grouping] = [createOwnLines(""), createGrouping("function")];
  extendOwnLines(lines, profile);
  extendGrouping(grouping, profile);
  // Samples of `commit` are the ones without a mark that run.
  const running = { ...createCounts(), self: counts.self.map((count) => (count === 20 ? count : 0)) };
  const { rows, samples } = waitingOwnLines(lines, profile, grouping, counts, running, 5);
  assert.equal(samples, 65);
  assert.deepEqual(rows.map(({ line, samples: count, causes }) => [line, count, causes.map(({ cause, samples: part }) => cause + " " + part)]), [[30, 60, ["disk 50", "GIL 10"]], [9, 5, [" 5"]]]);
  assert.deepEqual(waitingOwnLines(lines, profile, grouping, counts, null, 1).rows.map(({ samples: count }) => count), [80]);
  assert.deepEqual(hottestOwnLines(lines, profile, grouping, counts, running, 5).rows.map(({ line, samples: count }) => [line, count]), [[30, 20]]);
});

test("patterns say what else is your code", () => {
  assert.deepEqual(hottest(STACKS, "site-packages/numpy, /json\\/dec/").rows.map(([place]) => place), [LIBRARY + ":40", PACKAGE + ":8", LIBRARY + ":41"]);
  assert.deepEqual(hottest(STACKS, " , ").samples, 90);
  assert.equal(ownProblem("src/, /a(/") === null, false);
  assert.equal(ownProblem("src/, /a/"), null);
});

test("only so many lines are shown, the hottest, and only samples that filters leave", () => {
  assert.deepEqual(hottest(STACKS, "", [], 2).rows.map(([place]) => place), ["/srv/app.py:10", "/srv/app.py:20"]);
  assert.deepEqual(hottest(STACKS, "", ["ignore function:decode"]), { samples: 40, rows: [["/srv/app.py:20", "callback", 25], ["/srv/app.py:11", "load", 15]] });
  assert.deepEqual(hottest(STACKS, "", ["hide libraries"]).rows[0], ["/srv/app.py:10", "load", 50]);
});

test("a long name that begins to be many things is judged in one pass", () => {
  const program = Array.from({ length: 50 }, (_, i) => [[["f" + i, "/venvs/".repeat(9000) + i, 1]], 1]);
  const before = process.cpuUsage();
  hottest(program);
  assert.ok(process.cpuUsage(before).user < 5e6);
});

test("lines go on as the profile grows", () => {
  const { profile, counts } = recordingOf(STACKS);
  const lines = createOwnLines("");
  extendOwnLines(lines, profile);
  const grouping = createGrouping("function");
  const add = { first: profile.nodeParent.length, parent: [2], function: [profile.nodeFunction.values[2]], line: [99] };
  const nothing = { first: profile.threads.length, process: [], tid: [], name: [], main: [], pid: [] };
  applyTree(profile, { epoch: "e", generation: 2, strings: { first: profile.strings.length, values: [] }, functions: { first: profile.functionName.length, name: [], file: [], line: [] }, nodes: add, processes: nothing, threads: nothing });
  extendOwnLines(lines, profile);
  extendGrouping(grouping, profile);
  const grown = { ...counts, self: Float64Array.of(...counts.self, 500) };
  assert.deepEqual(hottestOwnLines(lines, profile, grouping, grown, grown, 1).rows.map((row) => [row.line, row.samples]), [[99, 500]]);
});

test("the lists are of what is counted: while it is not known what runs of that, they stay", () => {
  const state = stateOf(["main;work 30", "main;work;<waits: disk> 10"]);
  const { recording } = state;
  const compute = createPicture();
  const own = (anyway) => compute({ ...state, recordingVersion: recording.version }).own(anyway);
  assert.deepEqual([own(false), own(true)], [null, null]);
  const view = { generation: 1, node: [2], self: [30], total: 30 };
  const { version } = recording;
  takeRunning(recording, { recount: true, trees: [], view });
  assert.equal(recording.version, version, "no chart is drawn again");
  assert.deepEqual([own(false).running.samples, own(false).waiting.samples], [30, 10]);
  takeDelivery(recording, { restart: false, recount: false, trees: [], view: { generation: 2, node: [2], self: [30], total: 30 } });
  assert.equal(own(false), null);
  assert.equal(own(true).running.samples, 30);
  takeRunning(recording, { recount: false, trees: [], view: { ...view, generation: 2 } });
  assert.deepEqual([own(false).running.samples, own(false).waiting.samples], [60, 10]);
  takeRunning(recording, { recount: false, trees: [], view: { ...view, generation: 3, self: [7] } });
  assert.equal(own(false).running.samples, 60, "no more than is counted");
  takeDelivery(recording, { restart: false, recount: true, trees: [], view: { generation: 2, node: [2], self: [5], total: 5 } });
  assert.deepEqual([own(false), own(true)], [null, null]);
});
