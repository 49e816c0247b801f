// Self samples per node for one query: the sum of the answers of /view.

import { grownArray } from "../base/column.js";

export function createCounts() {
  return { self: new Float64Array(1024), total: 0, seconds: 0, generation: 0 };
}

// Adds `view` (an answer of /view). Throws RangeError when it names a node that does not exist among `nodes`.
export function applyView(counts, view, nodes) {
  counts.self = grownArray(counts.self, nodes);
  for (let i = 0; i < view.node.length; i += 1) {
    const node = view.node[i];
    const count = view.self[i];
    if (!Number.isInteger(node) || node < 0 || node >= nodes) throw new RangeError("node " + node + " does not exist");
    if (!(count >= 0)) throw new RangeError("node " + node + " has no count");
    counts.self[node] += count;
    counts.total += count;
  }
  counts.seconds += view.seconds ?? NaN;
  counts.generation = view.generation;
}
