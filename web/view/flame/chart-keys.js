// The keyboard in a chart of frames: arrow keys move from frame to frame, Enter does what a click does.

import { setAttribute } from "../elements/dom.js";

// The frame beside `id` that an arrow key leads to, or null. byId: of a drawing; upwards: the root stands at the bottom.
export function frameBeside(byId, id, key, upwards = false) {
  const entry = byId.get(id);
  if (entry === undefined) return null;
  if (key === (upwards ? "ArrowDown" : "ArrowUp")) return entry.parent;
  if (key === (upwards ? "ArrowUp" : "ArrowDown"))
    return entry.frame.children.reduce((best, child) => (best === null || child.value > best.value ? child : best),
      null);
  if (entry.parent === null) return null;
  const siblings = entry.parent.children;
  return siblings[siblings.indexOf(entry.frame) + (key === "ArrowLeft" ? -1 : 1)] ?? null;
}

const MARKS = ["data-selected", "role", "id", "aria-label", "aria-level", "aria-selected"];

// For a chart that keeps no selection in the state: where the keyboard is lives here. `element` becomes a tree that can have
// the focus; options: {name (unique on the page), upwards, textOf(frame), onEnter(frame)}.
// -> {show(chart, drawing)}, to be called whenever the chart was drawn
export function listenForFrameKeys(element, { name, upwards = false, textOf, onEnter }) {
  let chart = null;
  let byId = new Map();
  let root = null;
  let current = null;
  let marked = null;
  setAttribute(element, "tabindex", "0");
  setAttribute(element, "role", "tree");

  // A tree always has an item: before the first key the root.
  function mark() {
    const id = current ?? root.id;
    const target = chart.elementOf(id);
    if (marked !== null && marked !== target) { for (const attribute of MARKS) marked.removeAttribute(attribute); }
    marked = target;
    setAttribute(element, "aria-activedescendant", target === null ? null : name);
    if (target === null) return;
    const { frame, level } = byId.get(id);
    const attributes = { "data-selected": current === null ? null : "", role: "treeitem", id: name,
      "aria-label": textOf(frame), "aria-level": level + 1, "aria-selected": String(current !== null) };
    for (const [attribute, value] of Object.entries(attributes)) setAttribute(target, attribute, value);
  }

  function goTo(frame) {
    current = frame.id;
    mark();
    marked?.scrollIntoView({ block: "nearest", inline: "nearest" });
  }

  element.addEventListener("focus", () => {
    if (current === null && root !== null && element.matches(":focus-visible")) goTo(root);
  });
  element.addEventListener("keydown", (event) => {
    if (root === null || event.target !== element || event.ctrlKey || event.metaKey || event.altKey) return;
    const at = byId.get(current)?.frame ?? root;
    if (event.key === "Enter") onEnter(at);
    else if (event.key.startsWith("Arrow"))
      goTo((current === null ? at : frameBeside(byId, at.id, event.key, upwards)) ?? at);
    else return;
    event.preventDefault();
  });

  return {
    show(drawnChart, drawing) {
      chart = drawnChart;
      byId = drawing.byId;
      root = drawing.root;
      if (!byId.has(current)) current = null;
      mark();
    },
  };
}
