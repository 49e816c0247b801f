// The timeline: the parts of time, stacked, with the range that everything else shows.

import { formatBytes } from "../../model/base/numbers.js";
import { visibleText } from "../../model/base/text.js";
import { growthChanges, offersGrowth } from "../../model/page/measures.js";
import { statusOf } from "../../model/page/state.js";
import { PARTS } from "../../model/profile/parts.js";
import { createSums } from "../../model/profile/states.js";
import { partsText } from "../../model/threads/activity.js";
import { chosenMemory, growthText, MEMORY_LAYERS, memoryBoxes, memoryText,
  memoryTop } from "../../model/time/memory.js";
import { notesAt, notesOf } from "../../model/time/range-notes.js";
import { startsAt, startsOf, startText } from "../../model/time/starts.js";
import { axisMarks, rangeText, slotAt, snapRange, stackedLayers, timeLabel,
  timelineSpan } from "../../model/time/timeline.js";
import { TEXT } from "../../text/session.js";
import { el, icon, setAttribute, setText } from "../elements/dom.js";
import { ICONS } from "../elements/icons.js";

const SVG_NAMESPACE = "http://www.w3.org/2000/svg";
const WIDTH = 10000;
const HEIGHT = 1000;
const EDGE_PX = 7;
const CLICK_PX = 4;
const MARK_PX = 84;
const START_PX = 4;

function svg(tag, attributes) {
  const element = document.createElementNS(SVG_NAMESPACE, tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  return element;
}

// Layers of a chart over time as an SVG that follows the theme: {root, draw(layers)}. names: [attribute, a value for each layer]; without them, the parts of time.
export function createPlot([attribute, values] = ["data-part", PARTS]) {
  const root = svg("svg", { viewBox: "0 0 " + WIDTH + " " + HEIGHT, preserveAspectRatio: "none", "aria-hidden": "true",
    class: "strip-svg" });
  const paths = values.map((value) => svg("path", { class: "strip-layer", [attribute]: value }));
  root.append(...paths);
  const box = ({ x0, x1, y0, y1 }) =>
    "M" + Math.round(x0 * WIDTH) + " " + Math.round((1 - y0) * HEIGHT) + "H" + Math.round(x1 * WIDTH) + "V"
    + Math.round((1 - y1) * HEIGHT) + "H" + Math.round(x0 * WIDTH) + "Z";
  return {
    root,
    draw(layers) {
      layers.forEach((boxes, i) => paths[i].setAttribute("d", boxes.filter(({ y0, y1 }) => y1 > y0).map(box).join("")));
    },
  };
}

// The buttons beside the strip, and on it the one that shows what grew in the range: {element, grew, update(state)}.
function createStripTools(dispatch, zoom) {
  let state = null;
  const grew = el("button", { type: "button", class: "choice strip-grew", "data-testid": "strip-grew",
    "data-hint": TEXT.memory.grewHint,
    on: { click: () => dispatch({ type: "address", changes: growthChanges(state), how: "push" }) } }, TEXT.memory.grew);
  const hold = el("button", { type: "button", class: "quiet wide", "data-testid": "hold",
    "data-hint": TEXT.strip.freezeHint, on: { click: () => dispatch({ type: "toggleHold" }) } }, icon(ICONS.hold),
    el("span", {}, TEXT.strip.freeze));
  const closer = el("button", { type: "button", class: "quiet", "aria-label": TEXT.strip.zoomIn,
    "data-hint": TEXT.strip.zoomInHint, "data-testid": "strip-in", on: { click: () => zoom(true) } }, icon(ICONS.plus));
  const wider = el("button", { type: "button", class: "quiet", "aria-label": TEXT.strip.zoomOut,
    "data-hint": TEXT.strip.zoomOutHint, "data-testid": "strip-out", on: { click: () => zoom(false) } },
    icon(ICONS.minus));
  return {
    element: el("span", { class: "strip-tools" }, hold, closer, wider),
    grew,
    update(next) {
      state = next;
      grew.hidden = state.address.range === null || !offersGrowth(state);
      hold.hidden = !state.live;
      wider.hidden = state.timelineZoom === null;
      setAttribute(hold, "aria-pressed", String(state.holdsOnHover));
    },
  };
}

// Pins of the starts and of the notes that lie in the span.
function pinsWithin(span, notes, starts, shareOf) {
  const pinAt = (name, time) => {
    const pin = el("i", { class: name, "data-testid": name });
    pin.style.left = shareOf(time) * 100 + "%";
    return pin;
  };
  const begun = starts.filter(({ at }) => at >= span.from && at <= span.to);
  const noted = notes.filter(({ from_s: from, to_s: to }) => from < span.to && to > span.from);
  return [
    ...begun.map(({ at }) => pinAt("strip-start", at)),
    ...noted.map(({ from_s: from, to_s: to }) => {
      const pin = pinAt("strip-note", from);
      pin.style.width = (shareOf(to) - shareOf(from)) * 100 + "%";
      return pin;
    }),
  ];
}

// The lane of the memory below the plot of the strip: {element, draw(memory, span, range with both ends or null)}.
function createMemoryLane() {
  const plot = createPlot(["data-memory", MEMORY_LAYERS]);
  const scale = el("span", { class: "memory-scale", "data-testid": "memory-scale" });
  const element = el("div", { class: "memory-lane", "data-testid": "memory-lane", hidden: true }, plot.root, scale);
  let [drawn, drawnSpan] = [null, ""];
  return {
    element,
    draw(memory, span, range) {
      const top = memoryTop(memory, span);
      const grown = range === null ? "" : growthText(memory, range);
      element.hidden = top === 0;
      setText(scale, TEXT.memory.scale(formatBytes(top)) + (grown === "" ? "" : TEXT.memory.inRange(grown)));
      const signature = span.from + " " + span.to;
      if (element.hidden || (drawn === memory && drawnSpan === signature)) return;
      [drawn, drawnSpan] = [memory, signature];
      plot.draw(memoryBoxes(memory, span));
    },
  };
}

// The plot of the strip and the lane of the memory, with the range on both: {element, axis, spanNow(), timeAt(x), pxOf(time), isMemoryAt(y), draw({timeline, memory, range}, span,
// is live, notes, starts), showRange(range with both ends or null, text)}.
function createStripArea() {
  const plot = createPlot();
  const lane = createMemoryLane();
  const before = el("i", { class: "strip-shade" });
  const after = el("i", { class: "strip-shade" });
  const brush = el("i", { class: "strip-brush" }, el("i", { class: "strip-edge" }), el("i", { class: "strip-edge" }));
  const edge = el("i", { class: "strip-live" });
  const pins = el("div", { class: "strip-notes" });
  const element = el("div", { class: "strip-plot", tabindex: "0", role: "slider", "aria-orientation": "horizontal",
    "data-testid": "strip" }, el("div", { class: "strip-parts" }, plot.root), lane.element, before, after, brush, edge,
    pins);
  const axis = el("div", { class: "strip-axis", "aria-hidden": "true" });
  let span = { from: 0, to: 1 };
  let drawnTimeline = null;
  let drawnSpan = "";
  let shownAxis = "";
  let shownPins = "";
  // As last laid out: asking in the middle of an update would have the page laid out once more.
  let width = 0;

  const shareOf = (time) => Math.min(1, Math.max(0, (time - span.from) / (span.to - span.from)));

  function drawLayers(timeline) {
    const signature = span.from + " " + span.to;
    if (drawnTimeline === timeline && drawnSpan === signature) return;
    drawnTimeline = timeline;
    drawnSpan = signature;
    plot.draw(stackedLayers(timeline, span));
  }

  function drawAxis() {
    const { step, marks } = axisMarks(span, Math.max(2, Math.floor(width / MARK_PX)));
    const signature = span.from + " " + span.to + " " + marks.length;
    if (signature === shownAxis) return;
    shownAxis = signature;
    axis.replaceChildren(...marks.map((mark) => {
      const label = el("span", {}, timeLabel(mark, step));
      label.style.left = shareOf(mark) * 100 + "%";
      return label;
    }));
  }

  function drawPins(notes, starts) {
    const signature = JSON.stringify([span, notes, starts]);
    if (signature === shownPins) return;
    shownPins = signature;
    pins.replaceChildren(...pinsWithin(span, notes, starts, shareOf));
  }

  new ResizeObserver(([{ contentRect }]) => {
    width = contentRect.width;
    if (shownAxis !== "") drawAxis();
  }).observe(element);

  return {
    element,
    axis,
    spanNow: () => span,
    timeAt(x) {
      const at = element.getBoundingClientRect();
      return span.from + Math.min(1, Math.max(0, (x - at.left) / at.width)) * (span.to - span.from);
    },
    pxOf(time) {
      const at = element.getBoundingClientRect();
      return at.left + shareOf(time) * at.width;
    },
    isMemoryAt: (y) => !lane.element.hidden && y >= lane.element.getBoundingClientRect().top,
    draw({ timeline, memory, range }, shown, isLive, notes, starts) {
      span = shown;
      edge.hidden = !isLive;
      drawLayers(timeline);
      lane.draw(memory, span, range);
      drawAxis();
      drawPins(notes, starts);
    },
    // `text`: what is chosen, in words
    showRange(range, text) {
      for (const part of [before, after, brush]) part.hidden = range === null;
      setAttribute(element, "aria-valuetext", text);
      setAttribute(element, "aria-valuemin", span.from.toFixed(2));
      setAttribute(element, "aria-valuemax", span.to.toFixed(2));
      setAttribute(element, "aria-valuenow", (range?.from ?? span.to).toFixed(2));
      if (range === null) return;
      const from = shareOf(range.from) * 100;
      const to = shareOf(range.to) * 100;
      before.style.width = from + "%";
      after.style.left = to + "%";
      brush.style.left = from + "%";
      brush.style.width = Math.max(0, to - from) + "%";
    },
  };
}

// The slot at a time, in words, and the notes and starts there.
function slotText(timeline, time, session, near) {
  const slot = slotAt(timeline, time);
  const said = [...startsAt(startsOf(session), time, near).map(startText),
    ...notesAt(notesOf(session), time).map(({ text }) => visibleText(text))];
  const doing = slot === null
    ? TEXT.strip.none
    : partsText({ ...createSums(), samples: slot.samples, parts: slot.parts });
  return [timeLabel(slot?.start ?? time, 0.25), ...said, doing].join("  ");
}

// The range moved by an arrow key: by a slot, with Shift only its end; the first key makes one at the end. Null: the key is none
// of these; undefined: it would lead out of the strip.
function keyedRange(event, { timeline, address }, span, range) {
  const step = Math.max(timeline.width, (span.to - span.from) / 100);
  const by = { ArrowLeft: -step, ArrowRight: step }[event.key];
  if (by === undefined) return null;
  const from = range ?? { from: span.to - 10 * step, to: span.to };
  const moved = address.range === null
    ? from
    : event.shiftKey
    ? { from: from.from, to: Math.max(from.from + step, from.to + by) }
    : { from: from.from + by, to: from.to + by };
  return moved.from < span.from - 1e-6 || moved.to > span.to + step
    ? undefined
    : snapRange(timeline, moved.from, moved.to);
}

// The range in words, with the memory that it has grown by. `end`: that of a range that goes on.
function grownRangeText(state, { from, to }, end) {
  const grown = growthText(chosenMemory(state), { from, to: to ?? end });
  return rangeText({ from, to }) + (grown === "" ? "" : "  " + grown);
}

export function createStrip(root, dispatch) {
  const area = createStripArea();
  const tools = createStripTools(dispatch, zoom);
  const readout = el("span", { class: "strip-read", "data-testid": "strip-read" });
  root.append(area.element, readout, area.axis, tools.element, tools.grew);
  let state = null;
  let drag = null;

  const rangeNow = () => {
    const range = drag?.range ?? state.address.range;
    return range === null ? null : { from: range.from, to: range.to ?? area.spanNow().to };
  };

  function showRange() {
    const shown = drag?.range ?? state.address.range;
    area.showRange(rangeNow(), shown === null ? TEXT.strip.whole : grownRangeText(state, shown, area.spanNow().to));
  }

  function choose(range) {
    dispatch({ type: "address", changes: { range }, how: "push" });
  }

  function zoom(closerNow) {
    const { from, to } = area.spanNow();
    dispatch({ type: "zoomTimeline", range: closerNow ? rangeNow() ?? { from: to - (to - from) / 4, to } : null });
  }

  // A range that ends at the live edge goes on with it.
  function openEnded({ from, to }) {
    const live = state.live && state.session?.state === "running" && state.timelineZoom === null;
    return { from, to: live && to >= area.spanNow().to - state.timeline.width / 2 ? null : to };
  }

  // The end of the range that stays when the other one is grabbed there, or null.
  function grabbedEdge(x) {
    const range = rangeNow();
    if (range === null) return null;
    const near = (time) => Math.abs(area.pxOf(time) - x) <= EDGE_PX;
    return near(range.from) ? range.to : near(range.to) ? range.from : null;
  }

  area.element.addEventListener("pointerdown", (event) => {
    if (event.button !== 0 || !state.hasTimes) return;
    area.element.setPointerCapture(event.pointerId);
    const fixed = grabbedEdge(event.clientX);
    drag = { fixed: fixed ?? area.timeAt(event.clientX), x: event.clientX, grabbed: fixed !== null, range: null };
    event.preventDefault();
    area.element.focus({ preventScroll: true });
  });
  area.element.addEventListener("pointermove", (event) => {
    const time = area.timeAt(event.clientX);
    if (drag !== null && (drag.grabbed || Math.abs(event.clientX - drag.x) >= CLICK_PX))
      drag.range = snapRange(state.timeline, Math.min(drag.fixed, time), Math.max(drag.fixed, time));
    setText(readout, drag?.range
      ? grownRangeText(state, drag.range, drag.range.to)
      : area.isMemoryAt(event.clientY)
      ? timeLabel(time, 0.25) + "  " + memoryText(chosenMemory(state), time)
      : slotText(state.timeline, time, state.session, area.timeAt(event.clientX + START_PX) - time));
    showRange();
  });
  area.element.addEventListener("pointerup", () => {
    if (drag === null) return;
    const { range, grabbed } = drag;
    drag = null;
    if (range !== null) choose(openEnded(range));
    else if (!grabbed && state.address.range !== null) choose(null);
    showRange();
  });
  area.element.addEventListener("pointercancel", () => {
    drag = null;
    showRange();
  });
  area.element.addEventListener("pointerleave", () => setText(readout, ""));
  area.element.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || !state.hasTimes) return;
    const range = keyedRange(event, state, area.spanNow(), rangeNow());
    if (event.key === "+" || event.key === "-") zoom(event.key === "+");
    else if (event.key === "Escape" && state.address.range !== null) choose(null);
    else if (range === null) return;
    else if (range !== undefined) dispatch({ type: "address", changes: { range }, how: "replace" });
    event.preventDefault();
    event.stopPropagation();
  });

  return {
    update(next) {
      state = next;
      root.hidden = !state.hasTimes;
      if (root.hidden) return;
      const span = drag === null ? state.timelineZoom ?? timelineSpan(state.timeline, null) : area.spanNow();
      tools.update(state);
      setAttribute(area.element, "aria-label", TEXT.strip.label);
      area.draw({ timeline: state.timeline, memory: chosenMemory(state), range: rangeNow() }, span,
        state.live && statusOf(state) === "running" && state.timelineZoom === null, notesOf(state.session),
        startsOf(state.session));
      showRange();
    },
    focus: () => area.element.focus(),
  };
}
