// The flame graph, drawn by d3-flame-graph from the cut tree. The model owns zoom, search and selection; the chart only
// draws what it is given, with ids that stay the same from one update to the next.

import { FLAME_VIEWS } from "../model/address.js";
import { formatCount, formatShare, ratio } from "../model/numbers.js";
import { frameBeside } from "./chart-keys.js";
import { createChart } from "./chart.js";
import { el, placeNear, setAttribute } from "./dom.js";

export function createFlame(root, dispatch) {
  const holder = el("div", { class: "flame-chart" });
  const empty = el("div", { class: "empty", "data-testid": "empty" });
  const tip = el("div", { class: "tip", hidden: true });
  const element = el("div", {
    class: "flame", tabindex: "0", role: "tree", "data-testid": "flame", "aria-label": "Flame graph. Arrow keys move, Enter zooms, Escape resets the zoom.",
  }, holder);
  root.append(element, empty, tip);
  let chart = null;
  let state = null;
  let shownDrawing = null;
  let shownWidth = 0;
  let shownFocus = null;
  let shownFor = "";
  // There is a newer drawing, which waits until nothing is pointed at.
  let waits = false;
  let pointer = null;
  let marked = null;
  // Where the arrow keys went since the last drawing: keys may come faster than pictures.
  let moved = null;

  const entryOf = (id) => state?.picture.drawing?.byId.get(id);

  // Where a frame leads: a remainder stands for the frame it belongs to.
  function zoomTarget(frame) {
    return frame.remainder ? frame.of : frame.id;
  }

  function zoomTo(frame) {
    pointer = null;
    const keys = state.picture.keysTo(zoomTarget(frame));
    dispatch({ type: "address", changes: { zoom: keys, frame: keys }, how: "push" });
  }

  function select(frame) {
    dispatch({ type: "address", changes: { frame: state.picture.keysTo(zoomTarget(frame)) }, how: "replace" });
  }

  function hoverAt(x, y) {
    const under = chart?.frameAt(document.elementFromPoint(x, y)) ?? null;
    const inside = under !== null && holder.contains(under);
    const id = inside ? chart.dataOf(under).id : null;
    if (id !== state.hover) dispatch({ type: "hover", id });
  }

  function updateTip() {
    const frame = state.hover === null ? undefined : entryOf(state.hover)?.frame;
    tip.hidden = frame === undefined || pointer === null || pointer.type === "touch";
    if (tip.hidden) return;
    const { sum } = state.picture;
    const own = frame.remainder || state.address.inverted ? "" : "  ·  own " + formatShare(ratio(frame.self, sum));
    const numbers = formatShare(ratio(frame.total, sum)) + "  ·  " + formatCount(frame.total) + " samples" + own;
    tip.replaceChildren(el("bdi", { class: "tip-name" }, frame.label), el("span", { class: "tip-numbers" }, numbers), waits ? el("span", { class: "tip-numbers" }, "frames stay while you point at them") : "");
    placeNear(tip, pointer);
  }

  // The tree always has the item at which the keyboard is: the selected frame, else the zoomed one.
  function markSelected(selected) {
    const id = selected ?? String(state.picture.focus.id);
    const target = chart.elementOf(id);
    if (marked !== null && marked !== target) {
      for (const name of ["data-selected", "role", "id", "aria-label", "aria-level", "aria-selected"]) marked.removeAttribute(name);
    }
    marked = target;
    setAttribute(element, "aria-activedescendant", target === null ? null : "frame-selected");
    if (target === null) return;
    const { frame, level } = entryOf(id);
    const said = frame.label + ", " + formatShare(ratio(frame.total, state.picture.sum)) + ", own " + formatShare(ratio(frame.self, state.picture.sum));
    const attributes = { "data-selected": selected === null ? null : "", role: "treeitem", id: "frame-selected", "aria-label": said, "aria-level": level + 1, "aria-selected": String(selected !== null) };
    for (const [name, value] of Object.entries(attributes)) setAttribute(target, name, value);
    if (selected !== null && target.nextElementSibling !== null) target.parentNode.append(target);
  }

  element.addEventListener("pointermove", (event) => {
    pointer = { x: event.clientX, y: event.clientY, type: event.pointerType };
    hoverAt(pointer.x, pointer.y);
    updateTip();
  });
  element.addEventListener("pointerleave", () => {
    pointer = null;
    if (state.hover !== null) dispatch({ type: "hover", id: null });
  });
  element.addEventListener("scroll", () => {
    if (pointer !== null) hoverAt(pointer.x, pointer.y);
  });
  element.addEventListener("keydown", (event) => {
    const drawing = state?.picture.drawing;
    if (!drawing || event.ctrlKey || event.metaKey || event.altKey) return;
    const current = [moved, state.picture.selected].find((id) => id !== null && drawing.byId.has(id)) ?? String(state.picture.focus.id);
    if (event.key === "Enter") {
      zoomTo(drawing.byId.get(current).frame);
      event.preventDefault();
    }
    if (!event.key.startsWith("Arrow")) return;
    event.preventDefault();
    const next = frameBeside(drawing.byId, current, event.key);
    if (next === null) return;
    moved = next.id;
    select(next);
    chart.elementOf(next.id)?.scrollIntoView({ block: "nearest", inline: "nearest" });
  });
  new ResizeObserver(() => {
    const width = Math.floor(holder.clientWidth);
    if (state !== null && width > 0 && width !== state.width && FLAME_VIEWS.includes(state.address.view)) dispatch({ type: "width", width });
  }).observe(holder);

  function updateEmpty() {
    const reason = state.picture.empty;
    empty.hidden = reason === null;
    if (reason === null) return;
    if (empty.dataset.text === reason.text) return;
    empty.dataset.text = reason.text;
    const ways = reason.actions.map(({ label, action }) => el("button", { type: "button", on: { click: () => dispatch(action) } }, label));
    empty.replaceChildren(el("p", {}, reason.text), el("p", { class: "ways" }, ...ways));
  }

  function redraw(drawing) {
    chart ??= createChart(holder, zoomTo);
    chart.draw(drawing, state.width);
    shownDrawing = drawing;
    shownWidth = state.width;
    shownFor = askedFor();
    if (pointer !== null) queueMicrotask(() => pointer !== null && hoverAt(pointer.x, pointer.y));
  }

  // What a person asked to see; another answer to the same question is only newer.
  function askedFor() {
    const { frame, tables, colour, ...asked } = state.address;
    return JSON.stringify(asked);
  }

  // Updates never move what the pointer is on.
  function isPointedAt() {
    return pointer !== null && pointer.type !== "touch" && state.hover !== null && shownDrawing !== null && state.width === shownWidth && askedFor() === shownFor;
  }

  // After a zoom the zoomed frame must be on screen, wherever the chart was scrolled to before.
  function showFocus(id) {
    if (id === shownFocus) return;
    if (shownFocus !== null) chart.elementOf(id)?.scrollIntoView({ block: "nearest", inline: "nearest" });
    shownFocus = id;
  }

  return {
    update(next) {
      state = next;
      moved = null;
      const hidden = !FLAME_VIEWS.includes(state.address.view);
      const { drawing, selected } = state.picture;
      element.hidden = hidden || state.picture.empty !== null;
      updateEmpty();
      if (hidden || drawing === null) {
        tip.hidden = true;
        return;
      }
      setAttribute(element, "data-colour", state.address.colour);
      waits = drawing !== shownDrawing && isPointedAt();
      if (!waits && (drawing !== shownDrawing || state.width !== shownWidth)) redraw(drawing);
      markSelected(selected);
      showFocus(String(state.picture.focus.id));
      updateTip();
    },
    focus: () => element.focus(),
  };
}
