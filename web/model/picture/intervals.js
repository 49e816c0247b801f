// How certain shares are: sums over slices of time, and the intervals that follow from them.

import { memoise } from "../base/memoise.js";
import { nodeCount } from "../profile/profile.js";
import { forEachBlock, shareInterval } from "../trees/blocks.js";
import { sumBlocks } from "../trees/compare.js";
import { countFrames, groupsBelow, groupTotals, isCountedNode } from "../trees/grouping.js";

// How many samples the time of a side stands for: its seconds in those of one sample.
export function samplesInTime(seconds, counts) {
  return counts.seconds > 0 ? (seconds * counts.total) / counts.seconds : 0;
}

// Sums over the blocks of a side: {units, columns: {self, total (by frame)[, groupSelf, groupTotal]}}, or null without blocks.
// counts: of the side, where its time counts; null: its samples do.
export function blockSums(recording, grouping, blocks, counts, withGroups) {
  if (blocks === null) return null;
  const [groups, frames] = [grouping.frame.length, grouping.frames.function.length];
  return sumBlocks({ self: frames, total: frames, ...(withGroups ? { groupSelf: groups, groupTotal: groups } : {}) }, (take) =>
    forEachBlock(blocks, nodeCount(recording.profile), (block, i) => {
      const { self, total, sum } = groupTotals(grouping, block);
      take({ ...countFrames(grouping, { self, total, sum }), groupSelf: self, groupTotal: total }, counts === null ? sum : samplesInTime(blocks.seconds[i], counts));
    }));
}

const NO_INTERVAL = { low: NaN, high: NaN };

// -> intervalOf(frame, number) of the picture, for many frames; NaN without blocks
function makeIntervals(recording, version, grouping) {
  const sums = blockSums(recording, grouping, recording.blocks.current, null, false);
  return (frame, number) => (sums === null ? NO_INTERVAL : shareInterval(sums.units, sums.columns[number], frame));
}

// Sums over blocks of the samples at groups for which isHit(group).
function hitSums(grouping, blocks, isHit) {
  const groupOfNode = grouping.groupOfNode.values;
  return sumBlocks({ row: 1 }, (take) => {
    let at = 0;
    for (const rows of blocks.rows) {
      const [end, row] = [at + rows, [0]];
      let all = 0;
      for (; at < end; at += 1) {
        const node = blocks.node[at];
        if (!isCountedNode(grouping, node)) continue;
        all += blocks.self[at];
        if (isHit(groupOfNode[node])) row[0] += blocks.self[at];
      }
      take({ row }, all);
    }
  });
}

// -> the same for one row at a time, of a frame or of a group, without counting all of them.
function makeRowIntervals(recording, version, grouping) {
  const blocks = recording.blocks.current;
  const frame = grouping.frame.values;
  const isIn = (below) => (group) => below[group] === 1;
  const hits = {
    self: (row) => (group) => group !== 0 && frame[group] === row,
    total: (row) => isIn(groupsBelow(grouping, (group) => frame[group] === row)),
    groupSelf: (row) => (group) => group === row,
    groupTotal: (row) => (row === 0 ? () => true : isIn(groupsBelow(grouping, (group) => group === row))),
  };
  const known = new Map();
  return (row, number) => {
    if (blocks === null) return NO_INTERVAL;
    const key = number + row;
    if (!known.has(key)) {
      const { units, columns } = hitSums(grouping, blocks, hits[number](row));
      known.set(key, shareInterval(units, columns.row, 0));
    }
    return known.get(key);
  };
}

// 95 % intervals {low, high} of shares.
export function intervalSelectors() {
  const intervalsOf = memoise(makeIntervals);
  const groupIntervalsOf = memoise(makeRowIntervals);
  const functionIntervalsOf = memoise(makeRowIntervals);
  return {
    // "self" or "total" of a row of the table.
    intervalOf: ({ recording, version, grouping }) => intervalsOf(recording, version, grouping),
    // "groupSelf" or "groupTotal" of a frame of the top-down tree.
    intervalOfGroup: ({ recording, version, grouping }) => groupIntervalsOf(recording, version, grouping),
    // "self" or "total" of a function, however the tree is grouped.
    intervalOfFunction: ({ recording, version, functionGrouping }) => functionIntervalsOf(recording, version, functionGrouping),
  };
}
