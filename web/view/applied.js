// What narrows the picture, as chips that can be taken away: the time range, filters of frames, threads. New filters are
// written here.

import { parseTerm } from "../model/filter.js";
import { rangeText } from "../model/timeline.js";
import { visibleText } from "../model/text.js";
import { el, icon, isolated, setAttribute, setText } from "./dom.js";
import { ICONS } from "./icons.js";
import { threadKeyOf } from "./threads.js";
import { threadPlace } from "../model/threads.js";

const EXAMPLES = ["hide function:poll", "merge libraries", "focus module:app", "show /regex/"];
const CHIPS_OF_THREADS_MAX = 4;

const MEANINGS = {
  show: "Only samples with such a frame on their stack",
  hide: "Only samples without such a frame",
  merge: "Such frames are left out; their samples count for their callers",
  focus: "Stacks begin at the outermost such frame",
};

function without(list, item) {
  return list.filter((other) => other !== item);
}

// -> [{key, kind, text, hint, changes}]
export function appliedChips(state) {
  const { address, picture } = state;
  const chips = [];
  if (address.range !== null) chips.push({ key: "range", kind: "time", text: rangeText(address.range), hint: "Only this range of time", changes: { range: null } });
  if (address.base !== null && address.view === "diff") chips.push({ key: "base", kind: "base", text: rangeText(address.base), hint: "What the range is compared with", changes: { base: null } });
  for (const term of address.filters) {
    const { verb } = parseTerm(term);
    chips.push({ key: "filter " + term, kind: verb, text: term.slice(verb.length + 1), hint: MEANINGS[verb], changes: { filters: without(address.filters, term) } });
  }
  const { chosen } = picture.chosen;
  if (chosen.length > 0 && chosen.length <= CHIPS_OF_THREADS_MAX) {
    for (const thread of chosen) chips.push({ key: "thread " + thread.tid, kind: "thread", text: threadPlace(thread, picture.threads), hint: "Only this thread", changes: { threads: without(chosen, thread).map(threadKeyOf) } });
  } else if (chosen.length > 0) {
    chips.push({ key: "threads", kind: "threads", text: chosen.length + " chosen", hint: "Only these threads", changes: { threads: [] } });
  }
  return chips;
}

export function createApplied(root, dispatch) {
  const list = el("ul", { class: "applied-list" });
  const input = el("input", { type: "text", placeholder: "Filter frames: hide …", "aria-label": "Add a filter: show, hide, merge or focus, and what to look for", list: "filter-examples", autocomplete: "off", spellcheck: "false", "data-testid": "filter-input" });
  const examples = el("datalist", { id: "filter-examples" }, ...EXAMPLES.map((value) => el("option", { value })));
  const error = el("span", { class: "applied-error", role: "alert", "data-testid": "filter-error" });
  const libraries = el("button", { type: "button", class: "chip", "data-testid": "hide-libraries", "data-hint": "Leave frames of the standard library and of installed packages out: their samples count for your code  ( l )", on: { click: () => dispatch({ type: "toggleLibraries" }) } }, "Hide library frames");
  root.append(list, el("label", { class: "field filter-field" }, icon(ICONS.filter), input, examples), libraries, error);
  let shown = "";

  input.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && input.value.trim() !== "") {
      event.preventDefault();
      dispatch({ type: "filter", text: input.value });
    }
    if (event.key === "Escape") {
      event.preventDefault();
      event.stopPropagation();
      input.value = "";
      input.blur();
    }
  });

  function chipOf(chip) {
    const remove = el("button", { type: "button", class: "applied-remove", "aria-label": "Remove " + chip.kind + " " + visibleText(chip.text), on: { click: () => dispatch({ type: "address", changes: chip.changes, how: "push" }) } }, icon(ICONS.close, 12));
    return el("li", { class: "applied-chip", "data-testid": "applied", "data-kind": chip.kind, "data-hint": chip.hint }, el("span", { class: "applied-kind" }, chip.kind), isolated(visibleText(chip.text)), remove);
  }

  return {
    update(state) {
      const chips = appliedChips(state);
      const signature = chips.map((chip) => chip.key + chip.text).join("\n");
      if (signature !== shown) {
        if (chips.length > shown.split("\n").filter(Boolean).length) input.value = "";
        shown = signature;
        list.replaceChildren(...chips.map(chipOf));
      }
      setAttribute(libraries, "aria-pressed", String(state.address.filters.includes("merge libraries")));
      setText(error, state.filterError);
      error.hidden = state.filterError === "";
    },
    focus: () => input.focus(),
  };
}
