// The cases of tests/native-frames.json, which tests/unit/profile/test_native_frames.c runs through the server's half.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { parseTerm } from "../../../web/model/filters/filter.js";
import { defaultAddress, formatAddress, parseAddress } from "../../../web/model/page/address.js";
import { frameLabel, hasSource, libraryName } from "../../../web/model/profile/frames.js";
import { groupTotals } from "../../../web/model/trees/grouping.js";
import { NATIVE_SETTINGS, nativeSetting } from "../../../web/model/trees/native.js";
import { createRecording, currentGrouping, takeBaseline, takeDelivery } from "../../../web/model/trees/recording.js";
import { bottomUpTree, createMergedNames, topDownTree } from "../../../web/model/trees/trees.js";

const { functions, interpreter, patterns, stacks, cases } = JSON.parse(readFileSync(new URL("../../native-frames.json", import.meta.url), "utf8"));
const keys = Object.keys(functions);

// What /tree and /view answer of the stacks.
function answers() {
  const strings = [""];
  const idOf = (text) => (strings.includes(text) ? strings.indexOf(text) : strings.push(text) - 1);
  const columns = { name: [0], file: [0], line: [0], library: [0] };
  const libraries = { first: 0, path: [0], build_id: [0], interpreter: [0] };
  const libraryId = (path) => {
    const known = libraries.path.indexOf(idOf(path));
    if (known > 0) return known;
    libraries.build_id.push(0);
    libraries.interpreter.push(Number(path === interpreter));
    return libraries.path.push(idOf(path)) - 1;
  };
  for (const [name, file, line, library] of Object.values(functions)) {
    columns.name.push(idOf(name));
    columns.file.push(idOf(file));
    columns.line.push(line);
    columns.library.push(library === undefined ? 0 : libraryId(library));
  }
  const nodes = { first: 0, parent: [0], function: [0], line: [0] };
  const view = { epoch: "e", generation: 1, since: 0, total: 0, node: [], self: [] };
  for (const [stack, count] of stacks) {
    let parent = 0;
    for (const key of stack.split(";")) {
      nodes.parent.push(parent);
      nodes.line.push(1);
      parent = nodes.function.push(keys.indexOf(key) + 1) - 1;
    }
    view.node.push(parent);
    view.self.push(count);
  }
  return { tree: { epoch: "e", generation: 1, since: 0, strings: { first: 0, values: strings }, libraries, functions: { first: 0, ...columns }, nodes, threads: { first: 0, process: [0], tid: [7], name: [0], main: [1] }, processes: { first: 0, pid: [7], name: [0] } }, view };
}

const { tree: answered, view } = answers();
const recording = createRecording();
takeDelivery(recording, { restart: true, recount: true, trees: [answered], view });
const { profile } = recording;

function shown(native, filters) {
  const grouping = currentGrouping(recording, "function", filters, native);
  const tree = topDownTree(grouping, groupTotals(grouping, recording.counts));
  const lines = [];
  const walk = [[0, []]];
  const nameOf = (frame) => (native === "library" && libraryName(profile, grouping.frames.function[frame]) !== "" ? frameLabel(grouping.frames, profile, frame).name : keys[grouping.frames.function[frame] - 1]);
  while (walk.length > 0) {
    const [id, path] = walk.pop();
    if (tree.self(id) > 0) lines.push(path.join(";") + " " + tree.self(id));
    for (const child of tree.children(id)) walk.push([child, [...path, nameOf(tree.frame(child))]]);
  }
  return lines.sort();
}

test("a pattern matches what it matches on the server", () => {
  for (const [pattern, matched] of patterns) {
    const term = parseTerm("hide " + pattern);
    assert.equal(term.error, null, pattern);
    assert.deepEqual(keys.filter((_, i) => term.matches(profile, i + 1)).sort(), matched.toSorted(), pattern);
  }
});

test("stacks are what they are on the server", () => {
  for (const [native, filters, lines] of cases) assert.deepEqual(shown(native, filters), lines.toSorted(), native + " " + filters.join(", "));
});

test("bottom-up trees have the samples of top-down ones", () => {
  for (const native of NATIVE_SETTINGS) {
    const grouping = currentGrouping(recording, "function", [], native);
    const totals = groupTotals(grouping, recording.counts);
    const tree = bottomUpTree(createMergedNames(), grouping, totals);
    assert.equal(tree.children(0).reduce((sum, id) => sum + tree.total(id), 0), totals.sum, native);
  }
});

test("a label names the library, and the place its source or its library", () => {
  const { frames } = currentGrouping(recording, "function", [], "all");
  const label = (key) => frameLabel(frames, profile, frames.function.indexOf(keys.indexOf(key) + 1));
  assert.deepEqual([label("gemm").library, label("gemm").hue, label("gemm").label], ["libopenblas-r0.so", "native", "cblas_dgemm  libopenblas-r0.so"]);
  assert.equal(label("own").place, "/srv/own.cc:7");
  assert.equal(label("main").library, "");
  assert.deepEqual(["own", "gemm", "main", "gc"].map((key) => hasSource(profile, keys.indexOf(key) + 1)), [true, false, true, false]);
});

test("functions of a baseline are those of the same library", () => {
  const two = createRecording();
  takeDelivery(two, { restart: true, recount: true, trees: [answered], view });
  const before = two.profile.functionName.length;
  takeBaseline(two, { trees: [], other: { ...answered, epoch: "other" }, view });
  assert.equal(two.profile.functionName.length, before);
  assert.equal(two.baseline.total, two.counts.total);
});

test("the address has the choice, a session or a report the default", () => {
  const address = { ...defaultAddress(), native: "library" };
  assert.equal(parseAddress(formatAddress(address)).native, "library");
  assert.equal(parseAddress("v=1&native=full").native, null);
  assert.equal(nativeSetting(address, null, true), "library");
  const chosen = defaultAddress();
  assert.equal(nativeSetting(chosen, null, true), "leaf");
  assert.equal(nativeSetting(chosen, { settings: { native_frames: "hidden" } }, true), "hidden");
  assert.equal(nativeSetting(chosen, { selection: { native: "everything" } }, false), "leaf");
  assert.equal(nativeSetting(chosen, { selection: { native: "all" } }, false), "all");
});

test("a library that does not exist is refused", () => {
  const bad = { ...answered, functions: { ...answered.functions, library: answered.functions.library.map(() => 99) } };
  assert.throws(() => takeDelivery(createRecording(), { restart: true, recount: true, trees: [bad], view }), RangeError);
});
