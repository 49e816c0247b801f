// The Python processes of the host. Values change every second; rows keep their places while the pointer or the focus is on them.

import { formatBytes, formatCount } from "../model/base/numbers.js";
import { sentenceText, visibleText } from "../model/base/text.js";
import { activityByPid, activityLink, startedSessions } from "../model/host/activity.js";
import { arrangeProcesses, commonRefusal, placeName, processKey, programName } from "../model/host/processes.js";
import { formatAge } from "../model/host/sessions.js";
import { HOST_TEXT } from "../text/host.js";
import { el, icon, isolated, setAttribute, setSentence, setText } from "../view/elements/dom.js";
import { ICONS } from "../view/elements/icons.js";
import { createActivityCells, fillActivityCells } from "./process-activity.js";

const ROWS_STEP = 500;

function createProcessRow(act) {
  const row = { process: null };
  const box = el("input", { type: "checkbox", "data-role": "select",
    on: { change: () => act.select(row.process, box.checked) } });
  const name = isolated("", { class: "program" });
  const last = el("a", { class: "program-link", "data-testid": "process-last" });
  const activity = createActivityCells();
  const rest = isolated("", { class: "command-line" });
  const under = el("span", { class: "under" }, el("span", { class: "under-pid" }), isolated(""));
  const headline = isolated("", { class: "row-headline", "data-testid": "process-headline" });
  const fill = el("i", {});
  const cpu = el("span", { class: "share" });
  const cells = Object.fromEntries(
    ["memory", "threads", "pid", "python", "user", "container", "uptime"].map((
      key,
    ) => [key, el("td", { class: "col-" + key }, el("bdi", {}))]),
  );
  const open = el("a", { class: "watch", "data-role": "act", "data-testid": "process-open" },
    el("span", { class: "live-dot" }), el("span", {}));
  const start = el("button", { type: "button", class: "start", "data-role": "act", "data-testid": "profile",
    on: { click: () => act.profile(row.process) } }, HOST_TEXT.processes.profile);
  const more = el("button", { type: "button", class: "start more", "aria-label": HOST_TEXT.processes.options,
    "data-hint": HOST_TEXT.processes.optionsHint, "data-role": "more", "data-testid": "profile-options",
    on: { click: () => act.options([row.process]) } }, icon(ICONS.chevron, 12));
  const split = el("span", { class: "split" }, start, more);
  const dump = el("button", { type: "button", class: "link dump-open", "data-hint": HOST_TEXT.dump.hint,
    "data-role": "dump", "data-testid": "process-dump", on: { click: () => act.dump(row.process) } },
    HOST_TEXT.dump.button);
  const refused = el("button", { type: "button", class: "link refused", "data-role": "act", "data-testid": "refused",
    on: { click: () => act.explain(row.process) } }, HOST_TEXT.processes.refused);
  const element = el("tr", { "data-testid": "process" }, el("td", { class: "col-select" }, box),
    el("th", { scope: "row", class: "col-command" },
      el("div", { class: "stacked" }, el("span", { class: "one-line" }, last, name, " ", rest), headline, under,
        activity.under)),
    el("td", { class: "col-cpu" },
      el("div", { class: "cpu" }, el("span", { class: "bar", "aria-hidden": "true" }, fill), activity.svg, cpu)),
    activity.hottestCell, activity.waitsCell, cells.memory, cells.threads, cells.pid, cells.python, cells.user,
    cells.container, cells.uptime, el("td", { class: "col-act" }, dump, open, split, refused));
  return Object.assign(row, { element, box, name, last, activity, rest, headline, under, fill, cpu, cells, open, start,
    more, split, dump, refused, key: null });
}

// Fills in what does not change while a process lives.
function nameRow(row, process) {
  const { name, rest } = programName(process.command);
  const named = HOST_TEXT.processes.named(visibleText(name), process.pid);
  row.key = processKey(process);
  setText(row.name, visibleText(name));
  setText(row.rest, rest === "" || rest === name ? "" : visibleText(rest));
  setAttribute(row.element, "data-pid", process.pid);
  setAttribute(row.rest, "title", rest === "" ? null : visibleText(rest));
  setAttribute(row.box, "aria-label", HOST_TEXT.processes.select(named));
  setAttribute(row.start, "aria-label", HOST_TEXT.processes.profileOf(named));
  setAttribute(row.open, "aria-label", HOST_TEXT.processes.openOf(named));
  setAttribute(row.dump, "aria-label", HOST_TEXT.dump.of(named));
}

function fillNumbers(row, process) {
  const percent = process.cpu_percent;
  row.fill.style.width = Math.min(100, percent ?? 0) + "%";
  setAttribute(row.fill, "data-over", (percent ?? 0) > 100 || null);
  setText(row.cpu,
    typeof percent === "number" ? (percent < 9.95 ? percent.toFixed(1) : Math.round(percent)) + " %" : "—");
  const container = placeName(process);
  const texts = {
    memory: formatBytes(process.rss_bytes),
    threads: formatCount(process.threads),
    pid: String(process.pid),
    python: process.python ?? "—",
    user: visibleText(process.user ?? "", "—"),
    container: visibleText(container, ""),
    uptime: formatAge(process.uptime_s),
  };
  for (const [key, text] of Object.entries(texts)) setText(row.cells[key].firstChild, text);
  setAttribute(row.cells.uptime, "title", HOST_TEXT.processes.since(process.started_at));
  const about = [process.python ?? "", process.user ?? "", container].filter(Boolean).join(" · ");
  setText(row.under.firstChild, HOST_TEXT.processes.pid(process.pid) + (about === "" ? "" : " · "));
  setText(row.under.lastChild, visibleText(about, ""));
  const said = sentenceText(process.headline ?? "");
  setSentence(row.headline, said);
  setAttribute(row.headline, "title", said.replaceAll("`", ""));
  setAttribute(row.element, "data-said", said !== "" || null);
}

// The name opens the last minutes, where something is known of them.
function fillLast(row, process, known, state) {
  const parent = known ? row.last : row.element.querySelector(".one-line");
  if (row.name.parentNode !== parent) parent.prepend(row.name);
  row.last.hidden = !known;
  if (known) setAttribute(row.last, "href", activityLink(state.activity, process.pid));
}

function fillActions(row, process, gone, state) {
  const started = startedSessions(process, state.continuous);
  const sampled = started[0];
  setAttribute(row.element, "data-gone", gone || null);
  row.open.hidden = gone || sampled === undefined;
  if (sampled !== undefined) {
    setAttribute(row.open, "href", "#v=1&session=" + encodeURIComponent(sampled));
    setText(row.open.lastChild,
      started.length > 1 ? HOST_TEXT.processes.openSome(started.length) : HOST_TEXT.processes.open);
  }
  row.split.hidden = gone || !state.operator || !process.can_attach || sampled !== undefined;
  row.dump.hidden = gone || !state.operator || !process.can_attach;
  row.start.disabled = row.dump.disabled = state.cutOff;
  row.refused.hidden = gone || process.can_attach || sampled !== undefined;
  setAttribute(row.refused, "data-hint", process.reason === null ? "" : visibleText(process.reason ?? ""));
  row.box.disabled = gone || !process.can_attach;
  row.box.hidden = !state.operator;
  row.box.checked = state.selected.has(row.key);
}

function moveFocus(event, body) {
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  const role = event.target.dataset?.role;
  if (step === undefined || role === undefined) return;
  event.preventDefault();
  const rows = Array.from(body.rows).filter((row) => !row.hidden);
  for (let at = rows.indexOf(event.target.closest("tr")) + step; at >= 0 && at < rows.length; at += step) {
    const found = Array.from(rows[at].querySelectorAll('[data-role="' + role + '"]')).find((control) =>
      !control.disabled && control.checkVisibility()
    );
    if (found) return found.focus();
  }
  return undefined;
}

function sortHeads(act) {
  return Object.entries(HOST_TEXT.processes.columns).map(([key, [label, hint]]) => ({
    key,
    element: el("th", { scope: "col", class: "col-" + key },
      el("button", { type: "button", "data-hint": hint, "data-testid": "sort-" + key,
        on: { click: () => act.sort(key) } }, label)),
  }));
}

// Why no process is listed: {element, update(state, hasRows)}.
function createEmptyNote(act) {
  const head = el("h2", {});
  const text = el("p", { class: "soft" });
  const all = el("button", { type: "button", on: { click: () => act.address({ search: "", only: false }, "replace") } },
    HOST_TEXT.processes.showAll);
  const element = el("div", { class: "blank", "data-testid": "processes-empty" }, head, text, all);
  return {
    element,
    update({ processes }, hasRows) {
      element.hidden = hasRows || processes === null;
      const { length } = processes ?? [];
      all.hidden = length === 0;
      setText(head, length > 0 ? HOST_TEXT.processes.noMatch : HOST_TEXT.processes.none);
      setText(text, length > 0 ? HOST_TEXT.processes.noMatchHint(formatCount(length)) : HOST_TEXT.processes.noneHint);
    },
  };
}

// Puts the rows of these processes into the body, in this order. rows: {element} by key, of which those not shown go.
function placeProcessRows(body, rows, shown, act) {
  const wanted = new Set(shown.map(({ process }) => processKey(process)));
  for (const [key, row] of rows) {
    if (wanted.has(key)) continue;
    row.element.remove();
    rows.delete(key);
  }
  let next = body.firstElementChild;
  for (const { process } of shown) {
    const key = processKey(process);
    if (!rows.has(key)) rows.set(key, createProcessRow(act));
    const { element } = rows.get(key);
    if (element === next) next = next.nextElementSibling;
    else body.insertBefore(element, next);
  }
}

export function createProcessTable(root, act) {
  const heads = sortHeads(act);
  const plain = Object.entries(HOST_TEXT.activity.columns).map(([key, [label, hint]]) =>
    el("th", { scope: "col", class: "plain-head col-" + key }, el("span", { "data-hint": hint }, label))
  );
  const [command, cpu, ...others] = heads.map((head) => head.element);
  const every = el("input", { type: "checkbox", "aria-label": HOST_TEXT.processes.selectAll,
    "data-testid": "select-all", on: {
      change: () =>
        act.selectAll(shownRows.filter((row) => row.process.can_attach && !row.gone).map((row) => row.process),
          every.checked),
    } });
  const body = el("tbody", {});
  const table = el("table", { class: "grid", "data-testid": "processes", "aria-label": HOST_TEXT.processes.tableLabel },
    el("thead", {},
      el("tr", {}, el("th", { class: "col-select" }, every), command, cpu, ...plain, ...others,
        el("th", { class: "col-act" }, el("span", { class: "offscreen" }, HOST_TEXT.processes.profile)))), body);
  const empty = createEmptyNote(act);
  const refusal = el("p", { class: "remark", role: "status", "data-testid": "refusal" });
  const more = el("button", { type: "button", class: "more-rows", "data-testid": "more-processes", on: { click: () => {
    limit += ROWS_STEP;
    act.again();
  } } });
  const element = el("section", { class: "list", "aria-label": HOST_TEXT.processes.label }, refusal, table,
    empty.element, more);
  root.append(element);
  let limit = ROWS_STEP;
  let shownRows = [];
  let orderOf = "";
  let pointed = false;
  const rows = new Map();
  body.addEventListener("pointerenter", (event) => (pointed = event.pointerType === "mouse"));
  body.addEventListener("pointerleave", () => {
    pointed = false;
    act.again();
  });
  body.addEventListener("focusout", () => act.again());
  body.addEventListener("keydown", (event) => moveFocus(event, body));

  function isHeld() {
    return pointed || (body.contains(document.activeElement) && document.activeElement.matches(":focus-visible"));
  }

  function fillRows(state) {
    const activity = activityByPid(state.activity);
    for (const { process, gone } of shownRows.slice(0, limit)) {
      const row = rows.get(processKey(process));
      row.process = process;
      if (row.key === null) nameRow(row, process);
      fillNumbers(row, process);
      fillActivityCells(row.activity, process, gone ? undefined : activity.get(process.pid), state);
      fillLast(row, process, !gone && activity.has(process.pid), state);
      fillActions(row, process, gone, state);
    }
  }

  function updateHeads({ sort, up }) {
    for (const head of heads)
      setAttribute(head.element, "aria-sort", head.key !== sort ? null : up ? "ascending" : "descending");
  }

  return {
    update(state) {
      element.hidden = state.tab !== "processes";
      if (element.hidden || state.processes === null) return;
      const { address } = state;
      const order = [address.search, address.only, address.sort, address.up].join("\n");
      shownRows = arrangeProcesses(state.processes, address, order === orderOf && isHeld() ? shownRows : null);
      orderOf = order;
      placeProcessRows(body, rows, shownRows.slice(0, limit), act);
      fillRows(state);
      updateHeads(address);
      empty.update(state, shownRows.length > 0);
      table.hidden = shownRows.length === 0;
      const common = state.operator ? commonRefusal(state.processes) : null;
      refusal.hidden = common === null;
      if (common !== null)
        setText(refusal, HOST_TEXT.processes.noneProfilable(formatCount(common.count), visibleText(common.reason)));
      setAttribute(table, "data-activity", (state.activity !== null && state.activity.session !== null) || null);
      setAttribute(table, "data-containers",
        state.processes.some((process) => process.container || process.pod) || null);
      every.hidden = !state.operator;
      every.checked = state.selected.size > 0
        && shownRows.every((row) => row.gone || !row.process.can_attach || state.selected.has(processKey(row.process)));
      more.hidden = shownRows.length <= limit;
      setText(more, HOST_TEXT.processes.more(formatCount(shownRows.length - limit)));
    },
  };
}
