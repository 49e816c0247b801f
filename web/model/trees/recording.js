// The data that the page holds of a session: the tables, the counts of the current query, and the trees made of them.
// It changes in place; `version` changes with it.

import { grownArray } from "../base/column.js";
import { createPartAt } from "../profile/parts.js";
import { applyTree, createProfile, mergeTree, nodeCount } from "../profile/profile.js";
import { checkedRuns, emptyRuns } from "../profile/runs.js";
import { movedBlocks } from "./blocks.js";
import { createGrouping, extendGrouping, filterGrouping, framesFor } from "./grouping.js";
import { createMergedNames } from "./trees.js";

const GROUPINGS_MAX = 6;

// Self samples per node for one query: the sum of the answers of /view; `measure` is what they are of, if not of time;
// `returned` are bytes that were given back meanwhile, of memory growth, if that was counted.
export function createCounts() {
  return { self: new Float64Array(1024), total: 0, seconds: 0, measure: null, returned: null, generation: 0 };
}

// Adds `view` (an answer of /view). Throws RangeError when it names a node that does not exist among `nodes`.
export function applyView(counts, view, nodes) {
  counts.self = grownArray(counts.self, nodes);
  for (let i = 0; i < view.node.length; i += 1) {
    const node = view.node[i];
    const count = view.self[i];
    if (!Number.isInteger(node) || node < 0 || node >= nodes) throw new RangeError("node " + node + " does not exist");
    if (!(count >= 0)) throw new RangeError("node " + node + " has no count");
    counts.self[node] += count;
    counts.total += count;
  }
  counts.seconds += view.seconds ?? NaN;
  if (view.measure) counts.measure = { ...view.measure, value: (counts.measure?.value ?? 0) + view.measure.value };
  if (view.returned !== undefined) counts.returned = (counts.returned ?? 0) + view.returned;
  counts.generation = view.generation;
}

export function createRecording() {
  return {
    profile: createProfile(),
    counts: createCounts(),
    inJit: createCounts(),
    running: null,
    runningVersion: 0,
    baseline: createCounts(),
    blocks: { current: null, baseline: null },
    runs: emptyRuns(),
    other: null,
    otherNode: null,
    groupings: new Map(),
    frames: new Map(),
    version: 0,
  };
}

// delivery: {restart, recount, trees, view}: answers of /tree and at most one of /view, and whether to forget
// everything or the counts first. Throws RangeError when it does not fit what is here.
export function takeDelivery(recording, delivery) {
  if (delivery.restart) Object.assign(recording, createRecording(), { version: recording.version });
  if (delivery.recount) {
    recording.counts = createCounts();
    recording.inJit = createCounts();
    recording.running = null;
    recording.blocks.current = null;
  }
  for (const tree of delivery.trees) applyTree(recording.profile, tree);
  if (delivery.view !== null) applyView(recording.counts, delivery.view, nodeCount(recording.profile));
  if (delivery.view?.in_jit !== undefined)
    applyView(recording.inJit, delivery.view.in_jit, nodeCount(recording.profile));
  if (delivery.view?.blocks !== undefined)
    recording.blocks.current = checkedBlocks(delivery.view.blocks, nodeCount(recording.profile));
  recording.version += 1;
}

// delivery: {recount, trees, view}: of the current query what runs (parts.js). Only hottest lines are made of it.
export function takeRunning(recording, { recount, trees, view }) {
  for (const tree of trees) applyTree(recording.profile, tree);
  if (recount || recording.running === null) recording.running = createCounts();
  applyView(recording.running, view, nodeCount(recording.profile));
  recording.runningVersion += 1;
  if (trees.length > 0) recording.version += 1;
}

// True if it is not known of all that is counted which of it runs.
export function isRunningBehind({ running, counts }) {
  return running === null || running.generation < counts.generation;
}

// The blocks of an answer of /view (blocks.js). Throws RangeError when they name a node that does not exist.
function checkedBlocks(blocks, nodes) {
  const wrong = blocks.node.find((node) => !Number.isInteger(node) || node < 0 || node >= nodes);
  if (wrong !== undefined) throw new RangeError("node " + wrong + " does not exist");
  return blocks;
}

// delivery: {trees, view}: the current query again, with its blocks.
export function takeBlocks(recording, { trees, view }) {
  for (const tree of trees) applyTree(recording.profile, tree);
  recording.blocks.current = checkedBlocks(view.blocks, nodeCount(recording.profile));
  recording.version += 1;
}

// The one that was used last stands last.
function useGrouping(groupings, key, create) {
  const grouping = groupings.get(key) ?? { ...create(), bottomUpNames: createMergedNames() };
  groupings.delete(key);
  if (groupings.size >= GROUPINGS_MAX) groupings.delete(groupings.keys().next().value);
  groupings.set(key, grouping);
  return grouping;
}

// delivery: {trees, runs}: what one thread did in the order of time (runs.js).
export function takeRuns(recording, { trees, runs }) {
  for (const tree of trees) applyTree(recording.profile, tree);
  const partAt = createPartAt(recording.profile);
  const { node, state } = checkedRuns(runs, nodeCount(recording.profile));
  recording.runs = { ...runs, part: Uint8Array.from(node, (id, i) => partAt(state[i], id)) };
  if (trees.length > 0) recording.version += 1;
}

// delivery: {trees, view}: what the current query is compared with; `view` is of the tree `other` where that is not null, of
// which there may be one. Throws RangeError when it does not fit what is here.
export function takeBaseline(recording, { trees, view, other = null }) {
  const counts = createCounts();
  for (const tree of trees) applyTree(recording.profile, tree);
  if (other !== null && other !== recording.other)
    Object.assign(recording, { other, otherNode: mergeTree(recording.profile, other) });
  applyView(counts, other === null ? view : { ...view, node: view.node.map(recording.otherNode) },
    nodeCount(recording.profile));
  const { blocks } = view;
  recording.blocks.baseline = blocks === undefined
    ? null
    : checkedBlocks(other === null ? blocks : movedBlocks(blocks, recording.otherNode), nodeCount(recording.profile));
  recording.baseline = counts;
  recording.version += 1;
}

// The grouping by "function", "line" or "name" (of grouping.js) after these filters, with native frames as chosen (native.js), up to date
// with the profile; the last few that were used are kept.
export function currentGrouping(recording, by, filters = [], native = "leaf", waits = true) {
  const key = [by, native, waits, ...filters].join("\n");
  const framesKey = by + (native === "library");
  if (!recording.frames.has(framesKey)) recording.frames.set(framesKey, framesFor(by, native));
  const plain = recording.groupings.get([by, native, waits].join("\n"));
  if (plain !== undefined) extendGrouping(plain, recording.profile);
  const grouping = useGrouping(recording.groupings, key, () => (plain === undefined
    ? createGrouping(by, filters, native, waits, recording.frames.get(framesKey))
    : filterGrouping(plain, filters, recording.profile)));
  extendGrouping(grouping, recording.profile);
  return grouping;
}
