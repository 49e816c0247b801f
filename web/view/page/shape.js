// The line above the charts: the zoom path, and how stacks are grouped and drawn. What a view has no use for is not there; nothing else
// moves for that.

import { FLAME_VIEWS } from "../../model/page/address.js";
import { NATIVE_SETTINGS } from "../../model/trees/native.js";
import { TEXT } from "../../text/session.js";
import { el, segmented } from "../elements/dom.js";
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
  const native = segmented(TEXT.native.label, "native", NATIVE_SETTINGS.map((value) => ({ value, label: TEXT.native[value][0], hint: TEXT.native[value][1] })), (value) => change({ native: value }));
  const labelled = el("div", { class: "labelled" }, el("span", { class: "soft", "aria-hidden": "true" }, TEXT.native.short), native.element);
  const element = el("div", { class: "shape" });
  root.append(element);
  const crumbs = createCrumbs(element, dispatch);
  element.append(labelled, direction.element, grouping.element);
  return {
    update(state) {
      const { view, bottomUp, by } = state.address;
      crumbs.update(state);
      direction.set(bottomUp ? "up" : "down");
      grouping.set(by);
      direction.element.hidden = !FLAME_VIEWS.includes(view);
      grouping.element.hidden = ![...FLAME_VIEWS, "table", "stacks"].includes(view);
      labelled.hidden = state.picture.native === null || ["threads", "tasks"].includes(view);
      if (!labelled.hidden) native.set(state.picture.native);
      element.hidden = grouping.element.hidden && labelled.hidden;
    },
  };
}
