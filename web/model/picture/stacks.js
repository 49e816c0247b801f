// The stack chart: the boxes of one thread.

import { memoise } from "../base/memoise.js";
import { groupCount } from "../trees/grouping.js";
import { layOutRuns } from "../trees/stacks.js";
import { topDownTree } from "../trees/trees.js";
import { createFields } from "./drawing.js";

// Of a frame in a stack chart: {label, style (as in the style sheet), function}, made once.
function createFaces(recording, version, grouping, totals) {
  const faces = [];
  const fieldsOf = createFields(recording, grouping, totals, topDownTree(grouping, totals));
  return (group) => (faces[group] ??= fieldsOf(group));
}

// stacks: {thread, isBusiest, layout (of trees/stacks.js; null: nothing is known yet), faceOf(group)}
export function stackSelectors() {
  const layoutOf = memoise((runs, grouping, groups) => layOutRuns(runs, grouping));
  const facesOf = memoise(createFaces);
  return {
    stacks(picture) {
      if (picture.address.view !== "stacks") return null;
      const { recording, version, grouping, totals, followed: { thread, isBusiest } } = picture;
      const isKnown = thread !== null && recording.runs.key === thread.ids.join();
      return { thread, isBusiest, layout: isKnown ? layoutOf(recording.runs, grouping, groupCount(grouping)) : null, faceOf: facesOf(recording, version, grouping, totals) };
    },
  };
}
