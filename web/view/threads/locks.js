// Locks: for which threads waited, at which lines, and at which lines the threads were that held them.

import { formatCount, formatDuration } from "../../model/base/numbers.js";
import { visibleText } from "../../model/base/text.js";
import { TEXT } from "../../text/session.js";
import { el, isInUse, isolated, setText, soft } from "../elements/dom.js";

export function createLocks(root, dispatch) {
  const summary = el("p", { class: "gil-summary", "data-testid": "locks-summary" });
  const note = el("p", { class: "soft" });
  const head = el("tr", {}, ...TEXT.locks.heads.map((text) => el("th", { scope: "col" }, text)));
  const body = el("tbody", {});
  const table = el("table", { class: "task-table lock-table", "data-testid": "lock-table",
    "aria-label": TEXT.locks.label }, el("thead", {}, head), body);
  const left = el("p", { class: "soft" });
  const none = el("p", { class: "empty", "data-testid": "locks-none" });
  const element = el("div", { class: "tasks locks", "data-testid": "locks", tabindex: "0", role: "region",
    "aria-label": TEXT.locks.label }, summary, note, table, left, none);
  root.append(element);
  let shown = null;
  let shownSources = null;

  function codeOf({ path, line }, sources) {
    const source = sources.get(path);
    return line === 0 || source?.text === undefined || source.changed
      ? ""
      : visibleText(source.text.split("\n")[line - 1]?.trim() ?? "", "");
  }

  function placeItem(place, sources) {
    const time = el("span", { class: "share" }, formatDuration(place.waited));
    if (place.place === "") return el("li", {}, soft(TEXT.locks.unknownLine), " ", time);
    const open = () =>
      dispatch({ type: "address", changes: { view: "source", file: place.path, line: place.line }, how: "push" });
    const code = codeOf(place, sources);
    return el("li", {},
      el("button", { type: "button", class: "row-name", title: visibleText(place.path), "data-hint": TEXT.locks.open,
        on: { click: open } }, isolated(place.place), " ", isolated(place.name, { class: "soft" })), " ", time,
      code === "" ? null : el("code", {}, isolated(code)));
  }

  function placesCell(column, { places, others, unknown }, sources) {
    const rest = [[others, TEXT.locks.otherLines], [unknown, TEXT.locks.unknownHolder]].filter(([time]) => time > 0.05);
    return el("td", { "data-head": TEXT.locks.heads[column] },
      el("ul", { class: "lock-places" }, ...places.map((place) => placeItem(place, sources)),
        ...rest.map(([time, text]) =>
          el("li", {}, soft(text), " ", el("span", { class: "share" }, formatDuration(time)))
        )));
  }

  function numberCell(column, text, attributes = {}) {
    return el("td", { class: "number", "data-head": TEXT.locks.heads[column], ...attributes }, text);
  }

  function lockRow(row, sources) {
    const process = row.process === null ? "" : " " + TEXT.locks.ofProcess(row.process);
    return el("tr", { "data-testid": "lock" },
      el("th", { scope: "row" }, isolated(row.expression === "" ? row.type : row.expression), " ",
        soft((row.expression === "" ? "" : row.type + " ") + row.object + process)),
      numberCell(1, formatDuration(row.waited)), numberCell(2, formatDuration(row.longest)),
      numberCell(3, formatCount(row.waiting), { title: TEXT.locks.waits(formatCount(row.waits)) }),
      placesCell(4, row.waiters, sources), placesCell(5, row.holders, sources));
  }

  return {
    update(state) {
      element.hidden = state.address.view !== "locks" || state.picture.empty !== null;
      if (element.hidden) return;
      const { locks, lockFiles } = state.picture;
      const { sources } = state;
      for (const part of [summary, note, table, left]) part.hidden = locks.reason !== null;
      none.hidden = locks.reason === null;
      setText(none, locks.reason ?? "");
      if (locks.reason !== null) return;
      for (const [path, id] of lockFiles)
        if (!sources.has(path)) dispatch({ type: "wantSource", path, function: id });
      if (shown === locks && shownSources === sources) return;
      summary.replaceChildren(TEXT.locks.waited, el("strong", {}, formatDuration(locks.waited)),
        TEXT.locks.forLocks(formatCount(locks.rows.length)));
      const isHeld = shown !== null && isInUse(body);
      setText(note, TEXT.locks.how + (isHeld ? TEXT.gil.still : ""));
      setText(left, locks.left);
      // A line that is pointed at or has the focus stays where it is.
      if (isHeld) return;
      body.replaceChildren(...locks.rows.map((row) => lockRow(row, sources)));
      shown = locks;
      shownSources = sources;
    },
  };
}
