// The lines of one file with self and total samples, and marks of the hot ones beside them.

import { formatCount, formatShare, ratio } from "../../model/base/numbers.js";
import { escapeInvisible, shortenText } from "../../model/base/text.js";
import { hottestLines, shownLines } from "../../model/code/lines.js";
import { heatLevel } from "../../model/picture/drawing.js";
import { inJitBadge } from "../../model/picture/table.js";
import { TEXT } from "../../text/session.js";
import { el, setAttribute, setText, swatch } from "../elements/dom.js";

// A file with more lines is shown around those with samples; of a file with more lines with samples, the hottest are shown.
const LINES_MAX = { live: { whole: 4000, hot: 1000 }, report: { whole: 20000, hot: 5000 } };
const AROUND_LINES = 8;
const CODE_LENGTH_MAX = 2000;

export function lineText(text) {
  return escapeInvisible(shortenText(text.replaceAll("\t", "    "), CODE_LENGTH_MAX, CODE_LENGTH_MAX / 2, 200));
}

// A report is drawn once: it has room for more than what follows a live session.
export function linesMax(live) {
  return live ? LINES_MAX.live : LINES_MAX.report;
}

// Numbers of the lines to show, null for a gap; `source` is the text as lines, null when there is none.
function lineNumbers(file, source, isWhole, { live, address }) {
  const max = linesMax(live);
  const hot = hottestLines(file.lines, max.hot);
  const known = Array.from(new Set([...hot, ...file.functions.slice(0, max.hot)].map(({ line }) => line))).sort((a,
    b) => a - b
  );
  if (address.hotOnly) return hot.map((line) => line.line);
  if (source === null) return known;
  // Lines that a capture or a report leaves out are empty.
  const shown = isWhole
    ? shownLines(source.length, known, max.whole, AROUND_LINES)
    : shownLines(source.length, [...known, ...source.map((line, i) => (line === "" ? -1 : i + 1))], 0, 1);
  // The file may have been longer when it was run; of some samples the line is unknown.
  return [...known.filter((line) => line < 1), ...shown, ...known.filter((line) => line > source.length)];
}

// toggle(line number): a press on a line; choose(line number): one on a mark beside them.
// -> {list, minimap (elements), rows (Map of line number -> {row, self, total, code, text}), rebuild(file, text, state), fill(file, sum,
// chosen line), scrollTo(line number)}
export function createSourceLines(toggle, choose) {
  const list = el("ol", { class: "source-lines", tabindex: "0", "data-testid": "source-lines",
    "aria-label": TEXT.source.linesLabel });
  const minimap = el("div", { class: "source-map", "aria-hidden": "true", "data-testid": "source-map" });
  const rows = new Map();

  function createLine(number, text) {
    const self = el("span", { class: "line-self" });
    const total = el("span", { class: "line-total" });
    const code = el("bdi", { class: "line-code", dir: "ltr" }, lineText(text));
    const row = el("li", { class: "line", "data-line": number, on: { click: () => toggle(number) } },
      el("span", { class: "line-number" }, number > 0 ? String(number) : ""), self, total, code);
    return { row, self, total, code, text };
  }

  function fillMinimap(file, sum) {
    const count = Math.max(1, list.children.length);
    const places = new Map(Array.from(list.children, (row, i) => [Number(row.dataset.line), i / count]));
    minimap.replaceChildren(...file.lines.filter((line) => line.self > 0 && places.has(line.line)).map((line) => {
      const mark = swatch("heat-" + Math.max(2, heatLevel(line.self / sum)), {
        on: { click: () => choose(line.line) },
      });
      mark.style.top = places.get(line.line) * 100 + "%";
      return mark;
    }));
  }

  return {
    list,
    minimap,
    rows,
    // The lines as they stand in the file, or those with samples when there is no text.
    rebuild(file, text, state) {
      rows.clear();
      const source = text?.text === undefined ? null : text.text.split("\n");
      const isWhole = text?.whole !== false;
      const lineOf = new Map(file.lines.map((line) => [line.line, line]));
      const functionAt = new Map(file.functions.map((one) => [one.line, one]));
      const nameOf = (number) =>
        functionAt.get(number)?.name ?? (lineOf.has(number) ? state.picture.source.nameOf(lineOf.get(number)) : "");
      list.replaceChildren(...lineNumbers(file, source, isWhole, state).map((number) => {
        if (number === null) return el("li", { class: "line-gap" }, "⋯");
        const line = source?.[number - 1];
        rows.set(number,
          createLine(number,
            number < 1 ? TEXT.source.lineUnknown : isWhole ? line ?? nameOf(number) : line || nameOf(number)));
        return rows.get(number).row;
      }));
      setAttribute(list, "data-text", source === null ? "no" : "yes");
      // Lines out of view are not laid out: their text says how wide the longest is.
      let longest = 0;
      for (const { text: code } of rows.values()) longest = Math.max(longest, Math.min(code.length, CODE_LENGTH_MAX));
      list.style.setProperty("--columns", longest);
    },
    fill(file, { sum, amountText }, chosen) {
      const hot = new Map(file.lines.map((line) => [line.line, line]));
      for (const [number, row] of rows) {
        const line = hot.get(number);
        setText(row.self, line?.self > 0 ? formatShare(ratio(line.self, sum)) : "");
        setText(row.total, line === undefined ? "" : formatShare(ratio(line.total, sum)));
        setAttribute(row.self, "title",
          line === undefined ? null : TEXT.source.lineSamples(amountText(line.self), amountText(line.total)));
        setAttribute(row.total, "data-heat", line === undefined ? null : "h" + heatLevel(line.total / sum));
        setAttribute(row.row, "data-heat", line === undefined ? null : "h" + heatLevel(line.self / sum));
        setAttribute(row.code, "data-jit", inJitBadge(line?.inJit, line?.self));
        setAttribute(row.row, "aria-current", number === chosen ? "true" : null);
      }
      fillMinimap(file, sum);
    },
    scrollTo(number) {
      const row = rows.get(number)?.row;
      if (row !== undefined)
        list.scrollTop += row.getBoundingClientRect().top - list.getBoundingClientRect().top
          - (list.clientHeight - row.offsetHeight) / 2;
    },
  };
}
