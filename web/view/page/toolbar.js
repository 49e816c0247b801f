// The toolbar: view, direction, grouping, native frames, threads, search.

import { FLAME_VIEWS, VIEWS } from "../../model/page/address.js";
import { NATIVE_SETTINGS } from "../../model/trees/native.js";
import { TEXT } from "../../text/session.js";
import { el, segmented } from "../elements/dom.js";
import { createSearch } from "../filters/search.js";
import { createThreadFilter } from "../filters/threads.js";

export function createToolbar(root, dispatch) {
  const change = (changes) => dispatch({ type: "address", changes, how: "push" });
  const view = segmented(TEXT.view.label, "view", VIEWS.map((value, i) => ({ value, label: TEXT.view[value][0], hint: TEXT.view[value][1] + "  ( " + (i + 1) + " )" })), (value) => change({ view: value }));
  const tasksButton = view.element.querySelector("[data-value=tasks]");
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
  const threads = createThreadFilter(dispatch);
  const search = createSearch(dispatch);
  root.append(view.element, direction.element, grouping.element, labelled, threads.element, search.element);
  threads.attach();
  return {
    focusSearch: search.focus,
    update(state) {
      view.set(state.address.view);
      tasksButton.hidden = state.address.view !== "tasks" && (state.session?.settings?.async ?? "off") === "off";
      direction.set(state.address.bottomUp ? "up" : "down");
      grouping.set(state.address.by);
      direction.element.hidden = !FLAME_VIEWS.includes(state.address.view);
      grouping.element.hidden = ![...FLAME_VIEWS, "table"].includes(state.address.view);
      labelled.hidden = state.picture.native === null || ["threads", "tasks"].includes(state.address.view);
      if (!labelled.hidden) native.set(state.picture.native);
      threads.update(state);
      search.update(state);
    },
  };
}
