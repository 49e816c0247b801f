// The function table: self and total samples per frame; recursion counts a sample once.

import { fileText, functionText } from "../profile/frames.js";
import { findPair } from "../base/pairs.js";
import { baseName } from "../base/text.js";

const LINE_MAX = 2 ** 31;

// countFrames() as rows {frame, self, total, places}, by frame; frames without samples are left out.
export function tableRows({ self, total, places }) {
  const rows = [];
  for (let frame = 1; frame < total.length; frame += 1) {
    if (total[frame] > 0) rows.push({ frame, self: self[frame], total: total[frame], places: places[frame] });
  }
  return rows;
}

// Functions in the order of their names, those of one name in that of their files: their places in it.
function functionRanks(profile, functions) {
  const texts = functions.map((id) => [functionText(profile, id), baseName(fileText(profile, id))]);
  const order = functions.map((_, i) => i);
  order.sort((a, b) => {
    if (texts[a][0] !== texts[b][0]) return texts[a][0] < texts[b][0] ? -1 : 1;
    return texts[a][1] === texts[b][1] ? functions[a] - functions[b] : texts[a][1] < texts[b][1] ? -1 : 1;
  });
  return order.map((i) => functions[i]);
}

// The place of every frame in the order of names; lines of a function ascend. No text is made but of functions.
export function nameRanks(frames, profile) {
  const ordered = functionRanks(profile, Array.from(new Set(frames.function.slice(1))));
  const rankOf = new Map(ordered.map((id, rank) => [id, rank]));
  const keys = Float64Array.from(frames.function.slice(1), (id, i) => rankOf.get(id) * LINE_MAX + frames.line[i + 1]).sort();
  const ranks = new Int32Array(frames.function.length);
  keys.forEach((key, i) => {
    const line = key % LINE_MAX;
    ranks[findPair(frames.index, ordered[(key - line) / LINE_MAX], line)] = i + 1;
  });
  return ranks;
}

// A number per row, sorted as the rows are to be, or null when there are none: a value and a rank make one number where
// both are whole and small enough. The rank is what is left over when it is divided by the number of ranks.
function packedRows(rows, valueOf, ranks) {
  const keys = Float64Array.from(rows, (row) => valueOf(row) * ranks.length + ranks[row.frame]);
  return keys.every((key, i) => Number.isSafeInteger(key) && Number.isInteger(valueOf(rows[i]))) ? keys.sort() : null;
}

// Sorted copy; `ranks` (by frame, each one's own) orders by "name" and breaks ties, so that equal rows do not swap places
// between updates.
export function sortedRows(rows, sort, descending, ranks) {
  const most = rows.reduce((found, row) => Math.max(found, row[sort] ?? 0), 0);
  const valueOf = sort === "name" ? () => 0 : descending ? (row) => most - row[sort] : (row) => row[sort];
  const keys = packedRows(rows, valueOf, ranks);
  if (keys === null) return rows.slice().sort((a, b) => valueOf(a) - valueOf(b) || ranks[a.frame] - ranks[b.frame]);
  const rowOf = new Int32Array(ranks.length);
  rows.forEach((row, i) => {
    rowOf[ranks[row.frame]] = i;
  });
  const sorted = Array.from(keys, (key) => rows[rowOf[key % ranks.length]]);
  return sort === "name" && descending ? sorted.reverse() : sorted;
}

// `rows` in the order in which `before` had them, with those that are new behind: for whoever points at one.
export function heldRows(rows, before) {
  const rowOf = new Map(rows.map((row) => [row.frame, row]));
  const held = [];
  for (const { frame } of before) {
    const row = rowOf.get(frame);
    if (row === undefined) continue;
    held.push(row);
    rowOf.delete(frame);
  }
  return held.concat(Array.from(rowOf.values()));
}

// The `most` frames with the largest counts, none with 0, largest first; of equals those that were seen first.
export function topFrames(counts, most) {
  const top = [];
  for (let frame = 1; frame < counts.length; frame += 1) {
    if (counts[frame] === 0 || (top.length === most && counts[frame] <= counts[top[most - 1]])) continue;
    let at = top.length === most ? most - 1 : top.length;
    for (; at > 0 && counts[top[at - 1]] < counts[frame]; at -= 1) top[at] = top[at - 1];
    top[at] = frame;
  }
  return top;
}
