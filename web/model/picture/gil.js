// GIL contention.

import { TEXT } from "../../text/session.js";
import { memoise } from "../base/memoise.js";
import { nodeCount } from "../profile/profile.js";
import { STATE_FACTS } from "../profile/states.js";
import { isWithoutGil } from "../threads/activity.js";
import { causedCounts, gilMatrix } from "../threads/gil.js";
import { countFrames, groupTotals } from "../trees/grouping.js";
import { topDownTree } from "../trees/trees.js";
import { createFields, drawTree, rootFields, siblingOrder } from "./drawing.js";
import { functionKey, hottestFunctions } from "./functions.js";

const GIL_SIDES_MAX = 12;

// Why there is nothing to say of the GIL, or null.
function gilReason(gil, sums, withoutGil) {
  const waits = STATE_FACTS.indexOf("waits_gil");
  if (sums.samples === 0) return TEXT.noSamples;
  if (withoutGil) return TEXT.gil.freeThreaded;
  const holds = STATE_FACTS.indexOf("has_gil");
  if (sums.yes[waits] === 0 && sums.unknown[waits] > 0 && sums.unknown[waits] + sums.yes[holds] >= sums.samples) return TEXT.gil.unknown;
  return gil.waited > 0 ? null : TEXT.gil.none;
}

// By thread: {reason, waited, unattributed, caused, matrix, hottest, drawing, keyOf}.
function makeGil(recording, version, grouping, gil, threads, sums, withoutGil, width) {
  const totals = groupTotals(grouping, causedCounts(gil, nodeCount(recording.profile)));
  const tree = topDownTree(grouping, totals);
  const fieldsOf = createFields(recording, grouping, totals, tree);
  return {
    ...gil,
    reason: gilReason(gil, sums, withoutGil),
    caused: totals.sum,
    matrix: gilMatrix(gil, threads, GIL_SIDES_MAX),
    hottest: hottestFunctions(recording, grouping, countFrames(grouping, totals)),
    drawing: totals.sum > 0 && width > 0 ? drawTree(tree, 0, width, (id) => (id === 0 ? rootFields(totals) : fieldsOf(id)), totals.sum, siblingOrder("name", false)) : null,
    keyOf: (id) => (Number(id) === 0 ? "" : functionKey(recording, grouping, tree.frame(Number(id)))),
  };
}

export function gilSelectors() {
  const gilOf = memoise(makeGil);
  return {
    gil(picture) {
      if (picture.address.view !== "gil") return null;
      const { state: { session, gil, width }, recording, version, functionGrouping, threads, sums } = picture;
      return gilOf(recording, version, functionGrouping, gil, threads, sums, isWithoutGil(session, sums), width);
    },
  };
}
