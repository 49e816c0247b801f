// The flame graph, drawn by d3-flame-graph from the cut tree. The model owns zoom, search and selection; the chart only
// draws what it is given, with ids that stay the same from one update to the next.

import { formatCount, formatShare, ratio } from "../../model/base/numbers.js";
import { FLAME_VIEWS } from "../../model/page/address.js";
import { TEXT } from "../../text/session.js";
import { el, placeNear, setAttribute } from "../elements/dom.js";
import { offerMenu } from "../elements/menu.js";
import { frameBeside } from "./chart-keys.js";
import { createChart, watchWidth } from "./chart.js";
import { pathStack } from "./details.js";

// Why there is nothing to draw, and what can be done about it: {element, update(state)}.
function createEmpty(dispatch) {
  const element = el("div", { class: "empty", "data-testid": "empty" });
  return {
    element,
    update({ picture }) {
      const reason = picture.empty;
      element.hidden = reason === null;
      if (reason === null || element.dataset.text === reason.text) return;
      element.dataset.text = reason.text;
      const ways = reason.actions.map(({ label, action }) =>
        el("button", { type: "button", on: { click: () => dispatch(action) } }, label)
      );
      element.replaceChildren(el("p", {}, reason.text), el("p", { class: "ways" }, ...ways));
    },
  };
}

// The numbers of the frame under the pointer: {element, hide(), update(state, pointer, waits)}; `waits`: there is a newer drawing.
function createFlameTip() {
  const element = el("div", { class: "tip", hidden: true });
  return {
    element,
    hide() {
      element.hidden = true;
    },
    // pointer: {x, y, type}, or null
    update({ picture, address, hover }, pointer, waits) {
      const frame = hover === null ? undefined : picture.drawing?.byId.get(hover)?.frame;
      element.hidden = frame === undefined || pointer === null || pointer.type === "touch";
      if (element.hidden) return;
      const self = frame.remainder || address.bottomUp
        ? ""
        : "  ·  " + TEXT.flame.self(formatShare(ratio(frame.self, picture.sum)));
      const numbers = formatShare(ratio(frame.total, picture.sum)) + "  ·  " + picture.countText(frame.total)
        + self;
      element.replaceChildren(el("bdi", { class: "tip-name" }, frame.label),
        el("span", { class: "tip-numbers" }, numbers),
        waits ? el("span", { class: "tip-numbers" }, TEXT.flame.frozen) : "");
      placeNear(element, pointer);
    },
  };
}

// The item at which the keyboard is, which a tree always has: mark(frame's element or null, {frame, level}, state).
function createTreeItem(tree) {
  let marked = null;
  return function mark(target, { frame, level }, { picture: { selected, sum } }) {
    if (marked !== null && marked !== target) {
      for (const name of ["data-selected", "role", "id", "aria-label", "aria-level", "aria-selected"])
        marked.removeAttribute(name);
    }
    marked = target;
    setAttribute(tree, "aria-activedescendant", target === null ? null : "frame-selected");
    if (target === null) return;
    const said = frame.label + ", " + formatShare(ratio(frame.total, sum)) + ", "
      + TEXT.flame.self(formatShare(ratio(frame.self, sum)));
    const attributes = { "data-selected": selected === null ? null : "", role: "treeitem", id: "frame-selected",
      "aria-label": said, "aria-level": level + 1, "aria-selected": String(selected !== null) };
    for (const [name, value] of Object.entries(attributes)) setAttribute(target, name, value);
    if (selected !== null && target.nextElementSibling !== null) target.parentNode.append(target);
  };
}

// The question of a person; another answer to the same question is only newer.
function askedFor({ address: { frame, tables, colour, ...asked } }) {
  return JSON.stringify(asked);
}

// The keys that a frame leads to: a remainder stands for the frame it belongs to.
function keysOf(frame, { picture }) {
  return picture.keysTo(frame.remainder ? frame.of : frame.id);
}

// The chart and what it shows of the state: {idAt(x, y), elementOf(id), isBehind(state, pointer), draw(state), showFocus(id)}.
function createDrawn(holder, onClick) {
  let chart = null;
  let shown = { drawing: null, width: 0, colour: "", focus: null, question: "" };
  return {
    idAt(x, y) {
      const under = chart?.frameAt(document.elementFromPoint(x, y)) ?? null;
      return under !== null && holder.contains(under) ? chart.dataOf(under).id : null;
    },
    elementOf: (id) => chart.elementOf(id),
    // There is a newer drawing, which waits until nothing is pointed at: updates never move what the pointer is on.
    isBehind(state, pointer) {
      const isPointedAt = pointer !== null && pointer.type !== "touch" && state.hover !== null;
      return state.picture.drawing !== shown.drawing && isPointedAt && shown.drawing !== null
        && state.width === shown.width && askedFor(state) === shown.question;
    },
    // Draws the state; true if it was drawn again.
    draw(state) {
      const { picture: { drawing }, address: { colour }, width } = state;
      if (drawing === shown.drawing && width === shown.width && colour === shown.colour) return false;
      chart ??= createChart(holder, onClick);
      chart.draw(drawing, width, colour);
      shown = { ...shown, drawing, width, colour, question: askedFor(state) };
      return true;
    },
    // After a zoom the zoomed frame must be on screen, wherever the chart was scrolled to before.
    showFocus(id) {
      // Scrolling lays out the page: once all views are updated, not before those that are still to come.
      if (id !== shown.focus && shown.focus !== null)
        queueMicrotask(() => chart.elementOf(id)?.scrollIntoView({ block: "nearest", inline: "nearest" }));
      shown.focus = id;
    },
  };
}

export function createFlame(root, dispatch) {
  const holder = el("div", { class: "flame-chart" });
  const element = el("div", {
    class: "flame",
    tabindex: "0",
    role: "tree",
    "data-testid": "flame",
    "aria-label": TEXT.flame.label,
  }, holder);
  const drawn = createDrawn(holder, zoomTo);
  const empty = createEmpty(dispatch);
  const tip = createFlameTip();
  const markItem = createTreeItem(element);
  root.append(element, empty.element, tip.element);
  let state = null;
  let pointer = null;
  // The frame that the arrow keys went to since the last drawing: keys may come faster than pictures.
  let moved = null;

  const entryOf = (id) => state?.picture.drawing?.byId.get(id);

  function zoomTo(frame) {
    pointer = null;
    if (frame.fold !== undefined)
      return dispatch({ type: "address", changes: { open: [...state.address.open, frame.fold] }, how: "push" });
    const keys = keysOf(frame, state);
    return dispatch({ type: "address", changes: { zoom: keys, frame: keys }, how: "push" });
  }

  function hoverAt({ x, y }) {
    const id = drawn.idAt(x, y);
    if (id !== state.hover) dispatch({ type: "hover", id });
  }

  // The frame at the keyboard, or null.
  function currentFrame() {
    const id = [moved, state?.picture.selected].find((one) => typeof one === "string" && entryOf(one) !== undefined)
      ?? String(state?.picture.focus.id);
    return entryOf(id)?.frame ?? null;
  }

  function goTo(frame) {
    if (frame === null) return;
    moved = frame.id;
    dispatch({ type: "address", changes: { frame: keysOf(frame, state) }, how: "replace" });
    drawn.elementOf(frame.id)?.scrollIntoView({ block: "nearest", inline: "nearest" });
  }

  element.addEventListener("pointermove", (event) => {
    pointer = { x: event.clientX, y: event.clientY, type: event.pointerType };
    hoverAt(pointer);
    tip.update(state, pointer, drawn.isBehind(state, pointer));
  });
  element.addEventListener("pointerleave", () => {
    pointer = null;
    if (state.hover !== null) dispatch({ type: "hover", id: null });
  });
  element.addEventListener("scroll", () => {
    if (pointer !== null) hoverAt(pointer);
  });
  element.addEventListener("keydown", (event) => {
    const current = currentFrame();
    if (current === null || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "Enter") zoomTo(current);
    else if (event.key.startsWith("Arrow")) goTo(frameBeside(state.picture.drawing.byId, current.id, event.key));
    else return;
    event.preventDefault();
  });
  offerMenu(element, dispatch, (event) => {
    const id = event.pointerType === "" ? null : drawn.idAt(event.clientX, event.clientY);
    const frame = (id === null ? null : entryOf(id)?.frame) ?? currentFrame();
    if (frame === null || frame.remainder || frame.id === "0") return null;
    const { label, key } = state.picture.describe(frame.id);
    return { label, key, stack: pathStack(state.picture.pathTo(frame.id), state.address.bottomUp) };
  });
  watchWidth(holder, holder, dispatch,
    (width) => state !== null && width !== state.width && FLAME_VIEWS.includes(state.address.view));

  return {
    update(next) {
      state = next;
      moved = null;
      const hidden = !FLAME_VIEWS.includes(state.address.view);
      const { drawing, selected, focus, empty: reason } = state.picture;
      element.hidden = hidden || reason !== null;
      empty.update(state);
      if (hidden || drawing === null) return tip.hide();
      const waits = drawn.isBehind(state, pointer);
      if (!waits && drawn.draw(state) && pointer !== null) queueMicrotask(() => pointer !== null && hoverAt(pointer));
      const entry = entryOf(selected ?? String(focus.id)) ?? {};
      markItem(drawn.elementOf(entry.frame?.id), entry, state);
      drawn.showFocus(String(focus.id));
      return tip.update(state, pointer, waits);
    },
    focus: () => element.focus(),
  };
}
