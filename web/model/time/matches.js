// When the searched functions were on stacks: windows of time with their samples and matching samples.

import { createTook } from "../profile/cells.js";

// {term, start, end, samples, matching}, columns in order of time; term is what was searched for, null: nothing
export function emptyMatches() {
  return { term: null, start: [], end: [], samples: [], matching: [] };
}

// Ids for which `matched` is true as runs: [first, last, first, last, ...]
export function runsOf(matched) {
  const runs = [];
  for (let id = 0; id < matched.length; id += 1) {
    if (!matched[id]) continue;
    if (runs.length > 0 && runs[runs.length - 1] === id - 1) runs[runs.length - 1] = id;
    else runs.push(id, id);
  }
  return runs;
}

// The matches by a report's own cells of the band of requests, slot by slot of time; null where it does not distinguish times.
export function matchesOfCells(report, matched, took = null) {
  const { slots, cells, tree } = report;
  if (slots === undefined) return null;
  const { parent, function: functions } = tree.nodes;
  const within = new Uint8Array(parent.length);
  // Parents come before children.
  for (let node = 1; node < parent.length; node += 1)
    within[node] = within[parent[node]] || matched[functions[node]]
      ? 1
      : 0;
  const samples = slots.start.map(() => 0);
  const matching = slots.start.map(() => 0);
  const isTook = createTook(report, { took });
  for (let i = 0; i < cells.node.length; i += 1) {
    if (!isTook(cells.node[i])) continue;
    samples[cells.slot[i]] += cells.count[i];
    if (within[cells.node[i]]) matching[cells.slot[i]] += cells.count[i];
  }
  return { start: slots.start, end: slots.end, samples, matching };
}

// The window that a moment is in: {start, end, samples, matching}, or null.
export function matchAt(matches, time) {
  let low = 0;
  let high = matches.start.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (matches.start[middle] <= time) low = middle + 1;
    else high = middle;
  }
  const at = low - 1;
  if (at < 0 || time >= matches.end[at]) return null;
  return { start: matches.start[at], end: matches.end[at], samples: matches.samples[at],
    matching: matches.matching[at] };
}

// The share that matches of the samples of all windows that reach into a range; NaN where there are none.
export function matchedShare(matches, { from, to }) {
  let samples = 0;
  let matching = 0;
  for (let i = 0; i < matches.start.length; i += 1) {
    if (matches.end[i] <= from || matches.start[i] >= to) continue;
    samples += matches.samples[i];
    matching += matches.matching[i];
  }
  return samples > 0 ? matching / samples : NaN;
}

// The result of a search; null while nothing is searched for, or it is not known (yet).
export function foundMatches(matches, search) {
  return search.trim() !== "" && matches.term === search && matches.error === undefined ? matches : null;
}

// How long the windows within a range are: {least, most} in seconds, null where there are none.
export function windowLengths(matches, { from, to }) {
  const lengths = matches.start.map((start, i) => ({ start, end: matches.end[i] })).filter(({ start, end }) =>
    end > from && start < to
  ).map(({ start, end }) => end - start);
  return lengths.length === 0 ? null : { least: Math.min(...lengths), most: Math.max(...lengths) };
}
