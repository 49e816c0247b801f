// A report's own data: cells (thread, state, node) -> count, asked as the server would be.

import { addState, createSums, stateMatches, stateQuery } from "./states.js";

// -> what /view answers, for those thread ids (all when there are none) and words of states
export function viewOfCells(report, threads, states) {
  const query = stateQuery(states);
  const { cells, tree } = report;
  const wanted = new Set(threads);
  const perNode = new Map();
  let total = 0;
  for (let i = 0; i < cells.node.length; i += 1) {
    if ((wanted.size > 0 && !wanted.has(cells.thread[i])) || !stateMatches(cells.state[i], query)) continue;
    perNode.set(cells.node[i], (perNode.get(cells.node[i]) ?? 0) + cells.count[i]);
    total += cells.count[i];
  }
  const node = Array.from(perNode.keys()).sort((a, b) => a - b);
  return { epoch: tree.epoch, generation: tree.generation, since: 0, total, node, self: node.map((id) => perNode.get(id)) };
}

// -> Map of thread id -> sums of what it was doing
export function threadsOfCells(report) {
  const threads = new Map();
  const { thread, state, count } = report.cells;
  for (let i = 0; i < thread.length; i += 1) {
    if (!threads.has(thread[i])) threads.set(thread[i], createSums());
    addState(threads.get(thread[i]), state[i], count[i]);
  }
  return threads;
}
