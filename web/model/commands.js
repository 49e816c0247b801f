// What the command palette offers: what the page can do, and every function by its name.

import { VIEWS } from "./address.js";

export const VIEW_LABELS = { flame: "Flame graph", sandwich: "Sandwich", table: "Functions", source: "Source", heatmap: "Heat map", threads: "Threads", gil: "GIL", diff: "Compare", tasks: "Tasks" };

const MOST = 40;

// -> [{label, hint, action}] of what the page can do; `action` is dispatched
export function pageCommands(state) {
  const change = (changes) => ({ type: "address", changes, how: "push" });
  const { address } = state;
  const commands = VIEWS.map((view, i) => ({ label: "Show " + VIEW_LABELS[view], hint: String(i + 1), action: change({ view }) }));
  commands.push(
    { label: address.inverted ? "Callers first" : "Inverted: running functions first", hint: "i", action: { type: "invert" } },
    { label: address.by === "line" ? "Frames are functions" : "Frames are lines", hint: "", action: change({ by: address.by === "line" ? "function" : "line" }) },
    { label: address.colour === "heat" ? "Colour by module" : "Colour by heat", hint: "", action: change({ colour: address.colour === "heat" ? "module" : "heat" }) },
    { label: "Hide or show library frames", hint: "l", action: { type: "toggleLibraries" } },
    { label: "Every number of how well this was measured", hint: "q", action: { type: "qualityDialog", open: true } },
    { label: "Next theme", hint: "t", action: { type: "nextTheme" } },
    { label: "Keys and help", hint: "?", action: { type: "help", open: true } },
    { label: "Show everything: no range, threads, states, filters, search", hint: "", action: change({ range: null, threads: [], states: [], filters: [], search: "", zoom: [], frame: [] }) },
  );
  if (state.live) commands.push({ label: state.paused ? "Resume" : "Pause: hold this picture", hint: "p", action: { type: "togglePause" } });
  if (address.range !== null) commands.push({ label: "Compare this range with all before it", hint: "", action: change({ view: "diff", base: { from: 0, to: Math.max(0.25, address.range.from) } }) });
  return commands;
}

// Those whose words are all in what was typed for, functions behind; `functions`: [{label, key}]
export function foundCommands(commands, functions, text) {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  const fits = (label) => words.every((word) => label.toLowerCase().includes(word));
  const found = commands.filter((command) => fits(command.label));
  if (words.length === 0) return found;
  for (const { label, key } of functions) {
    if (found.length >= MOST) break;
    if (key !== "" && fits(label.label)) found.push({ label: label.label, hint: "callers and callees", isFunction: true, action: { type: "address", changes: { view: "sandwich", about: key }, how: "push" } });
  }
  return found;
}
