// The entries of the command palette: commands of the page, and every function by name.

import { TEXT } from "../../text/session.js";
import { viewKey, VIEWS } from "./address.js";
import { exactPattern, FILTER_VERBS } from "../filters/filter.js";

const MOST = 40;

// The filters that a frame suggests.
function filterCommands({ name, raw }) {
  return FILTER_VERBS.map((verb) => ({ label: TEXT.commands.filter(verb, name), hint: "", action: { type: "filter", text: verb + " function:" + exactPattern(raw) } }));
}

// -> [{label, hint, action}] of what the page can do; `action` is dispatched
export function pageCommands(state) {
  const change = (changes) => ({ type: "address", changes, how: "push" });
  const { address } = state;
  const commands = VIEWS.map((view, i) => ({ label: TEXT.commands.show(TEXT.view[view][0]), hint: viewKey(i), action: change({ view }) }));
  commands.push(
    { label: address.bottomUp ? TEXT.commands.topDown : TEXT.commands.bottomUp, hint: "i", action: { type: "turn" } },
    { label: address.by === "line" ? TEXT.commands.byFunction : TEXT.commands.byLine, hint: "", action: change({ by: address.by === "line" ? "function" : "line" }) },
    { label: address.colour === "heat" ? TEXT.commands.byModule : TEXT.commands.byHeat, hint: "", action: change({ colour: address.colour === "heat" ? "module" : "heat" }) },
    { label: TEXT.commands.libraries, hint: "l", action: { type: "toggleLibraries" } },
    { label: TEXT.commands.quality, hint: "q", action: { type: "qualityDialog", open: true } },
    { label: TEXT.commands.theme, hint: "t", action: { type: "nextTheme" } },
    { label: TEXT.commands.help, hint: "?", action: { type: "help", open: true } },
    { label: TEXT.commands.reset, hint: "", action: change({ range: null, threads: [], states: null, filters: [], search: "", zoom: [], frame: [] }) },
  );
  if (state.picture.selected !== null) commands.push(...filterCommands(state.picture.describe(state.picture.selected).label));
  if (state.live) commands.push({ label: state.paused ? TEXT.commands.resume : TEXT.commands.pause, hint: "p", action: { type: "togglePause" } });
  if (address.range !== null) commands.push({ label: TEXT.commands.compareBefore, hint: "", action: change({ view: "diff", baseline: { from: 0, to: Math.max(0.25, address.range.from) } }) });
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
    if (key !== "" && fits(label.label)) found.push({ label: label.label, hint: TEXT.commands.function, isFunction: true, action: { type: "address", changes: { view: "sandwich", about: key }, how: "push" } });
  }
  return found;
}
