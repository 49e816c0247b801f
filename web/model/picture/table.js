// The table of functions or lines.

import { TEXT } from "../../text/session.js";
import { memoise } from "../base/memoise.js";
import { formatShare, ratio } from "../base/numbers.js";
import { nameRanks, sortedRows } from "../code/table.js";
import { frameLabel } from "../profile/frames.js";
import { countFrames, groupTotals } from "../trees/grouping.js";
import { inJitOf } from "../trees/native.js";
import { functionKey } from "./functions.js";

// Which share of self samples code of CPython's JIT executed; null: none, or nothing is known.
export function inJitBadge(inJit, self) {
  return inJit > 0 ? TEXT.states.facts.in_jit + " " + formatShare(ratio(inJit, self)) : null;
}

// -> the badge of a frame, for the rows of the table
function makeInJit(recording, version, grouping, { self }) {
  const { self: inJit } = countFrames(grouping, groupTotals(grouping, recording.inJit));
  return (frame) => inJitBadge(inJitOf(recording.profile, grouping.frames.function[frame], inJit[frame]), self[frame]);
}

// All rows in their order; labels are made where they are shown.
function makeTable(recording, version, grouping, all, matcher, table, ranks) {
  const { frames } = grouping;
  const rows = matcher.search.active ? all.filter((row) => matcher.matched[frames.function[row.frame]]) : all;
  const labelOf = (row) => frameLabel(frames, recording.profile, row.frame);
  const sorted = sortedRows(rows, table.sort, table.descending, ranks);
  return { rows: sorted, count: rows.length, functions: all.length, labelOf, keyOf: (row) => functionKey(recording, grouping, row.frame) };
}

export function tableSelectors() {
  const ranksOf = memoise((frames, profile, count) => nameRanks(frames, profile));
  const badgesOf = memoise(makeInJit);
  const tableOf = memoise(makeTable);
  return {
    table(picture) {
      if (picture.address.view !== "table") return null;
      const { state, recording, version, grouping, rows, matcher } = picture;
      const ranks = ranksOf(grouping.frames, recording.profile, grouping.frames.function.length);
      return tableOf(recording, version, grouping, rows, matcher, state.table, ranks);
    },
    inJit: ({ recording, version, grouping, counts }) => badgesOf(recording, version, grouping, counts),
  };
}
