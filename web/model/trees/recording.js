// What the page holds of a session: the tables, the counts of the current query, and the trees made of them.
// It changes in place; `version` changes with it.

import { applyView, createCounts } from "./counts.js";
import { createGrouping, extendGrouping } from "./grouping.js";
import { applyTree, createProfile, mergeTree, nodeCount } from "../profile/profile.js";
import { createMergedNames } from "./trees.js";

const GROUPINGS_MAX = 6;

export function createRecording() {
  return { profile: createProfile(), counts: createCounts(), baseline: createCounts(), otherNode: null, groupings: new Map(), version: 0 };
}

// delivery: {restart, recount, trees, view}: answers of /tree and at most one of /view, and whether to forget
// everything or the counts first. Throws RangeError when it does not fit what is here.
export function takeDelivery(recording, delivery) {
  if (delivery.restart) Object.assign(recording, createRecording(), { version: recording.version });
  if (delivery.recount) recording.counts = createCounts();
  for (const tree of delivery.trees) applyTree(recording.profile, tree);
  if (delivery.view !== null) applyView(recording.counts, delivery.view, nodeCount(recording.profile));
  recording.version += 1;
}

function addGrouping(groupings, key, by, filters) {
  const grouping = { ...createGrouping(by, filters), bottomUpNames: createMergedNames() };
  if (groupings.size >= GROUPINGS_MAX) groupings.delete(groupings.keys().next().value);
  groupings.set(key, grouping);
  return grouping;
}

// delivery: {trees, view}: what the current query is compared with; `view` is of the tree `other` where that is not null, of
// which there may be one. Throws RangeError when it does not fit what is here.
export function takeBaseline(recording, { trees, view, other = null }) {
  const counts = createCounts();
  for (const tree of trees) applyTree(recording.profile, tree);
  if (other !== null) recording.otherNode ??= mergeTree(recording.profile, other);
  applyView(counts, other === null ? view : { ...view, node: view.node.map(recording.otherNode) }, nodeCount(recording.profile));
  recording.baseline = counts;
  recording.version += 1;
}

// The grouping by "function", "line" or "name" (of grouping.js) after these filters, up to date with the profile; the last few are kept.
export function currentGrouping(recording, by, filters = []) {
  const key = [by, ...filters].join("\n");
  const grouping = recording.groupings.get(key) ?? addGrouping(recording.groupings, key, by, filters);
  extendGrouping(grouping, recording.profile);
  return grouping;
}
