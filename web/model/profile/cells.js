// The data of a report: cells (thread, state, node[, slot of time]) -> count, queried as the server is. Their parts follow from states and nodes.

import { createDurationAt, isInBand } from "./contexts.js";
import { createPartAt, partSet } from "./parts.js";
import { applyTree, createProfile } from "./profile.js";
import { addState, createSums, stateMatches, stateQuery } from "./states.js";

// Adds to every cell of a report its part, a number of PARTS; and to the report durationAt(node) of createDurationAt().
export function addCellFacts(report) {
  const { cells, tree } = report;
  const profile = createProfile();
  applyTree(profile, tree);
  const partAt = createPartAt(profile);
  cells.part = Uint8Array.from(cells.node, (node, i) => partAt(cells.state[i], node));
  report.durationAt = createDurationAt(profile, report.request_durations ?? { function: [], ns: [] });
}

// For every slot of time whether it is in the range; null when all are, or when the report does not tell times apart.
export function slotsInRange(report, range) {
  if (report.slots === undefined || range === null || (range.from ?? null) === null) return null;
  return report.slots.start.map((start) =>
    start >= range.from - 1e-6 && ((range.to ?? null) === null || start < range.to - 1e-6)
  );
}

// A predicate that is true if a node's samples are of the requests that took so long, or, `rest`, of the others.
export function createTook({ durationAt }, { took = null, rest = false }) {
  if (took === null) return () => true;
  return (node) => !Number.isNaN(durationAt(node)) && isInBand(took, durationAt(node)) !== rest;
}

// A predicate that is true if cell number i is asked for: of these threads (ids; all when there are none), words of
// states and of parts, and requests.
export function createAsked(report, { threads, states = [], parts = [], took = null, rest = false }) {
  const { cells } = report;
  const query = stateQuery(states);
  const within = partSet(parts);
  const wanted = new Set(threads);
  const isTook = createTook(report, { took, rest });
  return (i) =>
    (wanted.size === 0 || wanted.has(cells.thread[i])) && stateMatches(cells.state[i], query)
    && (within === null || within[cells.part[i]]) && isTook(cells.node[i]);
}

// -> what /view answers, for {threads, states, parts} and a range {from, to}
export function viewOfCells(report, asked, range = null) {
  const within = slotsInRange(report, range);
  const { cells, tree } = report;
  const isAsked = createAsked(report, asked);
  const perNode = new Map();
  let total = 0;
  let ns = 0;
  for (let i = 0; i < cells.node.length; i += 1) {
    if (!isAsked(i) || (within !== null && !within[cells.slot[i]])) continue;
    perNode.set(cells.node[i], (perNode.get(cells.node[i]) ?? 0) + cells.count[i]);
    total += cells.count[i];
    ns += cells.ns?.[i] ?? 0;
  }
  const node = Array.from(perNode.keys()).sort((a, b) => a - b);
  return { epoch: tree.epoch, generation: tree.generation, since: 0, total, node,
    self: node.map((id) => perNode.get(id)),
    seconds: cells.ns === undefined ? total * secondsPerSample(report) : ns / 1e9 };
}

// NaN where the report does not say it.
function secondsPerSample(report) {
  const { seconds, samples } = report.selection ?? {};
  return samples > 0 ? seconds / samples : NaN;
}

// -> Map of thread id -> sums of what it was doing; asked: {from, to, took}, or null
export function threadsOfCells(report, asked = null) {
  const within = slotsInRange(report, asked);
  const isTook = createTook(report, asked ?? {});
  const threads = new Map();
  const { thread, state, part, node, count, slot } = report.cells;
  for (let i = 0; i < thread.length; i += 1) {
    if ((within !== null && !within[slot[i]]) || !isTook(node[i])) continue;
    if (!threads.has(thread[i])) threads.set(thread[i], createSums());
    addState(threads.get(thread[i]), state[i], part[i], count[i]);
  }
  return threads;
}

// The cells of a query as slices of time (blocks of /view), at most `most`; null when the report does not tell times apart.
export function blocksOfCells(report, asked, range, most) {
  if (report.slots === undefined) return null;
  const { start, end } = report.slots;
  const within = slotsInRange(report, range);
  const chosen = Array.from(start.keys()).filter((slot) => within === null || within[slot]);
  const each = Math.ceil(chosen.length / most);
  const blockOf = new Map(chosen.map((slot, i) => [slot, Math.floor(i / each)]));
  const blocks = Array.from({ length: Math.ceil(chosen.length / each) || 0 }, () => new Map());
  const seconds = blocks.map((_, i) =>
    end[chosen[Math.min(chosen.length, (i + 1) * each) - 1]] - start[chosen[i * each]]
  );
  const isAsked = createAsked(report, asked);
  const { cells } = report;
  for (let i = 0; i < cells.node.length; i += 1) {
    const at = blockOf.get(cells.slot[i]);
    if (at === undefined || !isAsked(i)) continue;
    const block = blocks[at];
    block.set(cells.node[i], (block.get(cells.node[i]) ?? 0) + cells.count[i]);
  }
  return { rows: blocks.map((block) => block.size), seconds, node: blocks.flatMap((block) => Array.from(block.keys())),
    self: blocks.flatMap((block) => Array.from(block.values())) };
}
