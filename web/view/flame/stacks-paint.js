// A stack chart on a canvas: what threads did above, below it a row of frames for each level of the stacks.

import { PARTS } from "../../model/profile/parts.js";
import { eachVisible, firstAt, unorderedParts } from "../../model/trees/stacks.js";
import { el } from "../elements/dom.js";
import { fillOf, FILLS, inkOf } from "./fills.js";

// The lane of states over the frames, and the gap below it.
export const LANE_PX = 10;
export const LANE_GAP_PX = 4;
const LABEL_LEAST_PX = 26;
const LABEL_PAD_PX = 5;
const PALE_ALPHA = 0.66;
const OTHER_ALPHA = 0.4;
const HATCH_PX = 5;
const FONT_SHARE = 0.57;

const PART_COLOURS = PARTS.map((part) => "part-" + part);
const NAMES = [...new Set([...FILLS, ...FILLS.map(inkOf)]), ...PART_COLOURS, "panel", "ink", "ink-soft", "accent",
  "selected", "line-strong"];

// The colours of the style sheet as a canvas takes them; they change with the theme.
export function readStackColours(element) {
  const probe = el("i", {});
  element.append(probe);
  const colours = new Map();
  for (const name of NAMES) {
    probe.style.color = "var(--" + name + ")";
    colours.set(name, getComputedStyle(probe).color);
  }
  const font = getComputedStyle(element).fontFamily;
  probe.remove();
  return { of: (name) => colours.get(name), font };
}

// As much of a text as fits: letters of one font are about as wide as each other.
function fitted(text, room, letterPx) {
  const letters = Math.floor(room / letterPx);
  return text.length <= letters ? text : letters < 3 ? "" : text.slice(0, letters - 1) + "…";
}

function paintLevel(context, shown, level, top) {
  const { span, pxPerSecond, cell, faceOf, markOf, colour, colours, letterPx } = shown;
  const labels = [];
  eachVisible(level, span, pxPerSecond, (index, x0, x1) => {
    const face = faceOf(level.group[index]);
    const mark = markOf(face);
    const fill = fillOf(face, colour, mark === "match");
    context.globalAlpha = mark === "other" ? OTHER_ALPHA : 1;
    context.fillStyle = colours.of(fill);
    // A hairline between frames that have room for one.
    context.fillRect(x0, top, x1 - x0 > 3 ? x1 - x0 - 1 : x1 - x0, cell - 1);
    const room = Math.min(x1, shown.width) - x0 - 2 * LABEL_PAD_PX;
    if (room >= LABEL_LEAST_PX)
      labels.push({ text: fitted(face.label, room, letterPx), x: x0 + LABEL_PAD_PX,
        ink: colours.of(mark === "other" ? "ink-soft" : inkOf(fill)) });
  });
  context.globalAlpha = 1;
  return labels;
}

// Paints the thread's states over the frames; pale parts over the stacks that wait or are not asked for.
function paintStates(context, shown, isPale) {
  const { layout: { shown: order, runs, grouping }, span, pxPerSecond, cell, top, colours } = shown;
  const px = (time) => Math.round((time - span.from) * pxPerSecond);
  let painted = -1;
  for (let at = firstAt(order.length, (i) => runs.end[order[i]] > span.from);
    at < order.length && runs.start[order[at]] < span.to; at += 1)
  {
    const i = order[at];
    const x0 = Math.max(0, px(runs.start[i]));
    const x1 = Math.max(x0 + 1, px(Math.min(runs.end[i], span.to)));
    if (x1 <= painted) continue;
    painted = x1;
    context.fillStyle = colours.of(PART_COLOURS[runs.part[i]]);
    context.fillRect(x0, 0, x1 - x0, LANE_PX);
    if (!isPale(runs.state[i], runs.part[i])) continue;
    const depth = grouping.depth.values[grouping.groupOfNode.values[runs.node[i]]];
    context.globalAlpha = PALE_ALPHA;
    context.fillStyle = colours.of("panel");
    const y = LANE_PX + LANE_GAP_PX;
    context.fillRect(x0, y, x1 - x0, Math.max(0, depth * cell - top));
    context.globalAlpha = 1;
  }
}

function paintUnordered(context, { layout, span, pxPerSecond, colours }) {
  context.strokeStyle = colours.of("ink-soft");
  context.lineWidth = 1;
  for (const { from, to } of unorderedParts(layout, span)) {
    const [x0, x1] = [(from - span.from) * pxPerSecond, (to - span.from) * pxPerSecond];
    context.save();
    context.beginPath();
    context.rect(x0, 0, x1 - x0, LANE_PX);
    context.clip();
    context.beginPath();
    for (let x = x0 - (x0 % HATCH_PX) - LANE_PX; x < x1; x += HATCH_PX) {
      context.moveTo(x, LANE_PX);
      context.lineTo(x + LANE_PX, 0);
    }
    context.stroke();
    context.restore();
  }
}

// Everything outside of the chosen range under a veil.
function paintRangeVeil(context, { span, pxPerSecond, width, height, colours, range }) {
  if (range === null) return;
  const x0 = (range.from - span.from) * pxPerSecond;
  const x1 = ((range.to ?? span.to) - span.from) * pxPerSecond;
  context.globalAlpha = PALE_ALPHA;
  context.fillStyle = colours.of("panel");
  if (x0 > 0) context.fillRect(0, 0, Math.min(x0, width), height);
  if (x1 < width) context.fillRect(Math.max(0, x1), 0, width, height);
  context.globalAlpha = 1;
  context.fillStyle = colours.of("accent");
  for (const x of [x0, x1]) if (x >= 0 && x <= width) context.fillRect(Math.round(x) - 1, 0, 2, height);
}

// A frame around the boxes of the selected frame, a heavier one around that at which the keyboard is.
function paintSelected(context, { layout, span, pxPerSecond, cell, top, colours, selected, current, hasFocus }) {
  const depth = selected === null ? 0 : layout.grouping.depth.values[selected];
  const level = layout.levels[depth - 1];
  if (level === undefined) return;
  const y = LANE_PX + LANE_GAP_PX + (depth - 1) * cell - top;
  eachVisible(level, span, pxPerSecond, (index, x0, x1) => {
    if (level.group[index] !== selected) return;
    const isCurrent = hasFocus && current?.level === depth - 1 && current.index === index;
    context.strokeStyle = colours.of(isCurrent ? "accent" : "selected");
    context.lineWidth = isCurrent ? 3 : 2;
    context.strokeRect(x0 + 1, y + 1, Math.max(1, x1 - x0 - 3), cell - 3);
  });
}

// shown: {layout, faceOf(group), markOf(face), isPale(state, part), colour (heat or module), colours, span, width, height, top (px that are scrolled away),
// cell (px of a level), range or null, selected (a group or null), current ({level, index} or null), hasFocus}
export function paintStacks(canvas, shown) {
  const { width, height, cell, top, layout, span } = shown;
  const density = window.devicePixelRatio || 1;
  canvas.width = Math.round(width * density);
  canvas.height = Math.round(height * density);
  canvas.style.width = width + "px";
  canvas.style.height = height + "px";
  const context = canvas.getContext("2d");
  context.scale(density, density);
  if (layout === null) return;
  context.font = cell * FONT_SHARE + "px " + shown.colours.font;
  context.textBaseline = "middle";
  const all = { ...shown, pxPerSecond: width / (span.to - span.from),
    letterPx: context.measureText("abcdefghijklmnopqrstuvwxyz_.").width / 28 };
  const first = Math.max(0, Math.floor((top - LANE_PX - LANE_GAP_PX) / cell));
  const labels = [];
  for (let depth = first; depth < layout.levels.length; depth += 1) {
    const y = LANE_PX + LANE_GAP_PX + depth * cell - top;
    if (y >= height) break;
    for (const label of paintLevel(context, all, layout.levels[depth], y)) labels.push({ ...label, y: y + cell / 2 });
  }
  context.fillStyle = shown.colours.of("panel");
  context.fillRect(0, 0, width, LANE_PX + LANE_GAP_PX);
  context.save();
  context.beginPath();
  context.rect(0, 0, width, height);
  context.clip();
  paintStates(context, all, shown.isPale);
  context.restore();
  for (const { text, x, y, ink } of labels) {
    if (y < LANE_PX + LANE_GAP_PX + cell / 3) continue;
    context.fillStyle = ink;
    context.fillText(text, x, y);
  }
  paintUnordered(context, all);
  paintSelected(context, all);
  paintRangeVeil(context, all);
}
