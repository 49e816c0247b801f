// Cases that the server's half and the page's half must answer alike: tests/NAME.json. tests/support/shared_cases.h says what a file holds.

import { readFileSync } from "node:fs";
import { groupTotals } from "../../../web/model/trees/grouping.js";
import { createRecording, currentGrouping, takeDelivery } from "../../../web/model/trees/recording.js";
import { topDownTree } from "../../../web/model/trees/trees.js";

// What /tree and /view answer of the stacks.
function answers({ functions, stacks }) {
  const keys = Object.keys(functions);
  const strings = [""];
  const idOf = (text) => (strings.includes(text) ? strings.indexOf(text) : strings.push(text) - 1);
  const columns = { name: [0], file: [0], line: [0], library: [0] };
  const libraries = { first: 0, path: [0], build_id: [0], interpreter: [0] };
  for (const [name, file, line] of Object.values(functions)) {
    columns.name.push(idOf(name));
    columns.file.push(idOf(file));
    columns.line.push(line);
    columns.library.push(0);
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

function shown(recording, keys, filters, showsWaits) {
  const grouping = currentGrouping(recording, "function", filters, "leaf", showsWaits);
  const tree = topDownTree(grouping, groupTotals(grouping, recording.counts));
  const lines = [];
  const walk = [[0, []]];
  const nameOf = (frame) => keys[grouping.frames.function[frame] - 1];
  while (walk.length > 0) {
    const [id, path] = walk.pop();
    if (tree.self(id) > 0) lines.push(path.join(";") + " " + tree.self(id));
    for (const child of tree.children(id)) walk.push([child, [...path, nameOf(tree.frame(child))]]);
  }
  return lines.sort();
}

// -> {cases, keys (of functions, from 1 on), recording, shown(filters, showsWaits): the stacks, as "key;key 6"}
export function readSharedCases(name) {
  const cases = JSON.parse(readFileSync(new URL("../../" + name, import.meta.url), "utf8"));
  const keys = Object.keys(cases.functions);
  const { tree: answered, view } = answers(cases);
  const recording = createRecording();
  takeDelivery(recording, { restart: true, recount: true, trees: [answered], view });
  return { cases, keys, recording, shown: (filters, showsWaits = false) => shown(recording, keys, filters, showsWaits) };
}
