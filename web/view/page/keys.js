// Keys that work anywhere on the page, unless the user is typing.

import { viewKey, VIEWS } from "../../model/page/address.js";

const TYPING = "input, textarea, select, [contenteditable]";
const PRESSABLE = "button, a, summary, dialog, [popover]";

// focus: {search, filter, strip, palette}, each puts the keyboard there; stepLine(by) goes to the next line with samples
export function listenForKeys(dispatch, focus) {
  const actions = new Map([
    ["/", focus.search],
    ["n", () => focus.stepLine(1)],
    ["N", () => focus.stepLine(-1)],
    ["k", focus.palette],
    ["f", focus.filter],
    ["r", focus.strip],
    ["l", () => dispatch({ type: "toggleLibraries" })],
    ["h", () => dispatch({ type: "toggleHold" })],
    ...VIEWS.map((view, i) => [viewKey(i), () => dispatch({ type: "address", changes: { view }, how: "push" })]),
    ["i", () => dispatch({ type: "turn" })],
    ["q", () => dispatch({ type: "qualityDialog", open: true })],
    ["p", () => dispatch({ type: "togglePause" })],
    [" ", () => dispatch({ type: "togglePause" })],
    ["t", () => dispatch({ type: "nextTheme" })],
    ["?", () => dispatch({ type: "help", open: true })],
    ["Escape", () => dispatch({ type: "stepBack" })],
  ]);

  document.addEventListener("keydown", (event) => {
    if (event.key.toLowerCase() === "k" && (event.ctrlKey || event.metaKey) && !event.altKey && !event.shiftKey) {
      event.preventDefault();
      focus.palette();
      return;
    }
    if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return;
    const target = event.target instanceof Element ? event.target : document.body;
    if (target.closest(TYPING) || document.querySelector("dialog[open], :popover-open")) return;
    if (event.key === " " && target.closest(PRESSABLE)) return;
    const action = actions.get(event.key);
    if (action === undefined) return;
    event.preventDefault();
    action();
  });
}
