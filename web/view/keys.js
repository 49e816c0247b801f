// Keys that work anywhere on the page, unless something is being typed.

import { nextTheme } from "../model/state.js";

const TYPING = "input, textarea, select, [contenteditable]";
const PRESSABLE = "button, a, summary, dialog, [popover]";

export function createKeys(dispatch, focusSearch) {
  let state = null;

  function onEscape() {
    if (state.address.zoom.length > 0) dispatch({ type: "address", changes: { zoom: [] }, how: "push" });
    else if (state.address.frame.length > 0) dispatch({ type: "address", changes: { frame: [] }, how: "replace" });
    else if (state.address.search !== "") dispatch({ type: "address", changes: { search: "" }, how: "replace" });
  }

  const actions = new Map([
    ["/", focusSearch],
    ["i", () => dispatch({ type: "address", changes: { inverted: !state.address.inverted }, how: "push" })],
    ["p", () => dispatch({ type: "togglePause" })],
    [" ", () => dispatch({ type: "togglePause" })],
    ["t", () => dispatch({ type: "theme", theme: nextTheme(state.theme) })],
    ["?", () => dispatch({ type: "help", open: true })],
    ["Escape", onEscape],
  ]);

  document.addEventListener("keydown", (event) => {
    if (state === null || event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return;
    const target = event.target instanceof Element ? event.target : document.body;
    if (target.closest(TYPING) || document.querySelector("dialog[open], :popover-open")) return;
    if (event.key === " " && target.closest(PRESSABLE)) return;
    const action = actions.get(event.key);
    if (action === undefined) return;
    event.preventDefault();
    action();
  });

  return {
    update(next) {
      state = next;
    },
  };
}
