// The files by samples, and the lines of one file with the callers and callees of the selected line.

import { chosenFile } from "../model/lines.js";
import { formatCount, formatShare, ratio } from "../model/numbers.js";
import { visibleText } from "../model/text.js";
import { TEXT } from "../text/session.js";
import { el, isolated, pathText, setAttribute, setText } from "./dom.js";
import { createInstructionRows } from "./source-instructions.js";
import { createSourceLines, HOT_LINES_MAX } from "./source-lines.js";

const FILES_MAX = 300;
const NEIGHBOURS_MAX = 12;

// The files, hottest first: {element, update(state, chosen file)}.
function createFileList(change) {
  const files = el("ol", { class: "source-files", "data-testid": "source-files" });
  let shown = "";

  function fileRow(file, { picture }, chosen) {
    const { source, sum } = picture;
    const fill = el("i", {});
    fill.style.width = 100 * (ratio(file.self, source.files[0].self) || 0) + "%";
    return el("li", {}, el("button", { type: "button", class: "source-file", "aria-current": chosen ? "true" : null, title: file.path, on: { click: () => change({ file: file.path, line: 0 }) } },
      isolated(visibleText(source.names.get(file.path)), { class: "hottest-name" }), el("span", { class: "share" }, formatShare(ratio(file.self, sum))), el("span", { class: "bar", "aria-hidden": "true" }, fill)));
  }

  return {
    element: el("nav", { class: "source-side", "aria-label": TEXT.source.files }, files),
    update(state, file) {
      const some = state.picture.source.files.slice(0, FILES_MAX);
      const signature = file.path + "\n" + some.map((one) => one.path + one.self).join("\n");
      if (signature !== shown && !files.contains(document.activeElement)) files.replaceChildren(...some.map((one) => fileRow(one, state, one === file)));
      else for (const row of files.querySelectorAll(".source-file")) setAttribute(row, "aria-current", row.title === file.path ? "true" : null);
      shown = signature;
    },
  };
}

// The callers and callees of the selected line.
function createNeighbours(change) {
  const element = el("div", { class: "source-about", "data-testid": "source-about" });

  function neighbour({ frame, samples }, { picture }) {
    const { label, key } = picture.source.describe(frame);
    const go = label.synthetic ? { view: "sandwich", about: key } : { file: label.file, line: label.line };
    return el("li", {}, el("button", { type: "button", class: "link", on: { click: () => change(go) } }, isolated(label.synthetic ? label.name : label.label)), " ", el("span", { class: "soft" }, formatShare(ratio(samples, picture.sum))));
  }

  function list(name, edges, none, state) {
    return el("section", {}, el("h3", {}, name), edges.length === 0 ? el("p", { class: "soft" }, none) : el("ul", {}, ...edges.slice(0, NEIGHBOURS_MAX).map((edge) => neighbour(edge, state))));
  }

  return {
    element,
    update(state, file) {
      const line = file.lines.find((one) => one.line === state.address.line);
      element.hidden = line === undefined;
      if (line === undefined) return;
      const { source, sum } = state.picture;
      const { callers, callees } = source.neighbours(line);
      element.replaceChildren(
        el("p", {}, TEXT.source.summary(line.line), el("strong", {}, formatShare(ratio(line.self, sum))), TEXT.source.selfShare, el("strong", {}, formatShare(ratio(line.total, sum))), TEXT.source.totalShare(formatCount(line.total))),
        list(TEXT.source.callers, callers, TEXT.source.noCallers, state), list(TEXT.source.callees, callees, TEXT.source.noCallees, state));
    },
  };
}

function plainNote(text, session) {
  if (text === undefined || text.loading) return TEXT.source.reading;
  if (text.error !== undefined) return TEXT.source.missing(visibleText(text.error));
  return (text.changed ? TEXT.source.changed : "") + TEXT.source.self + (session?.settings?.opcodes === true ? TEXT.source.clickForBytecode : "") + TEXT.source.nextKey;
}

function noteText(text, file, session) {
  return plainNote(text, session) + (file.lines.length > HOT_LINES_MAX ? TEXT.source.hottest(formatCount(HOT_LINES_MAX), formatCount(file.lines.length)) : "");
}

export function createSource(root, dispatch) {
  const title = el("h2", { "data-testid": "source-path" });
  const note = el("p", { class: "soft", "data-testid": "source-note" });
  const change = (changes, how = "push") => dispatch({ type: "address", changes, how });
  const files = createFileList(change);
  const lines = createSourceLines(toggleLine, (number) => change({ file: current().path, line: number }, "replace"));
  const instructions = createInstructionRows(lines);
  const about = createNeighbours(change);
  const heads = el("div", { class: "line-head", "aria-hidden": "true" }, ...TEXT.source.heads.map((text) => el("span", {}, text)), el("span", { class: "line-code" }, TEXT.source.code));
  const element = el("div", { class: "source" }, files.element,
    el("div", { class: "source-main" }, el("div", { class: "source-head" }, title, note), heads, el("div", { class: "source-text" }, lines.list, lines.minimap), about.element));
  root.append(element);
  let state = null;
  let shownText = null;
  let shownLine = "";
  // A second key may come before the first one is drawn.
  let stepped = null;

  const current = () => chosenFile(state.picture.source.files, state.address.file);

  function toggleLine(number) {
    instructions.toggle(current().path, number, number === state.address.line);
    change({ file: current().path, line: number }, "replace");
  }

  lines.list.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || event.target !== lines.list || state.address.line === 0) return;
    event.preventDefault();
    toggleLine(state.address.line);
  });

  function step(by) {
    const hot = current().lines.filter((line) => line.self > 0).map((line) => line.line);
    if (hot.length === 0) return;
    const at = stepped ?? state.address.line;
    const next = by > 0 ? hot.find((line) => line > at) ?? hot[0] : hot.findLast((line) => line < at) ?? hot[hot.length - 1];
    stepped = next;
    change({ file: current().path, line: next }, "replace");
  }

  // Whether there are other lines than before.
  function showLines(file, text) {
    const hasText = text?.text !== undefined;
    const key = [file.path, hasText, !hasText || (file.lines.length > 0 && lines.rows.size < 1) ? file.lines.map((line) => line.line).join() : ""].join("\n");
    const isNew = key !== shownText;
    if (isNew) {
      lines.rebuild(file, text, state.picture.source.nameOf);
      instructions.forget();
    }
    shownText = key;
    lines.fill(file, state.picture.sum, state.address.line);
    return isNew;
  }

  function scroll(file, isNew) {
    const { line } = state.address;
    const at = file.path + ":" + line;
    if ((at !== shownLine || isNew) && line > 0) lines.scrollTo(line);
    else if (isNew) lines.scrollTo(file.lines.reduce((best, one) => (one.self > best.self ? one : best), file.lines[0]).line);
    shownLine = at;
  }

  return {
    step: (by) => state !== null && !element.hidden && step(by),
    update(next) {
      state = next;
      stepped = null;
      element.hidden = state.address.view !== "source" || state.picture.sum === 0 || state.picture.source.files.length === 0;
      if (element.hidden) return;
      const file = current();
      files.update(state, file);
      const text = state.sources.get(file.path);
      if (text === undefined) dispatch({ type: "wantSource", path: file.path, function: file.function });
      setAttribute(title, "title", file.path);
      if (title.textContent !== visibleText(file.path)) title.replaceChildren(pathText(visibleText(file.path)));
      setText(note, noteText(text, file, state.session));
      const isNew = showLines(file, text);
      about.update(state, file);
      instructions.show(file, state);
      scroll(file, isNew);
    },
  };
}
