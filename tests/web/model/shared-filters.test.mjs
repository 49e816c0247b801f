// The cases of tests/filters.json, which tests/unit/profile/test_frame_filters.c runs through the server's half.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { cleanTerm, filterParameters, parseTerm } from "../../../web/model/filters/filter.js";
import { groupTotals } from "../../../web/model/trees/grouping.js";
import { createRecording, currentGrouping, takeDelivery } from "../../../web/model/trees/recording.js";
import { parseSearch } from "../../../web/model/filters/search.js";
import { topDownTree } from "../../../web/model/trees/trees.js";

const { functions, patterns, refused, letters, stacks, cases } = JSON.parse(readFileSync(new URL("../../filters.json", import.meta.url), "utf8"));
const keys = Object.keys(functions);

// What /tree and /view answer of the stacks.
function recordingOf() {
  const strings = [""];
  const idOf = (text) => (strings.includes(text) ? strings.indexOf(text) : strings.push(text) - 1);
  const columns = { name: [0], file: [0], line: [0] };
  for (const [name, file, line] of Object.values(functions)) {
    columns.name.push(idOf(name));
    columns.file.push(idOf(file));
    columns.line.push(line);
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
  const tree = { epoch: "e", generation: 1, since: 0, strings: { first: 0, values: strings }, functions: { first: 0, ...columns }, nodes, threads: { first: 0, process: [0], tid: [7], name: [0], main: [1] }, processes: { first: 0, pid: [7], name: [0] } };
  const recording = createRecording();
  takeDelivery(recording, { restart: true, recount: true, trees: [tree], view });
  return recording;
}

const recording = recordingOf();

function filtered(filters) {
  const grouping = currentGrouping(recording, "function", filters);
  const tree = topDownTree(grouping, groupTotals(grouping, recording.counts));
  const lines = [];
  const walk = [[0, []]];
  while (walk.length > 0) {
    const [id, path] = walk.pop();
    if (tree.self(id) > 0) lines.push(path.join(";") + " " + tree.self(id));
    for (const child of tree.children(id)) walk.push([child, [...path, keys[grouping.frames.function[tree.frame(child)] - 1]]]);
  }
  return lines.sort();
}

test("a pattern matches what it matches on the server", () => {
  for (const [pattern, matched] of patterns) {
    const term = parseTerm("hide " + pattern);
    assert.equal(term.error, null, pattern);
    assert.deepEqual(keys.filter((_, i) => term.matches(recording.profile, i + 1)).sort(), matched.toSorted(), pattern);
  }
});

test("a pattern is refused where the server refuses it", () => {
  for (const pattern of refused) assert.ok(parseTerm("hide " + pattern).error?.length > 10, pattern);
});

test("letters are the same as on the server", () => {
  for (const [kind, expected] of [["same", true], ["other", false]]) {
    for (const [one, other] of letters[kind]) {
      assert.equal(parseSearch(`/${one}/i`).test(other), expected, one + other);
      assert.equal(parseSearch(one).test(other), expected, one + other);
      assert.equal(parseSearch(`/${one}/`).test(other), false, one + other);
    }
  }
});

test("filters leave what they leave on the server", () => {
  for (const [filters, lines] of cases) assert.deepEqual(filtered(filters), lines, filters.join(", "));
});

test("filters are sent as they are", () => {
  assert.deepEqual(filterParameters(["hide libraries", "show-from  Function:a b", "focus /^x/i", "nonsense"]), [["hide", "libraries"], ["show_from", "function:a b"], ["focus", "/^x/i"]]);
  for (const [pattern] of patterns) {
    const [[, sent]] = filterParameters(["hide " + pattern]);
    assert.equal(cleanTerm("hide " + sent), cleanTerm("hide " + pattern));
  }
});
