// One function between its callers, above it, and its callees, below it.

import { formatCount, formatShare, ratio } from "../../model/base/numbers.js";
import { TEXT } from "../../text/session.js";
import { el, isolated, placeNear, setAttribute, setText } from "../elements/dom.js";
import { listenForFrameKeys } from "./chart-keys.js";
import { awaitsWidth, createChart, watchWidth } from "./chart.js";

const SIDES = ["callers", "callees"];

function createSide(side, textOf, onClick, onPoint) {
  const holder = el("div", { class: "flame-chart" });
  const element = el("div", { class: "sandwich-side", "data-side": side, "data-testid": "sandwich-" + side }, holder);
  const keys = listenForFrameKeys(element, { name: "frame-" + side, upwards: side === "callers", textOf,
    onEnter: (frame) => onClick(side, frame) });
  let chart = null;
  let about = null;
  let shown = null;
  let width = 0;
  let coloured = null;
  element.addEventListener("pointermove", (event) => {
    const under = chart?.frameAt(event.target) ?? null;
    onPoint(under === null ? null : chart.dataOf(under), event);
  });
  element.addEventListener("pointerleave", () => onPoint(null, null));
  return {
    element,
    holder,
    update(drawing, room, colour, key, label) {
      element.hidden = drawing === null;
      setAttribute(element, "aria-label", label);
      if (drawing === null || (drawing === shown && room === width && colour === coloured)) return;
      chart ??= createChart(holder, (frame) => onClick(side, frame), side === "callers");
      chart.draw(drawing, room, colour);
      keys.show(chart, drawing);
      shown = drawing;
      coloured = colour;
      width = room;
      // The rows that matter are beside the function itself; whoever scrolled away from it stays there. Scrolling lays out the page, so it
      // waits until all views are updated.
      if (side === "callers" && about !== key)
        queueMicrotask(() => {
          element.scrollTop = element.scrollHeight;
        });
      about = key;
    },
  };
}

export function createSandwich(root, dispatch) {
  let state = null;
  const tip = el("div", { class: "tip", hidden: true });
  const name = isolated("", { class: "sandwich-name", "data-testid": "sandwich-name" });
  const place = isolated("", { class: "place" });
  const numbers = el("span", { class: "soft", "data-testid": "sandwich-numbers" });
  const head = el("div", { class: "sandwich-head" }, el("h2", {}, name), place, numbers);
  const choose = el("p", { class: "soft sandwich-choose" });
  const titles = { callers: el("h3", {}, TEXT.sandwich.callers), callees: el("h3", {}, TEXT.sandwich.callees) };

  function recentre(side, frame) {
    tip.hidden = true;
    const key = state.picture.sandwich.keyOf(side, frame.remainder ? frame.of : frame.id);
    if (key !== state.picture.sandwich.key) dispatch({ type: "address", changes: { about: key }, how: "push" });
  }

  function numbersOf(frame) {
    const { sandwich, sum, amountText } = state.picture;
    return TEXT.sandwich.frame(formatShare(ratio(frame.total, sum)), formatShare(ratio(frame.total, sandwich.total)),
      amountText(frame.total));
  }

  const textOf = (frame) => [frame.label, ...numbersOf(frame)].join(", ");

  function point(frame, event) {
    tip.hidden = frame === null || event.pointerType === "touch";
    if (tip.hidden) return;
    tip.replaceChildren(el("bdi", { class: "tip-name" }, frame.label),
      el("span", { class: "tip-numbers" }, numbersOf(frame).join("  ·  ")));
    placeNear(tip, { x: event.clientX, y: event.clientY });
  }

  const sides = Object.fromEntries(SIDES.map((side) => [side, createSide(side, textOf, recentre, point)]));
  const element = el("div", { class: "sandwich", "data-testid": "sandwich" }, choose, head, titles.callers,
    sides.callers.element, titles.callees, sides.callees.element);
  root.append(element, tip);

  watchWidth(element, sides.callees.holder, dispatch,
    (width) => state !== null && width !== state.width && state.address.view === "sandwich");

  function showNone() {
    const none = state.picture.sandwich === null;
    head.hidden = none;
    choose.hidden = !none && state.address.about !== "";
    setText(choose, none ? TEXT.sandwich.missing(state.live) : TEXT.sandwich.choose);
    for (const side of SIDES) {
      titles[side].hidden = none;
      sides[side].element.hidden = none;
    }
    return none;
  }

  return {
    update(next) {
      state = next;
      element.hidden = state.address.view !== "sandwich" || state.picture.sum === 0;
      if (element.hidden) tip.hidden = true;
      if (element.hidden || showNone()) return;
      const { sandwich, sum, countText, timeText } = state.picture;
      setText(name, sandwich.label.name);
      setText(place, sandwich.label.near);
      setAttribute(place, "title", sandwich.label.place);
      setText(numbers,
        TEXT.sandwich.numbers(formatShare(ratio(sandwich.total, sum)), formatShare(ratio(sandwich.self, sum)),
          countText(sandwich.total), timeText(sandwich.total)));
      if (awaitsWidth(state, () => element.clientWidth - 2 * parseFloat(getComputedStyle(element).paddingInlineStart),
        dispatch)) return;
      setText(titles.callers,
        sandwich.callers?.root.children.length === 0 ? TEXT.sandwich.noCallers : TEXT.sandwich.callers);
      setText(titles.callees,
        sandwich.callees?.root.children.length === 0 ? TEXT.sandwich.noCallees : TEXT.sandwich.callees);
      sides.callers.update(sandwich.callers, state.width, state.address.colour, sandwich.key,
        TEXT.sandwich.callersLabel(sandwich.label.name));
      sides.callees.update(sandwich.callees, state.width, state.address.colour, sandwich.key,
        TEXT.sandwich.calleesLabel(sandwich.label.name));
    },
  };
}
