// The thread filter: which threads count, and what each of them was doing. None chosen means all.

import { DOING_LABELS, doingParts, doingText, factText } from "../model/doings.js";
import { formatCount, formatShare, ratio } from "../model/numbers.js";
import { sumThreads } from "../model/states.js";
import { threadLabel } from "../model/threads.js";
import { el, icon, isolated, setAttribute, setText } from "./dom.js";
import { ICONS } from "./icons.js";
import { createPopover } from "./popover.js";

const FILTER_FROM = 12;

export function threadKeyOf(thread) {
  return { tid: thread.tid, name: thread.name };
}

function createDoingBar() {
  const parts = new Map(DOING_LABELS.map(({ key }) => [key, el("i", { class: "doing", "data-doing": key })]));
  return { element: el("span", { class: "doings", role: "img" }, ...parts.values()), parts };
}

function createThreadRow(thread, toggle) {
  const box = el("input", { type: "checkbox", on: { change: () => toggle(thread) } });
  const bar = createDoingBar();
  const onCpu = el("span", { class: "number" });
  const hasGil = el("span", { class: "number" });
  const share = el("span", { class: "number share" });
  const name = isolated(threadLabel(thread), { class: "name" });
  const tid = el("span", { class: "tid" }, String(thread.tid));
  const element = el("label", { class: "thread", "data-testid": "thread", "data-tid": thread.tid }, box, name, tid, bar.element, onCpu, hasGil, share);
  return { element, box, bar, onCpu, hasGil, share, thread };
}

function createThreadHead() {
  const names = [["", ""], ["name", "Thread"], ["tid", "tid"], ["", "was doing"], ["number", "on CPU"], ["number", "GIL"], ["number", "samples"]];
  return el("div", { class: "thread thread-head", "aria-hidden": "true" }, ...names.map(([look, text]) => el("span", { class: look }, text)));
}

function createDoingLegend() {
  return el("p", { class: "doing-legend" }, ...DOING_LABELS.map(({ key, label }) => el("span", {}, el("i", { class: "doing", "data-doing": key }), label)));
}

function buttonText(threads, chosen) {
  if (chosen.length === 0) return threads.length === 1 ? "1 thread" : "All " + formatCount(threads.length) + " threads";
  if (chosen.length === 1) return threadLabel(chosen[0]);
  return formatCount(chosen.length) + " of " + formatCount(threads.length) + " threads";
}

export function createThreadFilter(dispatch) {
  const text = isolated("");
  const button = el("button", { type: "button", class: "choice", "data-testid": "threads" }, text, icon(ICONS.chevron, 12));
  const element = el("div", { class: "holder" }, button);
  const filter = el("input", { type: "search", placeholder: "Filter threads", "aria-label": "Filter threads" });
  const list = el("div", { class: "thread-list" });
  const all = el("button", { type: "button", class: "link", "data-testid": "threads-all", on: { click: () => choose([]) } }, "All threads");
  const missing = el("p", { class: "menu-note" });
  let popover = null;
  let rows = [];
  let shownThreads = null;
  let chosen = [];

  function choose(threads) {
    dispatch({ type: "address", changes: { threads: threads.map(threadKeyOf) }, how: "push" });
  }

  function toggle(thread) {
    choose(chosen.includes(thread) ? chosen.filter((other) => other !== thread) : [...chosen, thread]);
  }

  function applyFilter() {
    const wanted = filter.value.trim().toLowerCase();
    for (const row of rows) row.element.hidden = !(threadLabel(row.thread) + " " + row.thread.tid).toLowerCase().includes(wanted);
  }

  function rebuild(threads) {
    shownThreads = threads;
    rows = threads.map((thread) => createThreadRow(thread, toggle));
    list.replaceChildren(createThreadHead(), ...rows.map((row) => row.element));
    filter.hidden = threads.length < FILTER_FROM;
    applyFilter();
  }

  function updateRow(row, sums, samples) {
    row.box.checked = chosen.includes(row.thread);
    for (const part of doingParts(sums)) row.bar.parts.get(part.key).style.width = (part.share || 0) * 100 + "%";
    const said = doingText(sums);
    setAttribute(row.bar.element, "data-hint", said);
    setAttribute(row.bar.element, "aria-label", said);
    setText(row.onCpu, factText(sums, "on_cpu"));
    setText(row.hasGil, factText(sums, "has_gil"));
    setText(row.share, formatShare(ratio(sums.samples, samples)));
    setAttribute(row.share, "data-hint", formatCount(sums.samples) + " samples");
  }

  function updateRows(state) {
    const sums = rows.map((row) => sumThreads(state.threadStates, row.thread.ids));
    const samples = sums.reduce((total, one) => total + one.samples, 0);
    rows.forEach((row, i) => updateRow(row, sums[i], samples));
  }

  filter.addEventListener("input", applyFilter);
  return {
    element,
    attach() {
      popover = createPopover(button, "Threads", (open) => dispatch({ type: "threadsMenu", open }));
      popover.panel.classList.add("thread-menu");
      popover.panel.append(el("div", { class: "popover-head" }, filter, all), createDoingLegend(), list, missing);
    },
    update(state) {
      const { threads } = state.picture;
      chosen = state.picture.chosen.chosen;
      setText(text, buttonText(threads, chosen));
      setAttribute(button, "data-active", chosen.length > 0 || state.address.threads.length > 0 || null);
      all.hidden = state.address.threads.length === 0;
      const gone = state.picture.chosen.missing;
      setText(missing, gone === 0 ? "" : gone === 1 ? "One thread of this link was not seen here." : gone + " threads of this link were not seen here.");
      if (!popover.isOpen()) return;
      if (shownThreads !== threads) rebuild(threads);
      updateRows(state);
    },
  };
}
