// Samples by file, line and function: self and total samples of each, callers and callees.
// Made from a grouping by line.

import { memoise } from "../base/memoise.js";
import { fileText, functionText, hasSource, libraryOf, originOf } from "../profile/frames.js";
import { functionCount } from "../profile/profile.js";
import { isWait } from "../profile/waits.js";
import { groupChildren, groupCount } from "../trees/grouping.js";
import { inJitOf } from "../trees/native.js";

// Numbers of lines that are looked up in an array.
const NEAR_LINES = 1 << 20;

// Files of libraries of the system are with those of Python's.
const kindOf = ({ kind }) => (kind === "system" ? "library" : kind);

const NO_FILE = { path: "", function: 0, kind: "" };

// For every function the id of its file, 0 for marks and for native code whose source file is unknown; and the files.
/** @param {Profile} profile */
function filesOf(profile) {
  const known = new Map();
  /** @type {{ path: string, function: number, kind: string }[]} */
  const files = [NO_FILE];
  const fileOf = Int32Array.from({ length: functionCount(profile) }, (_, id) => {
    const path = fileText(profile, id);
    if (id === 0 || path === "" || !hasSource(profile, id)) return 0;
    if (!known.has(path)) known.set(path, files.push({ path, function: id, kind: kindOf(originOf(profile, id)) }) - 1);
    return known.get(path);
  });
  return { files, fileOf };
}

// The paths of all files with source.
export function sourcePaths(profile) {
  return filesOf(profile).files.slice(1).map((file) => file.path);
}

// The items with each key, in their order, but for item 0: of(key) -> typed array.
/** @param {Int32Array} keyOf @param {number} keys */
function listByKey(keyOf, keys) {
  const start = new Int32Array(keys + 1);
  for (let item = 1; item < keyOf.length; item += 1) start[keyOf[item] + 1] += 1;
  for (let key = 0; key < keys; key += 1) start[key + 1] += start[key];
  const order = new Int32Array(start[keys]);
  const next = start.slice();
  for (let item = 1; item < keyOf.length; item += 1) order[next[keyOf[item]]++] = item;
  return (key) => order.subarray(start[key], start[key + 1]);
}

// For every frame the id of its file and of its line, 0 for what has no file; for every line its file, its number
// and its frames: the first, and behind each frame the next, until 0. Lines stand file by file: those of one are from linesFrom[file] on.
/** @param {Grouping} grouping @param {Profile} profile */
function placesOfFrames({ frames }, profile) {
  const { files, fileOf: fileOfFunction } = filesOf(profile);
  const functionOf = new Int32Array(frames.function);
  const [fileOf, lineOf, next] = [functionOf, functionOf, functionOf].map(({ length }) => new Int32Array(length));
  const [file, line, first] = [fileOf, fileOf, fileOf].map(({ length }) => new Int32Array(length + 1));
  const linesFrom = new Int32Array(files.length + 1).fill(1);
  for (let frame = 1; frame < fileOf.length; frame += 1) fileOf[frame] = fileOfFunction[functionOf[frame]];
  const framesOfFile = listByKey(fileOf, files.length);
  // By number, of one file at a time.
  const near = new Int32Array(NEAR_LINES);
  const far = new Map();
  let lines = 1;
  for (let of = 1; of < files.length; of += 1) {
    const inFile = framesOfFile(of);
    linesFrom[of] = lines;
    for (let i = inFile.length - 1; i >= 0; i -= 1) {
      const frame = inFile[i];
      const number = frames.line[frame] || profile.functionLine.values[functionOf[frame]];
      let id = number < NEAR_LINES ? near[number] : far.get(number) ?? 0;
      if (id < linesFrom[of]) {
        id = lines;
        lines += 1;
        file[id] = of;
        line[id] = number;
        if (number < NEAR_LINES) near[number] = id;
        else far.set(number, id);
      }
      lineOf[frame] = id;
      next[frame] = first[id];
      first[id] = frame;
    }
  }
  linesFrom[files.length] = lines;
  return { files, fileOfFunction, functionOf, fileOf, lineOf, lines, linesFrom, file, line, first, next };
}

// Flags of a group: no group above it is of its file, of its line, of its function.
const [FIRST_OF_FILE, FIRST_OF_LINE, FIRST_OF_FUNCTION] = [1, 2, 4];

// For every group which of these hold.
function outermostPlaces(grouping, { files, fileOf, lines, lineOf, fileOfFunction, functionOf }) {
  const outermost = new Uint8Array(groupCount(grouping));
  // By key, the last group that was the outermost; it is above as long as it is not left.
  const [topOfFile, topOfLine, topOfFunction] = [files.length, lines, fileOfFunction.length].map((keys) =>
    new Int32Array(keys)
  );
  const isLeft = new Uint8Array(outermost.length).fill(1, 0, 1);
  const { start, order } = groupChildren(grouping);
  const next = start.slice(0, -1);
  const [frameOf, parentOf] = [grouping.frame.values, grouping.parent.values];
  let at = 0;
  for (;;) {
    if (next[at] < start[at + 1]) {
      at = order[next[at]++];
      const frame = frameOf[at];
      if (isLeft[topOfFile[fileOf[frame]]] === 1) {
        outermost[at] |= FIRST_OF_FILE;
        topOfFile[fileOf[frame]] = at;
      }
      if (isLeft[topOfLine[lineOf[frame]]] === 1) {
        outermost[at] |= FIRST_OF_LINE;
        topOfLine[lineOf[frame]] = at;
      }
      if (isLeft[topOfFunction[functionOf[frame]]] === 1) {
        outermost[at] |= FIRST_OF_FUNCTION;
        topOfFunction[functionOf[frame]] = at;
      }
    } else if (at === 0) return outermost;
    else {
      isLeft[at] = 1;
      at = parentOf[at];
    }
  }
}

// By grouping; what does not depend on the samples is kept until there are more groups.
const keptPlaces = new WeakMap();

/** @param {Grouping} grouping @param {Profile} profile */
function placesOf(grouping, profile) {
  const groups = groupCount(grouping);
  const kept = keptPlaces.get(grouping);
  if (kept?.groups === groups) return kept;
  const places = placesOfFrames(grouping, profile);
  const { files, fileOfFunction, functionOf, linesFrom } = places;
  Object.assign(places, {
    groups,
    outermost: outermostPlaces(grouping, places),
    isWait: Uint8Array.from(fileOfFunction, (inFile, id) => Number(inFile === 0 && isWait(profile, id))),
    framesOfFunction: memoise(() => listByKey(functionOf, fileOfFunction.length)),
    functionsOfFile: memoise(() => listByKey(fileOfFunction, files.length)),
    linesOfFile: (of) => Array.from({ length: linesFrom[of + 1] - linesFrom[of] }, (_, i) => linesFrom[of] + i),
  });
  keptPlaces.set(grouping, places);
  return places;
}

// Self and total samples of files, lines and functions: recursion counts a sample once. self: of groups, as foldedSelf() gives them.
function countPlaces(grouping, { total }, self,
  { groups, files, fileOf, lines, lineOf, fileOfFunction, functionOf, outermost })
{
  const [ofFiles, ofLines, ofFunctions] = [files.length, lines, fileOfFunction.length].map((keys) => ({
    self: new Float64Array(keys),
    total: new Float64Array(keys),
  }));
  const frameOf = grouping.frame.values;
  for (let g = 1; g < groups; g += 1) {
    if (!(total[g] > 0)) continue;
    const frame = frameOf[g];
    ofFiles.self[fileOf[frame]] += self[g];
    ofLines.self[lineOf[frame]] += self[g];
    ofFunctions.self[functionOf[frame]] += self[g];
    if (outermost[g] & FIRST_OF_FILE) ofFiles.total[fileOf[frame]] += total[g];
    if (outermost[g] & FIRST_OF_LINE) ofLines.total[lineOf[frame]] += total[g];
    if (outermost[g] & FIRST_OF_FUNCTION) ofFunctions.total[functionOf[frame]] += total[g];
  }
  return { files: ofFiles, lines: ofLines, functions: ofFunctions };
}

function framesOfLine(places, id) {
  const frames = [];
  for (let frame = places.first[id]; frame !== 0; frame = places.next[frame]) frames.push(frame);
  return frames;
}

// -> {files: [{path, function, kind (of frames.js), self, total, lines: [{line, self, inC, inJit, total, frames}], functions: [{id, line, name, self,
// inJit, total, frames}]}], others: [{name, frame, self, total, file}], top(most)}: files and others hottest first; lines and functions ascend, and are
// made when they are asked for. The file of another is what nativeFile() makes of it, null if it is a mark. top: the lines of all files with the most
// self samples: [{path, line, self, total}].
// C code called from a line counts as self samples of the line, `inC` of them: there is no other line for it. It is among the
// others too, as is what has no file. inJit: those of inJitTotals, which code of CPython's JIT executed.
/** @param {Grouping} grouping @param {Profile} profile @param {Totals} totals @param {Totals} inJitTotals */
export function sourceLines(grouping, profile, totals, inJitTotals) {
  const places = placesOf(grouping, profile);
  const sums = countPlaces(grouping, totals, foldedSelf(grouping, totals.self, places), places);
  // Sums that only the lines and functions of an opened file need are made then.
  const { lineOf, lines, functionOf, fileOfFunction: { length: functions } } = places;
  const inJit = memoise(() => foldedSelf(grouping, inJitTotals.self, places));
  const counted = {
    ...sums,
    ownOfLine: memoise(() => sumsByKey(grouping, totals.self, lineOf, lines)),
    ownOfFunction: memoise(() => sumsByKey(grouping, totals.self, functionOf, functions)),
    inJitOfLine: memoise(() => sumsByKey(grouping, inJit(), lineOf, lines)),
    inJitOfFunction: memoise(() => sumsByKey(grouping, inJit(), functionOf, functions)),
  };
  const files = places.files.map((_, id) => id).filter((id) => id > 0 && counted.files.total[id] > 0)
    .map((id) =>
      new SourceFile(places.files[id], counted.files.self[id], counted.files.total[id], { id, profile, places,
        counted })
    ).sort((a, b) => byHeat(a, b) || (a.path < b.path ? -1 : 1));
  return { files, others: otherFunctions(profile, places, counted),
    top: (most) => topLines(places, counted, files, most) };
}

const byHeat = (a, b) => b.self - a.self || b.total - a.total;

/** @param {Grouping} grouping @param {Float64Array} self @param {Int32Array} keyOf @param {number} keys */
function sumsByKey(grouping, self, keyOf, keys) {
  const sums = new Float64Array(keys);
  const frameOf = grouping.frame.values;
  for (let g = 1; g < self.length; g += 1) sums[keyOf[frameOf[g]]] += self[g];
  return sums;
}

// The items of a file that `list` has and that have samples.
const listed = ({ total }, list, id, makeOne) =>
  Array.from(list(id)).filter((at) => total[at] > 0).map(makeOne).sort((a, b) => a.line - b.line);

// A class, as there are thousands of files and the lines of few are asked for.
class SourceFile {
  /** @type {{ line: number }[] | null} */
  #lines = null;
  /** @type {{ line: number }[] | null} */
  #functions = null;
  #of;

  // of: {id, profile, places, counted}
  constructor({ path, function: of, kind }, self, total, parts) {
    Object.assign(this, { path, function: of, kind, self, total });
    this.#of = parts;
  }

  get lines() {
    const { id, profile, places, counted: { lines, ownOfLine, inJitOfLine } } = this.#of;
    const lineOf = (at) => ({ line: places.line[at], self: lines.self[at], inC: lines.self[at] - ownOfLine()[at],
      inJit: inJitOf(profile, places.functionOf[places.first[at]], inJitOfLine()[at]), total: lines.total[at],
      frames: framesOfLine(places, at) });
    return (this.#lines ??= listed(lines, places.linesOfFile, id, lineOf));
  }

  get functions() {
    const { id, profile, places, counted: { functions, inJitOfFunction } } = this.#of;
    const functionOf = (at) => ({ id: at, line: profile.functionLine.values[at], name: functionText(profile, at),
      self: functions.self[at], inJit: inJitOf(profile, at, inJitOfFunction()[at]), total: functions.total[at],
      frames: Array.from(places.framesOfFunction()(at)) });
    return (this.#functions ??= listed(functions, places.functionsOfFile(), id, functionOf));
  }
}

// Samples that have no file.
function otherFunctions(profile, places, { functions, ownOfFunction }) {
  const others = [];
  for (const id of places.functionsOfFile()(0)) {
    const frames = functions.total[id] > 0 ? Array.from(places.framesOfFunction()(id)) : [];
    if (frames.length > 0)
      others.push(
        otherOf(profile, { id, name: functionText(profile, id), frames, self: ownOfFunction()[id],
          total: functions.total[id] }),
      );
  }
  return others.sort((a, b) => byHeat(a, b) || a.frame - b.frame);
}

function topLines(places, { lines: { self, total } }, files, most) {
  const pathOf = new Map(files.map((file, rank) => [file.function, { rank, path: file.path }]));
  const fileOf = (at) => pathOf.get(places.files[places.file[at]].function);
  const isHotter = (a, b) =>
    (self[b] - self[a] || total[b] - total[a] || places.line[a] - places.line[b] || fileOf(a).rank - fileOf(b).rank)
      < 0;
  const top = [];
  for (let at = 1; at < places.lines; at += 1) {
    if (!(self[at] > 0) || (top.length === most && !isHotter(at, top[most - 1]))) continue;
    let to = top.length;
    while (to > 0 && isHotter(at, top[to - 1])) to -= 1;
    top.splice(to, 0, at);
    if (top.length > most) top.pop();
  }
  return top.map((at) => ({ path: fileOf(at).path, line: places.line[at], self: self[at], total: total[at] }));
}

// A word in place of the path of the source of a native function that only its library may know.
export function nativePath(libraryPath, name) {
  return libraryPath + ": " + name;
}

// A function of that kind as a file of its own. Its line is below all that can be chosen.
function nativeFile(library, counts) {
  const { id, name, self, total, frames } = counts;
  return { path: nativePath(library.path, name), function: id, kind: "native", self, total,
    lines: [{ line: -1, self, inC: 0, total, frames }], functions: [{ id, line: 0, name, self, total, frames }] };
}

function otherOf(profile, counts) {
  const library = libraryOf(profile, counts.id);
  return { name: counts.name, frame: counts.frames[0], self: counts.self, total: counts.total,
    file: library === null ? null : nativeFile(library, counts) };
}

// The file with its functions at the lines where they begin, as the answer of a source says of those that had none: {function: [ids],
// line: [numbers]}.
export function placedFile(file, starts) {
  const lineOf = new Map(starts?.function.map((id, i) => [id, starts.line[i]]));
  const moved = file.functions.filter((one) => one.line === 0 && lineOf.has(one.id)).map((one) => ({ ...one,
    line: lineOf.get(one.id) })
  );
  if (moved.length === 0) return file;
  const rest = file.functions.filter((one) => one.line !== 0 || !lineOf.has(one.id));
  const left = rest.some((other) => other.line === 0);
  const lines = new Map(file.lines.filter((one) => one.line > 0 || left).map((one) => [one.line, one]));
  if (left) lines.set(0, { ...lines.get(0), self: lines.get(0).self - moved.reduce((sum, one) => sum + one.self, 0) });
  for (const { line, self, total, frames } of moved) {
    const at = lines.get(line) ?? { line, self: 0, inC: 0, total: 0, frames: [] };
    lines.set(line, { ...at, self: at.self + self, total: at.total + total, frames: [...at.frames, ...frames] });
  }
  const ascending = (a, b) => a.line - b.line;
  return { ...file, lines: Array.from(lines.values()).sort(ascending), functions: [...rest, ...moved].sort(ascending) };
}

// Self samples of groups; those of frames that are not Python code go to the nearest caller that is, but not those that wait.
function foldedSelf(grouping, samples, { groups, lineOf, functionOf, isWait: waits }) {
  const self = samples.slice();
  const [frameOf, parentOf] = [grouping.frame.values, grouping.parent.values];
  for (let g = groups - 1; g > 0; g -= 1) {
    const frame = frameOf[g];
    if (self[g] === 0 || lineOf[frame] !== 0 || waits[functionOf[frame]] === 1) continue;
    self[parentOf[g]] += self[g];
    self[g] = 0;
  }
  return self;
}

function sortedEdges(edges) {
  return Array.from(edges, ([frame, samples]) => ({ frame, samples })).sort((a, b) =>
    b.samples - a.samples || a.frame - b.frame
  );
}

// Who is right above and right below these frames (of one line or function): {callers, callees}: [{frame, samples}], most
// samples first. A sample counts once for each, however often the call recurs.
/** @param {Grouping} grouping @param {Totals} totals @param {number[]} frames */
export function lineNeighbours(grouping, totals, frames) {
  const wanted = new Set(frames);
  const frame = grouping.frame.values;
  const parent = grouping.parent.values;
  const isWanted = (g) => g !== 0 && wanted.has(frame[g]);
  // True if one of the frames is above.
  const below = new Uint8Array(groupCount(grouping));
  const edges = { callers: new Map(), callees: new Map() };

  function repeats(g, isSame) {
    for (let at = parent[g]; at !== 0 && (below[at] || isWanted(at)); at = parent[at]) if (isSame(at)) return true;
    return false;
  }

  function add(side, to, g, isSame) {
    if (to !== 0 && totals.total[g] > 0 && !(below[g] && repeats(g, isSame)))
      edges[side].set(to, (edges[side].get(to) ?? 0) + totals.total[g]);
  }

  for (let g = 1; g < below.length; g += 1) {
    below[g] = below[parent[g]] || isWanted(parent[g]) ? 1 : 0;
    if (isWanted(g))
      add("callers", frame[parent[g]], g, (at) => isWanted(at) && frame[parent[at]] === frame[parent[g]]);
    if (isWanted(parent[g])) add("callees", frame[g], g, (at) => frame[at] === frame[g] && isWanted(parent[at]));
  }
  return { callers: sortedEdges(edges.callers), callees: sortedEdges(edges.callees) };
}

// The file that is shown: the one of this path, which may be that of a native function, else the hottest.
export function chosenFile({ files, others }, path) {
  return files.find((file) => file.path === path)
    ?? others.find(({ file }) => file !== null && file.path === path)?.file ?? files[0];
}

// The lines with the most samples, as they stand in the file.
export function hottestLines(lines, most) {
  if (lines.length <= most) return lines;
  return lines.slice().sort((a, b) => b.self - a.self || b.total - a.total || a.line - b.line).slice(0, most).sort((a,
    b) => a.line - b.line
  );
}

// The lines of a text to show: all of a short one, of a long one those around the given ones. null stands for a gap.
export function shownLines(count, lines, most, around) {
  if (count <= most) return Array.from({ length: count }, (_, i) => i + 1);
  const wanted = new Set();
  for (const line of lines)
    for (let at = Math.max(1, line - around); at <= Math.min(count, line + around); at += 1) wanted.add(at);
  const numbers = Array.from(wanted).sort((a, b) => a - b);
  return numbers.flatMap((line, i) => (i > 0 && numbers[i - 1] !== line - 1 ? [null, line] : [line]));
}
