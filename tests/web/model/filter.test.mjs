import assert from "node:assert/strict";
import { test } from "node:test";
import { cleanTerm, exactPattern, FILTER_VERBS, parseTerm } from "../../../web/model/filters/filter.js";
import { frameLabel } from "../../../web/model/profile/frames.js";
import { groupTotals } from "../../../web/model/trees/grouping.js";
import { createRecording, currentGrouping, takeDelivery } from "../../../web/model/trees/recording.js";
import { topDownTree } from "../../../web/model/trees/trees.js";
import { createState, reduce } from "../../../web/model/page/state.js";
import { TEXT } from "../../../web/text/session.js";
import { answersOf, recordingOf } from "../support/sample.mjs";

// A recording that had no more than half of its nodes when its groupings, with and without the filters, were made.
function grownRecording(stacks, filters) {
  const { tree, view } = answersOf(stacks);
  const half = Math.ceil(tree.nodes.parent.length / 2);
  const part = ({ parent, function: functions, line }, from, to) => ({ first: from, parent: parent.slice(from, to), function: functions.slice(from, to), line: line.slice(from, to) });
  const none = (table) => ({ ...Object.fromEntries(Object.keys(table).map((name) => [name, []])), first: Object.values(table).find(Array.isArray).length });
  const recording = createRecording();
  takeDelivery(recording, { restart: true, recount: true, trees: [{ ...tree, nodes: part(tree.nodes, 0, half) }], view: null });
  for (const terms of [[], filters]) currentGrouping(recording, "function", terms);
  const rest = { ...tree, since: 1, generation: 2, strings: none(tree.strings), functions: none(tree.functions), threads: none(tree.threads), processes: none(tree.processes), nodes: part(tree.nodes, half) };
  takeDelivery(recording, { restart: false, recount: false, trees: [rest], view });
  return recording;
}

// Folded stacks of names, after the filters, as text: the same whether there is a grouping without filters to start from.
function filtered(stacks, filters) {
  const there = recordingOf(stacks);
  currentGrouping(there, "function");
  const made = filteredLines(recordingOf(stacks), filters);
  assert.deepEqual(filteredLines(there, filters), made);
  assert.deepEqual(filteredLines(grownRecording(stacks, filters), filters), made);
  return made;
}

function filteredLines(recording, filters) {
  const grouping = currentGrouping(recording, "function", filters);
  const totals = groupTotals(grouping, recording.counts);
  const tree = topDownTree(grouping, totals);
  const lines = [];
  const walk = [[0, []]];
  while (walk.length > 0) {
    const [id, path] = walk.pop();
    if (tree.self(id) > 0) lines.push((path.join(";") || "(all)") + " " + tree.self(id));
    for (const child of tree.children(id)) walk.push([child, [...path, frameLabel(grouping.frames, recording.profile, tree.frame(child)).name]]);
  }
  return { lines: lines.sort(), sum: totals.sum };
}

const STACKS = ["m;a;b;c 4", "m;a;x 3", "m;b;a 2", "m 1"];
const names = (...wanted) => "function:/^(" + wanted.join("|") + ")$/";

test("focus keeps samples with a matching frame, with their whole stacks", () => {
  assert.deepEqual(filtered(STACKS, []), { lines: ["m 1", "m;a;b;c 4", "m;a;x 3", "m;b;a 2"], sum: 10 });
  assert.deepEqual(filtered(STACKS, ["focus " + names("b")]), { lines: ["m;a;b;c 4", "m;b;a 2"], sum: 6 });
  assert.deepEqual(filtered(STACKS, ["focus " + names("c"), "focus " + names("x")]), { lines: ["m;a;b;c 4", "m;a;x 3"], sum: 7 });
  assert.deepEqual(filtered(["m;f;f;f 2", "m;g 1"], ["focus " + names("f")]), { lines: ["m;f;f;f 2"], sum: 2 });
  assert.deepEqual(filtered(STACKS, ["focus nothing"]), { lines: [], sum: 0 });
});

test("ignore drops samples with a matching frame", () => {
  assert.deepEqual(filtered(STACKS, ["ignore " + names("b")]), { lines: ["m 1", "m;a;x 3"], sum: 4 });
  assert.deepEqual(filtered(STACKS, ["ignore " + names("c"), "ignore " + names("x")]), { lines: ["m 1", "m;b;a 2"], sum: 3 });
  assert.deepEqual(filtered(["m;f;f;g 2", "m;g 1"], ["ignore " + names("f")]), { lines: ["m;g 1"], sum: 1 });
  assert.deepEqual(filtered(STACKS, ["ignore " + names("m")]), { lines: [], sum: 0 });
  assert.deepEqual(filtered(STACKS, ["ignore nothing"]).sum, 10);
});

test("hide removes matching frames; their samples go to the caller, and without a caller they are dropped", () => {
  assert.deepEqual(filtered(STACKS, ["hide " + names("a")]), { lines: ["m 1", "m;b 2", "m;b;c 4", "m;x 3"], sum: 10 });
  assert.deepEqual(filtered(STACKS, ["hide " + names("a"), "hide " + names("b")]), { lines: ["m 3", "m;c 4", "m;x 3"], sum: 10 });
  assert.deepEqual(filtered(STACKS, ["hide " + names("m")]), { lines: ["a;b;c 4", "a;x 3", "b;a 2"], sum: 9 });
  assert.deepEqual(filtered(["m;f;f;f;g 2", "m;f 1"], ["hide " + names("f")]), { lines: ["m 1", "m;g 2"], sum: 3 });
  assert.deepEqual(filtered(STACKS, ["hide /./"]), { lines: [], sum: 0 });
});

test("show keeps only matching frames; samples without one are dropped", () => {
  assert.deepEqual(filtered(STACKS, ["show " + names("b")]), { lines: ["b 6"], sum: 6 });
  assert.deepEqual(filtered(STACKS, ["show " + names("a"), "show " + names("c")]), { lines: ["a 5", "a;c 4"], sum: 9 });
  assert.deepEqual(filtered(["m;f;g;f 2", "m;g 1"], ["show " + names("f")]), { lines: ["f;f 2"], sum: 2 });
  assert.deepEqual(filtered(STACKS, ["show nothing"]), { lines: [], sum: 0 });
});

test("show-from starts stacks at the outermost match and drops those without one", () => {
  assert.deepEqual(filtered(STACKS, ["show-from " + names("b")]), { lines: ["b;a 2", "b;c 4"], sum: 6 });
  assert.deepEqual(filtered(STACKS, ["show-from " + names("b"), "show-from " + names("x")]), { lines: ["b;a 2", "b;c 4", "x 3"], sum: 9 });
  assert.deepEqual(filtered(["m;f;g;f;h 2", "m;g 1"], ["show-from " + names("f")]), { lines: ["f;g;f;h 2"], sum: 2 });
  assert.deepEqual(filtered(STACKS, ["show-from nothing"]), { lines: [], sum: 0 });
});

test("focus and ignore see whole stacks, show-from only what hide and show leave, in whatever order they are given", () => {
  const both = (...filters) => {
    const made = filtered(STACKS, filters);
    assert.deepEqual(filtered(STACKS, filters.toReversed()), made);
    return made;
  };
  assert.deepEqual(both("focus " + names("c"), "hide " + names("c")), { lines: ["m;a;b 4"], sum: 4 });
  assert.deepEqual(both("focus " + names("a"), "ignore " + names("c")), { lines: ["m;a;x 3", "m;b;a 2"], sum: 5 });
  assert.deepEqual(both("ignore " + names("m"), "show-from " + names("b")).sum, 0);
  assert.deepEqual(both("hide " + names("b"), "show-from " + names("b")), { lines: [], sum: 0 });
  assert.deepEqual(both("show " + names("a", "b"), "show-from " + names("b")), { lines: ["b 4", "b;a 2"], sum: 6 });
  assert.deepEqual(both("show " + names("a", "b"), "hide " + names("b")), { lines: ["a 9"], sum: 9 });
});

// Filters stacks as pprof does, written as its source has it: profile/filter.go, FilterSamplesByName and ShowFrom.
function asPprof(stacks, { focus, ignore, hide, show, "show-from": showFrom }) {
  const is = (pattern, frame) => pattern !== undefined && pattern.test(frame);
  const kept = new Map();
  for (const line of stacks) {
    const [path, count] = line.split(" ");
    let frames = path.split(";");
    if (frames.some((frame) => is(ignore, frame)) || (focus !== undefined && !frames.some((frame) => is(focus, frame)))) continue;
    frames = frames.filter((frame) => !is(hide, frame) && (show === undefined || is(show, frame)));
    if (showFrom !== undefined) frames = frames.slice(Math.max(frames.findIndex((frame) => is(showFrom, frame)), frames.some((frame) => is(showFrom, frame)) ? 0 : frames.length));
    if (frames.length > 0) kept.set(frames.join(";"), (kept.get(frames.join(";")) ?? 0) + Number(count));
  }
  return { lines: Array.from(kept, ([path, count]) => path + " " + count).sort(), sum: Array.from(kept.values()).reduce((sum, count) => sum + count, 0) };
}

test("any filters on any stacks leave what pprof leaves", () => {
  let seed = 7;
  const random = (below) => {
    seed = (Math.imul(seed, 1103515245) + 12345) & 0x7fffffff;
    return (seed >> 8) % below;
  };
  const frame = () => "abcdef"[random(6)];
  for (let round = 0; round < 300; round += 1) {
    const stacks = Array.from({ length: 1 + random(8) }, () => Array.from({ length: 1 + random(6) }, frame).join(";") + " " + (1 + random(9)));
    const patterns = Object.fromEntries(FILTER_VERBS.filter(() => random(3) === 0).map((verb) => [verb, new RegExp("^[" + frame() + frame() + "]$")]));
    assert.deepEqual(filtered(stacks, Object.entries(patterns).map(([verb, pattern]) => verb + " function:/" + pattern.source + "/")), asPprof(stacks, patterns), JSON.stringify([stacks, patterns], (_, value) => (value instanceof RegExp ? value.source : value)));
  }
});

test("a stack of thousands of frames", () => {
  const deep = "m;" + Array.from({ length: 5000 }, () => "f").join(";") + ";g 1";
  assert.deepEqual(filtered([deep], ["hide " + names("f"), "show-from " + names("m")]), { lines: ["m;g 1"], sum: 1 });
});

test("terms have one spelling; what is none is said", () => {
  assert.equal(cleanTerm("  Hide   LIBRARY "), "hide libraries");
  assert.equal(cleanTerm("hide  Function:a b"), "hide function:a b");
  assert.equal(cleanTerm("show x:y"), "show x:y");
  assert.equal(cleanTerm("SHOW_FROM file:a"), "show-from file:a");
  for (const text of ["", "hide", "hide ", "drop x", "merge x", "show-fromx", "hide function:", "hide /(/", "hide " + "x".repeat(600)]) {
    assert.equal(cleanTerm(text), null, text);
    assert.ok(parseTerm(text).error.length > 10);
  }
  assert.ok(new RegExp(exactPattern("a.b/*<x>").slice(1, -1)).test("a.b/*<x>"));
  assert.ok(!new RegExp(exactPattern("a.b").slice(1, -1)).test("axb"));
});

test("files, modules and libraries", () => {
  const files = { json: "/usr/lib/python3.13/json/encoder.py", flask: "/srv/.venv/lib/python3.13/site-packages/flask/app.py", own: "/srv/shop/app.py", anonymized: "lib/python3.13/json/encoder.py", anonymizedPackage: "site-packages/flask/app.py" };
  const profile = { packages: {}, strings: ["", "f", ...Object.values(files)], functionName: { values: [0, 1, 1, 1, 1, 1], length: 6 }, functionFile: { values: [0, 2, 3, 4, 5, 6] }, functionLine: { values: [0, 1, 1, 1, 1, 1] }, functionLibrary: { values: [0, 0, 0, 0, 0, 0] }, libraries: [null] };
  const matched = (text) => [1, 2, 3, 4, 5].filter((id) => parseTerm(text).matches(profile, id));
  assert.deepEqual(matched("hide libraries"), [1, 2, 4, 5]);
  assert.deepEqual(matched("show module:flask"), [2, 5]);
  assert.deepEqual(matched("show module:/^app$/"), [3]);
  assert.deepEqual(matched("hide file:app.py"), [2, 3, 5]);
  assert.deepEqual(matched("hide function:app"), []);
});

test("adding filters: a wrong one is said, the same one is not added twice, zoom is given up", () => {
  let state = { ...createState(true) };
  state = reduce(state, { type: "address", changes: { zoom: ["a"], frame: ["a"] } });
  state = reduce(state, { type: "filter", text: "hide  x" });
  assert.deepEqual([state.address.filters, state.address.zoom, state.filterError], [["hide x"], [], ""]);
  state = reduce(state, { type: "filter", text: "nonsense" });
  assert.equal(state.filterError, TEXT.filters.malformed);
  assert.deepEqual(reduce(state, { type: "filter", text: "hide x" }).address.filters, ["hide x"]);
  for (let i = 0; i < 20; i += 1) state = reduce(state, { type: "filter", text: "hide x" + i });
  assert.equal(state.address.filters.length, 16);
  assert.equal(state.filterError, TEXT.filters.tooMany(16));
  const hidden = reduce(createState(true), { type: "toggleLibraries" });
  assert.deepEqual(hidden.address.filters, ["hide libraries"]);
  assert.deepEqual(reduce(hidden, { type: "toggleLibraries" }).address.filters, []);
});
