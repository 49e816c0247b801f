// The pointer and the keyboard in a stack chart.

import { movedSpan, zoomedSpan } from "../../model/page/stack-span.js";
import { boxAt } from "../../model/trees/stacks.js";

const STACK_CLICK_PX = 4;
const ZOOM_STEP = 1.5;
// A notch of a wheel is about 100.
const WHEEL_STEP = 0.002;
const MOVE_SHARE = 0.2;
// How many pixels a line and a page of a wheel are.
const WHEEL_PX = [1, 16, 400];

// chart: {canvas, span(), whole(), timeAt(x), boxUnder({x, y}) -> {level, index} or null, changeSpan(span), choose(box), zoomTo(box), dragged(range
// or null, isDone), pointed({x, y} or null)}
export function listenToStacks(chart) {
  const { canvas } = chart;
  let drag = null;

  canvas.addEventListener("wheel", (event) => {
    const unit = WHEEL_PX[event.deltaMode] ?? 1;
    const across = (event.shiftKey && event.deltaX === 0 ? event.deltaY : event.deltaX) * unit;
    const { from, to } = chart.span();
    if (Math.abs(across) > Math.abs(event.shiftKey ? 0 : event.deltaY * unit))
      chart.changeSpan(movedSpan({ from, to }, ((to - from) * across) / canvas.clientWidth, chart.whole()));
    else chart.changeSpan(
        zoomedSpan({ from, to }, chart.timeAt(event.clientX),
          Math.exp(Math.max(-400, Math.min(400, event.deltaY * unit)) * WHEEL_STEP), chart.whole()),
      );
    event.preventDefault();
  }, { passive: false });
  canvas.addEventListener("pointerdown", (event) => {
    if (event.button !== 0) return;
    canvas.setPointerCapture(event.pointerId);
    drag = { x: event.clientX, from: chart.timeAt(event.clientX), range: null };
    canvas.focus({ preventScroll: true });
  });
  canvas.addEventListener("pointermove", (event) => {
    if (drag !== null && Math.abs(event.clientX - drag.x) >= STACK_CLICK_PX) {
      const time = chart.timeAt(event.clientX);
      drag.range = { from: Math.min(drag.from, time), to: Math.max(drag.from, time) };
    }
    if (drag?.range) chart.dragged(drag.range, false);
    chart.pointed({ x: event.clientX, y: event.clientY, type: event.pointerType });
  });
  canvas.addEventListener("pointerup", (event) => {
    if (drag === null) return;
    const { range } = drag;
    drag = null;
    if (range !== null) return chart.dragged(range, true);
    const box = chart.boxUnder({ x: event.clientX, y: event.clientY });
    return box === null ? undefined : chart.choose(box, "push");
  });
  canvas.addEventListener("pointercancel", () => {
    drag = null;
    chart.dragged(null, false);
  });
  canvas.addEventListener("pointerleave", () => chart.pointed(null));
  canvas.addEventListener("dblclick", (event) => {
    const box = chart.boxUnder({ x: event.clientX, y: event.clientY });
    if (box !== null) chart.zoomTo(box);
  });
}

// The box beside another that an arrow key leads to: {level, index}, or null.
export function boxBeside(levels, { level, index }, key) {
  const box = levels[level];
  const middle = (box.start[index] + box.end[index]) / 2;
  if (key === "ArrowUp") return level === 0 ? null : { level: level - 1, index: boxAt(levels[level - 1], middle) };
  if (key === "ArrowDown") {
    const below = levels[level + 1];
    if (below === undefined) return null;
    const first = below.start.findIndex((start, i) => below.end[i] > box.start[index] && start < box.end[index]);
    return first < 0 ? null : { level: level + 1, index: boxAt(below, middle) >= 0 ? boxAt(below, middle) : first };
  }
  const beside = index + (key === "ArrowLeft" ? -1 : 1);
  return beside < 0 || beside >= box.end.length ? null : { level, index: beside };
}

// keys of `chart` as above, with current() -> {level, index} or null, levels(), showAll(), selectTime(box), goTo(box)
export function listenToStackKeys(chart) {
  chart.canvas.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const { from, to } = chart.span();
    const current = chart.current();
    const zoom = (factor) => chart.changeSpan(zoomedSpan({ from, to }, (from + to) / 2, factor, chart.whole()));
    const across = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (event.key === "+" || event.key === "=") zoom(1 / ZOOM_STEP);
    else if (event.key === "-") zoom(ZOOM_STEP);
    else if (event.key === "Home") chart.showAll();
    else if (event.key === "Enter" && current !== null) chart.selectTime(current);
    else if (across !== undefined && event.shiftKey)
      chart.changeSpan(movedSpan({ from, to }, across * (to - from) * MOVE_SHARE, chart.whole()));
    else if (event.key.startsWith("Arrow")) {
      const next = current === null ? chart.firstBox() : boxBeside(chart.levels(), current, event.key);
      if (next !== null && next.index >= 0) chart.goTo(next);
    } else return;
    event.preventDefault();
    event.stopPropagation();
  });
}
