import assert from "node:assert/strict";
import { test } from "node:test";
import { frameKey, frameLabel, isSynthetic, originOf } from "../../../web/model/profile/frames.js";
import { countFrames, groupTotals } from "../../../web/model/trees/grouping.js";
import { currentGrouping, takeDelivery } from "../../../web/model/trees/recording.js";
import { heldRows, nameRanks, sortedRows, tableRows, topFrames } from "../../../web/model/code/table.js";
import { bottomUpTree, createMergedNames, resolveKeys, topDownTree, treeKeys } from "../../../web/model/trees/trees.js";
import { answersOf, recordingOf } from "../support/sample.mjs";

function treeOf(lines, by = "function") {
  const recording = recordingOf(lines);
  const grouping = currentGrouping(recording, by);
  const totals = groupTotals(grouping, recording.counts);
  return { recording, grouping, totals, profile: recording.profile };
}

const nameOf = ({ grouping, profile }, tree, id) => frameLabel(grouping.frames, profile, tree.frame(id)).name;

function asText(seen, tree, id = 0, level = 0) {
  const below = Array.from(tree.children(id)).sort((a, b) => (nameOf(seen, tree, a) < nameOf(seen, tree, b) ? -1 : 1));
  return below.flatMap((child) => [" ".repeat(level) + nameOf(seen, tree, child) + " " + tree.total(child), ...asText(seen, tree, child, level + 1)]);
}

test("totals are what is below, self is what is here", () => {
  const seen = treeOf(["a 1", "a;b 2", "a;b;c 4", "d 8"]);
  const tree = topDownTree(seen.grouping, seen.totals);
  assert.deepEqual(asText(seen, tree), ["a 7", " b 6", "  c 4", "d 8"]);
  assert.equal(seen.totals.sum, 15);
});

test("by function the lines of one function are one frame, by line they are not", () => {
  const lines = ["a:1;b 2", "a:2;b 3", "a:2 1"];
  const byFunction = treeOf(lines);
  assert.deepEqual(asText(byFunction, topDownTree(byFunction.grouping, byFunction.totals)), ["a 6", " b 5"]);
  const byLine = treeOf(lines, "line");
  assert.deepEqual(asText(byLine, topDownTree(byLine.grouping, byLine.totals)).sort(), [" b 2", " b 3", "a 2", "a 4"]);
});

test("bottomUp, the running functions come first and their callers below, merged", () => {
  const seen = treeOf(["a;x 1", "b;x 2", "a;b;x 4", "a 8"]);
  const tree = bottomUpTree(createMergedNames(), seen.grouping, seen.totals);
  assert.deepEqual(asText(seen, tree), ["a 8", "x 7", " a 1", " b 6", "  a 4"]);
});

test("bottomUp totals of the first level add up to all samples", () => {
  const seen = treeOf(["a;b;c 5", "a;c 3", "c 2", "a;b 7"]);
  const tree = bottomUpTree(createMergedNames(), seen.grouping, seen.totals);
  assert.equal(tree.children(0).reduce((sum, id) => sum + tree.total(id), 0), seen.totals.sum);
});

test("recursion is kept as it was, in both directions", () => {
  const seen = treeOf(["f;f;f 2", "f;f 1"]);
  assert.deepEqual(asText(seen, topDownTree(seen.grouping, seen.totals)), ["f 3", " f 3", "  f 2"]);
  assert.deepEqual(asText(seen, bottomUpTree(createMergedNames(), seen.grouping, seen.totals)), ["f 3", " f 3", "  f 2"]);
});

test("ids stay the same while the profile grows", () => {
  const recording = recordingOf(["m;z 1"]);
  const ids = (by) => {
    const grouping = currentGrouping(recording, by);
    const totals = groupTotals(grouping, recording.counts);
    const tree = topDownTree(grouping, totals);
    const bottomUp = bottomUpTree(grouping.bottomUpNames, grouping, totals);
    const z = resolveKeys(tree, grouping.frames, recording.profile, treeKeys(tree, grouping.frames, recording.profile, 2)).id;
    return [z, Array.from(bottomUp.children(0)).find((id) => frameLabel(grouping.frames, recording.profile, bottomUp.frame(id)).name === "z")];
  };
  const before = ids("function");
  const more = answersOf(["m;z 1", "m;a 5", "b 3"], { generation: 2 });
  takeDelivery(recording, { restart: false, recount: true, trees: [more.tree], view: more.view });
  assert.deepEqual(ids("function"), before);
});

test("a path of keys leads back to its frame, and as far as there is one", () => {
  const seen = treeOf(["a;b;c 1", "a;d 1"]);
  const tree = topDownTree(seen.grouping, seen.totals);
  const frames = seen.grouping.frames;
  const keys = treeKeys(tree, frames, seen.profile, 3);
  assert.equal(keys.length, 3);
  assert.deepEqual(resolveKeys(tree, frames, seen.profile, keys), { id: 3, missing: 0 });
  assert.deepEqual(resolveKeys(tree, frames, seen.profile, [...keys, "zzz", "y"]), { id: 3, missing: 2 });
  const bottomUp = bottomUpTree(createMergedNames(), seen.grouping, seen.totals);
  const [leaf] = bottomUp.children(0);
  assert.equal(resolveKeys(bottomUp, frames, seen.profile, treeKeys(bottomUp, frames, seen.profile, leaf)).id, leaf);
});

test("keys depend on name, file and line, not on ids", () => {
  const one = treeOf(["a;b 1"]);
  const two = treeOf(["x 1", "b 1", "a 2"]);
  const keyOf = (seen, name) => {
    const frames = seen.grouping.frames;
    const frame = frames.function.findIndex((_, at) => at > 0 && frameLabel(frames, seen.profile, at).name === name);
    return frameKey(frames, seen.profile, frame);
  };
  assert.equal(keyOf(one, "b"), keyOf(two, "b"));
  assert.notEqual(keyOf(one, "a"), keyOf(one, "b"));
});

test("names that are properties of objects are just names", () => {
  const seen = treeOf(["__proto__;constructor;toString 3", "hasOwnProperty 1"]);
  assert.deepEqual(asText(seen, topDownTree(seen.grouping, seen.totals)), ["__proto__ 3", " constructor 3", "  toString 3", "hasOwnProperty 1"]);
});

test("synthetic frames are distinguished from functions that only look like them", () => {
  const { profile, grouping } = treeOf(["<native> 1", "<lambda> 1"]);
  const kinds = [1, 2].map((frame) => isSynthetic(profile, grouping.frames.function[frame]));
  assert.deepEqual(kinds, [true, false]);
  assert.equal(originOf(profile, grouping.frames.function[2]).kind, "own");
});

test("the table counts a sample once however often a function recurs", () => {
  const seen = treeOf(["f;f;f 2", "f;g;f 3", "g 5"]);
  const rows = tableRows(countFrames(seen.grouping, seen.totals));
  const found = rows.map((row) => [frameLabel(seen.grouping.frames, seen.profile, row.frame).name, row.self, row.total]);
  assert.deepEqual(found.sort(), [["f", 5, 5], ["g", 5, 8]]);
});

test("equal rows of the table keep their order, whatever their numbers are", () => {
  for (const scale of [1, 0.5, 2 ** 51]) {
    const rows = [{ frame: 2, self: scale }, { frame: 1, self: scale }, { frame: 3, self: 2 * scale }];
    const order = (sort, descending) => sortedRows(rows, sort, descending, [0, 1, 2, 3]).map((row) => row.frame);
    assert.deepEqual(order("self", true), [3, 1, 2]);
    assert.deepEqual(order("self", false), [1, 2, 3]);
    assert.deepEqual(order("name", true), [3, 2, 1]);
    assert.deepEqual(order("name", false), [1, 2, 3]);
  }
});

test("names are put in order by function and file, lines of a function by number", () => {
  const seen = treeOf(["b:10 1", "b:9 1", "a:2 1", "b:100 1", "__proto__:1 1"], "line");
  const ranks = nameRanks(seen.grouping.frames, seen.profile);
  const named = tableRows(countFrames(seen.grouping, seen.totals)).sort((a, b) => ranks[a.frame] - ranks[b.frame]);
  assert.deepEqual(named.map((row) => frameLabel(seen.grouping.frames, seen.profile, row.frame).label), ["__proto__  app/__proto__.py:1", "a  app/a.py:2", "b  app/b.py:9", "b  app/b.py:10", "b  app/b.py:100"]);
});

test("the hottest rows are the first of all of them sorted", () => {
  const counts = Float64Array.from({ length: 501 }, (_, frame) => (frame * 7919) % 61);
  const ranks = Int32Array.from({ length: 501 }, (_, i) => i);
  const rows = Array.from(counts, (self, frame) => ({ frame, self })).filter((row) => row.frame > 0 && row.self > 0);
  const sorted = sortedRows(rows, "self", true, ranks).map((row) => row.frame);
  for (const most of [1, 12, 400, 600]) assert.deepEqual(topFrames(counts, most), sorted.slice(0, most));
});

test("a stack of 10,000 frames goes through everything without recursion", () => {
  const deep = Array.from({ length: 10000 }, (_, i) => (i % 2 ? "f" : "g")).join(";") + " 4";
  const seen = treeOf([deep, "g 1"]);
  const tree = topDownTree(seen.grouping, seen.totals);
  assert.equal(treeKeys(tree, seen.grouping.frames, seen.profile, 10000).length, 10000);
  assert.equal(tableRows(countFrames(seen.grouping, seen.totals)).length, 2);
  const bottomUp = bottomUpTree(createMergedNames(), seen.grouping, seen.totals);
  let id = 0;
  let depth = 0;
  for (let next = bottomUp.children(0); next.length > 0; next = bottomUp.children(id)) {
    id = next.reduce((best, child) => (bottomUp.total(child) > bottomUp.total(best) ? child : best));
    depth += 1;
  }
  assert.equal(depth, 10000);
});

test("held rows keep their places: what is gone is left out, what is new comes last", () => {
  const row = (frame, self) => ({ frame, self });
  const held = heldRows([row(3, 9), row(4, 7), row(1, 5)], [row(1, 4), row(2, 3), row(3, 2)]);
  assert.deepEqual(held, [row(1, 5), row(3, 9), row(4, 7)]);
});

test("of many groupings the last few that were used are kept", () => {
  const recording = recordingOf(["a;b 1"]);
  const plain = currentGrouping(recording, "function");
  const filtered = Array.from({ length: 20 }, (_, i) => {
    const grouping = currentGrouping(recording, "function", ["hide b" + i]);
    assert.equal(currentGrouping(recording, "function"), plain);
    return grouping;
  });
  assert.equal(currentGrouping(recording, "function", ["hide b19"]), filtered[19]);
  assert.notEqual(currentGrouping(recording, "function", ["hide b0"]), filtered[0]);
});
