// The applied filters as chips with a remove button: time range, frames, threads, marks; and a button that opens where new ones are chosen.

import { visibleText } from "../../model/base/text.js";
import { parseTerm } from "../../model/filters/filter.js";
import { markChips } from "../../model/filters/selection.js";
import { LIBRARIES_TERM } from "../../model/page/state.js";
import { bandText } from "../../model/threads/requests.js";
import { processLabel, threadKeyOf, threadPlace } from "../../model/threads/threads.js";
import { rangeText } from "../../model/time/timeline.js";
import { TEXT } from "../../text/session.js";
import { el, icon, isolated, setAttribute, setText } from "../elements/dom.js";
import { ICONS } from "../elements/icons.js";
import { createPopover } from "../elements/popover.js";

const CHIPS_OF_THREADS_MAX = 4;

function without(list, item) {
  return list.filter((other) => other !== item);
}

// -> [{key, kind, text, hint, changes}]
export function appliedChips(state) {
  const { address, picture } = state;
  const chips = [];
  if (address.range !== null)
    chips.push({ key: "range", kind: TEXT.filters.time, text: rangeText(address.range), hint: TEXT.filters.timeHint,
      changes: { range: null } });
  if (address.took !== null)
    chips.push({ key: "took", kind: TEXT.filters.requests, text: bandText(address.took),
      hint: TEXT.filters.requestsHint, changes: { took: null } });
  if (address.baseline !== null && address.view === "diff")
    chips.push({ key: "baseline", kind: TEXT.filters.baseline, text: rangeText(address.baseline),
      hint: TEXT.filters.baselineHint, changes: { baseline: null } });
  for (const term of address.filters) {
    const { verb } = parseTerm(term);
    chips.push({ key: "filter " + term, kind: verb, text: term.slice(verb.length + 1),
      hint: TEXT.filters.meanings[verb], changes: { filters: without(address.filters, term) } });
  }
  for (const { key, label, hint, isPressed, words } of markChips(picture.sums, address.states)) {
    if (isPressed)
      chips.push({ key: "mark " + key, kind: TEXT.filters.mark, text: label, hint, changes: { states: words } });
  }
  for (const pid of address.processes) {
    const one = picture.threads.find((thread) => thread.pid === pid);
    const text = one === undefined ? TEXT.threads.process(pid) : processLabel(one) + " (" + pid + ")";
    chips.push({ key: "process " + pid, kind: TEXT.filters.process, text, hint: TEXT.filters.processHint,
      changes: { processes: without(address.processes, pid) } });
  }
  const chosen = picture.chosen.chosen.filter((thread) => !address.processes.includes(thread.pid));
  if (chosen.length > 0 && chosen.length <= CHIPS_OF_THREADS_MAX) {
    for (const thread of chosen)
      chips.push({ key: "thread " + thread.tid + " " + thread.name, kind: TEXT.filters.thread,
        text: threadPlace(thread, picture.threads), hint: TEXT.filters.threadHint,
        changes: { threads: without(chosen, thread).map(threadKeyOf), processes: address.processes } });
  } else if (chosen.length > 0) {
    chips.push({ key: "threads", kind: TEXT.filters.threads, text: TEXT.filters.selected(chosen.length),
      hint: TEXT.filters.threadsHint, changes: { threads: [], processes: address.processes } });
  }
  return chips;
}

export function createApplied(root, dispatch) {
  const list = el("ul", { class: "applied-list" });
  const input = el("input", { type: "text", placeholder: TEXT.filters.placeholder, "aria-label": TEXT.filters.label,
    list: "filter-examples", autocomplete: "off", spellcheck: "false", "data-testid": "filter-input" });
  const examples = el("datalist", { id: "filter-examples" },
    ...TEXT.filters.examples.map((value) => el("option", { value })));
  const error = el("span", { class: "applied-error", role: "alert", "data-testid": "filter-error" });
  const libraries = el("button", { type: "button", class: "chip", "data-testid": "hide-libraries",
    "data-hint": TEXT.filters.librariesHint, on: { click: () => dispatch({ type: "toggleLibraries" }) } },
    TEXT.filters.libraries);
  const marks = el("div", { class: "chips", role: "group", "aria-label": TEXT.states.label });
  const button = el("button", { type: "button", class: "choice", "data-testid": "filter" }, icon(ICONS.filter),
    el("span", {}, TEXT.filters.button), icon(ICONS.chevron, 12));
  root.append(list, button, error);
  const { panel } = createPopover(button, TEXT.filters.button);
  panel.append(
    el("div", { class: "filter-panel" }, el("label", { class: "field" }, icon(ICONS.filter), input, examples),
      libraries, marks),
  );
  let shown = "";

  input.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && input.value.trim() !== "") {
      event.preventDefault();
      dispatch({ type: "filter", text: input.value });
    }
    if (event.key === "Escape") {
      event.stopPropagation();
      input.value = "";
    }
  });

  function chipOf(chip) {
    const remove = el("button", { type: "button", class: "applied-remove",
      "aria-label": TEXT.filters.remove(chip.kind, visibleText(chip.text)),
      on: { click: () => dispatch({ type: "address", changes: chip.changes, how: "push" }) } }, icon(ICONS.close, 12));
    return el("li", { class: "applied-chip", "data-testid": "applied", "data-kind": chip.kind, "data-hint": chip.hint },
      el("span", { class: "applied-kind" }, chip.kind), isolated(visibleText(chip.text)), remove);
  }

  return {
    marks,
    update(state) {
      const chips = appliedChips(state);
      const signature = chips.map((chip) => chip.key + chip.text).join("\n");
      if (signature !== shown) {
        if (chips.length > shown.split("\n").filter(Boolean).length) input.value = "";
        shown = signature;
        list.replaceChildren(...chips.map(chipOf));
      }
      setAttribute(libraries, "aria-pressed", String(state.address.filters.includes(LIBRARIES_TERM)));
      setText(error, state.filterError);
      error.hidden = state.filterError === "";
    },
    focus() {
      panel.showPopover();
      input.focus();
    },
  };
}
