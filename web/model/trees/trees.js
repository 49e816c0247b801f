// Two directions of one grouping: top-down and bottom-up. Both are trees of stable integer ids;
// 0 is the root. They are read through the same five functions:
//   children(id) -> ids, total(id), self(id), frame(id), parent(id)

import { columnPush, createColumn } from "../base/column.js";
import { createPairs, takePair } from "../base/pairs.js";
import { frameKey } from "../profile/frames.js";
import { groupChildren, groupCount } from "./grouping.js";

/** @param {Grouping} grouping @param {Totals} totals @returns {Tree} */
export function topDownTree(grouping, totals) {
  const { start, order } = groupChildren(grouping);
  return {
    children: (id) => order.subarray(start[id], start[id + 1]),
    total: (id) => totals.total[id],
    self: (id) => totals.self[id],
    frame: (id) => grouping.frame.values[id],
    parent: (id) => grouping.parent.values[id],
  };
}

// Ids for the frames of merged trees that were ever shown; they outlive the counts.
export function createMergedNames() {
  const names = { parent: createColumn(), frame: createColumn(), index: createPairs() };
  columnPush(names.parent, 0);
  columnPush(names.frame, 0);
  return names;
}

function mergedId(names, parent, frame) {
  const fresh = names.parent.length;
  const id = takePair(names.index, parent, frame, fresh);
  if (id === fresh) {
    columnPush(names.parent, parent);
    columnPush(names.frame, frame);
  }
  return id;
}

// Sorts (group, weight) pairs by the frame of the group into children of `id`.
function addChildren(tree, names, grouping, id, groups, weights) {
  const byFrame = new Map();
  for (let i = 0; i < groups.length; i += 1) {
    const frame = grouping.frame.values[groups[i]];
    let child = byFrame.get(frame);
    if (child === undefined) {
      child = { total: 0, groups: [], weights: [], children: null };
      byFrame.set(frame, child);
      tree.set(mergedId(names, id, frame), child);
    }
    child.total += weights[i];
    child.groups.push(groups[i]);
    child.weights.push(weights[i]);
  }
  return Array.from(byFrame.keys(), (frame) => mergedId(names, id, frame));
}

// One step towards the root: callers of `groups`, with what they carry added up; samples that began here end.
/** @param {Grouping} grouping @param {number[]} groups @param {number[]} weights @returns {Weighted} */
function callersOf(grouping, groups, weights) {
  const carried = new Map();
  for (let i = 0; i < groups.length; i += 1) {
    const caller = grouping.parent.values[groups[i]];
    if (caller !== 0) carried.set(caller, (carried.get(caller) ?? 0) + weights[i]);
  }
  return { groups: Array.from(carried.keys()), weights: Array.from(carried.values()) };
}

// One step towards the leaves: what `groups` call.
function calleesOf(grouping, totals) {
  const { start, order } = groupChildren(grouping);
  return (groups) => {
    const called = [];
    for (const group of groups)
      for (let at = start[group]; at < start[group + 1]; at += 1)
        if (totals.total[order[at]] > 0)
          called.push(
            order[at],
          );
    return { groups: called, weights: called.map((group) => totals.total[group]) };
  };
}

// A tree of groups merged by frame, built where it is shown: `first` is below the root, step(groups, weights) gives
// what is below a node. Both are {groups, weights}.
function mergedTree(names, grouping, sum, first, step) {
  const tree = new Map();
  tree.set(0, { total: sum, groups: [], weights: [], children: null });
  tree.get(0).children = addChildren(tree, names, grouping, 0, first.groups, first.weights);
  return {
    children(id) {
      const node = tree.get(id);
      if (node === undefined) return [];
      if (node.children === null) {
        const next = step(node.groups, node.weights);
        node.children = addChildren(tree, names, grouping, id, next.groups, next.weights);
      }
      return node.children;
    },
    total: (id) => tree.get(id)?.total ?? 0,
    frame: (id) => names.frame.values[id],
    parent: (id) => names.parent.values[id],
    groups: (id) => tree.get(id)?.groups ?? [],
  };
}

// Bottom up: below the root the functions that were running, below each its callers.
export function bottomUpTree(names, grouping, totals) {
  /** @type {Weighted} */
  const leaves = { groups: [], weights: [] };
  for (let g = 1; g < groupCount(grouping); g += 1) {
    if (totals.self[g] > 0) {
      leaves.groups.push(g);
      leaves.weights.push(totals.self[g]);
    }
  }
  const tree = mergedTree(names, grouping, totals.sum, leaves,
    (groups, weights) => callersOf(grouping, groups, weights));
  return { ...tree, self: (id) => (id !== 0 && tree.parent(id) === 0 ? tree.total(id) : 0) };
}

// The nodes at which a frame stands outermost: recursion below belongs to it.
/** @param {Grouping} grouping @param {Totals} totals @param {number} frame */
function outermostGroups(grouping, totals, frame) {
  const below = new Uint8Array(groupCount(grouping));
  /** @type {Weighted & { sum: number }} */
  const found = { groups: [], weights: [], sum: 0 };
  for (let g = 1; g < below.length; g += 1) {
    const parent = grouping.parent.values[g];
    below[g] = below[parent] || (parent !== 0 && grouping.frame.values[parent] === frame) ? 1 : 0;
    if (grouping.frame.values[g] !== frame || below[g] || !(totals.total[g] > 0)) continue;
    found.groups.push(g);
    found.weights.push(totals.total[g]);
    found.sum += totals.total[g];
  }
  return found;
}

// All that leads to a frame and all that it calls, each sample once: {callers, callees, sum, self}; the root of both trees
// is the frame. `names`: {up, down}, two sets of ids of its own.
export function sandwichTrees(names, grouping, totals, frame) {
  const middle = outermostGroups(grouping, totals, frame);
  const selfOf = (groups) => groups.reduce((sum, group) => sum + totals.self[group], 0);
  const stepUp = (groups, weights) => callersOf(grouping, groups, weights);
  const stepDown = calleesOf(grouping, totals);
  const up = mergedTree(names.up, grouping, middle.sum, stepUp(middle.groups, middle.weights), stepUp);
  const down = mergedTree(names.down, grouping, middle.sum, stepDown(middle.groups), stepDown);
  const frameOfTree = (tree) => (id) => (id === 0 ? frame : tree.frame(id));
  let self = 0;
  for (let g = 1; g < groupCount(grouping); g += 1) if (grouping.frame.values[g] === frame) self += totals.self[g];
  return {
    callers: { ...up, frame: frameOfTree(up), self: () => 0 },
    callees: { ...down, frame: frameOfTree(down), self: (id) => selfOf(id === 0 ? middle.groups : down.groups(id)) },
    sum: middle.sum,
    self,
  };
}

// Ids from the first below the root to `id`.
/** @param {Pick<Tree, "parent">} tree @param {number} id */
export function treePath(tree, id) {
  const path = [];
  for (let at = id; at !== 0; at = tree.parent(at)) path.push(at);
  return path.reverse();
}

/** @param {Tree} tree @param {Frames} frames @param {Profile} profile @param {number} id */
export function treeKeys(tree, frames, profile, id) {
  return treePath(tree, id).map((at) => frameKey(frames, profile, tree.frame(at)));
}

// The node to which a link's path of frame keys leads, as far as it exists: {id, missing}.
/** @param {Tree} tree @param {Frames} frames @param {Profile} profile @param {string[]} keys */
export function resolveKeys(tree, frames, profile, keys) {
  let id = 0;
  for (let i = 0; i < keys.length; i += 1) {
    const next = tree.children(id).find((child) => frameKey(frames, profile, tree.frame(child)) === keys[i]);
    if (next === undefined) return { id, missing: keys.length - i };
    id = next;
  }
  return { id, missing: 0 };
}
