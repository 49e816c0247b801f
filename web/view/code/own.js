// Your hottest lines, above the flame graph: the answer of the first screen. Each opens Source at its line.

import { ownProblem } from "../../model/code/own.js";
import { formatCount, formatShare, ratio } from "../../model/base/numbers.js";
import { distinctNames, visibleText } from "../../model/base/text.js";
import { TEXT } from "../../text/session.js";
import { el, icon, isInUse, isolated, setAttribute, setText } from "../elements/dom.js";
import { ICONS } from "../elements/icons.js";
import { offerMenu } from "../elements/menu.js";
import { createPopover } from "../elements/popover.js";

// What counts as your code, in a popover: {button, attach(), update(state)}.
function createOwnSetting(dispatch) {
  const button = el("button", { type: "button", class: "quiet", "aria-label": TEXT.own.setting, "data-hint": TEXT.own.setting, "data-testid": "own-setting" }, icon(ICONS.gear));
  const input = el("input", { type: "text", placeholder: TEXT.own.placeholder, "aria-label": TEXT.own.patterns, "aria-describedby": "own-about", autocomplete: "off", spellcheck: "false", "data-testid": "own-patterns" });
  const problem = el("p", { class: "applied-error", role: "alert" });
  input.addEventListener("input", () => dispatch({ type: "own", patterns: input.value }));
  return {
    button,
    attach() {
      createPopover(button, TEXT.own.setting).panel.append(el("div", { class: "own-setting" }, el("label", {}, TEXT.own.patterns, input), problem, el("p", { class: "soft", id: "own-about" }, TEXT.own.about)));
    },
    update({ ownPatterns }) {
      if (document.activeElement !== input && input.value !== ownPatterns) input.value = ownPatterns;
      setText(problem, ownProblem(ownPatterns) ?? "");
      problem.hidden = problem.textContent === "";
      setAttribute(button, "aria-pressed", ownPatterns === "" ? null : "true");
    },
  };
}

// Below this share of all samples, what waits to go on is not worth a word.
const READY_SHARE = 0.01;

function noteOf({ samples, ready }, sum) {
  const share = (count) => formatShare(ratio(count, sum));
  return TEXT.own.note(share(samples - ready), TEXT.samples(formatCount(sum))) + (ready >= READY_SHARE * sum ? TEXT.own.ready(share(ready)) : "");
}

export function createOwnLinesView(root, dispatch) {
  const setting = createOwnSetting(dispatch);
  const title = el("h2", {});
  const note = el("span", { class: "soft", "data-testid": "own-note" });
  const list = el("ol", { class: "own-list" });
  const element = el("section", { class: "own", "data-testid": "own", "aria-label": TEXT.own.title({}) }, el("div", { class: "own-head" }, title, note, setting.button), list);
  root.append(element);
  setting.attach();
  offerMenu(list, dispatch, (event) => {
    const row = event.target.closest("[data-line]");
    const found = row === null ? undefined : latest.find(({ path, line }) => path === row.dataset.path && line === Number(row.dataset.line));
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

  function rowOf(row, names, code, sum, most) {
    const fill = el("i", {});
    fill.style.width = (100 * row.samples) / most + "%";
    const place = visibleText(names.get(row.path)) + ":" + row.line;
    const open = () => dispatch({ type: "address", changes: { view: "source", file: row.path, line: row.line }, how: "push" });
    return el("li", {}, el("button", { type: "button", class: "own-line", "data-testid": "own-line", "data-path": row.path, "data-line": row.line, title: visibleText(row.path) + ":" + row.line, on: { click: open } },
      el("span", { class: "share" }, formatShare(ratio(row.samples, sum))), el("span", { class: "bar", "aria-hidden": "true" }, fill),
      el("span", { class: "own-place" }, isolated(place)), el("span", { class: "own-name" }, isolated(row.name)), el("code", { class: "own-code" }, code === "" ? null : isolated(code))));
  }

  return {
    update(state) {
      const { picture: { sum }, sources } = state;
      const own = state.picture.own();
      element.hidden = own === null || own.rows.length === 0;
      if (element.hidden) return;
      setting.update(state);
      latest = own.rows;
      for (const row of own.rows) if (!sources.has(row.path)) dispatch({ type: "wantSource", path: row.path, function: row.function });
      const codes = own.rows.map((row) => codeOf(row, sources.get(row.path)));
      const signature = own.rows.map((row, i) => [row.path, row.line, row.samples, codes[i]].join(":")).join("\n") + own.level.kind + sum;
      // Another number of rows would move the frame that is pointed at.
      const wouldMove = state.hover !== null && own.rows.length !== list.children.length;
      if (signature === shown || (shown !== "" && (wouldMove || isInUse(list)))) return;
      shown = signature;
      const names = distinctNames(Array.from(new Set(own.rows.map((row) => row.path))));
      setText(title, visibleText(TEXT.own.title(state.ownPatterns === "" ? own.level : {})));
      setText(note, noteOf(own, sum));
      list.replaceChildren(...own.rows.map((row, i) => rowOf(row, names, codes[i], sum, own.rows[0].samples)));
    },
  };
}
