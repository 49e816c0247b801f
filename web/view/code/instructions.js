// The bytecode of the selected line, beneath it; the places it belongs to are underlined by heat.

import { formatCount, formatShare, ratio } from "../../model/base/numbers.js";
import { shortenText, visibleText } from "../../model/base/text.js";
import { hotPieces, lineInstructions, placeInLine } from "../../model/code/instructions.js";
import { heatLevel } from "../../model/picture/drawing.js";
import { PARTS, shownParts } from "../../model/profile/parts.js";
import { TEXT } from "../../text/session.js";
import { el, setAttribute } from "../elements/dom.js";
import { lineText } from "./lines.js";

const INSTRUCTIONS_MAX = 200;
const PIECE_LENGTH_MAX = 60;

// The piece of the line that an instruction is of, as text, or its columns where there is no text.
function placeText(row, text, hasText) {
  const place = hasText ? placeInLine(text, row) : null;
  if (place !== null) return lineText(shortenText(text.slice(place.from, place.to), PIECE_LENGTH_MAX, 40, 15));
  return row.column >= 0 && row.endColumn > row.column
    ? TEXT.source.columns(formatCount(row.column + 1), formatCount(row.endColumn))
    : "";
}

// The row of an instruction: what it is, whose form it is, and the piece of the line it is of.
function instructionRow(row, text, hasText, samples) {
  const name = row.name === "" ? TEXT.source.instruction : visibleText(row.name);
  const where = placeText(row, text, hasText);
  const self = el("span", { class: "line-self",
    title: TEXT.source.lineSamples(formatCount(row.self), formatCount(row.total)) },
    row.self > 0 ? formatShare(ratio(row.self, samples)) : "");
  const total = el("span", { class: "line-total", "data-heat": "h" + heatLevel(ratio(row.total, samples)) },
    formatShare(ratio(row.total, samples)));
  const code = el("span", { class: "line-code" }, el("strong", {}, name), row.base !== row.name && row.base !== ""
    ? el("span", { class: "soft" }, TEXT.source.specialized(visibleText(row.base)))
    : "", where === "" ? "" : el("bdi", { class: "soft instruction-place", dir: "ltr" }, where));
  return el("li", { class: "line instruction", "data-heat": "h" + heatLevel(ratio(row.self, samples)) },
    el("span", { class: "line-number" }), self, total, code);
}

// Why a line has none, or null.
function noInstructions(answer, found, session) {
  if (answer === undefined) return TEXT.source.bytecodeReading;
  if (found.length > 0) return null;
  if (answer.error) return TEXT.source.bytecodeProblem(visibleText(answer.error));
  if ((answer.line?.length ?? 0) > 0) return TEXT.source.bytecodeNotHere;
  return session?.settings?.opcodes === true ? TEXT.source.bytecodeNowhere : TEXT.source.bytecodeOff;
}

function instructionsNote(answer, found, { address, session, live }) {
  const { threads, filters, range, states } = address;
  const isPart = shownParts({ address, session }).length < PARTS.length;
  const parts = [TEXT.source.instructions(formatCount(found.length))];
  if (found.length > INSTRUCTIONS_MAX) parts.push(TEXT.source.mostSamples(INSTRUCTIONS_MAX));
  if (answer.omitted > 0) parts.push(TEXT.source.fewestLeftOut);
  if (isPart || threads.length + states.length + filters.length > 0) parts.push(TEXT.source.ofAll);
  if (range !== null && !live) parts.push(TEXT.source.ofAllTime);
  return parts.join(", ");
}

function hotLine(text, found, samples) {
  return hotPieces(text, found).map((
    piece,
  ) => (piece.samples === 0
    ? lineText(piece.text)
    : el("span", { class: "hot-piece", "data-heat": "h" + Math.max(1, heatLevel(ratio(piece.samples, samples))) },
      lineText(piece.text)))
  );
}

// lines: of source-lines.js. -> {toggle(path, line number, is chosen), show(file, state), forget()}, the last after a rebuild
export function createInstructionRows(lines) {
  let open = null;
  let openedFor = "";
  let closed = "";

  function close() {
    if (open === null) return;
    const made = lines.rows.get(open.number);
    open.element.remove();
    if (made !== undefined) made.row.lastChild.replaceChildren(lineText(made.text));
    setAttribute(made?.row ?? lines.list, "data-open", null);
    open = null;
  }

  function openLine(number, answer, state) {
    const made = lines.rows.get(number);
    const hasText = lines.list.dataset.text === "yes";
    const found = answer === undefined || answer.line === undefined ? [] : lineInstructions(answer, number);
    const rows = found.slice(0, INSTRUCTIONS_MAX).map((row) => instructionRow(row, made.text, hasText, answer.samples));
    const note = noInstructions(answer, found, state.session) ?? instructionsNote(answer, found, state);
    const element = el("li", { class: "line-open", "data-testid": "source-instructions" },
      el("ul", { class: "instructions", "aria-label": TEXT.source.bytecode(number) }, ...rows),
      el("p", { class: "soft" }, note));
    made.row.after(element);
    setAttribute(made.row, "data-open", "yes");
    if (hasText && found.length > 0) made.row.lastChild.replaceChildren(...hotLine(made.text, found, answer.samples));
    open = { number, element, answer };
  }

  return {
    // A second press on the chosen line hides its instructions, a third shows them again.
    toggle(path, number, isChosen) {
      const here = path + ":" + number;
      closed = isChosen && closed !== here ? here : "";
    },
    show(file, state) {
      const { line, threads, filters, range, states } = state.address;
      const answer = state.instructions.get(file.path);
      const isOpen = lines.rows.has(line) && closed !== file.path + ":" + line
        && file.lines.some((one) => one.line === line);
      const wanted = isOpen ? [file.path, line, threads, states, shownParts(state), filters, range].join("\n") : "";
      if (wanted === openedFor && (open === null || open.answer === answer)) return;
      openedFor = wanted;
      close();
      if (isOpen) openLine(line, answer, state);
    },
    forget() {
      open = null;
      openedFor = "";
    },
  };
}
