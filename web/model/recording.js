// What the page has of a session: the tables, the counts of the current query, and the trees made of them.
// It changes in place; `version` says that it did.

import { applyView, createCounts } from "./counts.js";
import { createGrouping, extendGrouping } from "./grouping.js";
import { applyTree, createProfile, nodeCount } from "./profile.js";
import { createInversion } from "./trees.js";

export function createRecording() {
  const groupings = { function: createGrouping("function"), line: createGrouping("line") };
  const inversions = { function: createInversion(), line: createInversion() };
  return { profile: createProfile(), counts: createCounts(), groupings, inversions, version: 0 };
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

// The grouping by "function" or "line", up to date with the profile.
export function currentGrouping(recording, by) {
  extendGrouping(recording.groupings[by], recording.profile);
  return recording.groupings[by];
}
