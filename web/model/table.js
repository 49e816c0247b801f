// The function table: self and total samples per frame, a sample counted once however often it recurs.

import { groupChildren } from "./grouping.js";

// -> rows {frame, self, total, places}, in no particular order; frames without samples are left out.
export function tableRows(grouping, totals) {
  const frames = grouping.frames.function.length;
  const self = new Float64Array(frames);
  const total = new Float64Array(frames);
  const places = new Int32Array(frames);
  const onPath = new Int32Array(frames);
  const { start, order } = groupChildren(grouping);
  const frameOfGroup = grouping.frame.values;
  const stack = [];
  for (let at = start[0]; at < start[1]; at += 1) stack.push(order[at]);
  while (stack.length > 0) {
    const entry = stack.pop();
    if (entry < 0) {
      onPath[frameOfGroup[-entry]] -= 1;
      continue;
    }
    if (!(totals.total[entry] > 0)) continue;
    const frame = frameOfGroup[entry];
    self[frame] += totals.self[entry];
    places[frame] += 1;
    if (onPath[frame] === 0) total[frame] += totals.total[entry];
    onPath[frame] += 1;
    stack.push(-entry);
    for (let at = start[entry]; at < start[entry + 1]; at += 1) stack.push(order[at]);
  }
  const rows = [];
  for (let frame = 1; frame < frames; frame += 1) {
    if (total[frame] > 0) rows.push({ frame, self: self[frame], total: total[frame], places: places[frame] });
  }
  return rows;
}

// Sorted copy; `nameOf(row)` breaks ties, so that equal rows do not swap places between updates.
export function sortedRows(rows, sort, descending, nameOf) {
  const sign = descending ? -1 : 1;
  const byName = (a, b) => (nameOf(a) < nameOf(b) ? -1 : nameOf(a) > nameOf(b) ? 1 : a.frame - b.frame);
  if (sort === "name") return rows.slice().sort((a, b) => sign * byName(a, b));
  return rows.slice().sort((a, b) => sign * (a[sort] - b[sort]) || byName(a, b));
}
