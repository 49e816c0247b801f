// The thread filter, with the states of each thread. No selection means all threads.

import { formatCount, formatShare, ratio } from "../../model/base/numbers.js";
import { visibleText } from "../../model/base/text.js";
import { sumThreads } from "../../model/profile/states.js";
import { factText, isWithoutGil, PART_LABELS, partShares, partsText } from "../../model/threads/activity.js";
import { alikeThreads } from "../../model/threads/alike.js";
import { groupThreads, processLabel, threadIds, threadKeyOf, threadLabel, threadPlace,
  threadsWithStates } from "../../model/threads/threads.js";
import { TEXT } from "../../text/session.js";
import { el, icon, isolated, setAttribute, setText } from "../elements/dom.js";
import { ICONS } from "../elements/icons.js";
import { createPopover } from "../elements/popover.js";

const FILTER_FROM = 12;

function createPartBar() {
  const parts = new Map(PART_LABELS.map(({ key }) => [key, el("i", { class: "part", "data-part": key })]));
  return { element: el("span", { class: "part-bar", role: "img" }, ...parts.values()), parts };
}

// One thread, or all of a process, or those that stand behind a fold: `members` are their rows.
function createRow({ threads, label, number, role, marks, members = null }, toggle) {
  const box = el("input", { type: "checkbox", on: { change: () => toggle(threads) } });
  const bar = createPartBar();
  const running = el("span", { class: "number" });
  const hasGil = el("span", { class: "number" });
  const share = el("span", { class: "number share" });
  const name = isolated(label, { class: "name" });
  const tid = el("span", { class: "tid" }, String(number));
  const element = el("label", { class: role, ...marks }, box, name, tid, bar.element, running, hasGil, share);
  if (members !== null) addFold(element, name, label, members);
  const ids = threads.flatMap((thread) => thread.ids);
  // A process is found by its threads, and they by it.
  const words = threads.map((thread) => [threadLabel(thread), thread.tid, processLabel(thread), thread.pid].join(" "))
    .join("\n").toLowerCase();
  return { element, box, bar, running, hasGil, share, threads, ids, words, members };
}

// Shows and hides the members, which stand below.
function addFold(element, name, label, members) {
  const button = el("button", { type: "button", class: "fold", "aria-expanded": "false",
    "aria-label": TEXT.threads.unfold(label), "data-testid": "thread-unfold" }, icon(ICONS.chevron, 12));
  const holder = el("span", { class: "fold-name" });
  name.replaceWith(holder);
  holder.append(button, name);
  button.addEventListener("click", (event) => {
    event.preventDefault();
    const open = button.getAttribute("aria-expanded") !== "true";
    setAttribute(button, "aria-expanded", String(open));
    for (const member of members) member.element.hidden = !open;
  });
}

const isUnfolded = (row) => row.element.querySelector(".fold").getAttribute("aria-expanded") === "true";

const rowOfThread = (thread) => ({
  threads: [thread],
  label: threadLabel(thread),
  number: thread.tid,
  role: "thread",
  marks: { "data-testid": "thread", "data-tid": thread.tid },
});

const rowOfAlike = ({ threads, pattern, silent }, members) => ({
  threads,
  members,
  label: silent
    ? TEXT.threads.silent(formatCount(threads.length))
    : TEXT.threads.alike(visibleText(pattern), formatCount(threads.length)),
  number: "",
  role: "thread thread-alike",
  marks: { "data-testid": silent ? "thread-silent" : "thread-alike" },
});

const rowOfProcess = (group) => ({
  threads: group.threads,
  label: processLabel(group),
  number: group.pid,
  role: "thread thread-process",
  marks: { "data-testid": "thread-process", "data-pid": group.pid },
});

function createThreadHead() {
  const { heads } = TEXT.threads;
  const names = [["", ""], ["name", heads.name], ["tid", heads.tid], ["", heads.doing], ["number", heads.cpu], [
    "number",
    heads.gil,
  ], ["number", heads.samples]];
  return el("div", { class: "thread thread-head", "aria-hidden": "true" },
    ...names.map(([role, text]) => el("span", { class: role }, text)));
}

function createPartLegend() {
  return el("p", { class: "part-legend" },
    ...PART_LABELS.map(({ key, label }) => el("span", {}, el("i", { class: "part", "data-part": key }), label)));
}

function buttonText(threads, chosen) {
  if (chosen.length === 0)
    return threads.length === 1
      ? TEXT.threads.one
      : TEXT.threads.every(formatCount(threads.length));
  if (chosen.length === 1) return threadPlace(chosen[0], threads);
  return TEXT.threads.some(formatCount(chosen.length), formatCount(threads.length));
}

// A single row, or one row and those behind it. unfolded: the patterns whose rows are shown.
function alikeRows(alike, toggle, unfolded, chosen) {
  const members = alike.threads.map((thread) => createRow(rowOfThread(thread), toggle));
  if (alike.pattern === null && !alike.silent) return members;
  const pattern = alike.silent ? "" : alike.pattern;
  for (const member of members) {
    member.element.classList.add("thread-member");
    member.element.hidden = true;
  }
  const head = Object.assign(createRow(rowOfAlike(alike, members), toggle), { pattern });
  if (unfolded.has(pattern) || alike.threads.some((thread) => chosen.includes(thread)))
    head.element.querySelector(".fold").click();
  return [head, ...members];
}

export function createThreadFilter(dispatch) {
  const text = isolated("");
  const button = el("button", { type: "button", class: "choice", "data-testid": "threads" }, text,
    icon(ICONS.chevron, 12));
  const element = el("div", { class: "holder" }, button);
  const filter = el("input", { type: "search", placeholder: TEXT.threads.filter, "aria-label": TEXT.threads.filter });
  const list = el("div", { class: "thread-list" });
  const all = el("button", { type: "button", class: "link", "data-testid": "threads-all",
    on: { click: () => choose([]) } }, TEXT.threads.reset);
  const missing = el("p", { class: "menu-note" });
  let popover = null;
  let rows = [];
  let shownThreads = null;
  let chosen = [];
  let unfolded = new Set();

  function choose(threads) {
    dispatch({ type: "address", changes: { threads: threads.map(threadKeyOf) }, how: "push" });
  }

  function toggle(threads) {
    const others = chosen.filter((thread) => !threads.includes(thread));
    choose(threads.every((thread) => chosen.includes(thread)) ? others : [...others, ...threads]);
  }

  function applyFilter() {
    const wanted = filter.value.trim().toLowerCase();
    const folded = new Set(
      rows.filter((row) => row.members !== null && !isUnfolded(row)).flatMap((row) => row.members),
    );
    for (const row of rows) row.element.hidden = !row.words.includes(wanted) || (wanted === "" && folded.has(row));
  }

  function rebuild(threads, threadStates) {
    shownThreads = threads;
    unfolded = new Set(rows.filter((row) => row.members !== null && isUnfolded(row)).map((row) => row.pattern));
    const groups = groupThreads(threads);
    const create = (row) => createRow(row, toggle);
    const ofGroup = (group) =>
      (groups.length > 1 ? [create(rowOfProcess(group))] : []).concat(
        alikeThreads(group.threads, threadStates).flatMap((alike) => alikeRows(alike, toggle, unfolded, chosen)),
      );
    rows = groups.flatMap(ofGroup);
    list.replaceChildren(createThreadHead(), ...rows.map((row) => row.element));
    filter.hidden = threads.length < FILTER_FROM;
    applyFilter();
  }

  function updateRow(row, sums, ofThreads, samples, session) {
    const count = row.threads.filter((thread) => chosen.includes(thread)).length;
    row.box.checked = count === row.threads.length;
    row.box.indeterminate = count > 0 && count < row.threads.length;
    for (const part of partShares(sums)) row.bar.parts.get(part.key).style.width = (part.share || 0) * 100 + "%";
    const said = partsText(sums);
    setAttribute(row.bar.element, "data-hint", said);
    setAttribute(row.bar.element, "aria-label", said);
    setText(row.running, ofThreads === null ? TEXT.doing.notApplicable : formatShare(partShares(ofThreads)[0].share));
    setText(row.hasGil, ofThreads === null || isWithoutGil(session, ofThreads)
      ? TEXT.doing.notApplicable
      : factText(ofThreads, "has_gil"));
    setText(row.share, formatShare(ratio(sums.samples, samples)));
    setAttribute(row.share, "data-hint", TEXT.samples(formatCount(sums.samples)));
  }

  function updateRows(state) {
    const sums = rows.map((row) => sumThreads(state.threadStates, row.ids));
    const { samples } = sumThreads(state.threadStates, shownThreads.flatMap((thread) => thread.ids));
    rows.forEach((row, i) => {
      const real = threadIds(threadsWithStates([], row.threads));
      updateRow(row, sums[i], real.length === 0 ? null : sumThreads(state.threadStates, real), samples, state.session);
    });
  }

  filter.addEventListener("input", applyFilter);
  return {
    element,
    attach() {
      popover = createPopover(button, TEXT.threads.label, (open) => dispatch({ type: "threadsMenu", open }));
      popover.panel.classList.add("thread-menu");
      popover.panel.append(el("div", { class: "popover-head" }, filter, all), createPartLegend(), list, missing);
    },
    update(state) {
      const { threads } = state.picture;
      chosen = state.picture.chosen.chosen;
      setText(text, buttonText(threads, chosen));
      setAttribute(button, "data-active",
        chosen.length + state.address.threads.length + state.address.processes.length > 0 || null);
      all.hidden = state.address.threads.length + state.address.processes.length === 0;
      const gone = state.picture.chosen.missing;
      setText(missing, gone === 0 ? "" : gone === 1 ? TEXT.threads.missingOne : TEXT.threads.missing(gone));
      if (!popover.isOpen()) {
        shownThreads = null;
        return;
      }
      if (shownThreads !== threads) rebuild(threads, state.threadStates);
      updateRows(state);
    },
  };
}
