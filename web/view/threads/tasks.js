// Asyncio tasks: where each waits and what awaits it; a row opens to its stack.

import { formatCount, formatDuration } from "../../model/base/numbers.js";
import { tasksText } from "../../model/threads/tasks.js";
import { TEXT } from "../../text/session.js";
import { el, isolated, setAttribute, setText } from "../elements/dom.js";

function taskPlace(label) {
  return label === null ? el("span", { class: "soft" }, "—") : el("span", { title: label.place }, isolated(label.label));
}

function nameCell(row) {
  if (row.name !== "") return isolated(row.name, { class: "task-name" });
  return el("span", { class: "soft" }, row.examples.length === 0 ? TEXT.tasks.noName : row.examples.join(", ") + (row.count > row.examples.length ? " …" : ""));
}

export function createTasks(root, dispatch) {
  const summary = el("p", { class: "gil-summary", "data-testid": "tasks-summary" });
  const head = el("tr", {}, ...TEXT.tasks.heads.map((text) => el("th", { scope: "col" }, text)));
  const body = el("tbody", {});
  const table = el("table", { class: "task-table", "data-testid": "task-table", "aria-label": TEXT.tasks.label }, el("thead", {}, head), body);
  const left = el("p", { class: "soft" });
  const reason = el("p", {});
  const again = el("button", { type: "button", "data-testid": "tasks-again", on: { click: () => dispatch({ type: "sampleTasks" }) } }, TEXT.tasks.again);
  const none = el("div", { class: "empty", "data-testid": "tasks-none" }, reason, again);
  const element = el("div", { class: "tasks", "data-testid": "tasks", tabindex: "0", role: "region", "aria-label": TEXT.tasks.label }, summary, table, left, none);
  root.append(element);
  const open = new Set();
  let shown = null;
  let shownMatches = null;

  function goTo(label) {
    dispatch({ type: "address", changes: { view: "flame", search: label.name }, how: "push" });
  }

  function stackRow(row) {
    const items = row.stack.map((label) => el("li", { class: label.synthetic ? "task-mark" : "" },
      el("button", { type: "button", class: "row-name", "data-hint": TEXT.tasks.find, on: { click: () => goTo(label) } }, isolated(label.label))));
    return el("tr", { class: "task-stack" }, el("td", { colspan: "7" }, items.length === 0 ? TEXT.tasks.noStack : el("ol", {}, ...items)));
  }

  function toggle(row) {
    if (!open.delete(row.key)) open.add(row.key);
    draw(shown, shownMatches);
  }

  function matches(row, matched) {
    return matched !== null && row.stack.some((label) => matched[label.functionId]);
  }

  function taskRow(row, matched) {
    const isOpen = open.has(row.key);
    const button = el("button", { type: "button", class: "task-open", "aria-expanded": String(isOpen), "aria-label": TEXT.tasks.stack(formatCount(row.count), isOpen, row.name || row.coroutine?.name), "data-key": row.key, on: { click: () => toggle(row) } }, formatCount(row.count));
    const cells = [nameCell(row), taskPlace(row.coroutine), TEXT.tasks.states[row.state], row.state === "waiting" ? taskPlace(row.at) : el("span", { class: "soft" }, "—"), row.state === "waiting" ? formatDuration(row.longest) : "", row.awaiters.length === 0 ? "" : isolated(row.awaiters.map((name) => name || TEXT.tasks.noName).join(", "))];
    const classes = ["", "", "task-state", "", "number", ""];
    return el("tr", { "data-testid": "task", "data-state": row.state, "data-match": matches(row, matched) ? "yes" : null }, el("td", {}, button), ...cells.map((cell, i) => el("td", { class: classes[i] }, cell)));
  }

  // The row that has the keyboard keeps it.
  function draw({ rows, left: more }, matched) {
    const focused = body.contains(document.activeElement) ? document.activeElement.dataset.key : undefined;
    body.replaceChildren(...rows.flatMap((row) => (open.has(row.key) ? [taskRow(row, matched), stackRow(row)] : [taskRow(row, matched)])));
    if (focused !== undefined) Array.from(body.querySelectorAll(".task-open")).find((button) => button.dataset.key === focused)?.focus();
    setText(left, more > 0 ? TEXT.tasks.left(formatCount(more)) : "");
  }

  return {
    update(state) {
      element.hidden = state.address.view !== "tasks";
      if (element.hidden) return;
      const { tasks, matched } = state.picture;
      for (const part of [summary, table, left]) part.hidden = tasks.reason !== null;
      none.hidden = tasks.reason === null;
      again.hidden = !tasks.again || tasks.reason !== TEXT.tasks.off;
      setText(reason, (again.hidden ? tasks.reason : TEXT.tasks.offHere) ?? "");
      if (tasks.reason !== null || (shown === tasks && shownMatches === matched)) return;
      setText(summary, tasksText(tasks));
      // What is pointed at or read stays where it is.
      if (shown !== null && shown.reason === null && shownMatches === matched && body.matches(":hover")) return;
      setAttribute(table, "data-searching", matched === null ? null : "yes");
      draw(tasks, matched);
      shown = tasks;
      shownMatches = matched;
    },
  };
}
