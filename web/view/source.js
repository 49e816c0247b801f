// Files by heat, and one file's lines: what each did itself, what it was on the stack for, and where to go from there.

import { heatLevel } from "../model/picture.js";
import { shownLines } from "../model/lines.js";
import { formatCount, formatShare, ratio } from "../model/numbers.js";
import { escapeInvisible, shortenText, visibleText } from "../model/text.js";
import { el, isolated, pathText, setAttribute, setText } from "./dom.js";

const FILES_MAX = 300;
const WHOLE_FILE_LINES_MAX = 4000;
const AROUND_LINES = 8;
// What a report keeps of a long file: server/report/embedded.h.
const EMBEDDED_AROUND_LINES = 6;
const NEIGHBOURS_MAX = 12;
const CODE_LENGTH_MAX = 2000;

function lineText(text) {
  return escapeInvisible(shortenText(text.replaceAll("\t", "    "), CODE_LENGTH_MAX, CODE_LENGTH_MAX / 2, 200));
}

export function createSource(root, dispatch) {
  const files = el("ol", { class: "source-files", "data-testid": "source-files" });
  const title = el("h2", { "data-testid": "source-path" });
  const note = el("p", { class: "soft", "data-testid": "source-note" });
  const lines = el("ol", { class: "source-lines", tabindex: "0", "data-testid": "source-lines", "aria-label": "Lines of the file. N goes to the next line with samples, Shift+N to the one before." });
  const minimap = el("div", { class: "source-map", "aria-hidden": "true", "data-testid": "source-map" });
  const about = el("div", { class: "source-about", "data-testid": "source-about" });
  const element = el("div", { class: "source" }, el("nav", { class: "source-side", "aria-label": "Files by own samples" }, files),
    el("div", { class: "source-main" }, el("div", { class: "source-head" }, title, note), el("div", { class: "line-head", "aria-hidden": "true" }, ...["line", "own", "total"].map((text) => el("span", {}, text)), el("span", { class: "line-code" }, "source")), el("div", { class: "source-text" }, lines, minimap), about));
  root.append(element);
  let state = null;
  let rows = new Map();
  let shownFiles = "";
  let shownText = null;
  let shownLine = "";

  const change = (changes, how = "push") => dispatch({ type: "address", changes, how });
  const current = () => state.picture.source.files.find((file) => file.path === state.address.file) ?? state.picture.source.files[0];

  function fileRow(file, sum, chosen) {
    const fill = el("i", {});
    fill.style.width = 100 * (ratio(file.self, state.picture.source.files[0].self) || 0) + "%";
    return el("li", {}, el("button", { type: "button", class: "source-file", "aria-current": chosen ? "true" : null, title: file.path, on: { click: () => change({ file: file.path, line: 0 }) } },
      isolated(visibleText(state.picture.source.names.get(file.path)), { class: "hottest-name" }), el("span", { class: "share" }, formatShare(ratio(file.self, sum))), el("span", { class: "bar", "aria-hidden": "true" }, fill)));
  }

  function createLine(number, text) {
    const own = el("span", { class: "line-own" });
    const total = el("span", { class: "line-total" });
    const row = el("li", { class: "line", "data-line": number, on: { click: () => change({ file: current().path, line: number }, "replace") } },
      el("span", { class: "line-number" }, String(number)), own, total, el("bdi", { class: "line-code", dir: "ltr" }, text));
    return { row, own, total };
  }

  // The lines as they stand in the file, or those with samples when there is no text.
  function rebuild(file, text) {
    rows = new Map();
    const source = text?.text === undefined ? null : text.text.split("\n");
    const most = text?.whole === false ? 0 : WHOLE_FILE_LINES_MAX;
    const numbers = source === null ? file.lines.map((line) => line.line) : shownLines(source.length, file.lines, most, text?.whole === false ? EMBEDDED_AROUND_LINES : AROUND_LINES);
    lines.replaceChildren(...numbers.map((number) => {
      if (number === null) return el("li", { class: "line-gap" }, "⋯");
      const code = source === null ? state.picture.source.nameOf(file.lines.find((line) => line.line === number)) : lineText(source[number - 1] ?? "");
      const made = createLine(number, code);
      rows.set(number, made);
      return made.row;
    }));
    setAttribute(lines, "data-text", source === null ? "no" : "yes");
  }

  function fillLines(file) {
    const sum = state.picture.sum;
    const hot = new Map(file.lines.map((line) => [line.line, line]));
    for (const [number, row] of rows) {
      const line = hot.get(number);
      setText(row.own, line?.self > 0 ? formatShare(ratio(line.self, sum)) : "");
      setText(row.total, line === undefined ? "" : formatShare(ratio(line.total, sum)));
      setAttribute(row.own, "title", line === undefined ? null : formatCount(line.self) + " samples of its own, " + formatCount(line.total) + " in all");
      setAttribute(row.total, "data-heat", line === undefined ? null : "h" + heatLevel(line.total / sum));
      setAttribute(row.row, "data-look", line === undefined ? null : "h" + heatLevel(line.self / sum));
      setAttribute(row.row, "aria-current", number === state.address.line ? "true" : null);
    }
    fillMinimap(file);
  }

  function fillMinimap(file) {
    const count = Math.max(1, lines.children.length);
    const places = new Map(Array.from(lines.children, (row, i) => [Number(row.dataset.line), i / count]));
    minimap.replaceChildren(...file.lines.filter((line) => line.self > 0 && places.has(line.line)).map((line) => {
      const mark = el("i", { "data-look": "h" + Math.max(2, heatLevel(line.self / state.picture.sum)), class: "swatch", on: { click: () => change({ file: file.path, line: line.line }, "replace") } });
      mark.style.top = places.get(line.line) * 100 + "%";
      return mark;
    }));
  }

  function neighbour({ frame, samples }) {
    const { label, key } = state.picture.source.describe(frame);
    const go = label.synthetic ? { view: "sandwich", about: key } : { file: label.file, line: label.line };
    return el("li", {}, el("button", { type: "button", class: "link", on: { click: () => change(go) } }, isolated(label.synthetic ? label.name : label.label)), " ", el("span", { class: "soft" }, formatShare(ratio(samples, state.picture.sum))));
  }

  function showNeighbours(file) {
    const line = file.lines.find((one) => one.line === state.address.line);
    about.hidden = line === undefined;
    if (line === undefined) return;
    const { callers, callees } = state.picture.source.neighbours(line);
    const list = (name, edges, none) => el("section", {}, el("h3", {}, name), edges.length === 0 ? el("p", { class: "soft" }, none) : el("ul", {}, ...edges.slice(0, NEIGHBOURS_MAX).map(neighbour)));
    about.replaceChildren(
      el("p", {}, "Line " + line.line + ": ", el("strong", {}, formatShare(ratio(line.self, state.picture.sum))), " own, ", el("strong", {}, formatShare(ratio(line.total, state.picture.sum))), " total, " + formatCount(line.total) + " samples"),
      list("Called from", callers, "nobody: this is where stacks begin"), list("Calls", callees, "nothing that was seen"));
  }

  function scrollTo(number) {
    const row = rows.get(number)?.row;
    if (row !== undefined) lines.scrollTop += row.getBoundingClientRect().top - lines.getBoundingClientRect().top - (lines.clientHeight - row.offsetHeight) / 2;
  }

  // A second press may come before the first one is drawn.
  let stepped = null;

  function step(by) {
    const hot = current().lines.filter((line) => line.self > 0).map((line) => line.line);
    if (hot.length === 0) return;
    const at = stepped ?? state.address.line;
    const next = by > 0 ? hot.find((line) => line > at) ?? hot[0] : hot.findLast((line) => line < at) ?? hot[hot.length - 1];
    stepped = next;
    change({ file: current().path, line: next }, "replace");
  }

  function noteText(text) {
    if (text === undefined || text.loading) return "Reading the source…";
    if (text.error !== undefined) return "No source text: " + visibleText(text.error) + " Lines are shown by the functions they are in.";
    return (text.changed ? "The file was changed after recording began: lines may have moved. " : "") + "Own: samples in the line itself or in C code that it called. N: next line with samples.";
  }

  return {
    step: (by) => state !== null && !element.hidden && step(by),
    update(next) {
      state = next;
      stepped = null;
      element.hidden = state.address.view !== "source" || state.picture.sum === 0 || state.picture.source.files.length === 0;
      if (element.hidden) return;
      const { source, sum } = state.picture;
      const file = current();
      const signature = file.path + "\n" + source.files.slice(0, FILES_MAX).map((one) => one.path + one.self).join("\n");
      if (signature !== shownFiles && !files.contains(document.activeElement)) files.replaceChildren(...source.files.slice(0, FILES_MAX).map((one) => fileRow(one, sum, one === file)));
      else for (const row of files.querySelectorAll(".source-file")) setAttribute(row, "aria-current", row.title === file.path ? "true" : null);
      shownFiles = signature;
      const text = state.sources.get(file.path);
      if (text === undefined) dispatch({ type: "wantSource", path: file.path, function: file.function });
      setAttribute(title, "title", file.path);
      if (title.textContent !== visibleText(file.path)) title.replaceChildren(pathText(visibleText(file.path)));
      setText(note, noteText(text));
      const key = [file.path, text?.text !== undefined, text?.text === undefined || file.lines.length > 0 && rows.size < 1 ? file.lines.map((line) => line.line).join() : ""].join("\n");
      const isNew = key !== shownText;
      if (isNew) rebuild(file, text);
      shownText = key;
      fillLines(file);
      showNeighbours(file);
      const at = file.path + ":" + state.address.line;
      if (at !== shownLine || isNew) {
        if (state.address.line > 0) scrollTo(state.address.line);
        else if (isNew) scrollTo(file.lines.reduce((best, line) => (line.self > best.self ? line : best), file.lines[0]).line);
      }
      shownLine = at;
    },
  };
}
