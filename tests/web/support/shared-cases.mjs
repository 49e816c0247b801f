// Cases that the server's half and the page's half must answer alike: tests/NAME.json. tests/support/shared_cases.h says what a file holds.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { parseTerm } from "../../../web/model/filters/filter.js";
import { frameLabel, libraryName } from "../../../web/model/profile/frames.js";
import { groupTotals } from "../../../web/model/trees/grouping.js";
import { createRecording, currentGrouping, takeDelivery } from "../../../web/model/trees/recording.js";
import { topDownTree } from "../../../web/model/trees/trees.js";

// Answers of /tree and /view for the stacks.
function answers({ functions, stacks, interpreter, packages, own_code }) {
  const keys = Object.keys(functions);
  const strings = [""];
  const idOf = (text) => (strings.includes(text) ? strings.indexOf(text) : strings.push(text) - 1);
  const columns = { name: [0], file: [0], line: [0], library: [0] };
  const libraries = { first: 0, path: [0], build_id: [0], interpreter: [0], kernel: [0] };
  const libraryId = (path) => {
    const known = libraries.path.indexOf(idOf(path));
    if (known > 0) return known;
    libraries.build_id.push(0);
    libraries.interpreter.push(Number(path === interpreter));
    libraries.kernel.push(Number(path === "[kernel]"));
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
  return {
    tree: { epoch: "e", generation: 1, since: 0, packages, own_code, strings: { first: 0, values: strings }, libraries,
      functions: { first: 0, ...columns }, nodes, threads: { first: 0, process: [0], tid: [7], name: [0], main: [1] },
      processes: { first: 0, pid: [7], name: [0] } },
    view,
  };
}

function shown(recording, keys, filters, native, showsWaits) {
  const grouping = currentGrouping(recording, "function", filters, native, showsWaits);
  const tree = topDownTree(grouping, groupTotals(grouping, recording.counts));
  const lines = [];
  const walk = [[0, []]];
  const isLibrary = (frame) =>
    native === "library" && libraryName(recording.profile, grouping.frames.function[frame]) !== "";
  const nameOf = (
    frame,
  ) => (isLibrary(frame)
    ? frameLabel(grouping.frames, recording.profile, frame).name
    : keys[grouping.frames.function[frame] - 1]);
  while (walk.length > 0) {
    const [id, path] = walk.pop();
    if (tree.self(id) > 0) lines.push(path.join(";") + " " + tree.self(id));
    for (const child of tree.children(id)) walk.push([child, [...path, nameOf(tree.frame(child))]]);
  }
  return lines.sort();
}

// A recording that has taken the answers.
function recordingOf(tree, view) {
  const recording = createRecording();
  takeDelivery(recording, { restart: true, recount: true, trees: [tree], view });
  return recording;
}

// The profile of cases: their functions are those from 1 on.
export function sharedProfile(cases) {
  const { tree, view } = answers(cases);
  return recordingOf(tree, view).profile;
}

// -> {cases, keys (of functions, from 1 on), answered and view (what /tree and /view answer of the stacks), recording, shown(filters, showsWaits, native): the stacks, as "key;key 6"; checkPatterns(): each matches the functions that it names, and no other}
export function readSharedCases(name) {
  const cases = JSON.parse(readFileSync(new URL("../../" + name, import.meta.url), "utf8"));
  const keys = Object.keys(cases.functions);
  const { tree: answered, view } = answers(cases);
  const recording = recordingOf(answered, view);
  return {
    cases,
    keys,
    recording,
    answered,
    view,
    shown: (filters, showsWaits = false, native = "leaf") => shown(recording, keys, filters, native, showsWaits),
    checkPatterns() {
      for (const [pattern, matched] of cases.patterns) {
        const term = parseTerm("hide " + pattern);
        assert.equal(term.error, null, pattern);
        assert.deepEqual(keys.filter((_, i) => term.matches(recording.profile, i + 1)).sort(), matched.toSorted(),
          pattern);
      }
    },
  };
}
