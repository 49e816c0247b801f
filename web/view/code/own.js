// Your hottest lines, above the flame graph: the answer of the first screen. Each opens Source at its line.

import { formatCount, formatShare, ratio } from "../../model/base/numbers.js";
import { distinctNames, visibleText } from "../../model/base/text.js";
import { ownProblem } from "../../model/code/own.js";
import { isOfMore } from "../../model/page/state.js";
import { TEXT } from "../../text/session.js";
import { el, icon, isInUse, isolated, setAttribute, setText } from "../elements/dom.js";
import { ICONS } from "../elements/icons.js";
import { offerMenu } from "../elements/menu.js";
import { createPopover } from "../elements/popover.js";

// The setting for your code, in a popover: {button, attach(), update(state)}.
function createOwnSetting(dispatch) {
  const button = el("button", { type: "button", class: "quiet", "aria-label": TEXT.own.setting,
    "data-hint": TEXT.own.setting, "data-testid": "own-setting" }, icon(ICONS.gear));
  const input = el("input", { type: "text", placeholder: TEXT.own.placeholder, "aria-label": TEXT.own.patterns,
    "aria-describedby": "own-about", autocomplete: "off", spellcheck: "false", "data-testid": "own-patterns" });
  const problem = el("p", { class: "applied-error", role: "alert" });
  input.addEventListener("input", () => dispatch({ type: "own", patterns: input.value }));
  return {
    button,
    attach() {
      createPopover(button, TEXT.own.setting).panel.append(
        el("div", { class: "own-setting" }, el("label", {}, TEXT.own.patterns, input), problem,
          el("p", { class: "soft", id: "own-about" }, TEXT.own.about)),
      );
    },
    update({ ownPatterns }) {
      if (document.activeElement !== input && input.value !== ownPatterns) input.value = ownPatterns;
      setText(problem, ownProblem(ownPatterns) ?? "");
      problem.hidden = problem.textContent === "";
      setAttribute(button, "aria-pressed", ownPatterns === "" ? null : "true");
    },
  };
}

const CAUSES_NAMED = 2;
// The parts of time of causes that are not blocked.
const PART_OF_CAUSE = { GIL: "needs_gil", processor: "needs_processor" };

function noteOf({ samples }, sum, text, countText) {
  return text(formatShare(ratio(samples, sum)), countText(sum));
}

// The text of what the threads waited for there, the most first.
function causesText({ causes, samples }) {
  const named = causes.slice(0, CAUSES_NAMED).map(({ cause, samples: count }) =>
    (cause === "" ? TEXT.own.unknownCause : cause) + (causes.length > 1 ? " " + formatShare(ratio(count, samples)) : "")
  );
  return named.join(", ");
}

export function createOwnLinesView(root, dispatch) {
  const setting = createOwnSetting(dispatch);
  // Lists of what runs, of what waits, and of tasks that wait: {head, title, note, list, testid (of a row)}.
  const lists = [["own", "own-line", "running"], ["own-waits", "own-wait", "blocked"], ["own-tasks", "own-task",
    "idle"]].map(([id, testid, part]) => {
      const title = el("h2", {});
      const note = el("span", { class: "soft", "data-testid": id + "-note" });
      return { head: el("div", { class: "own-head" }, title, note), title, note,
        list: el("ol", { class: "own-list", "data-part": part }), testid };
    });
  lists[0].head.append(setting.button);
  const element = el("section", { class: "own", "data-testid": "own", "aria-label": TEXT.own.title({}), hidden: true },
    ...lists.flatMap(({ head, list }) => [head, list]));
  root.append(element);
  setting.attach();
  offerMenu(element, dispatch, (event) => {
    const row = event.target.closest("[data-line]");
    const found = row === null
      ? undefined
      : latest.find(({ path, line }) => path === row.dataset.path && line === Number(row.dataset.line));
    return found === undefined ? null : { label: { ...found, hasSource: true }, key: "", stack: "" };
  });
  let shown = "";
  let latest = [];
  // The lines of a file's text, split once.
  const texts = new Map();

  function codeOf({ path, line }, source) {
    if (source?.text === undefined || source.changed) return "";
    if (texts.get(path)?.source !== source) texts.set(path, { source, lines: source.text.split("\n") });
    return visibleText(texts.get(path).lines[line - 1]?.trim() ?? "", "");
  }

  function rowOf(row, testid, names, code, sum, most) {
    const fill = el("i", {});
    fill.style.width = (100 * row.samples) / most + "%";
    const place = visibleText(names.get(row.path)) + ":" + row.line;
    const open = () =>
      dispatch({ type: "address", changes: { view: "source", file: row.path, line: row.line }, how: "push" });
    return el("li", { "data-part": PART_OF_CAUSE[row.causes?.[0]?.cause] },
      el("button", { type: "button", class: "own-line", "data-testid": testid, "data-path": row.path,
        "data-line": row.line, title: visibleText(row.path) + ":" + row.line, on: { click: open } },
        el("span", { class: "share" }, formatShare(ratio(row.samples, sum))),
        el("span", { class: "bar", "aria-hidden": "true" }, fill), el("span", { class: "own-place" }, isolated(place)),
        el("span", { class: "own-name" }, isolated(row.name)),
        el("span", { class: "own-code" }, row.causes === undefined ? null : el("strong", {}, causesText(row)),
          code === "" ? null : el("code", {}, isolated(code)))));
  }

  function show({ head, title, note, list, testid }, heading, shown, codes, names, { sum, countText }, text) {
    for (const part of [head, list]) part.hidden = shown === null;
    if (shown === null) return;
    setText(title, heading);
    setText(note, shown.rows.length === 0 ? TEXT.own.none : noteOf(shown, sum, text, countText));
    list.replaceChildren(
      ...shown.rows.map((row) => rowOf(row, testid, names, codes.get(row), sum, shown.rows[0].samples)),
    );
  }

  return {
    update(state) {
      const { picture: { sum, measure, countText }, sources } = state;
      // Tasks are in no part of time; the summary has their lines.
      const { lines, samples } = (isOfMore(state) ? null : state.summary?.tasks) ?? { lines: [] };
      const isNone = state.address.view !== "flame" || sum + lines.length === 0;
      // An element that comes would move the frame that is pointed at.
      if (isNone || (element.hidden && state.hover !== null)) {
        element.hidden = true;
        return;
      }
      // Until it is known what runs of that, what is shown stays.
      const own = state.picture.own(element.hidden || state.paused);
      if (own === null) return;
      setting.update(state);
      const tasks = lines.map((row) => ({ ...row, path: row.file, name: visibleText(row.name) }));
      const found = [own.running, own.waiting,
        tasks.length === 0 ? null : { rows: tasks, samples: tasks.reduce((all, row) => all + row.samples, 0) }];
      element.hidden = found.every((one) => one === null);
      latest = found.flatMap((one) => one?.rows ?? []);
      for (const row of latest)
        if (!sources.has(row.path)) dispatch({ type: "wantSource", path: row.path, function: row.function });
      const codes = new Map(latest.map((row) => [row, codeOf(row, sources.get(row.path))]));
      const signature = latest.map((row) => [row.path, row.line, row.samples, codes.get(row)].join(":")).join("\n")
        + [sum, measure?.title, own.running?.level.kind, ...found.map((one) => one?.rows.length)];
      // Another number of rows would move the frame that is pointed at.
      const wouldMove = state.hover !== null && latest.length !== element.querySelectorAll("li").length;
      if (signature === shown || (shown !== "" && (wouldMove || lists.some(({ list }) => isInUse(list))))) return;
      shown = signature;
      const names = distinctNames(Array.from(new Set(latest.map((row) => row.path))));
      const title = visibleText(TEXT.own.title(state.ownPatterns === "" ? (own.running?.level ?? {}) : {}));
      [title, TEXT.own.waiting, TEXT.own.tasks].forEach((heading, i) =>
        show(lists[i], heading, found[i], codes, names, { sum: i < 2 ? sum : samples, countText },
          i > 0 ? TEXT.own.waitingNote : measure === null ? TEXT.own.note : TEXT.own.grownNote)
      );
    },
  };
}
