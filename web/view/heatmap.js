// The sub-second heat map: a column a second, 20 ms a cell. Dragging chooses the time that the flame graph beneath shows;
// with Shift it chooses what that is compared with.

import { doingText } from "../model/doings.js";
import { binsCovered, HEAT_MEASURES, heatColumn, heatMost } from "../model/heatmap.js";
import { foundMatches, matchAt, windowLengths } from "../model/matches.js";
import { formatCount, formatShare, ratio } from "../model/numbers.js";
import { createSums } from "../model/states.js";
import { axisMarks, rangeText, snapRange, timeLabel } from "../model/timeline.js";
import { el, segmented, setAttribute, setText } from "./dom.js";

const BIN_PX = 4;
const COLUMN_MOST_PX = 40;
const HEAT_LEVELS = 8;
const HEAT_CLICK_PX = 3;
const HEAT_MARK_PX = 84;
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
  const colours = { heat: Array.from({ length: HEAT_LEVELS }, (_, level) => colourOf("heat-" + level)), none: colourOf("sunken"), chosen: colourOf("accent"), base: colourOf("ink"), paper: colourOf("panel"), match: colourOf("match") };
  probe.remove();
  return colours;
}

export function createHeatmap(root, dispatch) {
  const measure = segmented("Measure", "heat-measure", HEAT_MEASURES.map(({ key, label, meaning }) => ({ value: key, label, hint: "Cells are as hot as there were " + meaning })), (key) => {
    measured = key;
    draw();
  });
  const canvas = el("canvas", { class: "heat-canvas", tabindex: "0", role: "img", "data-testid": "heatmap" });
  const axis = el("div", { class: "strip-axis", "aria-hidden": "true" });
  const readout = el("span", { class: "strip-read", "data-testid": "heat-read" });
  const hint = el("span", { class: "soft" }, "Drag: a range of time. Shift and drag: what to compare it with.");
  const nothing = el("p", { class: "empty" });
  const plot = el("div", { class: "heat-cells" }, canvas, axis);
  const rows = el("div", { class: "heat-rows", "aria-hidden": "true" }, ...["0 ms", "250", "500", "750"].map((text) => el("span", {}, text)));
  const holder = el("div", { class: "heat-plot" }, rows, plot);
  const most = el("span", { class: "soft", "data-testid": "heat-most" });
  const scale = el("span", { class: "scale" }, el("span", { class: "soft" }, "0"), el("span", { class: "swatches", "aria-hidden": "true" }, ...Array.from({ length: HEAT_LEVELS }, (_, level) => el("i", { class: "swatch", "data-look": "h" + level }))), most);
  const found = el("p", { class: "heat-found soft", "data-testid": "heat-found", role: "status" });
  const element = el("div", { class: "heatmap" }, el("div", { class: "heat-head" }, measure.element, scale, hint, readout), found, holder, nothing);
  root.append(element);
  let state = null;
  let measured = HEAT_MEASURES[0].key;
  let drag = null;
  let drawnFor = "";
  let drawHeat = null;
  let drawnMatches = null;

  const columns = () => Math.max(1, state.heat.to - state.heat.from);
  const columnPx = () => Math.min(COLUMN_MOST_PX, plot.clientWidth / columns());
  const cellTime = (x, y) => {
    const at = canvas.getBoundingClientRect();
    const second = Math.min(columns() - 1, Math.max(0, Math.floor((x - at.left) / columnPx())));
    const bin = Math.min(state.heat.bins - 1, Math.max(0, Math.floor(((y - at.top) / at.height) * state.heat.bins)));
    return { second: state.heat.from + second, bin, time: state.heat.from + second + bin / state.heat.bins };
  };

  function paintRange(context, range, width, colour, dashed) {
    context.strokeStyle = colour;
    context.lineWidth = 1.5;
    context.setLineDash(dashed ? [4, 3] : []);
    for (let second = Math.floor(range.from); second < Math.min(range.to, state.heat.to); second += 1) {
      const { first, end } = binsCovered(state.heat, second, range);
      if (first < end && second >= state.heat.from) context.strokeRect((second - state.heat.from) * width + 0.75, first * BIN_PX + 0.75, Math.max(1, width - 1.5), (end - first) * BIN_PX - 1.5);
    }
  }

  const shownMatches = () => foundMatches(state.matches, state.address.search);

  // A bar along each window with a match, the thicker the more of its samples match.
  function paintMatches(context, matches, width, colour) {
    context.fillStyle = colour;
    matches.start.forEach((start, i) => {
      if (matches.matching[i] === 0) return;
      const thick = Math.min(Math.max(1, width / 2), Math.max(MATCH_LEAST_PX, width * MATCH_BAR * (matches.matching[i] / matches.samples[i])));
      for (let second = Math.max(state.heat.from, Math.floor(start)); second < Math.min(matches.end[i], state.heat.to); second += 1) {
        const { first, end } = binsCovered(state.heat, second, { from: start, to: matches.end[i] });
        if (first < end) context.fillRect((second - state.heat.from) * width, first * BIN_PX, thick, (end - first) * BIN_PX - 1);
      }
    });
  }

  function lengthText({ least, most }) {
    const text = (seconds) => (seconds < 1 ? formatCount(Math.round(seconds * 1000)) + " ms" : formatCount(Math.round(seconds)) + " s");
    return text(least) === text(most) ? text(least) : text(least) + " to " + text(most);
  }

  // What the highlights say, and how finely that is known.
  function foundText() {
    const { address, matches, picture, heat } = state;
    if (address.search.trim() === "") return "";
    if (picture.matched === null) return "The search is not a valid expression: nothing is highlighted.";
    if (matches.term !== address.search) return "Looking for matches…";
    if (matches.error !== undefined) return "Matches are not shown: " + matches.error + ".";
    const within = matches.start.map((start, i) => i).filter((i) => matches.end[i] > heat.from && matches.start[i] < heat.to);
    const sum = (column) => within.reduce((total, i) => total + column[i], 0);
    const lengths = windowLengths(matches, heat);
    if (lengths === null) return "Nothing is known of matches here.";
    const counted = sum(matches.matching);
    const share = formatCount(counted) + " of " + formatCount(sum(matches.samples)) + " samples match (" + formatShare(ratio(counted, sum(matches.samples))) + ")";
    return counted === 0 ? share + "." : share + ": their windows are bright, with a bar the thicker the more of them match. Matches are known per " + lengthText(lengths) + ", of all threads.";
  }

  function draw() {
    if (state === null || element.hidden) return;
    measure.set(measured);
    const { heat } = state;
    const width = columnPx();
    const density = window.devicePixelRatio || 1;
    canvas.width = Math.round(columns() * width * density);
    canvas.height = heat.bins * BIN_PX * density;
    canvas.style.width = columns() * width + "px";
    canvas.style.height = heat.bins * BIN_PX + "px";
    const context = canvas.getContext("2d");
    const colours = readColours(element);
    const hottest = heatMost(heat, measured);
    setText(most, formatCount(hottest) + "+ samples a cell");
    const wanted = shownMatches();
    context.scale(density, density);
    context.fillStyle = colours.none;
    context.fillRect(0, 0, columns() * width, heat.bins * BIN_PX);
    for (const second of heat.columns.keys()) {
      const x = (second - heat.from) * width;
      heatColumn(heat, second, measured).forEach((count, bin) => {
        const window = wanted === null ? null : matchAt(wanted, second + (bin + 0.5) / heat.bins);
        context.globalAlpha = wanted === null || window?.matching > 0 ? 1 : UNMATCHED_ALPHA;
        context.fillStyle = colours.heat[count === 0 ? 0 : Math.min(HEAT_LEVELS - 1, 1 + Math.floor((count / hottest) * (HEAT_LEVELS - 1.01)))];
        context.fillRect(x, bin * BIN_PX, Math.max(1, width - (width > 4 ? 1 : 0)), BIN_PX - 0.5);
      });
    }
    context.globalAlpha = 1;
    if (wanted !== null) paintMatches(context, wanted, width, colours.match);
    const { range, base } = state.address;
    if (base !== null) paintRange(context, { from: base.from, to: base.to ?? heat.to }, width, colours.base, true);
    const shown = drag?.range ?? range;
    if (shown) paintRange(context, { from: shown.from, to: shown.to ?? heat.to }, width, drag?.compare ? colours.base : colours.chosen, false);
    drawAxis(width);
    setAttribute(canvas, "aria-label", "Samples in cells of 20 ms: a column a second from " + rangeText({ from: heat.from, to: heat.to }) + ". " + (range === null ? "No range chosen." : "Chosen: " + rangeText(range) + ".") + " Arrow keys choose and move a second.");
  }

  function drawAxis(width) {
    const span = { from: state.heat.from, to: state.heat.to };
    const { step, marks } = axisMarks(span, Math.max(2, Math.floor((columns() * width) / HEAT_MARK_PX)));
    axis.replaceChildren(...marks.map((mark) => {
      const label = el("span", {}, timeLabel(mark, step));
      label.style.left = (mark - span.from) * width + "px";
      return label;
    }));
  }

  function read(x, y) {
    const { second, bin, time } = cellTime(x, y);
    const counted = state.heat.columns.get(second);
    if (drag?.range) return setText(readout, rangeText(drag.range));
    const doing = counted === undefined ? [] : counted.map((counts) => counts[bin]);
    const samples = doing.reduce((sum, count) => sum + count, 0);
    const wanted = shownMatches();
    const window = wanted === null ? null : matchAt(wanted, time + 0.5 / state.heat.bins);
    const matched = wanted === null ? "" : window === null ? "  matches not known" : "  matches: " + formatShare(ratio(window.matching, window.samples)) + " from " + rangeText({ from: window.start, to: window.end });
    return setText(readout, timeLabel(time, 0.02) + "  " + (samples === 0 ? "nothing was seen" : doingText({ ...createSums(), samples, doing })) + matched);
  }

  canvas.addEventListener("pointerdown", (event) => {
    if (event.button !== 0) return;
    canvas.setPointerCapture(event.pointerId);
    drag = { from: cellTime(event.clientX, event.clientY).time, x: event.clientX, y: event.clientY, compare: event.shiftKey, range: null };
    event.preventDefault();
    canvas.focus({ preventScroll: true });
  });
  canvas.addEventListener("pointermove", (event) => {
    if (drag !== null && Math.hypot(event.clientX - drag.x, event.clientY - drag.y) > HEAT_CLICK_PX) {
      const { time } = cellTime(event.clientX, event.clientY);
      drag.range = snapRange(state.timeline, Math.min(drag.from, time), Math.max(drag.from, time) + 1 / state.heat.bins);
      draw();
    }
    read(event.clientX, event.clientY);
  });
  canvas.addEventListener("pointerup", () => {
    if (drag === null) return;
    const { range, compare } = drag;
    drag = null;
    if (range === null) dispatch({ type: "address", changes: { range: null }, how: "push" });
    else dispatch({ type: "address", changes: compare ? { base: range, view: "diff" } : { range }, how: "push" });
  });
  canvas.addEventListener("pointercancel", () => {
    drag = null;
    draw();
  });
  canvas.addEventListener("pointerleave", () => setText(readout, ""));
  canvas.addEventListener("keydown", (event) => {
    const by = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (by === undefined || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    const { range } = state.address;
    const from = range === null ? state.heat.to - 1 : Math.max(0, Math.floor(range.from) + by);
    dispatch({ type: "address", changes: { range: { from, to: from + 1 } }, how: "replace" });
  });
  new ResizeObserver(draw).observe(plot);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);

  return {
    update(next) {
      state = next;
      element.hidden = state.address.view !== "heatmap";
      if (element.hidden) return;
      const empty = state.heat.columns.size === 0;
      holder.hidden = empty;
      nothing.hidden = !empty || state.picture.empty !== null;
      setText(nothing, state.live ? "Nothing was seen yet." : "This report holds no cells of 20 ms. It has the strip of time above: drag there to choose a range.");
      const { range, base } = state.address;
      const signature = [state.theme, plot.clientWidth, JSON.stringify(range), JSON.stringify(base), state.address.search].join(" ");
      setText(found, foundText());
      found.hidden = found.textContent === "";
      if (empty || drag !== null || (drawnFor === signature && drawHeat === state.heat && drawnMatches === state.matches)) return;
      drawnFor = signature;
      drawHeat = state.heat;
      drawnMatches = state.matches;
      setText(hint, "Drag: a range of time. Shift and drag: what to compare it with. " + formatCount(state.heat.columns.size) + " s shown.");
      draw();
    },
  };
}
