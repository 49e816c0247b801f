// One function between its callers, which stand on it, and its callees, which hang from it.

import { formatCount, formatDuration, formatShare, ratio } from "../model/numbers.js";
import { listenForFrameKeys } from "./chart-keys.js";
import { createChart, watchWidth } from "./chart.js";
import { el, isolated, pathText, placeNear, setAttribute, setText } from "./dom.js";

const SIDES = ["callers", "callees"];

function createSide(side, textOf, onClick, onPoint) {
  const holder = el("div", { class: "flame-chart" });
  const element = el("div", { class: "sandwich-side", "data-side": side, "data-testid": "sandwich-" + side }, holder);
  const keys = listenForFrameKeys(element, { name: "frame-" + side, upwards: side === "callers", textOf, onEnter: (frame) => onClick(side, frame) });
  let chart = null;
  let about = null;
  let shown = null;
  let width = 0;
  element.addEventListener("pointermove", (event) => {
    const under = chart?.frameAt(event.target) ?? null;
    onPoint(under === null ? null : chart.dataOf(under), event);
  });
  element.addEventListener("pointerleave", () => onPoint(null, null));
  return {
    element,
    holder,
    update(drawing, room, key, label) {
      element.hidden = drawing === null;
      setAttribute(element, "aria-label", label);
      if (drawing === null || (drawing === shown && room === width)) return;
      chart ??= createChart(holder, (frame) => onClick(side, frame), side === "callers");
      chart.draw(drawing, room);
      keys.show(chart, drawing);
      shown = drawing;
      width = room;
      // What matters is beside the function itself; whoever scrolled away from it stays there.
      if (side === "callers" && about !== key) element.scrollTop = element.scrollHeight;
      about = key;
    },
  };
}

export function createSandwich(root, dispatch) {
  let state = null;
  const tip = el("div", { class: "tip", hidden: true });
  const name = isolated("", { class: "sandwich-name", "data-testid": "sandwich-name" });
  const place = el("span", { class: "place" });
  const numbers = el("span", { class: "soft", "data-testid": "sandwich-numbers" });
  const head = el("div", { class: "sandwich-head" }, el("h2", {}, name), place, numbers);
  const choose = el("div", { class: "sandwich-choose" });
  const titles = { callers: el("h3", {}, "Callers"), callees: el("h3", {}, "Callees") };

  function recentre(side, frame) {
    tip.hidden = true;
    const key = state.picture.sandwich.keyOf(side, frame.remainder ? frame.of : frame.id);
    if (key !== state.address.about) dispatch({ type: "address", changes: { about: key }, how: "push" });
  }

  function textOf(frame) {
    const { sandwich, sum } = state.picture;
    return frame.label + ", " + formatShare(ratio(frame.total, sum)) + " of all, " + formatShare(ratio(frame.total, sandwich.total)) + " of this function, " + formatCount(frame.total) + " samples";
  }

  function point(frame, event) {
    tip.hidden = frame === null || event.pointerType === "touch";
    if (tip.hidden) return;
    const { sandwich, sum } = state.picture;
    tip.replaceChildren(el("bdi", { class: "tip-name" }, frame.label),
      el("span", { class: "tip-numbers" }, formatShare(ratio(frame.total, sum)) + " of all  ·  " + formatShare(ratio(frame.total, sandwich.total)) + " of this function  ·  " + formatCount(frame.total) + " samples"));
    placeNear(tip, { x: event.clientX, y: event.clientY });
  }

  const sides = Object.fromEntries(SIDES.map((side) => [side, createSide(side, textOf, recentre, point)]));
  const element = el("div", { class: "sandwich", "data-testid": "sandwich" },
    choose, head, titles.callers, sides.callers.element, titles.callees, sides.callees.element);
  root.append(element, tip);

  function chooseRow(row) {
    return el("li", {}, el("button", { type: "button", class: "link", on: { click: () => dispatch({ type: "address", changes: { about: row.key }, how: "push" }) } }, isolated(row.label.name)),
      " ", el("span", { class: "soft" }, formatShare(ratio(row.self, state.picture.sum)) + " own"));
  }

  watchWidth(element, sides.callees.holder, dispatch, (width) => state !== null && width !== state.width && state.address.view === "sandwich");

  function showNone() {
    const none = state.picture.sandwich === null;
    head.hidden = none;
    choose.hidden = !none;
    for (const side of SIDES) {
      titles[side].hidden = none;
      sides[side].element.hidden = none;
    }
    if (!none) return false;
    const missing = state.address.about === "" ? "Choose a function to see all that calls it and all that it calls." : "The linked function has not been seen" + (state.live ? " yet." : ".");
    choose.replaceChildren(el("p", {}, missing), el("ol", {}, ...state.picture.hottest().map(chooseRow)));
    return true;
  }

  return {
    update(next) {
      state = next;
      element.hidden = state.address.view !== "sandwich" || state.picture.sum === 0;
      if (element.hidden) tip.hidden = true;
      if (element.hidden || showNone()) return;
      const { sandwich, sum, secondsPerSample } = state.picture;
      setText(name, sandwich.label.name);
      place.replaceChildren(pathText(sandwich.label.place));
      setText(numbers, formatShare(ratio(sandwich.total, sum)) + " total  ·  " + formatShare(ratio(sandwich.self, sum)) + " own  ·  " + formatCount(sandwich.total) + " samples  ·  ≈ " + formatDuration(sandwich.total * secondsPerSample));
      setAttribute(element, "data-colour", state.address.colour);
      const width = Math.floor(element.clientWidth - 2 * parseFloat(getComputedStyle(element).paddingInlineStart));
      if (width > 0 && width !== state.width) return void dispatch({ type: "width", width });
      setText(titles.callers, sandwich.callers?.root.children.length === 0 ? "Callers: none, it stands at the root" : "Callers");
      setText(titles.callees, sandwich.callees?.root.children.length === 0 ? "Callees: none was seen" : "Callees");
      sides.callers.update(sandwich.callers, state.width, state.address.about, "Callers of " + sandwich.label.name + ", as a flame graph that grows upwards. Arrow keys move, Enter makes a frame the one in the middle.");
      sides.callees.update(sandwich.callees, state.width, state.address.about, "What " + sandwich.label.name + " calls, as a flame graph that grows downwards. Arrow keys move, Enter makes a frame the one in the middle.");
    },
  };
}
