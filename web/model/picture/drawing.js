// Trees as they are drawn: what each frame is called and how hot it is.

import { TEXT } from "../../text/session.js";
import { formatCount, formatShare, ratio } from "../base/numbers.js";
import { frameLabel } from "../profile/frames.js";
import { cutTree } from "../trees/cut.js";

// Shares of all samples at which a frame glows one step hotter.
export const HEAT_STEPS = [0.002, 0.01, 0.025, 0.05, 0.1, 0.2, 0.4];

export function heatLevel(share) {
  let level = 0;
  while (level < HEAT_STEPS.length && share >= HEAT_STEPS[level]) level += 1;
  return level;
}

function remainderFields(kind, count, value, isMore, sum) {
  const number = formatCount(count) + (isMore ? "+" : "");
  const name = {
    more: TEXT.flame.more(number, formatShare(ratio(value, sum))),
    deeper: TEXT.flame.deeper(number),
    above: TEXT.flame.above(number),
  }[kind];
  return { name, label: name, self: 0, total: value, heat: 0, hue: "none", neutral: true, foreign: true };
}

function byLabel(a, b) {
  if (a.foreign !== b.foreign) return a.foreign ? 1 : -1;
  if (a.label !== b.label) return a.label < b.label ? -1 : 1;
  return Number(a.id) - Number(b.id);
}

// Siblings in that order; bottom-up always the largest first, as what leads to most samples is what is asked for.
function bySize(a, b) {
  return b.value - a.value || byLabel(a, b);
}

export const siblingOrder = (order, isBottomUp) => (order === "size" || isBottomUp ? bySize : byLabel);

// Fields that the root is drawn with.
export function rootFields(totals) {
  return { name: TEXT.all, label: TEXT.all, self: 0, total: totals.sum, heat: 0, hue: "none", neutral: true,
    foreign: true };
}

// -> fields(id) of a tree of a grouping with these totals
export function createFields(recording, grouping, totals, tree) {
  const { frames } = grouping;
  return (id) => {
    const frame = tree.frame(id);
    const label = frameLabel(frames, recording.profile, frame);
    const self = tree.self(id);
    return {
      name: label.label,
      label: label.label,
      self,
      total: tree.total(id),
      heat: heatLevel(self / totals.sum),
      hue: label.hue,
      neutral: label.synthetic && label.wait === null && (!label.runs || self < totals.sum * HEAT_STEPS[0]),
      foreign: label.synthetic,
      function: frames.function[frame],
    };
  };
}

// -> {root, levels, count (of cut.js), byId}
export function drawTree(tree, focus, width, fields, sum, order) {
  const remainder = (kind, count, value, isMore) => remainderFields(kind, count, value, isMore, sum);
  const drawing = cutTree(tree, focus, { width, fields, remainder, order });
  return { ...drawing, byId: indexDrawing(drawing.root) };
}

// Every drawn frame by its id, with the frame above it and its level; a folded chain by the ids of all its frames.
function indexDrawing(root) {
  /** @type {Map<string, { frame: object, parent: object | null, level: number }>} */
  const byId = new Map([[root.id, { frame: root, parent: null, level: 0 }]]);
  const stack = [{ frame: root, level: 1 }];
  for (let next = stack.pop(); next !== undefined; next = stack.pop()) {
    const { frame, level } = next;
    for (const child of frame.children) {
      for (const id of child.ids ?? [child.id]) byId.set(id, { frame: child, parent: frame, level });
      stack.push({ frame: child, level: level + 1 });
    }
  }
  return byId;
}

// The drawing with what a search makes of its frames, isMatch(frame): only their style differs, not their place.
export function markDrawing(drawing, matcher) {
  if (drawing === null || !matcher.search.active) return drawing;
  return { ...drawing,
    isMatch: (frame) => (frame.functions ?? [frame.function ?? 0]).some((id) => matcher.matched[id]) };
}
