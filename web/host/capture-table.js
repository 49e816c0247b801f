// The saved captures: found by text, host, label and age; opened, compared, edited, downloaded, deleted.

import { formatWhen } from "../model/base/instants.js";
import { formatBytes, formatCount, formatDuration } from "../model/base/numbers.js";
import { visibleText } from "../model/base/text.js";
import { programName } from "../model/host/processes.js";
import { captureTitle } from "../model/host/sessions.js";
import { HOST_TEXT } from "../text/host.js";
import { el, icon, isolated, setAttribute, setText } from "../view/elements/dom.js";
import { ICONS } from "../view/elements/icons.js";

function stateMark(capture) {
  if (capture.state === "recording")
    return { text: HOST_TEXT.captures.recording, hint: HOST_TEXT.captures.recordingHint };
  if (capture.state === "incomplete")
    return { text: HOST_TEXT.captures.cut, hint: capture.reason ?? HOST_TEXT.captures.cutHint };
  if (capture.state === "file") return { text: HOST_TEXT.captures.file, hint: HOST_TEXT.captures.fileHint };
  return { text: capture.continuous ? HOST_TEXT.captures.continuous : "", hint: "" };
}

function createCaptureRow(act) {
  const row = { capture: null };
  const box = el("input", { type: "checkbox", on: { change: () => act.chooseCapture(row.capture, box.checked) } });
  const name = isolated("");
  const open = el("button", { type: "button", class: "row-name", "data-testid": "capture-open",
    on: { click: () => act.openCapture(row.capture) } }, name);
  const mark = el("span", { class: "mark-word" });
  const line = isolated("", { class: "command-line" });
  const labels = el("span", { class: "labels" });
  const note = isolated("", { class: "under-note" });
  const under = isolated("", { class: "under" });
  const cells = Object.fromEntries(
    ["host", "started", "length", "python", "size"].map((
      key,
    ) => [key, el("td", { class: "col-" + key }, el("bdi", {}))]),
  );
  const more = el("button", { type: "button", class: "quiet", "aria-haspopup": "menu", "data-testid": "capture-more",
    on: {
      click:
        () => (row.capture.session ? act.sessionMenu(row.capture.session, more) : act.captureMenu(row.capture, more)),
    } }, icon(ICONS.more));
  const element = el("tr", { "data-testid": "capture" }, el("td", { class: "col-select" }, box),
    el("th", { scope: "row", class: "col-command" },
      el("div", { class: "stacked" }, el("span", { class: "one-line" }, open, mark, labels, line), note, under)),
    cells.host, cells.started, cells.length, cells.python, cells.size, el("td", { class: "col-act" }, more));
  return Object.assign(row, { element, box, name, open, mark, line, labels, note, under, cells, more,
    shownLabels: "" });
}

function fillLabels(row, capture, act) {
  const signature = JSON.stringify(capture.labels);
  if (row.shownLabels === signature) return;
  row.shownLabels = signature;
  row.labels.replaceChildren(
    ...capture.labels.map((label) =>
      el("button", { type: "button", class: "label", "data-testid": "label",
        "aria-label": HOST_TEXT.captures.labelHint(visibleText(label)), on: { click: () =>
          act.address({ label }, "push") } }, isolated(visibleText(label)))
    ),
  );
}

function fillCaptureRow(row, capture, state, act) {
  row.capture = capture;
  const title = visibleText(captureTitle(capture));
  const target = capture.target ?? {};
  const { name, rest } = programName(target.command);
  const mark = stateMark(capture);
  setText(row.name, title);
  setText(row.line, visibleText(rest || (capture.title ? name : ""), ""));
  setText(row.mark, mark.text);
  setAttribute(row.mark, "data-hint", mark.hint);
  setAttribute(row.mark, "data-state", capture.state);
  setText(row.note, capture.note ? visibleText(capture.note) : "");
  row.note.hidden = !capture.note;
  fillLabels(row, capture, act);
  const started = formatWhen(capture.started_at, state.now);
  const length = formatDuration(capture.elapsed_s === null ? NaN : Math.round(capture.elapsed_s * 10) / 10);
  const texts = { host: visibleText(target.host ?? "", "—"), started, length, python: target.python ?? "—",
    size: formatBytes(capture.bytes) };
  for (const [key, text] of Object.entries(texts)) setText(row.cells[key].firstChild, text);
  setAttribute(row.cells.started, "title", capture.started_at);
  setText(row.under, [started, length, texts.host, texts.size].join(" · "));
  setAttribute(row.element, "data-name", capture.name);
  setAttribute(row.box, "aria-label", HOST_TEXT.captures.selectOne(title));
  setAttribute(row.more, "aria-label", HOST_TEXT.captures.moreOf(title));
  row.box.checked = state.chosen.has(capture.name);
  row.open.disabled = state.cutOff || (!state.operator && capture.sessions.length === 0);
}

export function createCaptureTable(root, act) {
  const body = el("tbody", {});
  const heads = HOST_TEXT.captures.columns.map(([key, label]) =>
    el("th", { scope: "col", class: "plain-head col-" + key }, label)
  );
  const table = el("table", { class: "grid", "data-testid": "captures", "aria-label": HOST_TEXT.captures.tableLabel },
    el("thead", {},
      el("tr", {}, el("th", { class: "col-select" }, el("span", { class: "offscreen" }, HOST_TEXT.captures.select)),
        ...heads, el("th", { class: "col-act" }, el("span", { class: "offscreen" }, HOST_TEXT.captures.more)))), body);
  const head = el("h2", {});
  const text = el("p", { class: "soft" });
  const all = el("button", { type: "button",
    on: { click: () => act.address({ find: "", label: "", on: "", age: "any" }, "replace") } },
    HOST_TEXT.captures.showAll);
  const empty = el("div", { class: "blank", "data-testid": "captures-empty" }, head, text, all);
  const foot = el("p", { class: "remark", "data-testid": "captures-foot" });
  const more = el("button", { type: "button", class: "more-rows", on: { click: () => act.moreCaptures() } });
  const element = el("section", { class: "list", "aria-label": HOST_TEXT.captures.label }, table, empty, more, foot);
  root.append(element);
  const rows = [];

  function sayEmpty(state) {
    const { find, label, on, age } = state.address;
    const asked = find !== "" || label !== "" || on !== "" || age !== "any";
    all.hidden = !asked || state.folder === null;
    if (state.folder === null) {
      setText(head, HOST_TEXT.captures.noFolder);
      setText(text, HOST_TEXT.captures.noFolderHint);
    } else {
      setText(head, asked ? HOST_TEXT.captures.noMatch : HOST_TEXT.captures.none);
      setText(text, asked ? HOST_TEXT.captures.noMatchHint : HOST_TEXT.captures.noneHint);
    }
  }

  return {
    update(state) {
      // Until the first answer there is nothing to say, not even that there is nothing.
      element.hidden = state.tab !== "captures" || state.captures === undefined;
      if (element.hidden) return;
      const captures = state.captures;
      while (rows.length < captures.length) {
        rows.push(createCaptureRow(act));
        body.append(rows[rows.length - 1].element);
      }
      rows.forEach((row, i) => {
        row.element.hidden = i >= captures.length;
        if (!row.element.hidden) fillCaptureRow(row, captures[i], state, act);
      });
      table.hidden = captures.length === 0;
      empty.hidden = captures.length > 0;
      if (captures.length === 0) sayEmpty(state);
      const folder = state.folder;
      const left = folder === null ? 0 : folder.total - folder.captures.length;
      more.hidden = left <= 0;
      setText(more, HOST_TEXT.captures.showMore(formatCount(left)));
      foot.hidden = folder === null;
      if (folder !== null)
        setText(foot, HOST_TEXT.captures.folder(visibleText(folder.folder), formatBytes(folder.bytes))
          + retentionText(folder.retention));
    },
  };
}

function retentionText(retention) {
  if (!retention) return "";
  const limits = [retention.days ? HOST_TEXT.captures.days(formatCount(retention.days)) : "",
    retention.bytes ? formatBytes(retention.bytes) : ""].filter(Boolean);
  return limits.length === 0 ? HOST_TEXT.captures.unlimited : HOST_TEXT.captures.retention(limits);
}
