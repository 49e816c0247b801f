// What changed from a baseline.

import { memoise } from "../base/memoise.js";
import { formatPoints } from "../base/numbers.js";
import { otherBaseline } from "../page/questions.js";
import { shownOrder } from "../page/state.js";
import { frameLabel } from "../profile/frames.js";
import { changeStyle, compareGroups, compareRows, comparedSide, comparedSides } from "../trees/compare.js";
import { countFrames, groupTotals } from "../trees/grouping.js";
import { resolveKeys, topDownTree, treeKeys } from "../trees/trees.js";
import { drawTree, markDrawing, rootFields, siblingOrder } from "./drawing.js";
import { functionKey } from "./functions.js";
import { blockSums, samplesInTime } from "./intervals.js";

const DIFF_SIGNS = { new: "+ ", gone: "− ", more: "↑ ", less: "↓ " };

// Marks that say how a stack was read, not what the program did: they never differ significantly.
const READING_MARKS = ["<truncated>", "<gap>", "<native stack>", "<name not kept>"];

// Both sides of the sums, of {self, total} by frame or by group.
function sidesOfSums(baseline, current, self, total) {
  if (baseline === null || current === null) return null;
  return { baseline: { self: baseline.columns[self], total: baseline.columns[total] }, current: { self: current.columns[self], total: current.columns[total] } };
}

// What changed from the baseline to the current query, and the functions by change: {groups (of compareGroups), rows, count,
// baselineSum, currentSum}, or null without a baseline. The times of both sides are 0 where shares are compared.
function makeCompared(recording, version, grouping, totals, baselineTime, currentTime) {
  if (recording.baseline.total === 0) return null;
  const baseline = groupTotals(grouping, recording.baseline);
  if (baseline.sum === 0 && totals.sum === 0) return null;
  const isRate = baselineTime > 0;
  const [before, after] = [blockSums(recording, grouping, recording.blocks.baseline, isRate ? recording.baseline : null, true), blockSums(recording, grouping, recording.blocks.current, isRate ? recording.counts : null, true)];
  const sides = comparedSides(
    comparedSide(isRate ? samplesInTime(baselineTime, recording.baseline) : baseline.sum, before?.units ?? null),
    comparedSide(isRate ? samplesInTime(currentTime, recording.counts) : totals.sum, after?.units ?? null), isRate);
  const labelOf = (frame) => frameLabel(grouping.frames, recording.profile, frame);
  const mayDiffer = (frame) => !READING_MARKS.includes(labelOf(frame).raw);
  const rows = compareRows(countFrames(grouping, baseline), countFrames(grouping, totals), sides, sidesOfSums(before, after, "self", "total"), mayDiffer)
    .map((row) => ({ ...row, label: labelOf(row.frame), key: functionKey(recording, grouping, row.frame) }));
  const groups = compareGroups(baseline, totals, sides, sidesOfSums(before, after, "groupSelf", "groupTotal"), (group) => mayDiffer(grouping.frame.values[group]));
  return { groups, rows, count: rows.length, baselineSum: baseline.sum, currentSum: totals.sum, hasBlocks: before !== null && after !== null };
}

// The comparison as it is drawn: what makeCompared() gives and {drawing, focus, keysTo(id)}; zoom, widthOf and by are those of the address.
function makeDiff(compared, recording, grouping, width, zoom, widthOf, by, order) {
  if (compared === null) return null;
  const { groups } = compared;
  const totals = groups.totals(widthOf);
  const tree = topDownTree(grouping, totals);
  const { frames } = grouping;
  const fields = (id) => {
    const changes = { total: groups.total(id), self: groups.self(id) };
    if (id === 0) return { ...rootFields(totals), changes };
    const label = frameLabel(frames, recording.profile, tree.frame(id));
    const { verdict, baselineShare, currentShare } = changes[by];
    const points = verdict === "same" || verdict === "few" ? "" : "  " + formatPoints(currentShare - baselineShare);
    // Siblings are in the order of the flame graph, by name without a sign.
    return { name: (DIFF_SIGNS[verdict] ?? "") + label.label + points, label: label.label, heat: 0, hue: label.wait === null ? label.hue : "none", neutral: false, foreign: label.synthetic, change: changeStyle(verdict, currentShare - baselineShare), changes, function: frames.function[tree.frame(id)] };
  };
  const { id, missing } = resolveKeys(tree, frames, recording.profile, zoom);
  const focus = missing === 0 && tree.total(id) > 0 ? id : 0;
  return {
    ...compared, focus,
    drawing: width > 0 && totals.sum > 0 ? drawTree(tree, focus, width, fields, totals.sum, siblingOrder(order, false)) : null,
    keysTo: (to) => treeKeys(tree, frames, recording.profile, Number(to)),
  };
}

// The drawing with both what changed and what a search makes of its frames.
function markDiff(diff, matcher) {
  if (diff === null) return null;
  return { ...diff, drawing: markDrawing(diff.drawing, matcher) };
}

// The seconds of the baseline and of what is compared with it, 0 where shares are compared.
function timesOf({ session, address }) {
  const other = otherBaseline({ session, address });
  if (other?.by !== "time") return { baseline: 0, current: 0 };
  const { range } = address;
  const { duration_s: duration, to_s: end } = session.selection;
  return { baseline: other.selection.duration_s, current: range === null ? duration : (range.to ?? end) - range.from };
}

export function diffSelectors() {
  const totalsOf = memoise((recording, version, grouping) => groupTotals(grouping, recording.counts));
  const comparedOf = memoise(makeCompared);
  const diffOf = memoise(makeDiff);
  const markedOf = memoise(markDiff);
  return {
    // null while nothing is compared.
    diff(picture) {
      const { state, recording, version, address, groupingBy, functionGrouping, matcher } = picture;
      const isOther = otherBaseline(state) !== null;
      if (address.view !== "diff" || (!isOther && address.baseline === null)) return null;
      // Another session has functions of its own, so those are compared by name.
      const grouping = isOther ? groupingBy("name") : functionGrouping;
      const totals = isOther ? totalsOf(recording, version, grouping) : picture.functionTotals;
      const times = timesOf(state);
      const compared = comparedOf(recording, version, grouping, totals, times.baseline, times.current);
      return markedOf(diffOf(compared, recording, grouping, state.width, address.zoom, address.diffWidth, address.diffBy, shownOrder(state)), matcher);
    },
  };
}
