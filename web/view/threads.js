// The thread filter: which threads count. None chosen means all.

import { formatCount, formatShare, ratio } from "../model/numbers.js";
import { threadLabel } from "../model/threads.js";
import { el, icon, isolated, setAttribute, setText } from "./dom.js";
import { ICONS } from "./icons.js";
import { createPopover } from "./popover.js";

const FILTER_FROM = 12;

export function threadKeyOf(thread) {
  return { tid: thread.tid, name: thread.name };
}

function createThreadRow(thread, toggle) {
  const box = el("input", { type: "checkbox", on: { change: () => toggle(thread) } });
  const share = el("span", { class: "share" });
  const fill = el("i", {});
  const bar = el("span", { class: "bar", "aria-hidden": "true" }, fill);
  const name = isolated(threadLabel(thread), { class: "name" });
  const tid = el("span", { class: "tid" }, String(thread.tid));
  const element = el("label", { class: "thread", "data-testid": "thread", "data-tid": thread.tid }, box, name, tid, bar, share);
  return { element, box, share, fill, thread };
}

function sampleCount(totals, thread) {
  const known = thread.ids.filter((id) => totals.has(id));
  return known.length === 0 ? NaN : known.reduce((sum, id) => sum + totals.get(id), 0);
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
    list.replaceChildren(...rows.map((row) => row.element));
    filter.hidden = threads.length < FILTER_FROM;
    applyFilter();
  }

  function updateRows(state) {
    const counts = rows.map((row) => sampleCount(state.threadTotals, row.thread));
    const sum = counts.reduce((total, count) => total + (count || 0), 0);
    rows.forEach((row, i) => {
      const share = ratio(counts[i], sum);
      row.box.checked = chosen.includes(row.thread);
      row.fill.style.width = (share || 0) * 100 + "%";
      setText(row.share, formatShare(share));
      setAttribute(row.share, "data-hint", Number.isNaN(share) ? null : formatCount(counts[i]) + " samples");
    });
  }

  filter.addEventListener("input", applyFilter);
  return {
    element,
    attach() {
      popover = createPopover(button, "Threads", (open) => dispatch({ type: "watchThreads", open }));
      popover.panel.append(el("div", { class: "popover-head" }, filter, all), list, missing);
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
