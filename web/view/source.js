// Files by heat, and one file's lines: what each did itself, what it was on the stack for, and where to go from there.

import { heatLevel } from "../model/picture.js";
import { hotPieces, lineInstructions, placeInLine } from "../model/instructions.js";
import { chosenFile, hottestLines, shownLines } from "../model/lines.js";
import { formatCount, formatShare, ratio } from "../model/numbers.js";
import { escapeInvisible, shortenText, visibleText } from "../model/text.js";
import { el, isolated, pathText, setAttribute, setText } from "./dom.js";

const FILES_MAX = 300;
const WHOLE_FILE_LINES_MAX = 4000;
const AROUND_LINES = 8;
// Of a file with more lines with samples, these are shown.
const HOT_LINES_MAX = 1000;
// What a report keeps of a long file: server/report/embedded.h.
const EMBEDDED_AROUND_LINES = 6;
const NEIGHBOURS_MAX = 12;
const CODE_LENGTH_MAX = 2000;
const INSTRUCTIONS_MAX = 200;
const PIECE_LENGTH_MAX = 60;

function lineText(text) {
  return escapeInvisible(shortenText(text.replaceAll("\t", "    "), CODE_LENGTH_MAX, CODE_LENGTH_MAX / 2, 200));
}

export function createSource(root, dispatch) {
  const files = el("ol", { class: "source-files", "data-testid": "source-files" });
  const title = el("h2", { "data-testid": "source-path" });
  const note = el("p", { class: "soft", "data-testid": "source-note" });
  const lines = el("ol", { class: "source-lines", tabindex: "0", "data-testid": "source-lines", "aria-label": "Lines of the file. N goes to the next line with samples, Shift+N to the one before, Enter shows the instructions of the chosen line." });
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
  let shownCode = [];
  let openRow = null;
  let openedFor = "";
  let closed = "";

  const change = (changes, how = "push") => dispatch({ type: "address", changes, how });
  const current = () => chosenFile(state.picture.source.files, state.address.file);

  // A second press on the chosen line hides its instructions, a third shows them again.
  function toggleLine(number) {
    const here = current().path + ":" + number;
    if (number === state.address.line) closed = closed === here ? "" : here;
    else closed = "";
    change({ file: current().path, line: number }, "replace");
  }

  function fileRow(file, sum, chosen) {
    const fill = el("i", {});
    fill.style.width = 100 * (ratio(file.self, state.picture.source.files[0].self) || 0) + "%";
    return el("li", {}, el("button", { type: "button", class: "source-file", "aria-current": chosen ? "true" : null, title: file.path, on: { click: () => change({ file: file.path, line: 0 }) } },
      isolated(visibleText(state.picture.source.names.get(file.path)), { class: "hottest-name" }), el("span", { class: "share" }, formatShare(ratio(file.self, sum))), el("span", { class: "bar", "aria-hidden": "true" }, fill)));
  }

  function createLine(number, text) {
    const own = el("span", { class: "line-own" });
    const total = el("span", { class: "line-total" });
    const row = el("li", { class: "line", "data-line": number, on: { click: () => toggleLine(number) } },
      el("span", { class: "line-number" }, String(number)), own, total, el("bdi", { class: "line-code", dir: "ltr" }, lineText(text)));
    return { row, own, total, text };
  }

  // The lines as they stand in the file, or those with samples when there is no text.
  function rebuild(file, text) {
    rows = new Map();
    openRow = null;
    openedFor = "";
    const source = text?.text === undefined ? null : text.text.split("\n");
    const most = text?.whole === false ? 0 : WHOLE_FILE_LINES_MAX;
    const hot = hottestLines(file.lines, HOT_LINES_MAX);
    const around = text?.whole === false ? EMBEDDED_AROUND_LINES : AROUND_LINES;
    // The file may have been longer when it was run.
    const numbers = source === null ? hot.map((line) => line.line) : [...shownLines(source.length, hot, most, around), ...hot.map((line) => line.line).filter((line) => line > source.length)];
    lines.replaceChildren(...numbers.map((number) => {
      if (number === null) return el("li", { class: "line-gap" }, "⋯");
      const code = source === null || number > source.length ? state.picture.source.nameOf(file.lines.find((line) => line.line === number)) : source[number - 1] ?? "";
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

  // What an instruction is, whose form it is, and the piece of the line it is of.
  function instructionRow(row, text, hasText, samples) {
    const name = row.name === "" ? "instruction not known" : visibleText(row.name);
    const place = hasText ? placeInLine(text, row) : null;
    const where = place === null ? (row.column >= 0 ? "columns " + formatCount(row.column + 1) + " to " + formatCount(row.endColumn) : "") : lineText(shortenText(text.slice(place.from, place.to), PIECE_LENGTH_MAX, 40, 15));
    const item = el("li", { class: "line instruction" }, el("span", { class: "line-number" }), el("span", { class: "line-own" }, row.self > 0 ? formatShare(ratio(row.self, samples)) : ""), el("span", { class: "line-total" }, formatShare(ratio(row.total, samples))),
      el("span", { class: "line-code" }, el("strong", {}, name), row.base !== row.name && row.base !== "" ? el("span", { class: "soft" }, " a form of " + visibleText(row.base)) : "", where === "" ? "" : el("bdi", { class: "soft instruction-place", dir: "ltr" }, where)));
    setAttribute(item, "data-look", "h" + heatLevel(ratio(row.self, samples)));
    setAttribute(item.children[2], "data-heat", "h" + heatLevel(ratio(row.total, samples)));
    setAttribute(item.children[1], "title", formatCount(row.self) + " samples of its own, " + formatCount(row.total) + " in all");
    return item;
  }

  // Why a line has none, or null.
  function noInstructions(answer, found) {
    if (answer === undefined) return "Reading the instructions…";
    if (found.length > 0) return null;
    if (answer.error) return "No instructions: " + visibleText(answer.error);
    if ((answer.line?.length ?? 0) > 0) return "No instruction of this line was seen.";
    return state.session?.settings?.opcodes === true ? "No instructions were seen in this file." : "Instructions are recorded with --opcodes (“Bytecode” where a profile is started).";
  }

  function instructionsNote(answer, found) {
    const { threads, states, filters, range } = state.address;
    const parts = [formatCount(found.length) + (found.length === 1 ? " instruction" : " instructions")];
    if (found.length > INSTRUCTIONS_MAX) parts.push("the " + INSTRUCTIONS_MAX + " with most samples are shown");
    if (answer.left_out > 0) parts.push("those of the file with the fewest samples are not here");
    if (threads.length + states.length + filters.length > 0) parts.push("of all threads, states and frames");
    if (range !== null && !state.live) parts.push("of all the time");
    return parts.join(", ");
  }

  function closeRow() {
    if (openRow === null) return;
    const made = rows.get(openRow.number);
    openRow.element.remove();
    if (made !== undefined) made.row.lastChild.replaceChildren(lineText(made.text));
    setAttribute(made?.row ?? lines, "data-open", null);
    openRow = null;
  }

  // Beneath the chosen line stand its instructions; underlined in it is what they are of, by heat.
  function showInstructions(file) {
    const { line } = state.address;
    const made = rows.get(line);
    const answer = state.instructions.get(file.path);
    const isOpen = made !== undefined && closed !== file.path + ":" + line && file.lines.some((one) => one.line === line);
    const wanted = isOpen ? [file.path, line, state.address.threads, state.address.states, state.address.filters, state.address.range].join("\n") : "";
    if (wanted === openedFor && (openRow === null || openRow.answer === answer)) return;
    openedFor = wanted;
    closeRow();
    if (!isOpen) return;
    const hasText = lines.dataset.text === "yes";
    const found = answer === undefined || answer.line === undefined ? [] : lineInstructions(answer, line);
    const why = noInstructions(answer, found);
    const list = el("ul", { class: "instructions", "aria-label": "Instructions of line " + line }, ...found.slice(0, INSTRUCTIONS_MAX).map((row) => instructionRow(row, made.text, hasText, answer.samples)));
    const element = el("li", { class: "line-open", "data-testid": "source-instructions" }, list, el("p", { class: "soft" }, why ?? instructionsNote(answer, found)));
    made.row.after(element);
    setAttribute(made.row, "data-open", "yes");
    if (hasText && found.length > 0) made.row.lastChild.replaceChildren(...hotPieces(made.text, found).map(({ text, samples }) => (samples === 0 ? lineText(text) : el("span", { class: "hot-piece", "data-heat": "h" + Math.max(1, heatLevel(ratio(samples, answer.samples))) }, lineText(text)))));
    openRow = { number: line, element, answer };
  }

  lines.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || event.target !== lines || state.address.line === 0) return;
    event.preventDefault();
    toggleLine(state.address.line);
  });

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

  function noteText(text, file) {
    return plainNote(text) + (file.lines.length > HOT_LINES_MAX ? " Of " + formatCount(file.lines.length) + " lines with samples the " + formatCount(HOT_LINES_MAX) + " hottest are shown." : "");
  }

  function plainNote(text) {
    if (text === undefined || text.loading) return "Reading the source…";
    if (text.error !== undefined) return "No source text: " + visibleText(text.error) + " Lines are shown by the functions they are in.";
    return (text.changed ? "The file was changed after recording began: lines may have moved. " : "") + "Own: samples in the line itself or in C code that it called. Press a line for its instructions. N: next line with samples.";
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
      setText(note, noteText(text, file));
      const key = [file.path, text?.text !== undefined, text?.text === undefined || file.lines.length > 0 && rows.size < 1 ? file.lines.map((line) => line.line).join() : ""].join("\n");
      const isNew = key !== shownText;
      if (isNew) rebuild(file, text);
      shownText = key;
      fillLines(file);
      showNeighbours(file);
      showInstructions(file);
      const at = file.path + ":" + state.address.line;
      if (at !== shownLine || isNew) {
        if (state.address.line > 0) scrollTo(state.address.line);
        else if (isNew) scrollTo(file.lines.reduce((best, line) => (line.self > best.self ? line : best), file.lines[0]).line);
      }
      shownLine = at;
    },
  };
}
