import assert from "node:assert/strict";
import { test } from "node:test";
import { cleanTerm, exactPattern, parseTerm } from "../../web/model/filter.js";
import { frameLabel } from "../../web/model/frames.js";
import { groupTotals } from "../../web/model/grouping.js";
import { currentGrouping } from "../../web/model/recording.js";
import { topDownTree } from "../../web/model/trees.js";
import { createState, reduce } from "../../web/model/state.js";
import { TEXT } from "../../web/text/session.js";
import { recordingOf } from "./sample.mjs";

// Folded stacks of names, after the filters, as text.
function filtered(stacks, filters) {
  const recording = recordingOf(stacks);
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

test("each verb does what it says, and shares are of what is left", () => {
  assert.deepEqual(filtered(STACKS, []), { lines: ["m 1", "m;a;b;c 4", "m;a;x 3", "m;b;a 2"], sum: 10 });
  assert.deepEqual(filtered(STACKS, ["show function:/^b$/"]), { lines: ["m;a;b;c 4", "m;b;a 2"], sum: 6 });
  assert.deepEqual(filtered(STACKS, ["hide function:/^b$/"]), { lines: ["m 1", "m;a;x 3"], sum: 4 });
  assert.deepEqual(filtered(STACKS, ["merge function:/^a$/"]), { lines: ["m 1", "m;b 2", "m;b;c 4", "m;x 3"], sum: 10 });
  assert.deepEqual(filtered(STACKS, ["focus function:/^b$/"]), { lines: ["b;a 2", "b;c 4"], sum: 6 });
});

test("terms are taken in order: what was cut away is not seen", () => {
  assert.deepEqual(filtered(STACKS, ["focus function:/^b$/", "hide function:/^m$/"]).sum, 6);
  assert.deepEqual(filtered(STACKS, ["hide function:/^m$/", "focus function:/^b$/"]).sum, 0);
  assert.deepEqual(filtered(STACKS, ["merge function:/^b$/", "show function:/^b$/"]).sum, 0);
  assert.deepEqual(filtered(["m;a;b;a;c 5"], ["focus function:/^a$/", "merge function:/^a$/"]), { lines: ["b;c 5"], sum: 5 });
});

test("merging everything leaves the samples, at the root", () => {
  assert.deepEqual(filtered(STACKS, ["merge /./"]), { lines: ["(all) 10"], sum: 10 });
});

test("recursion and a stack of thousands of frames", () => {
  assert.deepEqual(filtered(["m;f;f;f;g 2", "m;f 1"], ["merge function:/^f$/"]), { lines: ["m 1", "m;g 2"], sum: 3 });
  const deep = "m;" + Array.from({ length: 5000 }, () => "f").join(";") + ";g 1";
  assert.deepEqual(filtered([deep], ["merge function:/^f$/", "focus function:/^m$/"]), { lines: ["m;g 1"], sum: 1 });
});

test("terms have one spelling; what is none is said", () => {
  assert.equal(cleanTerm("  Merge   LIBRARY "), "merge libraries");
  assert.equal(cleanTerm("hide  Function:a b"), "hide function:a b");
  assert.equal(cleanTerm("show x:y"), "show x:y");
  for (const text of ["", "hide", "hide ", "drop x", "hide function:", "hide /(/", "hide " + "x".repeat(600)]) {
    assert.equal(cleanTerm(text), null, text);
    assert.ok(parseTerm(text).error.length > 10);
  }
  assert.ok(new RegExp(exactPattern("a.b/*<x>").slice(1, -1)).test("a.b/*<x>"));
  assert.ok(!new RegExp(exactPattern("a.b").slice(1, -1)).test("axb"));
});

test("files, modules and libraries", () => {
  const files = { json: "/usr/lib/python3.13/json/encoder.py", flask: "/srv/.venv/lib/python3.13/site-packages/flask/app.py", own: "/srv/shop/app.py", redacted: "lib/python3.13/json/encoder.py", redactedPackage: "site-packages/flask/app.py" };
  const profile = { strings: ["", "f", ...Object.values(files)], functionName: { values: [0, 1, 1, 1, 1, 1], length: 6 }, functionFile: { values: [0, 2, 3, 4, 5, 6] }, functionLine: { values: [0, 1, 1, 1, 1, 1] } };
  const matched = (text) => [1, 2, 3, 4, 5].filter((id) => parseTerm(text).matches(profile, id));
  assert.deepEqual(matched("merge libraries"), [1, 2, 4, 5]);
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
  const merged = reduce(createState(true), { type: "toggleLibraries" });
  assert.deepEqual(merged.address.filters, ["merge libraries"]);
  assert.deepEqual(reduce(merged, { type: "toggleLibraries" }).address.filters, []);
});
