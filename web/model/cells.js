// A report's own data: cells (thread, state, node) -> count, asked as the server would be.

// -> what /view answers, for those thread ids (all when there are none)
export function viewOfCells(report, threads) {
  const { cells, tree } = report;
  const wanted = new Set(threads);
  const perNode = new Map();
  let total = 0;
  for (let i = 0; i < cells.node.length; i += 1) {
    if (wanted.size > 0 && !wanted.has(cells.thread[i])) continue;
    perNode.set(cells.node[i], (perNode.get(cells.node[i]) ?? 0) + cells.count[i]);
    total += cells.count[i];
  }
  const node = Array.from(perNode.keys()).sort((a, b) => a - b);
  return { epoch: tree.epoch, generation: tree.generation, since: 0, total, node, self: node.map((id) => perNode.get(id)) };
}

// -> Map of thread id -> samples
export function threadTotalsOfCells(report) {
  const totals = new Map();
  const { thread, count } = report.cells;
  for (let i = 0; i < thread.length; i += 1) totals.set(thread[i], (totals.get(thread[i]) ?? 0) + count[i]);
  return totals;
}
