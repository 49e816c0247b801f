import assert from "node:assert/strict";
import { test } from "node:test";
import { applyTree, createProfile, functionCount, nodeCount } from "../../../web/model/profile/profile.js";
import { applyView, createCounts, createRecording, takeDelivery } from "../../../web/model/trees/recording.js";
import { answersOf } from "../support/sample.mjs";

test("tables grow by what is new, and a row sent twice is one row", () => {
  const profile = createProfile();
  const { tree } = answersOf(["main;work 3"]);
  applyTree(profile, tree);
  applyTree(profile, { ...tree, generation: 2 });
  assert.equal(nodeCount(profile), 3);
  assert.equal(functionCount(profile), 3);
  assert.equal(profile.generation, 2);
  assert.deepEqual(profile.threads.map((thread) => thread.name), ["MainThread"]);
});

test("a gap in the rows is refused", () => {
  const profile = createProfile();
  const { tree } = answersOf(["main;work 3"]);
  assert.throws(() => applyTree(profile, { ...tree, nodes: { ...tree.nodes, first: 1 } }), RangeError);
});

test("rows that point nowhere are refused", () => {
  const { tree } = answersOf(["main;work 3"]);
  const broken = [
    { ...tree, nodes: { ...tree.nodes, parent: [0, 2, 1] } },
    { ...tree, nodes: { ...tree.nodes, function: [0, 99, 1] } },
    { ...tree, functions: { ...tree.functions, name: [0, 99, 1] } },
    { ...tree, functions: { ...tree.functions, file: [0, -1, 1] } },
    { ...tree, nodes: { ...tree.nodes, parent: [0, "0", 1] } },
  ];
  for (const other of broken) assert.throws(() => applyTree(createProfile(), other), RangeError);
});

test("packages stay when what is new brings none, and a path is no property", () => {
  const profile = createProfile();
  const { tree } = answersOf(["a 1"]);
  assert.equal(profile.packages.constructor, undefined);
  applyTree(profile, { ...tree, packages: { "/srv/six.py": "six" } });
  applyTree(profile, { ...tree, since: 1 });
  assert.deepEqual({ ...profile.packages }, { "/srv/six.py": "six" });
  assert.equal(profile.packages.constructor, undefined);
});

test("another epoch is refused", () => {
  const profile = createProfile();
  applyTree(profile, answersOf(["a 1"]).tree);
  assert.throws(() => applyTree(profile, answersOf(["a 1"], { epoch: "e2" }).tree), RangeError);
});

test("increments of a view add up", () => {
  const counts = createCounts();
  applyView(counts, { generation: 1, node: [1, 2], self: [3, 4] }, 3);
  applyView(counts, { generation: 2, node: [2], self: [5] }, 3);
  assert.deepEqual(Array.from(counts.self.slice(0, 3)), [0, 3, 9]);
  assert.equal(counts.total, 12);
});

test("a view of nodes nobody has is refused", () => {
  assert.throws(() => applyView(createCounts(), { generation: 1, node: [3], self: [1] }, 3), RangeError);
  assert.throws(() => applyView(createCounts(), { generation: 1, node: [1], self: [-1] }, 3), RangeError);
});

test("a restart forgets everything and still counts versions up", () => {
  const recording = createRecording();
  const one = answersOf(["a;b 2"]);
  takeDelivery(recording, { restart: true, recount: true, trees: [one.tree], view: one.view });
  const two = answersOf(["c 5"], { epoch: "e2" });
  takeDelivery(recording, { restart: true, recount: true, trees: [two.tree], view: two.view });
  assert.equal(recording.counts.total, 5);
  assert.equal(nodeCount(recording.profile), 2);
  assert.equal(recording.version, 2);
});

test("a recount forgets the counts only", () => {
  const recording = createRecording();
  const one = answersOf(["a;b 2"]);
  takeDelivery(recording, { restart: true, recount: true, trees: [one.tree], view: one.view });
  takeDelivery(recording, { restart: false, recount: true, trees: [], view: { ...one.view, self: [1] } });
  assert.equal(recording.counts.total, 1);
});

test("columns grow far beyond their first size", () => {
  const stacks = Array.from({ length: 5000 }, (_, i) => "f" + i + " 1");
  const { tree, view } = answersOf(stacks);
  const recording = createRecording();
  takeDelivery(recording, { restart: true, recount: true, trees: [tree], view });
  assert.equal(recording.counts.total, 5000);
});
