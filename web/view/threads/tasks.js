// Asyncio tasks by coroutine: a row opens to its tasks, where each waits and what awaits it, and these to their stacks.

import { formatCount, formatDuration } from "../../model/base/numbers.js";
import { tasksText } from "../../model/threads/tasks.js";
import { TEXT } from "../../text/session.js";
import { el, isolated, setAttribute, setText, soft } from "../elements/dom.js";

function taskPlace(label, more = "") {
  return label === null
    ? soft("—")
    : el("span", { title: label.place }, isolated(label.name), " ", isolated(label.near, { class: "soft" }), more);
}

function nameCell(row) {
  if (row.name !== "") return isolated(row.name, { class: "task-name" });
  return soft(
    row.examples.length === 0
      ? TEXT.tasks.noName
      : row.examples.join(", ") + (row.count > row.examples.length ? " …" : ""),
  );
}

const statesText = ({ states }) =>
  states.map(([state, count]) => (states.length > 1 ? formatCount(count) + " " : "") + TEXT.tasks.states[state]).join(
    ", ",
  );

export function createTasks(root, dispatch) {
  const summary = el("p", { class: "gil-summary", "data-testid": "tasks-summary" });
  const head = el("tr", {}, ...TEXT.tasks.heads.map((text) => el("th", { scope: "col" }, text)));
  const body = el("tbody", {});
  const table = el("table", { class: "task-table", "data-testid": "task-table", "aria-label": TEXT.tasks.label },
    el("thead", {}, head), body);
  const left = el("p", { class: "soft" });
  const reason = el("p", {});
  const again = el("button", { type: "button", "data-testid": "tasks-again",
    on: { click: () => dispatch({ type: "sampleTasks" }) } }, TEXT.tasks.again);
  const none = el("div", { class: "empty", "data-testid": "tasks-none" }, reason, again);
  const element = el("div", { class: "tasks", "data-testid": "tasks", tabindex: "0", role: "region",
    "aria-label": TEXT.tasks.label }, summary, table, left, none);
  root.append(element);
  const open = new Set();
  let shown = null;
  let shownMatches = null;

  function goTo(label) {
    dispatch({ type: "address", changes: { view: "flame", search: label.name }, how: "push" });
  }

  function stackRow(row) {
    const items = row.stack.map((label) =>
      el("li", { class: label.synthetic ? "task-mark" : "" },
        el("button", { type: "button", class: "row-name", "data-hint": TEXT.tasks.find, on: { click: () =>
          goTo(label) } }, isolated(label.label)))
    );
    return el("tr", { class: "task-stack" },
      el("td", { colspan: "6" }, items.length === 0 ? TEXT.tasks.noStack : el("ol", {}, ...items)));
  }

  function toggle({ key }) {
    if (!open.delete(key)) open.add(key);
    draw(shown, shownMatches);
  }

  const matches = ({ stack }, matched) => matched !== null && stack.some((label) => matched[label.functionId]);

  function createRow(row, testid, what, isMatch, ...cells) {
    const isOpen = open.has(row.key);
    const button = el("button", { type: "button", class: "task-open", "aria-expanded": String(isOpen),
      "aria-label": TEXT.tasks.toggle(formatCount(row.count), isOpen, what), "data-key": row.key,
      on: { click: () => toggle(row) } }, formatCount(row.count));
    const classes = ["", "task-state", "", "number", ""];
    return el("tr", { "data-testid": testid, "data-state": row.state, "data-match": isMatch ? "yes" : null },
      el("td", {}, button), ...cells.map((cell, i) => el("td", { class: classes[i] }, cell)));
  }

  function taskRow(row, matched) {
    const awaiters = row.awaiters.map((name) => name || TEXT.tasks.noName).join(", ");
    const waits = row.state === "waiting";
    const made = createRow(row, "task", TEXT.tasks.stackOf(row.name), matches(row, matched), nameCell(row),
      TEXT.tasks.states[row.state], waits ? taskPlace(row.at) : soft("—"), waits ? formatDuration(row.longest) : "",
      isolated(awaiters));
    return open.has(row.key) ? [made, stackRow(row)] : [made];
  }

  function groupRows(group, matched) {
    const { coroutine, places } = group;
    const isMatch = group.rows.some((row) => matches(row, matched));
    const made = createRow(group, "task-group", TEXT.tasks.tasksOf(coroutine?.name), isMatch, taskPlace(coroutine),
      statesText(group), taskPlace(group.at, places > 1 ? TEXT.tasks.places(formatCount(places - 1)) : ""),
      group.longest > 0 ? formatDuration(group.longest) : "", "");
    if (!open.has(group.key)) return [made];
    return [made, ...group.rows.flatMap((row) => taskRow(row, matched)), ...(group.left > 0
      ? [el("tr", {}, el("td", { colspan: "6" }, soft(TEXT.tasks.left(formatCount(group.left)))))]
      : [])];
  }

  // The row that has the keyboard keeps it.
  function draw({ groups, left: more }, matched) {
    const focused = body.contains(document.activeElement) ? document.activeElement.dataset.key : undefined;
    body.replaceChildren(...groups.flatMap((group) => groupRows(group, matched)));
    if (focused !== undefined)
      Array.from(body.querySelectorAll(".task-open")).find((button) => button.dataset.key === focused)?.focus();
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
      // The row that is pointed at or read stays where it is.
      if (shown !== null && shown.reason === null && shownMatches === matched && body.matches(":hover")) return;
      setAttribute(table, "data-searching", matched === null ? null : "yes");
      draw(tasks, matched);
      shown = tasks;
      shownMatches = matched;
    },
  };
}
