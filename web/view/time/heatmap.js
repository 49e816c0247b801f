// The sub-second heat map: one column per second, one cell per 20 ms. Drag to select the range of the flame graph below;
// Shift-drag to set the baseline.

import { formatCount, formatShare, ratio } from "../../model/base/numbers.js";
import { isWaitUnknown } from "../../model/filters/selection.js";
import { createSums } from "../../model/profile/states.js";
import { partsText } from "../../model/threads/activity.js";
import { HEAT_MEASURES, heatMost } from "../../model/time/heatmap.js";
import { foundMatches, matchAt, windowLengths } from "../../model/time/matches.js";
import { axisMarks, rangeText, snapRange, timeLabel } from "../../model/time/timeline.js";
import { TEXT } from "../../text/session.js";
import { el, segmented, setAttribute, setText, swatch } from "../elements/dom.js";
import { HEAT_LEVELS, paintHeat } from "./heat-paint.js";

const GIL_WAITS = "needs_gil";
const COLUMN_MOST_PX = 40;
const HEAT_CLICK_PX = 3;
const HEAT_MARK_PX = 84;

function lengthText({ least, most }) {
  const text = (
    seconds,
  ) => (seconds < 1 ? formatCount(Math.round(seconds * 1000)) + " ms" : formatCount(Math.round(seconds)) + " s");
  return text(least) === text(most) ? text(least) : TEXT.heat.between(text(least), text(most));
}

// The text about the highlights, and how finely they are known.
function foundText({ address, matches, picture, heat }) {
  if (address.search.trim() === "") return "";
  if (picture.matched === null) return TEXT.heat.invalid;
  if (matches.term !== address.search) return TEXT.heat.searching;
  if (matches.error !== undefined) return TEXT.heat.problem(matches.error);
  const within = matches.start.map((start, i) => i).filter((i) =>
    matches.end[i] > heat.from && matches.start[i] < heat.to
  );
  const sum = (column) => within.reduce((total, i) => total + column[i], 0);
  const lengths = windowLengths(matches, heat);
  if (lengths === null) return TEXT.heat.nothingKnown;
  const counted = sum(matches.matching);
  const found = TEXT.heat.found(formatCount(counted), formatCount(sum(matches.samples)),
    formatShare(ratio(counted, sum(matches.samples))));
  return counted === 0 ? found : found + TEXT.heat.finely(lengthText(lengths));
}

const shownMatches = ({ matches, address }) => foundMatches(matches, address.search);

// The text about the cell under the pointer; `at`: {second, bin, time} of a cell.
function cellText(state, { second, bin, time }) {
  const counted = state.heat.columns.get(second);
  const parts = counted === undefined ? [] : counted.map((counts) => counts[bin]);
  const samples = parts.reduce((sum, count) => sum + count, 0);
  const wanted = shownMatches(state);
  const window = wanted === null ? null : matchAt(wanted, time + 0.5 / state.heat.bins);
  const matched = wanted === null
    ? ""
    : "  " + (window === null
      ? TEXT.heat.matchesUnknown
      : TEXT.heat.matches(formatShare(ratio(window.matching, window.samples)),
        rangeText({ from: window.start, to: window.end })));
  return timeLabel(time, 0.02) + "  "
    + (samples === 0 ? TEXT.heat.noSamples : partsText({ ...createSums(), samples, parts })) + matched;
}

// The measure, the scale and the line of what was found, above the cells: {parts (elements), setHottest(count), setFound(text), setShown(seconds, are they the latest)}.
function createHeatHead(measure, readout) {
  const hint = el("span", { class: "soft" });
  const most = el("span", { class: "soft", "data-testid": "heat-most" });
  const swatches = Array.from({ length: HEAT_LEVELS }, (_, level) => swatch("heat-" + level));
  const scale = el("span", { class: "scale" }, el("span", { class: "soft" }, "0"),
    el("span", { class: "swatches", "aria-hidden": "true" }, ...swatches), most);
  const found = el("p", { class: "heat-found soft", "data-testid": "heat-found", role: "status" });
  return {
    parts: [el("div", { class: "heat-head" }, measure, scale, hint, readout), found],
    setHottest: (count) => setText(most, TEXT.heat.most(formatCount(count))),
    setFound(text) {
      setText(found, text);
      found.hidden = text === "";
    },
    setShown: (seconds, latest) => setText(hint, TEXT.heat.hint(formatCount(seconds), latest)),
  };
}

// The pointer and the keyboard on the cells: cellAt(x, y) is {second, bin, time}; changed() is called when a drag moved, read(x, y)
// wherever the pointer is, change(changes of the address, how) for what was chosen. -> {dragged(): null or {range, compare}, isDragging()}
function listenToCells(canvas, { stateOf, cellAt, changed, read, leave, change }) {
  let drag = null;
  canvas.addEventListener("pointerdown", (event) => {
    if (event.button !== 0) return;
    canvas.setPointerCapture(event.pointerId);
    drag = { from: cellAt(event.clientX, event.clientY).time, x: event.clientX, y: event.clientY,
      compare: event.shiftKey, range: null };
    event.preventDefault();
    canvas.focus({ preventScroll: true });
  });
  canvas.addEventListener("pointermove", (event) => {
    if (drag !== null && Math.hypot(event.clientX - drag.x, event.clientY - drag.y) > HEAT_CLICK_PX) {
      const { time } = cellAt(event.clientX, event.clientY);
      const { timeline, heat } = stateOf();
      drag.range = snapRange(timeline, Math.min(drag.from, time), Math.max(drag.from, time) + 1 / heat.bins);
      changed();
    }
    read(event.clientX, event.clientY);
  });
  canvas.addEventListener("pointerup", () => {
    if (drag === null) return;
    const { range, compare } = drag;
    drag = null;
    change(range === null ? { range: null } : compare ? { baseline: range, view: "diff" } : { range }, "push");
  });
  canvas.addEventListener("pointercancel", () => {
    drag = null;
    changed();
  });
  canvas.addEventListener("pointerleave", leave);
  canvas.addEventListener("keydown", (event) => {
    const by = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (by === undefined || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    const { address, heat } = stateOf();
    const from = address.range === null ? heat.to - 1 : Math.max(0, Math.floor(address.range.from) + by);
    change({ range: { from, to: from + 1 } }, "replace");
  });
  return { dragged: () => (drag?.range ? { range: drag.range, compare: drag.compare } : null),
    isDragging: () => drag !== null };
}

export function createHeatmap(root, dispatch) {
  const measure = segmented(TEXT.heat.measure, "heat-measure",
    HEAT_MEASURES.map(({ key, label }) => ({ value: key, label, hint: TEXT.heat.measureHint(label) })), (key) => {
    if (key === GIL_WAITS && isWaitUnknown(state.picture.sums)) return;
    measured = key;
    draw();
  });
  const waits = measure.element.querySelector("[data-value=" + GIL_WAITS + "]");
  const readout = el("span", { class: "strip-read", "data-testid": "heat-read" });
  const head = createHeatHead(measure.element, readout);
  const canvas = el("canvas", { class: "heat-canvas", tabindex: "0", role: "img", "data-testid": "heatmap" });
  const axis = el("div", { class: "strip-axis", "aria-hidden": "true" });
  const nothing = el("p", { class: "empty" });
  const plot = el("div", { class: "heat-cells" }, canvas, axis);
  const rows = el("div", { class: "heat-rows", "aria-hidden": "true" },
    ...TEXT.heat.rows.map((text) => el("span", {}, text)));
  const holder = el("div", { class: "heat-plot" }, rows, plot);
  const element = el("div", { class: "heatmap" }, ...head.parts, holder, nothing);
  root.append(element);
  let state = null;
  let measured = HEAT_MEASURES[0].key;
  let drawnFor = "";
  let drawHeat = null;
  let drawnMatches = null;

  const columns = () => Math.max(1, state.heat.to - state.heat.from);
  const columnPx = () => Math.min(COLUMN_MOST_PX, plot.clientWidth / columns());

  function cellAt(x, y) {
    const at = canvas.getBoundingClientRect();
    const second = Math.min(columns() - 1, Math.max(0, Math.floor((x - at.left) / columnPx())));
    const bin = Math.min(state.heat.bins - 1, Math.max(0, Math.floor(((y - at.top) / at.height) * state.heat.bins)));
    return { second: state.heat.from + second, bin, time: state.heat.from + second + bin / state.heat.bins };
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

  function draw() {
    if (state === null || element.hidden) return;
    const { heat, address: { range, baseline } } = state;
    const width = columnPx();
    measure.set(measured);
    head.setHottest(heatMost(heat, measured));
    paintHeat(canvas, { heat, measured, width, matches: shownMatches(state), range, baseline,
      dragged: pointer.dragged() });
    drawAxis(width);
    setAttribute(canvas, "aria-label",
      TEXT.heat.label(rangeText({ from: heat.from, to: heat.to }), range === null ? null : rangeText(range)));
  }

  const pointer = listenToCells(canvas, {
    stateOf: () => state,
    cellAt,
    changed: draw,
    leave: () => setText(readout, ""),
    read: (x, y) =>
      setText(readout, pointer.dragged() === null ? cellText(state, cellAt(x, y)) : rangeText(pointer.dragged().range)),
    change: (changes, how) => dispatch({ type: "address", changes, how }),
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
      setText(nothing, state.live ? TEXT.heat.none : TEXT.heat.noneInReport);
      const isUnknown = isWaitUnknown(state.picture.sums);
      setAttribute(waits, "aria-disabled", isUnknown ? "true" : null);
      setAttribute(waits, "data-hint",
        TEXT.heat.measureHint(TEXT.parts[GIL_WAITS][0]) + (isUnknown ? TEXT.states.unavailable : ""));
      head.setFound(foundText(state));
      const { range, baseline, search } = state.address;
      const signature = [state.theme, plot.clientWidth, JSON.stringify(range), JSON.stringify(baseline), search].join(
        " ",
      );
      if (empty || pointer.isDragging()
        || (drawnFor === signature && drawHeat === state.heat && drawnMatches === state.matches)) return;
      drawnFor = signature;
      drawHeat = state.heat;
      drawnMatches = state.matches;
      head.setShown(state.heat.columns.size, state.live && state.timelineZoom === null);
      draw();
    },
  };
}
