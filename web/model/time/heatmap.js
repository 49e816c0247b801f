// Samples in bins of 20 ms by state, as in /heatmap: one column per second, 50 bins down.

import { TEXT } from "../../text/session.js";
import { createTook } from "../profile/cells.js";
import { PARTS } from "../profile/parts.js";

export const HEAT_MEASURES = [
  ...PARTS.map((key, part) => ({ key, label: TEXT.parts[key][0], parts: [part] })),
  { key: "all", label: TEXT.heat.all, parts: Array.from(PARTS.keys()) },
];

export function emptyHeat() {
  return { from: 0, to: 0, bins: 50, columns: new Map() };
}

// `heat` with an answer of /heatmap: its seconds take the place of those it had; what is out of range is forgotten.
export function withHeat(heat, answer) {
  const columns = new Map(answer.since === 0 ? [] : heat.columns);
  answer.second.forEach((second, i) => {
    columns.set(second, PARTS.map((part) => answer[part].slice(i * answer.bins, (i + 1) * answer.bins)));
  });
  for (const second of columns.keys()) if (second < answer.from || second >= answer.to) columns.delete(second);
  return { from: answer.from, to: answer.to, bins: answer.bins, columns };
}

// The bins of a band of requests by a report's own cells: samples of a slot are spread over its bins.
export function heatOfCells(report, took) {
  const { from, to, bins } = report.heat;
  const isTook = createTook(report, { took });
  const columns = new Map();
  const { cells, slots } = report;
  const sums = (slots?.start ?? []).map(() => PARTS.map(() => 0));
  for (let i = 0; i < cells.node.length; i += 1)
    if (isTook(cells.node[i]) && cells.slot !== undefined) sums[cells.slot[i]][cells.part[i]] += cells.count[i];
  sums.forEach((parts, slot) => {
    const first = Math.floor(slots.start[slot] * bins + 1e-6);
    const count = Math.max(1, Math.ceil(slots.end[slot] * bins - 1e-6) - first);
    for (let bin = Math.max(first, from * bins); bin < Math.min(first + count, to * bins); bin += 1) {
      const second = Math.floor(bin / bins);
      if (!columns.has(second)) columns.set(second, PARTS.map(() => Array.from({ length: bins }, () => 0)));
      parts.forEach((sum, part) => {
        columns.get(second)[part][bin % bins] += Math.floor((sum * (bin - first + 1)) / count)
          - Math.floor((sum * (bin - first)) / count);
      });
    }
  });
  return { from, to, bins, columns };
}

// Samples in every bin of a second by what is measured, or null when nothing was seen in it.
export function heatColumn(heat, second, measure) {
  const rows = heat.columns.get(second);
  if (rows === undefined) return null;
  const wanted = (HEAT_MEASURES.find((one) => one.key === measure)?.parts ?? []).map((part) => rows[part]);
  return Array.from({ length: heat.bins }, (_, bin) => wanted.reduce((sum, counts) => sum + counts[bin], 0));
}

// The count that is drawn hottest: all but the few highest stay below it.
export function heatMost(heat, measure) {
  const counts = [];
  for (const second of heat.columns.keys())
    for (const count of heatColumn(heat, second, measure) ?? []) if (count > 0) counts.push(count);
  counts.sort((a, b) => a - b);
  return counts[Math.floor((counts.length - 1) * 0.98)] ?? 1;
}

// The bins of one second that a range of time covers: {first, end}, empty when first === end.
export function binsCovered(heat, second, { from, to }) {
  const share = (time) => Math.min(1, Math.max(0, time - second));
  return { first: Math.round(share(from) * heat.bins), end: Math.round(share(to) * heat.bins) };
}
