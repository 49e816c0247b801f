// The keys, in a dialog.

import { el, icon } from "./dom.js";
import { ICONS } from "./icons.js";

const KEYS = [
  ["1 … 9", "flame graph, sandwich, functions, source, heat map, threads, GIL, compare, asyncio tasks"],
  ["k or Ctrl+K", "command palette: what the page can do, and every function by name"],
  ["/", "search: a piece of text, or /a regular expression/"],
  ["f", "filter frames: show, hide, merge or focus, and function:, file: or module:"],
  ["l", "library frames away, and back"],
  ["r", "the strip of time: arrows move the range, with Shift its end; + and - zoom"],
  ["n  N", "source: the next line with samples, the one before"],
  ["i", "inverted: running functions first, then their callers"],
  ["q", "how well this was measured: every number"],
  ["p or Space", "hold this picture; recording goes on"],
  ["h", "hold the picture while the pointer is over it"],
  ["← ↑ → ↓", "move in the flame graph, once it has the focus"],
  ["Enter", "zoom into the frame"],
  ["Esc", "reset the zoom; in the search box: clear it"],
  ["t", "theme: system, light, dark"],
  ["?", "this help"],
];

export function createHelp(root, dispatch) {
  const close = el("button", { type: "button", class: "quiet", "aria-label": "Close", on: { click: () => dialog.close() } }, icon(ICONS.close));
  const rows = KEYS.map(([key, meaning]) => el("div", {}, el("dt", {}, el("kbd", {}, key)), el("dd", {}, meaning)));
  const about = el("p", { class: "soft" },
    "Each frame is a function; its width is the share of samples that had it on the stack. Frames glow with the samples taken in the frame itself. ",
    "The address of this page holds what it shows: whoever opens the same address sees the same.");
  const dialog = el("dialog", { class: "help", "data-testid": "help-dialog", "aria-labelledby": "help-title" },
    el("div", { class: "help-head" }, el("h2", { id: "help-title" }, "Keys"), close), el("dl", {}, ...rows), about);
  dialog.addEventListener("close", () => dispatch({ type: "help", open: false }));
  dialog.addEventListener("click", (event) => {
    if (event.target === dialog) dialog.close();
  });
  root.append(dialog);
  return {
    update(state) {
      if (state.helpOpen && !dialog.open) dialog.showModal();
      if (!state.helpOpen && dialog.open) dialog.close();
    },
  };
}
