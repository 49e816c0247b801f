// The call tree by function or by line, after filters. Stored nodes that show the same frame under the same parent are one
// group. Groups are append-only, parents before children, so their ids are stable while the profile grows.

import { columnPush, copyColumn, createColumn, grownArray } from "../base/column.js";
import { copyPairs, createPairs, findPair, reservePairs, takePair } from "../base/pairs.js";
import { createFilter, extendFilter, isCounted, isHidden, isKept, keepsUnmatched, leaveFilter,
  stepFilter } from "../filters/filter.js";
import { createFrames, frameOf } from "../profile/frames.js";
import { functionCount, functionPlace, nodeCount } from "../profile/profile.js";
import { frameKind, isKeptBelow, isKeptHere, isMarkKind, NATIVE_ROOT, replacesCallers, stepNative } from "./native.js";

const CHAINED_MAX = 10;

// The frames that a grouping by that has with such native frames.
export function framesFor(by, native) {
  return createFrames(by === "line", native === "library");
}

// by: "function", "line", or "name": functions of one name in one file are one. filters: terms of filter.js; native: a setting of
// native.js. waits: stacks end with what they wait for; frames: those of framesFor(), which groupings of one profile may share. A node
// has two groups: that of its own samples, and that of Python frames below it.
/** @param {string} by @param {string[]} filters @param {string} native @param {boolean} waits @param {Frames} frames @returns {Grouping} */
export function createGrouping(by, filters = [], native = "leaf", waits = true, frames = framesFor(by, native)) {
  const grouping = {
    by,
    filters,
    native,
    waits,
    filter: createFilter(filters),
    seen: createColumn(),
    frames,
    groupOfNode: createColumn(),
    groupBelow: createColumn(),
    seenBelow: createColumn(),
    nativeBits: createColumn(),
    parent: createColumn(),
    frame: createColumn(),
    depth: createColumn(),
    // Most groups have few below: these are in a chain, the first of them and behind each the next; the index has the others.
    firstBelow: createColumn(),
    nextBeside: createColumn(),
    index: createPairs(),
    children: null,
    outermost: null,
  };
  columnPush(grouping.parent, 0);
  columnPush(grouping.frame, 0);
  columnPush(grouping.depth, 0);
  columnPush(grouping.firstBelow, 0);
  columnPush(grouping.nextBeside, 0);
  return grouping;
}

/** @param {Grouping} grouping */
export function groupCount(grouping) {
  return grouping.parent.length;
}

/** @param {Grouping} grouping @param {number} parent @param {number} frame */
function groupUnder(grouping, parent, frame) {
  const fresh = grouping.parent.length;
  const [beside, frameOf] = [grouping.nextBeside.values, grouping.frame.values];
  let last = 0;
  let count = 0;
  for (let group = grouping.firstBelow.values[parent]; group !== 0; group = beside[group]) {
    if (frameOf[group] === frame) return group;
    last = group;
    count += 1;
  }
  if (count >= CHAINED_MAX) {
    const group = takePair(grouping.index, parent, frame, fresh);
    if (group !== fresh) return group;
  } else if (last === 0) grouping.firstBelow.values[parent] = fresh;
  else beside[last] = fresh;
  columnPush(grouping.firstBelow, 0);
  columnPush(grouping.nextBeside, 0);
  columnPush(grouping.parent, parent);
  columnPush(grouping.frame, frame);
  columnPush(grouping.depth, grouping.depth.values[parent] + 1);
  return fresh;
}

// The first function of the same name and file.
function firstOfName({ named }, profile, id) {
  const [name, place] = [profile.functionName.values[id], functionPlace(profile, id)];
  return id === 0 ? findPair(named, name, place) : takePair(named, name, place, id);
}

// The group of a node's frame below another; neighbours of one library are one.
/** @param {Grouping} grouping @param {Profile} profile @param {number} parent @param {number} node */
function groupOfFrame(grouping, profile, parent, node) {
  const { frames } = grouping;
  const known = frames.ofNode.values[node];
  if (known !== 0) return groupUnder(grouping, parent, known);
  const functionId = profile.nodeFunction.values[node];
  const library = profile.functionLibrary.values[functionId];
  if (!frames.foldsLibraries || library === 0) {
    const own = grouping.by === "name" ? firstOfName(frames, profile, functionId) : functionId;
    const frame = frameOf(frames, own, profile.nodeLine.values[node]);
    frames.ofNode.values[node] = frame;
    return groupUnder(grouping, parent, frame);
  }
  const above = frames.function[grouping.frame.values[parent]];
  if (parent !== 0 && profile.functionLibrary.values[above] === library) return parent;
  const first = frames.firstOfLibrary.get(library) ?? functionId;
  frames.firstOfLibrary.set(library, first);
  return groupUnder(grouping, parent, frameOf(frames, first, 0, true));
}

// A node below a group where `before` was known of the stack: {group, seen}.
function placeNode(grouping, profile, node, group, before, isShown) {
  const functionId = profile.nodeFunction.values[node];
  const seen = (isShown ? stepFilter : leaveFilter)(grouping.filter, before, functionId);
  return { seen, group: isKept(seen) ? groupOfFrame(grouping, profile, group, node) : group };
}

const columnsOfNodes = (
  { nativeBits, groupOfNode, seen, groupBelow, seenBelow, frames },
) => [nativeBits, groupOfNode, seen, groupBelow, seenBelow, frames.ofNode];

function putNode(grouping, node, bits, here, below) {
  grouping.nativeBits.values[node] = bits;
  grouping.groupOfNode.values[node] = here.group;
  grouping.seen.values[node] = here.seen;
  grouping.groupBelow.values[node] = below.group;
  grouping.seenBelow.values[node] = below.seen;
}

// A Python frame, as most are: without an object for each.
function putPython(grouping, profile, node, parent, bits) {
  const functionId = profile.nodeFunction.values[node];
  const above = grouping.groupBelow.values[parent];
  const seen = stepFilter(grouping.filter, grouping.seenBelow.values[parent], functionId);
  const group = isKept(seen) ? groupOfFrame(grouping, profile, above, node) : above;
  grouping.nativeBits.values[node] = bits;
  grouping.groupOfNode.values[node] = group;
  grouping.seen.values[node] = seen;
  grouping.groupBelow.values[node] = group;
  grouping.seenBelow.values[node] = seen;
}

/** @param {Grouping} grouping @param {Profile} profile @param {number} node @param {string[]} kinds */
function extendNode(grouping, profile, node, kinds) {
  const parent = profile.nodeParent.values[node];
  const kind = (kinds[profile.nodeFunction.values[node]] ??= frameKind(profile, profile.nodeFunction.values[node]));
  const bits = stepNative(grouping.native, grouping.nativeBits.values[parent], kind);
  if (kind === "python") {
    putPython(grouping, profile, node, parent, bits);
    return;
  }
  const ofSamples = (isShown) =>
    placeNode(grouping, profile, node, grouping.groupOfNode.values[parent], grouping.seen.values[parent], isShown);
  const ofCalls = (isShown) =>
    placeNode(grouping, profile, node, grouping.groupBelow.values[parent], grouping.seenBelow.values[parent], isShown);
  if (isMarkKind(kind)) {
    const both = ofSamples(kind === "mark" || (kind === "wait" && grouping.waits));
    putNode(grouping, node, bits, both, both);
  } else {
    const here = replacesCallers(bits) ? ofCalls(true) : ofSamples(isKeptHere(bits));
    putNode(grouping, node, bits, here, ofCalls(isKeptBelow(bits)));
  }
}

// Takes in the nodes that `profile` gained since the last call.
/** @param {Grouping} grouping @param {Profile} profile */
export function extendGrouping(grouping, profile) {
  const nodes = nodeCount(profile);
  const { filter } = grouping;
  if (filter.terms.length > 0) extendFilter(filter, profile);
  const before = groupCount(grouping);
  const kinds = new Array(functionCount(profile));
  const first = grouping.groupOfNode.length;
  if (grouping.by === "line" && nodes > 2 * first) reservePairs(grouping.frames.index, Math.ceil(nodes / 2));
  for (const column of columnsOfNodes(grouping)) column.values = grownArray(column.values, nodes);
  const root = { group: 0, seen: filter.start };
  if (first === 0 && nodes > 0) putNode(grouping, 0, NATIVE_ROOT, root, root);
  for (let node = Math.max(first, 1); node < nodes; node += 1) extendNode(grouping, profile, node, kinds);
  for (const column of columnsOfNodes(grouping)) column.length = Math.max(column.length, nodes);
  if (groupCount(grouping) !== before) Object.assign(grouping, { children: null, outermost: null });
}

// A grouping as createGrouping() makes it with filters, but begun with what a grouping without filters has, as most filters move few stacks: those with a hidden
// frame. Groups that only these had stay, without samples. `plain` is up to date with the profile.
/** @param {Grouping} plain @param {string[]} filters @param {Profile} profile */
export function filterGrouping(plain, filters, profile) {
  const grouping = createGrouping(plain.by, filters, plain.native, plain.waits, plain.frames);
  const { filter } = grouping;
  if (keepsUnmatched(filter) && plain.groupOfNode.length > 0) {
    extendFilter(filter, profile);
    for (const name of ["parent", "frame", "depth", "firstBelow", "nextBeside", "nativeBits", "groupOfNode",
      "groupBelow", "seen", "seenBelow"]) grouping[name] = copyColumn(plain[name]);
    grouping.index = copyPairs(plain.index);
    moveHidden(grouping, profile);
  }
  return grouping;
}

/** @param {Grouping} grouping @param {Profile} profile */
function moveHidden(grouping, profile) {
  const { filter, seen: { values: seen }, seenBelow: { values: seenBelow } } = grouping;
  const kinds = new Array(functionCount(profile));
  const isMoved = new Uint8Array(grouping.groupOfNode.length);
  seen[0] = filter.start;
  seenBelow[0] = filter.start;
  for (let node = 1; node < isMoved.length; node += 1) {
    const parent = profile.nodeParent.values[node];
    const functionId = profile.nodeFunction.values[node];
    if (isMoved[parent] === 1 || isHidden(filter, functionId)) {
      isMoved[node] = 1;
      extendNode(grouping, profile, node, kinds);
    } else {
      seenBelow[node] = leaveFilter(filter, seenBelow[parent], functionId);
      seen[node] = seenBelow[node];
    }
  }
}

// Children of every group: those of g are order[start[g]] .. order[start[g + 1] - 1].
/** @param {Grouping} grouping */
export function groupChildren(grouping) {
  if (grouping.children === null) {
    const count = groupCount(grouping);
    const parent = grouping.parent.values;
    const start = new Int32Array(count + 1);
    for (let g = 1; g < count; g += 1) start[parent[g] + 1] += 1;
    for (let g = 0; g < count; g += 1) start[g + 1] += start[g];
    const next = start.slice();
    const order = new Int32Array(Math.max(0, count - 1));
    for (let g = 1; g < count; g += 1) order[next[parent[g]]++] = g;
    grouping.children = { start, order };
  }
  return grouping.children;
}

// True if the samples of a node count: a stack that had a frame and has none left does not.
/** @param {Grouping} grouping @param {number} node */
export function isCountedNode({ filter, seen, groupOfNode }, node) {
  const group = groupOfNode.values[node];
  return filter.terms.length > 0 ? isCounted(seen.values[node], group) : node === 0 || group !== 0;
}

// Self and total samples of every group: {self, total, sum}.
/** @param {Grouping} grouping @param {NodeCounts} counts @returns {Totals} */
export function groupTotals(grouping, counts) {
  const count = groupCount(grouping);
  const self = new Float64Array(count);
  const groupOfNode = grouping.groupOfNode.values;
  const samples = counts.self;
  const nodes = Math.min(grouping.groupOfNode.length, samples.length);
  const isFiltering = grouping.filter.terms.length > 0;
  for (let node = 0; node < nodes; node += 1) {
    if (samples[node] === 0) continue;
    const group = groupOfNode[node];
    if (isFiltering || group === 0 ? isCountedNode(grouping, node) : true) self[group] += samples[node];
  }
  const total = self.slice();
  const parent = grouping.parent.values;
  for (let g = count - 1; g > 0; g -= 1) total[parent[g]] += total[g];
  return { self, total, sum: total[0] };
}

// For every group whether no group above it has its frame, kept until there are more groups.
/** @param {Grouping} grouping */
function outermostFrames(grouping) {
  if (grouping.outermost !== null) return grouping.outermost;
  const outermost = new Uint8Array(groupCount(grouping));
  const onPath = new Int32Array(grouping.frames.function.length);
  const { start, order } = groupChildren(grouping);
  const frame = grouping.frame.values;
  const parent = grouping.parent.values;
  const next = start.slice(0, -1);
  let at = 0;
  for (;;) {
    if (next[at] < start[at + 1]) {
      at = order[next[at]++];
      if (onPath[frame[at]]++ === 0) outermost[at] = 1;
    } else if (at === 0) return (grouping.outermost = outermost);
    else {
      onPath[frame[at]] -= 1;
      at = parent[at];
    }
  }
}

// Self and total samples, and the number of places, by frame: recursion counts a sample once.
/** @param {Grouping} grouping @param {Totals} totals */
export function countFrames(grouping, totals) {
  const outermost = outermostFrames(grouping);
  const frames = grouping.frames.function.length;
  const counted = { self: new Float64Array(frames), total: new Float64Array(frames), places: new Int32Array(frames) };
  const frame = grouping.frame.values;
  const { self, total } = totals;
  for (let g = 1; g < outermost.length; g += 1) {
    if (!(total[g] > 0)) continue;
    counted.self[frame[g]] += self[g];
    counted.places[frame[g]] += 1;
    if (outermost[g] === 1) counted.total[frame[g]] += total[g];
  }
  return counted;
}

// For every group 1 if isTop(group) of it or of a group above it.
/** @param {Grouping} grouping @param {(group: number) => boolean} isTop */
export function groupsBelow(grouping, isTop) {
  const below = new Uint8Array(groupCount(grouping));
  const parent = grouping.parent.values;
  for (let g = 1; g < below.length; g += 1) if (below[parent[g]] === 1 || isTop(g)) below[g] = 1;
  return below;
}

// For every group 1 if it or a group above it is matched, and the samples so reached, each counted once.
/** @param {Grouping} grouping @param {Totals} totals @param {(frame: number) => boolean} matchesFrame */
export function matchedSamples(grouping, totals, matchesFrame) {
  const frame = grouping.frame.values;
  const below = groupsBelow(grouping, (group) => matchesFrame(frame[group]));
  let samples = 0;
  for (let g = 1; g < below.length; g += 1) if (below[g] === 1) samples += totals.self[g];
  return { below, samples };
}
