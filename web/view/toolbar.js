// What is shown: view, direction, grouping, threads, search.

import { FLAME_VIEWS } from "../model/address.js";
import { el, segmented } from "./dom.js";
import { createSearch } from "./search.js";
import { createThreadFilter } from "./threads.js";

export function createToolbar(root, dispatch) {
  const change = (changes) => dispatch({ type: "address", changes, how: "push" });
  const view = segmented("View", "view", [
    { value: "flame", label: "Flame graph", hint: "Frames as wide as their samples  ( 1 )" },
    { value: "sandwich", label: "Sandwich", hint: "One function between its callers and its callees  ( 2 )" },
    { value: "table", label: "Functions", hint: "A table with own and total samples  ( 3 )" },
    { value: "source", label: "Source", hint: "Files and lines with their heat  ( 4 )" },
    { value: "heatmap", label: "Heat map", hint: "What happened within seconds: cells of 20 ms  ( 5 )" },
    { value: "threads", label: "Threads", hint: "What each thread was doing along time  ( 6 )" },
    { value: "gil", label: "GIL", hint: "Who held it while whom waited  ( 7 )" },
    { value: "diff", label: "Compare", hint: "Two ranges of time  ( 8 )" },
    { value: "tasks", label: "Tasks", hint: "Asyncio tasks: where each waits and who awaits it  ( 9 )" },
  ], (value) => change({ view: value }));
  const tasksButton = view.element.querySelector("[data-value=tasks]");
  const direction = segmented("Direction", "direction", [
    { value: "down", label: "Callers first", hint: "From the outermost frame inwards  ( i )" },
    { value: "up", label: "Inverted", hint: "From the running function out to its callers  ( i )" },
  ], (value) => change({ inverted: value === "up" }));
  const grouping = segmented("Frames are", "grouping", [
    { value: "function", label: "By function", hint: "One frame per function" },
    { value: "line", label: "By line", hint: "One frame per line being executed" },
  ], (value) => change({ by: value }));
  const threads = createThreadFilter(dispatch);
  const search = createSearch(dispatch);
  root.append(view.element, direction.element, grouping.element, threads.element, search.element);
  threads.attach();
  return {
    focusSearch: search.focus,
    update(state) {
      view.set(state.address.view);
      tasksButton.hidden = state.address.view !== "tasks" && (state.session?.settings?.async ?? "off") === "off";
      direction.set(state.address.inverted ? "up" : "down");
      grouping.set(state.address.by);
      direction.element.hidden = !FLAME_VIEWS.includes(state.address.view);
      grouping.element.hidden = ![...FLAME_VIEWS, "table"].includes(state.address.view);
      threads.update(state);
      search.update(state);
    },
  };
}
