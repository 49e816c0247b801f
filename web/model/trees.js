// Two ways to look at one grouping: from the root down, and from the leaves up. Both are trees of stable integer ids,
// 0 is the root, read through the same five functions:
//   children(id) -> ids, total(id), self(id), frame(id), parent(id)

import { columnPush, createColumn } from "./column.js";
import { frameKey } from "./frames.js";
import { groupChildren, groupCount } from "./grouping.js";

const INVERTED_FRAMES_MAX = 2 ** 26;

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

// Names for the frames of inverted trees that were ever looked at; they outlive the counts.
export function createInversion() {
  const inversion = { parent: createColumn(), frame: createColumn(), index: new Map() };
  columnPush(inversion.parent, 0);
  columnPush(inversion.frame, 0);
  return inversion;
}

function invertedId(inversion, parent, frame) {
  const key = parent * INVERTED_FRAMES_MAX + frame;
  let id = inversion.index.get(key);
  if (id === undefined) {
    id = columnPush(inversion.parent, parent);
    columnPush(inversion.frame, frame);
    inversion.index.set(key, id);
  }
  return id;
}

// Sorts (group, weight) pairs by the frame of the group into children of `id`.
function addChildren(tree, inversion, grouping, id, groups, weights) {
  const byFrame = new Map();
  for (let i = 0; i < groups.length; i += 1) {
    const frame = grouping.frame.values[groups[i]];
    let child = byFrame.get(frame);
    if (child === undefined) {
      child = { total: 0, groups: [], weights: [], children: null };
      byFrame.set(frame, child);
      tree.set(invertedId(inversion, id, frame), child);
    }
    child.total += weights[i];
    child.groups.push(groups[i]);
    child.weights.push(weights[i]);
  }
  return Array.from(byFrame.keys(), (frame) => invertedId(inversion, id, frame));
}

// One step towards the root: callers of `groups`, with what they carry added up; samples that began here end.
function callersOf(grouping, groups, weights) {
  const carried = new Map();
  for (let i = 0; i < groups.length; i += 1) {
    const caller = grouping.parent.values[groups[i]];
    if (caller !== 0) carried.set(caller, (carried.get(caller) ?? 0) + weights[i]);
  }
  return { groups: Array.from(carried.keys()), weights: Array.from(carried.values()) };
}

// Bottom up: below the root the functions that were running, below each its callers. Built where it is looked at.
export function bottomUpTree(inversion, grouping, totals) {
  const tree = new Map();
  const leaves = [];
  const weights = [];
  for (let g = 1; g < groupCount(grouping); g += 1) {
    if (totals.self[g] > 0) {
      leaves.push(g);
      weights.push(totals.self[g]);
    }
  }
  tree.set(0, { total: totals.sum, groups: [], weights: [], children: null });
  tree.get(0).children = addChildren(tree, inversion, grouping, 0, leaves, weights);

  function children(id) {
    const node = tree.get(id);
    if (node === undefined) return [];
    if (node.children === null) {
      const callers = callersOf(grouping, node.groups, node.weights);
      node.children = addChildren(tree, inversion, grouping, id, callers.groups, callers.weights);
    }
    return node.children;
  }
  const total = (id) => tree.get(id)?.total ?? 0;
  const parent = (id) => inversion.parent.values[id];
  return {
    children,
    total,
    self: (id) => (id !== 0 && parent(id) === 0 ? total(id) : 0),
    frame: (id) => inversion.frame.values[id],
    parent,
  };
}

// Ids from the first below the root to `id`.
export function treePath(tree, id) {
  const path = [];
  for (let at = id; at !== 0; at = tree.parent(at)) path.push(at);
  return path.reverse();
}

export function treeKeys(tree, frames, profile, id) {
  return treePath(tree, id).map((at) => frameKey(frames, profile, tree.frame(at)));
}

// Where a link's path of frame keys leads, as far as it exists: {id, missing}.
export function resolveKeys(tree, frames, profile, keys) {
  let id = 0;
  for (let i = 0; i < keys.length; i += 1) {
    const next = tree.children(id).find((child) => frameKey(frames, profile, tree.frame(child)) === keys[i]);
    if (next === undefined) return { id, missing: keys.length - i };
    id = next;
  }
  return { id, missing: 0 };
}
