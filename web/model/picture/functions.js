// Functions as links call them, and those that stand out.

import { topFrames } from "../code/table.js";
import { frameKey, frameLabel, frameOfFunction } from "../profile/frames.js";
import { currentGrouping } from "../trees/recording.js";

const HOTTEST_COUNT = 12;
const WAITS_AMONG_HOTTEST = 24;

// The frame that a link calls `key`, or 0.
export function frameOfKey(frames, profile, key) {
  for (let frame = 1; frame < frames.function.length; frame += 1)
    if (frameKey(frames, profile, frame) === key) return frame;
  return 0;
}

// The key of a frame's function in links, whatever line of it.
export function functionKey(recording, grouping, frame) {
  const functions = currentGrouping(recording, "function", grouping.filters, grouping.native, grouping.waits);
  const same = frameOfFunction(functions.frames, grouping.frames.function[frame]);
  return same > 0 ? frameKey(functions.frames, recording.profile, same) : "";
}

// The frames with the most self samples, without what threads wait for: [{label, self, key}]
/** @param {{ profile: Profile }} recording @param {Grouping} grouping @param {{ self: Float64Array }} counts */
export function hottestFunctions(recording, grouping, counts) {
  const labelOf = (frame) => frameLabel(grouping.frames, recording.profile, frame);
  const hottest = topFrames(counts.self, HOTTEST_COUNT + WAITS_AMONG_HOTTEST).map((frame) => ({ frame,
    label: labelOf(frame), self: counts.self[frame] })
  );
  return hottest.filter(({ label }) => label.wait === null).slice(0, HOTTEST_COUNT).map((
    { frame, label, self: samples },
  ) => ({ label, self: samples, key: functionKey(recording, grouping, frame) }));
}
