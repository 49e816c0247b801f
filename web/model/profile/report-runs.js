// The runs of a thread in a report. A report keeps sums for slots of time, so the order within a slot is unknown: there the callees
// of each function stand the largest first.

import { emptyRuns } from "./runs.js";

// The place of every node of `counts` (Map of node -> count) in a tree whose children stand the largest first: Map of node -> place.
export function heavyPlaces(parent, counts) {
  const weight = new Map();
  for (const [node, count] of counts)
    for (let at = node; at !== 0; at = parent[at]) weight.set(at, (weight.get(at) ?? 0) + count);
  const children = new Map();
  for (const node of weight.keys()) {
    if (!children.has(parent[node])) children.set(parent[node], []);
    children.get(parent[node]).push(node);
  }
  const places = new Map();
  const stack = [0];
  while (stack.length > 0) {
    const node = stack.pop();
    places.set(node, places.size);
    const below = children.get(node) ?? [];
    // The last one is taken first.
    below.sort((a, b) => weight.get(a) - weight.get(b) || b - a);
    for (const child of below) stack.push(child);
  }
  return places;
}

// The cells of these threads by slot: Map of slot -> [index of a cell].
function cellsBySlot({ thread, slot }, ids) {
  const wanted = new Set(ids);
  const bySlot = new Map();
  for (let i = 0; i < thread.length; i += 1) {
    if (!wanted.has(thread[i])) continue;
    if (!bySlot.has(slot[i])) bySlot.set(slot[i], []);
    bySlot.get(slot[i]).push(i);
  }
  return bySlot;
}

// As runsOfAnswer(); null when the report does not tell times apart.
export function runsOfCells({ cells, slots, tree, selection }, ids) {
  if (slots === undefined) return null;
  const each = selection?.samples > 0 ? selection.seconds / selection.samples : NaN;
  const bySlot = cellsBySlot(cells, ids);
  const counts = new Map();
  for (const inSlot of bySlot.values())
    for (const i of inSlot) counts.set(cells.node[i], (counts.get(cells.node[i]) ?? 0) + cells.count[i]);
  const place = heavyPlaces(tree.nodes.parent, counts);
  const order = [];
  const start = [];
  const end = [];
  for (const at of Array.from(bySlot.keys()).sort((a, b) => a - b)) {
    const inSlot = bySlot.get(at).sort((a, b) =>
      place.get(cells.node[a]) - place.get(cells.node[b]) || cells.state[a] - cells.state[b]
    );
    const seconds = (i) => (cells.ns === undefined ? cells.count[i] * each : cells.ns[i] / 1e9);
    const room = slots.end[at] - slots.start[at];
    const sum = inSlot.reduce((all, i) => all + seconds(i), 0);
    const samples = inSlot.reduce((all, i) => all + cells.count[i], 0);
    let time = slots.start[at];
    for (const i of inSlot) {
      order.push(i);
      start.push(time);
      // Samples of a slot fill it where nobody knows what they stand for.
      time += sum > 0 ? seconds(i) * Math.min(1, room / sum) : (room * cells.count[i]) / samples;
      end.push(time);
    }
  }
  return {
    ...emptyRuns(),
    key: ids.join(),
    from: slots.start[0] ?? 0,
    to: slots.end[slots.end.length - 1] ?? 0,
    start: Float64Array.from(start),
    end: Float64Array.from(end),
    node: Int32Array.from(order, (i) => cells.node[i]),
    state: Int32Array.from(order, (i) => cells.state[i]),
    ordered: new Uint8Array(order.length),
    runs: new Int32Array(order.length).fill(1),
  };
}
