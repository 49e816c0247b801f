// The index of files, and of one file its functions and lines with the callers and callees of the selected one.

import { formatCount, formatShare, ratio } from "../../model/base/numbers.js";
import { visibleText } from "../../model/base/text.js";
import { chosenFile, placedFile } from "../../model/code/lines.js";
import { inJitBadge } from "../../model/picture/table.js";
import { TEXT } from "../../text/session.js";
import { el, isolated, pathText, setAttribute, setText } from "../elements/dom.js";
import { offerMenu } from "../elements/menu.js";
import { createSourceIndex } from "./index.js";
import { createInstructionRows } from "./instructions.js";
import { createSourceLines, linesMax } from "./lines.js";

const NEIGHBOURS_MAX = 12;

// The callers and callees of the selected line and of the functions that begin there.
function createNeighbours(change) {
  const element = el("div", { class: "source-about", "data-testid": "source-about" });

  function neighbour({ frame, samples }, { picture }) {
    const { label, key } = picture.source.describe(frame);
    const go = !label.hasSource ? { view: "sandwich", about: key } : { file: label.file, line: label.line };
    return el("li", {},
      el("button", { type: "button", class: "link", on: { click: () => change(go) } },
        isolated(label.synthetic ? label.name : label.label)), " ",
      el("span", { class: "soft", title: picture.countText(samples) }, formatShare(ratio(samples, picture.sum))));
  }

  function list(name, edges, none, state) {
    const more = edges.length > NEIGHBOURS_MAX
      ? [el("li", { class: "soft" }, TEXT.details.more(formatCount(edges.length - NEIGHBOURS_MAX)))]
      : [];
    return el("section", {}, el("h3", {}, name), edges.length === 0
      ? el("p", { class: "soft" }, none)
      : el("ul", {}, ...edges.slice(0, NEIGHBOURS_MAX).map((edge) => neighbour(edge, state)), ...more));
  }

  // The panel about what `title` names: {self, total, inC, frames}.
  function about(title, { self, total, inC = 0, frames }, state) {
    const { source, sum, amountText } = state.picture;
    const { callers, callees } = source.neighbours({ frames });
    return [
      el("p", {}, isolated(title), ": ", el("strong", {}, formatShare(ratio(self, sum))),
        TEXT.source.selfShare(amountText(self)), el("strong", {}, formatShare(ratio(total, sum))),
        TEXT.source.totalShare(amountText(total)), inC > 0 ? TEXT.source.inC(amountText(inC)) : ""),
      list(TEXT.source.callers, callers, TEXT.source.noCallers, state),
      list(TEXT.source.callees, callees, TEXT.source.noCallees, state),
    ];
  }

  return {
    element,
    update(state, file) {
      const line = file.lines.find((one) => one.line === state.address.line);
      const functions = file.functions.filter((one) => one.line === state.address.line);
      element.hidden = line === undefined && functions.length === 0;
      element.replaceChildren(...functions.flatMap((one) => about(visibleText(one.name), one, state)),
        ...(line === undefined ? [] : about(TEXT.source.summary(line.line), line, state)));
    },
  };
}

// The functions of the file: {element, update(state, file)}.
function createOutline(change) {
  const summary = el("summary", {});
  const body = el("tbody", {});
  const head = el("thead", {},
    el("tr", {},
      ...[TEXT.table.function, ...TEXT.source.heads.slice(1)].map((text) => el("th", { scope: "col" }, text))));
  const element = el("details", { class: "source-outline", "data-testid": "source-outline" }, summary,
    el("table", {}, head, body));
  let shown = "";

  function row({ name, line, self, inJit, total }, { sum, countText }) {
    const cell = (count) => el("td", { class: "number", title: countText(count) }, formatShare(ratio(count, sum)));
    return el("tr", {},
      el("th", { scope: "row" },
        el("button", { type: "button", class: "row-name", "data-jit": inJitBadge(inJit, self),
          on: { click: () => change({ line }) } }, isolated(visibleText(name)))), cell(self), cell(total));
  }

  return {
    element,
    update({ picture, address }, file) {
      const signature = [file.path, picture.measure?.title,
        ...file.functions.map((one) => one.line + " " + one.self + " " + one.inJit + " " + one.total)].join("\n");
      setText(summary, TEXT.source.outline(formatCount(file.functions.length)));
      if (signature === shown || element.contains(document.activeElement)) return;
      shown = signature;
      body.replaceChildren(...file.functions.map((one) => row(one, picture)));
    },
  };
}

function plainNote(text, file, { session, live }) {
  if (text === undefined || text.loading) return TEXT.source.reading;
  if (text.error !== undefined) return TEXT.source.missing(visibleText(text.error));
  if (file.kind === "native") return TEXT.source.native;
  return (text.changed ? TEXT.source.changed : "") + (live && text.whole === false ? TEXT.source.part : "")
    + TEXT.source.self + (session?.settings?.opcodes === true ? TEXT.source.clickForBytecode : "")
    + TEXT.source.nextKey;
}

function noteText(text, file, state) {
  const { hot } = linesMax(state.live);
  return plainNote(text, file, state)
    + (file.lines.length > hot ? TEXT.source.hottest(formatCount(hot), formatCount(file.lines.length)) : "");
}

// The subject of the menu of a line: the pointed line, else the chosen one.
function lineSubject({ address, picture }, file, event) {
  const number = Number(event.target.closest("[data-line]")?.dataset.line ?? address.line);
  const line = file.lines.find((one) => one.line === number);
  if (line === undefined) return null;
  const { label, key } = picture.source.describe(line.frames[0]);
  return { label: { ...label, line: number }, key, stack: "" };
}

// The next hot line after or before a line, round the ends; undefined without any.
function hotLineBeside(file, at, by) {
  const hot = file.lines.filter((line) => line.self > 0).map((line) => line.line);
  return by > 0 ? hot.find((line) => line > at) ?? hot[0] : hot.findLast((line) => line < at) ?? hot.at(-1);
}

const hottestLine = ({ lines }) => lines.reduce((best, one) => (one.self > best.self ? one : best), lines[0]).line;

// Rows are made again when this changes: with the text of the file, all of its lines have one.
function linesKey({ path, lines }, hasText, hotOnly, isEmpty) {
  const isPart = hotOnly || !hasText || (lines.length > 0 && isEmpty);
  return [path, hasText, hotOnly, isPart ? lines.map((line) => line.line).join() : ""].join("\n");
}

function sumsText({ self, total }, { sum, amountText }) {
  return TEXT.source.sums(formatShare(ratio(self, sum)), formatShare(ratio(total, sum)), amountText(self),
    amountText(total), amountText(sum));
}

export function createSource(root, dispatch) {
  const title = el("h2", { "data-testid": "source-path" });
  const note = el("p", { class: "soft", "data-testid": "source-note" });
  const change = (changes, how = "push") => dispatch({ type: "address", changes, how });
  const sums = el("p", { "data-testid": "source-sums" });
  const hotOnly = el("input", { type: "checkbox", "data-testid": "source-hot-only",
    on: { change: () => change({ hotOnly: hotOnly.checked }) } });
  const index = createSourceIndex(change);
  const outline = createOutline((changes) => change({ file: current().path, ...changes }));
  const lines = createSourceLines(toggleLine, (number) => change({ file: current().path, line: number }, "replace"));
  const instructions = createInstructionRows(lines);
  const about = createNeighbours(change);
  const heads = el("div", { class: "line-head", "aria-hidden": "true" },
    ...TEXT.source.heads.map((text) => el("span", {}, text)), el("span", { class: "line-code" }, TEXT.source.code));
  const main = el("div", { class: "source-main" },
    el("div", { class: "source-head" }, title, sums, note,
      el("div", { class: "source-tools" }, outline.element, el("label", {}, hotOnly, " ", TEXT.source.hotOnly))), heads,
    el("div", { class: "source-text" }, lines.list, lines.minimap), about.element);
  const element = el("div", { class: "source" }, index.element, main);
  root.append(element);
  let state = null;
  let shownText = null;
  let shownLine = "";
  // A second key may come before the first one is drawn.
  let stepped = null;

  const chosen = () => chosenFile(state.picture.source, state.address.file);
  const current = () => placedFile(chosen(), state.sources.get(chosen().path)?.starts);

  function toggleLine(number) {
    instructions.toggle(current().path, number, number === state.address.line);
    change({ file: current().path, line: number }, "replace");
  }

  offerMenu(lines.list, dispatch, (event) => lineSubject(state, current(), event));

  lines.list.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || event.target !== lines.list || state.address.line === 0) return;
    event.preventDefault();
    toggleLine(state.address.line);
  });

  function step(by) {
    const next = hotLineBeside(current(), stepped ?? state.address.line, by);
    if (next === undefined) return;
    stepped = next;
    change({ file: current().path, line: next }, "replace");
  }

  // Shows the lines; true if there are others than before.
  function showLines(file, text) {
    const key = linesKey(file, text?.text !== undefined, state.address.hotOnly, lines.rows.size === 0);
    const isNew = key !== shownText;
    if (isNew) {
      lines.rebuild(file, text, state);
      instructions.forget();
    }
    shownText = key;
    lines.fill(file, state.picture, state.address.line);
    return isNew;
  }

  function scroll(file, isNew) {
    const { line } = state.address;
    const at = file.path + ":" + line;
    if ((at !== shownLine || isNew) && line > 0) lines.scrollTo(line);
    else if (isNew) lines.scrollTo(hottestLine(file));
    shownLine = at;
  }

  function updateFile(file) {
    outline.update(state, file);
    const text = state.sources.get(file.path);
    if (text === undefined) dispatch({ type: "wantSource", path: file.path, function: file.function });
    const path = visibleText(file.kind === "native" && text?.path !== undefined ? text.path : file.path);
    setAttribute(title, "title", path);
    if (title.textContent !== path) title.replaceChildren(pathText(path));
    setText(sums, sumsText(file, state.picture));
    setText(note, noteText(text, file, state));
    hotOnly.checked = state.address.hotOnly;
    const isNew = showLines(file, text);
    about.update(state, file);
    instructions.show(file, state);
    scroll(file, isNew);
  }

  return {
    step: (by) => state !== null && !element.hidden && !main.hidden && step(by),
    update(next) {
      state = next;
      stepped = null;
      element.hidden = state.address.view !== "source" || state.picture.sum === 0;
      if (element.hidden) return;
      main.hidden = chosen() === undefined;
      index.update(state, chosen());
      if (!main.hidden) updateFile(current());
    },
  };
}
