// The cells of the heat map on a canvas, with the selection, the baseline and the matches of a search.

import { binsCovered, heatColumn, heatMost } from "../../model/time/heatmap.js";
import { matchAt } from "../../model/time/matches.js";
import { el } from "../elements/dom.js";

export const HEAT_LEVELS = 8;
const BIN_PX = 4;
// How much is left of the colour of a cell whose window has no match.
const UNMATCHED_ALPHA = 0.22;
// A window all of whose samples match has a bar of that share of the column.
const MATCH_BAR = 0.6;
const MATCH_LEAST_PX = 2;

// The colours of the style sheet as a canvas takes them; they change with the theme.
function readColours(element) {
  const probe = el("i", {});
  element.append(probe);
  const colourOf = (name) => {
    probe.style.color = "var(--" + name + ")";
    return getComputedStyle(probe).color;
  };
  const colours = { heat: Array.from({ length: HEAT_LEVELS }, (_, level) => colourOf("heat-" + level)),
    none: colourOf("sunken"), chosen: colourOf("accent"), baseline: colourOf("ink"), match: colourOf("match") };
  probe.remove();
  return colours;
}

function paintCells(context, { heat, measured, width, matches }, colours) {
  const hottest = heatMost(heat, measured);
  context.fillStyle = colours.none;
  context.fillRect(0, 0, (heat.to - heat.from) * width, heat.bins * BIN_PX);
  for (const second of heat.columns.keys()) {
    const x = (second - heat.from) * width;
    heatColumn(heat, second, measured).forEach((count, bin) => {
      const window = matches === null ? null : matchAt(matches, second + (bin + 0.5) / heat.bins);
      context.globalAlpha = matches === null || window?.matching > 0 ? 1 : UNMATCHED_ALPHA;
      context.fillStyle = colours
        .heat[count === 0 ? 0 : Math.min(HEAT_LEVELS - 1, 1 + Math.floor((count / hottest) * (HEAT_LEVELS - 1.01)))];
      context.fillRect(x, bin * BIN_PX, Math.max(1, width - (width > 4 ? 1 : 0)), BIN_PX - 0.5);
    });
  }
  context.globalAlpha = 1;
}

// A bar along each window with a match, the thicker the more of its samples match.
function paintMatches(context, { heat, width, matches }, colour) {
  context.fillStyle = colour;
  matches.start.forEach((start, i) => {
    if (matches.matching[i] === 0) return;
    const thick = Math.min(Math.max(1, width / 2),
      Math.max(MATCH_LEAST_PX, width * MATCH_BAR * (matches.matching[i] / matches.samples[i])));
    for (let second = Math.max(heat.from, Math.floor(start)); second < Math.min(matches.end[i], heat.to); second += 1) {
      const { first, end } = binsCovered(heat, second, { from: start, to: matches.end[i] });
      if (first < end)
        context.fillRect((second - heat.from) * width, first * BIN_PX, thick, (end - first) * BIN_PX - 1);
    }
  });
}

// `to` of a range may be null: it goes on.
function paintRange(context, { heat, width }, { from, to }, colour, dashed) {
  const range = { from, to: to ?? heat.to };
  context.strokeStyle = colour;
  context.lineWidth = 1.5;
  context.setLineDash(dashed ? [4, 3] : []);
  const covered = [];
  for (let second = Math.max(heat.from, Math.floor(range.from)); second < Math.min(range.to, heat.to); second += 1) {
    const { first, end } = binsCovered(heat, second, range);
    if (first < end) covered.push({ x: (second - heat.from) * width, top: first * BIN_PX, bottom: end * BIN_PX });
  }
  // One line around all of it: a box for each second would hide narrow ones.
  const path = covered.flatMap(({ x, top }) => [[x, top], [x + width, top]]).concat(
    covered.toReversed().flatMap(({ x, bottom }) => [[x + width, bottom], [x, bottom]]),
  );
  context.beginPath();
  for (const [x, y] of path) context.lineTo(x, y);
  context.closePath();
  context.stroke();
}

// shown: {heat, measured (key of a measure), width (px of a column), matches or null, range and baseline: {from, to} or null,
// dragged: null or {range, compare}}
export function paintHeat(canvas, shown) {
  const { heat, width, matches, range, baseline, dragged } = shown;
  const columns = Math.max(1, heat.to - heat.from);
  const density = window.devicePixelRatio || 1;
  canvas.width = Math.round(columns * width * density);
  canvas.height = heat.bins * BIN_PX * density;
  canvas.style.width = columns * width + "px";
  canvas.style.height = heat.bins * BIN_PX + "px";
  const context = canvas.getContext("2d");
  const colours = readColours(canvas.parentElement);
  context.scale(density, density);
  paintCells(context, shown, colours);
  if (matches !== null) paintMatches(context, shown, colours.match);
  if (baseline !== null) paintRange(context, shown, baseline, colours.baseline, true);
  if (dragged !== null)
    paintRange(context, shown, dragged.range, dragged.compare ? colours.baseline : colours.chosen, false);
  else if (range !== null) paintRange(context, shown, range, colours.chosen, false);
}
