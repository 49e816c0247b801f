// The boxes of a stack chart: a level for each depth, in which neighbouring runs below the same frame are one box.

import { BLOCKED, IDLE, partSet } from "../profile/parts.js";
import { INSTANT_S } from "../profile/runs.js";
import { stateMatches, stateQuery } from "../profile/states.js";
import { isCountedNode } from "./grouping.js";

const createLevel = () => ({ start: [], end: [], group: [] });

// The groups of a run that are not open yet, outermost last; what is open below them is closed.
function pathFrom(grouping, group, open) {
  const path = [];
  const parent = grouping.parent.values;
  const depth = grouping.depth.values;
  let at = group;
  while (at !== 0 && !(depth[at] <= open.length && open[depth[at] - 1].group === at)) {
    path.push(at);
    at = parent[at];
  }
  return { path, shared: depth[at] };
}

// Ticks are missed: what was there before and is there after so short a gap was there in between.
const BRIDGED_S = 0.02;

// -> {levels: [{start, end, group}], shown (indices of the runs that count), runs, grouping}: times ascend in every level.
// A frame that goes on is one box, whatever the state; a longer gap and a change between what is in order and what is not end it.
export function layOutRuns(runs, grouping) {
  const levels = [];
  const shown = [];
  const open = [];
  let last = -1;
  function close(to, depth) {
    while (open.length > depth) {
      const { group, start } = open.pop();
      const level = levels[open.length];
      level.start.push(start);
      level.end.push(to);
      level.group.push(group);
    }
  }
  for (let i = 0; i < runs.node.length; i += 1) {
    if (!isCountedNode(grouping, runs.node[i])) continue;
    const goesOn = last >= 0 && runs.start[i] - runs.end[last] <= BRIDGED_S && runs.ordered[i] === runs.ordered[last];
    if (!goesOn && last >= 0) close(runs.end[last], 0);
    const { path, shared } = pathFrom(grouping, grouping.groupOfNode.values[runs.node[i]], open);
    if (last >= 0) close(Math.min(runs.start[i], runs.end[last]), shared);
    while (path.length > 0) {
      open.push({ group: path.pop(), start: runs.start[i] });
      if (levels.length < open.length) levels.push(createLevel());
    }
    shown.push(i);
    last = i;
  }
  if (last >= 0) close(runs.end[last], 0);
  return { levels, shown: Int32Array.from(shown), runs, grouping };
}

// The first of `count` for which isAt(index) holds; from there on it does.
export function firstAt(count, isAt) {
  let [low, high] = [0, count];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (isAt(middle)) high = middle;
    else low = middle + 1;
  }
  return low;
}

// The box of a level at a time: its index, or -1.
export function boxAt(level, time) {
  const index = firstAt(level.end.length, (i) => level.end[i] > time);
  return index < level.end.length && level.start[index] <= time ? index : -1;
}

// The run at a time: its index in `runs`, or -1.
export function runAt({ shown, runs }, time) {
  const index = firstAt(shown.length, (i) => runs.end[shown[i]] > time);
  return index < shown.length && runs.start[shown[index]] <= time ? shown[index] : -1;
}

// Calls draw(index, x0, x1) for the boxes of a level between two times, x in whole pixels from `from` on: of those
// that share a pixel the first.
export function eachVisible(level, { from, to }, pxPerSecond, draw) {
  const count = level.end.length;
  const px = (time) => Math.round((time - from) * pxPerSecond);
  for (let i = firstAt(count, (at) => level.end[at] > from); i < count && level.start[i] < to;) {
    const x0 = Math.max(0, px(level.start[i]));
    const x1 = Math.max(x0 + 1, px(Math.min(level.end[i], to)));
    draw(i, x0, x1);
    const free = from + (x1 + 0.5) / pxPerSecond;
    i = px(level.end[i]) > x0 ? i + 1 : Math.max(i + 1, firstAt(count, (at) => level.end[at] > free));
  }
}

// -> isPale(state, part) of a run: it waits, or is in none of the chosen states and parts.
export function createPale(words, parts) {
  const chosen = stateQuery(words);
  const within = partSet(parts);
  return (state, part) =>
    part === BLOCKED || part === IDLE || !stateMatches(state, chosen) || (within !== null && !within[part]);
}

// The parts of a span in which the order is unknown, joined: [{from, to}].
export function unorderedParts({ shown, runs }, { from, to }) {
  const parts = [];
  for (const i of shown) {
    if (runs.ordered[i] || runs.end[i] <= from || runs.start[i] >= to) continue;
    const last = parts[parts.length - 1];
    if (last !== undefined && runs.start[i] - last.to <= INSTANT_S) last.to = Math.min(to, runs.end[i]);
    else parts.push({ from: Math.max(from, runs.start[i]), to: Math.min(to, runs.end[i]) });
  }
  return parts;
}
