// Samples by file and line: what each line of source did itself, what it was on the stack for, whom it calls and who
// calls it. Made of a grouping by line.

import { fileText, isSynthetic } from "./frames.js";
import { groupChildren, groupCount } from "./grouping.js";

const LINES_MAX = 2 ** 31;

// For every frame the id of its file and of its line, 0 for what is not Python code.
function placesOf(grouping, profile) {
  const files = new Map();
  const lines = new Map();
  const places = { fileOf: [0], lineOf: [0], files: [null], lines: [null] };
  const { frames } = grouping;
  for (let frame = 1; frame < frames.function.length; frame += 1) {
    const id = frames.function[frame];
    const path = fileText(profile, id);
    if (isSynthetic(profile, id) || path === "") {
      places.fileOf.push(0);
      places.lineOf.push(0);
      continue;
    }
    if (!files.has(path)) files.set(path, places.files.push({ path, function: id }) - 1);
    const file = files.get(path);
    const line = frames.line[frame] || profile.functionLine.values[id];
    const key = file * LINES_MAX + line;
    if (!lines.has(key)) lines.set(key, places.lines.push({ file, line, frames: [] }) - 1);
    places.fileOf.push(file);
    places.lineOf.push(lines.get(key));
    places.lines[lines.get(key)].frames.push(frame);
  }
  return places;
}

// Own and total samples by what `keyOf` says of a frame (0: nothing), a sample counted once however often it recurs.
function countByKey(grouping, totals, keyOf, keys) {
  const self = new Float64Array(keys);
  const total = new Float64Array(keys);
  const onPath = new Int32Array(keys);
  const { start, order } = groupChildren(grouping);
  const stack = Array.from(order.subarray(start[0], start[1]));
  while (stack.length > 0) {
    const entry = stack.pop();
    if (entry < 0) {
      onPath[keyOf[grouping.frame.values[-entry]]] -= 1;
      continue;
    }
    if (!(totals.total[entry] > 0)) continue;
    const key = keyOf[grouping.frame.values[entry]];
    self[key] += totals.self[entry];
    if (onPath[key] === 0) total[key] += totals.total[entry];
    onPath[key] += 1;
    stack.push(-entry);
    for (let at = start[entry]; at < start[entry + 1]; at += 1) stack.push(order[at]);
  }
  return { self, total };
}

// -> {files: [{path, function, self, total, lines: [{line, self, total, frames}]}], hottest first; lines ascend}
// What runs in C below a line counts as the line's own here: nobody can point at another line for it.
export function sourceLines(grouping, profile, totals) {
  const places = placesOf(grouping, profile);
  const own = foldedSelf(grouping, totals, places.lineOf);
  const files = countByKey(grouping, { ...totals, self: own }, places.fileOf, places.files.length);
  const lines = countByKey(grouping, { ...totals, self: own }, places.lineOf, places.lines.length);
  const made = places.files.map((file, id) => (file === null ? null : { ...file, self: files.self[id], total: files.total[id], lines: [] }));
  places.lines.forEach((line, id) => {
    if (line !== null && lines.total[id] > 0) made[line.file].lines.push({ line: line.line, self: lines.self[id], total: lines.total[id], frames: line.frames });
  });
  const seen = made.filter((file) => file !== null && file.total > 0);
  for (const file of seen) file.lines.sort((a, b) => a.line - b.line);
  return seen.sort((a, b) => b.self - a.self || b.total - a.total || (a.path < b.path ? -1 : 1));
}

// Own samples of groups, with those of what is not Python code given to the nearest caller that is.
function foldedSelf(grouping, totals, lineOf) {
  const self = totals.self.slice();
  for (let g = groupCount(grouping) - 1; g > 0; g -= 1) {
    if (lineOf[grouping.frame.values[g]] !== 0 || self[g] === 0) continue;
    self[grouping.parent.values[g]] += self[g];
    self[g] = 0;
  }
  return self;
}

function sortedEdges(edges) {
  return Array.from(edges, ([frame, samples]) => ({ frame, samples })).sort((a, b) => b.samples - a.samples || a.frame - b.frame);
}

// Who is right above and right below these frames (of one line), outermost places only:
// {callers, callees}: [{frame, samples}], most samples first.
export function lineNeighbours(grouping, totals, frames) {
  const wanted = new Set(frames);
  const below = new Uint8Array(groupCount(grouping));
  const callers = new Map();
  const callees = new Map();
  const add = (edges, frame, samples) => samples > 0 && frame !== 0 && edges.set(frame, (edges.get(frame) ?? 0) + samples);
  for (let g = 1; g < below.length; g += 1) {
    const parent = grouping.parent.values[g];
    const parentIs = parent !== 0 && wanted.has(grouping.frame.values[parent]);
    below[g] = below[parent] || parentIs ? 1 : 0;
    if (parentIs && !below[parent]) add(callees, grouping.frame.values[g], totals.total[g]);
    if (wanted.has(grouping.frame.values[g]) && !below[g]) add(callers, grouping.frame.values[parent], totals.total[g]);
  }
  return { callers: sortedEdges(callers), callees: sortedEdges(callees) };
}

// The file that is looked at: the one of this path, else the hottest.
export function chosenFile(files, path) {
  return files.find((file) => file.path === path) ?? files[0];
}

// The lines of a text to show: all of a short one, of a long one those around samples. null stands for a gap.
export function shownLines(count, hot, most, around) {
  if (count <= most) return Array.from({ length: count }, (_, i) => i + 1);
  const wanted = new Set();
  for (const { line } of hot) for (let at = Math.max(1, line - around); at <= Math.min(count, line + around); at += 1) wanted.add(at);
  const numbers = Array.from(wanted).sort((a, b) => a - b);
  return numbers.flatMap((line, i) => (i > 0 && numbers[i - 1] !== line - 1 ? [null, line] : [line]));
}
