// The line above the charts: the zoom path, and a button that opens how stacks are grouped and drawn. It says what is chosen; what a view has no
// use for is not there.

import { FLAME_VIEWS, ORDERS } from "../../model/page/address.js";
import { shownOrder } from "../../model/page/state.js";
import { NATIVE_SETTINGS } from "../../model/trees/native.js";
import { TEXT } from "../../text/session.js";
import { el, icon, isolated, segmented, setAttribute, setText } from "../elements/dom.js";
import { ICONS } from "../elements/icons.js";
import { createPopover } from "../elements/popover.js";
import { createCrumbs } from "../flame/crumbs.js";

export function createShape(root, dispatch) {
  const change = (changes) => dispatch({ type: "address", changes, how: "push" });
  const direction = segmented(TEXT.direction.label, "direction", [
    { value: "down", label: TEXT.direction.down, hint: TEXT.direction.downHint },
    { value: "up", label: TEXT.direction.up, hint: TEXT.direction.upHint },
  ], (value) => change({ bottomUp: value === "up" }));
  const grouping = segmented(TEXT.grouping.label, "grouping", [
    { value: "function", label: TEXT.grouping.function, hint: TEXT.grouping.functionHint },
    { value: "line", label: TEXT.grouping.line, hint: TEXT.grouping.lineHint },
  ], (value) => change({ by: value }));
  const native = segmented(TEXT.native.label, "native",
    NATIVE_SETTINGS.map((value) => ({ value, label: TEXT.native[value][0], hint: TEXT.native[value][1] })),
    (value) => change({ native: value }));
  const order = segmented(TEXT.order.label, "order",
    ORDERS.map((value) => ({ value, label: TEXT.order[value][0], hint: TEXT.order[value][1] })),
    (value) => change({ order: value }));
  const colour = segmented(TEXT.colour.label, "colour", [
    { value: "heat", label: TEXT.colour.heat, hint: TEXT.colour.heatHint },
    { value: "module", label: TEXT.colour.module, hint: TEXT.colour.moduleHint },
  ], (value) => change({ colour: value }));
  const chosen = isolated("");
  const button = el("button", { type: "button", class: "choice", "data-testid": "display" },
    el("span", {}, TEXT.display), chosen, icon(ICONS.chevron, 12));
  const element = el("div", { class: "shape" });
  root.append(element);
  const crumbs = createCrumbs(element, dispatch);
  element.append(button);
  const rows = { direction, grouping, native, order, colour };
  const lines = Object.entries(rows).map(([key, { element: group }]) =>
    el("div", { class: "display-line" }, el("span", { class: "soft", "aria-hidden": "true" }, TEXT[key].label), group)
  );
  createPopover(button, TEXT.display).panel.append(...lines);

  function show({ address: { view, bottomUp, by, colour: shownColour }, picture, ...state }) {
    const isChart = [...FLAME_VIEWS, "sandwich"].includes(view);
    // Values that the view has no use for are null.
    const values = {
      direction: !FLAME_VIEWS.includes(view) ? null : bottomUp ? "up" : "down",
      grouping: [...FLAME_VIEWS, "table", "stacks"].includes(view) ? by : null,
      native: ["threads", "locks", "tasks", "requests"].includes(view) ? null : picture.native,
      order: isChart && (!bottomUp || view === "sandwich") ? state.order : null,
      colour: isChart || view === "stacks" ? shownColour : null,
    };
    Object.entries(values).forEach(([key, value], i) => {
      lines[i].hidden = value === null;
      if (value !== null) rows[key].set(value);
    });
    const others = [[values.direction === "up", TEXT.direction.up], [values.grouping === "line", TEXT.grouping.line], [
      values.colour === "module",
      TEXT.colour.module,
    ]].flatMap(([is, text]) => (is ? [text] : []));
    setText(chosen, others.join(", "));
    setAttribute(button, "data-active", others.length > 0 || null);
    element.hidden = lines.every((line) => line.hidden);
  }

  return {
    update(state) {
      crumbs.update(state);
      show({ ...state, order: shownOrder(state) });
    },
  };
}
