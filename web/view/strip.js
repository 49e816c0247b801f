// The session along time: what its threads were doing, stacked, with the range that everything else shows.

import { DOING_LABELS, doingText } from "../model/doings.js";
import { statusOf } from "../model/state.js";
import { createSums, STATE_DOINGS } from "../model/states.js";
import { axisMarks, rangeText, slotAt, snapRange, STACKED, stackedLayers, timeLabel, timelineSpan } from "../model/timeline.js";
import { el, icon, setAttribute, setText } from "./dom.js";
import { ICONS } from "./icons.js";

const SVG_NAMESPACE = "http://www.w3.org/2000/svg";
const WIDTH = 10000;
const HEIGHT = 1000;
const EDGE_PX = 7;
const CLICK_PX = 4;
const MARK_PX = 84;

function svg(tag, attributes) {
  const element = document.createElementNS(SVG_NAMESPACE, tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  return element;
}

// Layers of a timeline as an SVG that follows the theme: {root, draw(layers)}.
export function createPlot() {
  const root = svg("svg", { viewBox: "0 0 " + WIDTH + " " + HEIGHT, preserveAspectRatio: "none", "aria-hidden": "true", class: "strip-svg" });
  const paths = STACKED.map((doing) => svg("path", { class: "strip-layer", "data-doing": STATE_DOINGS[doing] }));
  root.append(...paths);
  const box = ({ x0, x1, y0, y1 }) => "M" + Math.round(x0 * WIDTH) + " " + Math.round((1 - y0) * HEIGHT) + "H" + Math.round(x1 * WIDTH) + "V" + Math.round((1 - y1) * HEIGHT) + "H" + Math.round(x0 * WIDTH) + "Z";
  return {
    root,
    draw(layers) {
      layers.forEach((boxes, i) => paths[i].setAttribute("d", boxes.filter(({ y0, y1 }) => y1 > y0).map(box).join("")));
    },
  };
}

function createStripLegend() {
  return el("span", { class: "doing-legend" }, ...DOING_LABELS.map(({ key, label }) => el("span", {}, el("i", { class: "doing", "data-doing": key }), label)));
}

export function createStrip(root, dispatch) {
  const plot = createPlot();
  const before = el("i", { class: "strip-shade" });
  const after = el("i", { class: "strip-shade" });
  const brush = el("i", { class: "strip-brush" }, el("i", { class: "strip-edge" }), el("i", { class: "strip-edge" }));
  const edge = el("i", { class: "strip-live" });
  const area = el("div", { class: "strip-plot", tabindex: "0", role: "slider", "aria-orientation": "horizontal", "data-testid": "strip" }, plot.root, before, after, brush, edge);
  const axis = el("div", { class: "strip-axis", "aria-hidden": "true" });
  const readout = el("span", { class: "strip-read", "data-testid": "strip-read" });
  const hold = el("button", { type: "button", class: "quiet wide", "data-testid": "hold", "data-hint": "Hold the picture for as long as the pointer is over it  ( h )", on: { click: () => dispatch({ type: "toggleHold" }) } }, icon(ICONS.hold), el("span", {}, "Hold while pointing"));
  const closer = el("button", { type: "button", class: "quiet", "aria-label": "Zoom the time strip to the chosen range", "data-hint": "Zoom to the chosen range  ( + )", "data-testid": "strip-in", on: { click: () => zoom(true) } }, icon(ICONS.plus));
  const wider = el("button", { type: "button", class: "quiet", "aria-label": "Show all of the session in the time strip", "data-hint": "All of the session  ( - )", "data-testid": "strip-out", on: { click: () => zoom(false) } }, icon(ICONS.minus));
  root.append(el("div", { class: "strip-head" }, createStripLegend(), readout, el("span", { class: "strip-tools" }, hold, closer, wider)), area, axis);
  let state = null;
  let span = { from: 0, to: 1 };
  let drag = null;
  let drawnTimeline = null;
  let drawnSpan = "";
  let shownAxis = "";

  const timeAt = (x) => {
    const at = area.getBoundingClientRect();
    return span.from + Math.min(1, Math.max(0, (x - at.left) / at.width)) * (span.to - span.from);
  };
  const shareOf = (time) => Math.min(1, Math.max(0, (time - span.from) / (span.to - span.from)));
  const rangeNow = () => {
    const range = drag?.range ?? state.address.range;
    return range === null ? null : { from: range.from, to: range.to ?? span.to };
  };

  function choose(range) {
    dispatch({ type: "address", changes: { range }, how: "push" });
  }

  function zoom(closerNow) {
    dispatch({ type: "zoomTimeline", range: closerNow ? rangeNow() ?? { from: span.to - (span.to - span.from) / 4, to: span.to } : null });
  }

  // A range that ends at the live edge goes on with it.
  function openEnded({ from, to }) {
    const live = state.live && state.session?.state === "running" && state.timelineZoom === null;
    return { from, to: live && to >= span.to - state.timeline.width / 2 ? null : to };
  }

  function grabbedEdge(x) {
    const range = rangeNow();
    if (range === null) return null;
    const at = area.getBoundingClientRect();
    const near = (time) => Math.abs(at.left + shareOf(time) * at.width - x) <= EDGE_PX;
    return near(range.from) ? range.to : near(range.to) ? range.from : null;
  }

  area.addEventListener("pointerdown", (event) => {
    if (event.button !== 0 || !state.hasTimes) return;
    area.setPointerCapture(event.pointerId);
    const fixed = grabbedEdge(event.clientX);
    drag = { fixed: fixed ?? timeAt(event.clientX), x: event.clientX, grabbed: fixed !== null, range: null };
    event.preventDefault();
    area.focus({ preventScroll: true });
  });
  area.addEventListener("pointermove", (event) => {
    const time = timeAt(event.clientX);
    if (drag !== null && (drag.grabbed || Math.abs(event.clientX - drag.x) >= CLICK_PX)) drag.range = snapRange(state.timeline, Math.min(drag.fixed, time), Math.max(drag.fixed, time));
    read(time);
    showRange();
  });
  area.addEventListener("pointerup", () => {
    if (drag === null) return;
    const { range, grabbed } = drag;
    drag = null;
    if (range !== null) choose(openEnded(range));
    else if (!grabbed && state.address.range !== null) choose(null);
    showRange();
  });
  area.addEventListener("pointercancel", () => {
    drag = null;
    showRange();
  });
  area.addEventListener("pointerleave", () => setText(readout, ""));

  // Arrow keys move the range by a slot, with Shift they move its end; the first makes one at the end.
  function keyed(event) {
    const step = Math.max(state.timeline.width, (span.to - span.from) / 100);
    const by = { ArrowLeft: -step, ArrowRight: step }[event.key];
    if (by === undefined) return false;
    const range = rangeNow() ?? { from: span.to - 10 * step, to: span.to };
    const moved = state.address.range === null ? range : event.shiftKey ? { from: range.from, to: Math.max(range.from + step, range.to + by) } : { from: range.from + by, to: range.to + by };
    if (moved.from < span.from - 1e-6 || moved.to > span.to + step) return true;
    dispatch({ type: "address", changes: { range: snapRange(state.timeline, moved.from, moved.to) }, how: "replace" });
    return true;
  }

  area.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || !state.hasTimes) return;
    const escaped = event.key === "Escape" && state.address.range !== null;
    if (escaped) choose(null);
    if (event.key === "+") zoom(true);
    if (event.key === "-") zoom(false);
    if (keyed(event) || escaped || event.key === "+" || event.key === "-") {
      event.preventDefault();
      event.stopPropagation();
    }
  });

  function read(time) {
    const slot = slotAt(state.timeline, time);
    if (drag?.range) setText(readout, rangeText(drag.range));
    else if (slot === null) setText(readout, timeLabel(time, 0.25) + "  nothing was seen");
    else setText(readout, timeLabel(slot.start, 0.25) + "  " + doingText({ ...createSums(), samples: slot.samples, doing: slot.doing }));
  }

  function showRange() {
    const range = rangeNow();
    for (const part of [before, after, brush]) part.hidden = range === null;
    const text = range === null ? "all of the session" : rangeText(drag?.range ?? state.address.range);
    setAttribute(area, "aria-valuetext", text);
    setAttribute(area, "aria-valuemin", span.from.toFixed(2));
    setAttribute(area, "aria-valuemax", span.to.toFixed(2));
    setAttribute(area, "aria-valuenow", (range?.from ?? span.to).toFixed(2));
    if (range === null) return;
    const from = shareOf(range.from) * 100;
    const to = shareOf(range.to) * 100;
    before.style.width = from + "%";
    after.style.left = to + "%";
    brush.style.left = from + "%";
    brush.style.width = Math.max(0, to - from) + "%";
  }

  function showAxis() {
    const { step, marks } = axisMarks(span, Math.max(2, Math.floor(area.clientWidth / MARK_PX)));
    const signature = span.from + " " + span.to + " " + marks.length;
    if (signature === shownAxis) return;
    shownAxis = signature;
    axis.replaceChildren(...marks.map((mark) => {
      const label = el("span", {}, timeLabel(mark, step));
      label.style.left = shareOf(mark) * 100 + "%";
      return label;
    }));
  }

  function draw() {
    const signature = span.from + " " + span.to;
    if (drawnTimeline === state.timeline && drawnSpan === signature) return;
    drawnTimeline = state.timeline;
    drawnSpan = signature;
    plot.draw(stackedLayers(state.timeline, span));
  }

  return {
    update(next) {
      state = next;
      const { timeline } = state;
      root.hidden = !state.hasTimes;
      if (root.hidden) return;
      if (drag === null) span = state.timelineZoom ?? timelineSpan(timeline, null);
      const live = state.live && statusOf(state) === "running" && state.timelineZoom === null;
      edge.hidden = !live;
      hold.hidden = !state.live;
      wider.hidden = state.timelineZoom === null;
      setAttribute(hold, "aria-pressed", String(state.holdsOnHover));
      setAttribute(area, "aria-label", "Time range. Drag to choose one; arrow keys move it, with Shift its end; Escape gives all of the session.");
      draw();
      showRange();
      showAxis();
    },
    focus: () => area.focus(),
  };
}
