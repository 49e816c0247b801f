// Small profiles for the tests: stacks written as text, "main;work:3;<native> 12".

import { createState, reduce } from "../../../web/model/page/state.js";
import { createRecording, takeDelivery } from "../../../web/model/trees/recording.js";

// A frame is NAME or NAME:LINE; names in <...> are synthetic, all others are of /app/NAME.py, first line 10.
function parseFrame(text) {
  const found = /^(.*?)(?::(\d+))?$/s.exec(text);
  return { name: found[1], line: Number(found[2] ?? 0) };
}

function tableOf(tables, frame) {
  const synthetic = /^<(native|GC|waits|context)\b/.test(frame.name);
  const file = synthetic ? "~" : "/app/" + frame.name.split(".")[0] + ".py";
  const key = JSON.stringify([frame.name, file]);
  if (!tables.functions.has(key))
    tables.functions.set(key, { id: tables.functions.size + 1, name: frame.name, file, line: synthetic ? 0 : 10 });
  return tables.functions.get(key).id;
}

// lines: ["a;b 3", ...]; -> {tree, view, nodes: Map of stack text -> node id}
export function answersOf(lines, { epoch = "e1", generation = 1 } = {}) {
  const tables = { functions: new Map(), nodes: new Map([["", { id: 0, parent: 0, fn: 0, line: 0 }]]) };
  const self = new Map();
  for (const text of lines) {
    const [, stack, count] = /^(.*) (\d+)$/s.exec(text);
    let path = "";
    for (const part of stack.split(";")) {
      const parent = tables.nodes.get(path).id;
      path = path === "" ? part : path + ";" + part;
      if (!tables.nodes.has(path)) {
        const frame = parseFrame(part);
        tables.nodes.set(path, { id: tables.nodes.size, parent, fn: tableOf(tables, frame), line: frame.line });
      }
    }
    const node = tables.nodes.get(path).id;
    self.set(node, (self.get(node) ?? 0) + Number(count));
  }
  const functions = [{ name: "", file: "", line: 0 }, ...tables.functions.values()];
  const strings = ["", ...new Set(functions.flatMap((fn) => [fn.name, fn.file]).filter((text) => text !== "")),
    "MainThread"];
  const stringIds = new Map(strings.map((text, id) => [text, id]));
  const nodes = Array.from(tables.nodes.values());
  const column = (rows, read) => rows.map(read);
  const node = Array.from(self.keys()).sort((a, b) => a - b);
  return {
    tree: {
      epoch,
      generation,
      since: 0,
      strings: { first: 0, values: strings },
      functions: { first: 0, name: column(functions, (fn) => stringIds.get(fn.name)),
        file: column(functions, (fn) => stringIds.get(fn.file)), line: column(functions, (fn) => fn.line) },
      nodes: { first: 0, parent: column(nodes, (row) => row.parent), function: column(nodes, (row) => row.fn),
        line: column(nodes, (row) => row.line) },
      threads: { first: 0, process: [0], tid: [7], name: [strings.length - 1], main: [1] },
      processes: { first: 0, pid: [7], name: [0] },
    },
    view: { epoch, generation, since: 0, total: 0, node, self: node.map((id) => self.get(id)) },
    nodes: new Map(Array.from(tables.nodes, ([path, row]) => [path, row.id])),
  };
}

// inJit: of the samples, those that code of CPython's JIT executed, as stacks that `lines` have.
export function recordingOf(lines, inJit = []) {
  const recording = createRecording();
  const { tree, view, nodes } = answersOf(lines);
  const executed = inJit.map((text) => /^(.*) (\d+)$/s.exec(text));
  const marked = { ...view,
    in_jit: { node: executed.map(([, stack]) => nodes.get(stack)),
      self: executed.map(([, , count]) => Number(count)) } };
  takeDelivery(recording, { restart: true, recount: true, trees: [tree], view: inJit.length > 0 ? marked : view });
  return recording;
}

// A state that shows these stacks, as the page would hold it.
export function stateOf(lines, address = {}, width = 1000, inJit = []) {
  const recording = recordingOf(lines, inJit);
  const state = { ...createState(true), recording, recordingVersion: recording.version, width };
  return reduce(state, { type: "address", changes: address });
}

// The drawing as indented text: "name value" by level.
export function outline(frame, level = 0) {
  return frame.children.reduce((lines, child) => [...lines, ...outline(child, level + 1)], [
    " ".repeat(level) + frame.name + " " + frame.value,
  ]);
}
