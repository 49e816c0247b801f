// GIL contention: holders and waiting threads as a table, the functions that held the GIL as a list and as a flame graph.

import { formatCount, formatDuration, formatShare, ratio } from "../../model/base/numbers.js";
import { heatLevel } from "../../model/picture/drawing.js";
import { threadKeyOf, threadPlace } from "../../model/threads/threads.js";
import { TEXT } from "../../text/session.js";
import { el, isInUse, isolated, placeNear, setAttribute, setText } from "../elements/dom.js";
import { listenForFrameKeys } from "../flame/chart-keys.js";
import { awaitsWidth, createChart, watchWidth } from "../flame/chart.js";

// A cell glows by its share of the hottest one of two threads, which is as hot as can be.
const HOTTEST_CELL_SHARE = 0.45;

// Threads that held it as rows, threads that waited as columns, and the functions that held it:
// {element, draw(gil), isDrawn(gil)}; view: {secondsOf(samples), threads(), change(changes of the address)}.
function createGilTables({ secondsOf, threads, change }) {
  const matrix = el("table", { class: "gil-matrix", "data-testid": "gil-matrix" });
  const list = el("ol", { class: "gil-list", "data-testid": "gil-list" });
  const element = el("div", { class: "gil-parts" },
    el("section", {}, el("h3", {}, TEXT.gil.matrix),
      el("div", { class: "gil-scroll", tabindex: "0", role: "region", "aria-label": TEXT.gil.matrixLabel }, matrix)),
    el("section", {}, el("h3", {}, TEXT.gil.list), list));
  let drawn = null;

  function sideName({ thread, count }) {
    if (thread === null) return el("span", { class: "soft" }, TEXT.gil.others(count > 1 ? formatCount(count) : ""));
    const choose = () => change({ threads: [threadKeyOf(thread)] });
    return el("button", { type: "button", class: "row-name", title: TEXT.threads.heads.tid + " " + thread.tid,
      "data-hint": TEXT.gil.onlyThread, on: { click: choose } }, isolated(threadPlace(thread, threads())));
  }

  function cell(samples, hottest, waited) {
    const level = samples > 0 ? Math.max(1, heatLevel((samples / hottest) * HOTTEST_CELL_SHARE)) : 0;
    return el("td", { class: "number", "data-heat": "h" + level,
      title: TEXT.gil.cell(formatShare(ratio(samples, waited)), formatCount(Math.round(samples))) },
      samples > 0 ? secondsOf(samples) : "");
  }

  function drawMatrix({ holders, waiters, cells, hottest }, waited) {
    const head = el("tr", {}, el("td", {}), ...waiters.map((side) => el("th", { scope: "col" }, sideName(side))),
      el("th", { scope: "col" }, TEXT.gil.all));
    const rows = holders.map((side, i) =>
      el("tr", {}, el("th", { scope: "row" }, sideName(side)), ...cells[i].map((samples) =>
        cell(samples, hottest, waited)
      ),
        el("td", { class: "number" }, secondsOf(side.samples), " ",
          el("small", {}, formatShare(ratio(side.samples, waited)))))
    );
    matrix.replaceChildren(el("thead", {}, head), el("tbody", {}, ...rows));
  }

  function listRow(row, { hottest, caused }) {
    const fill = el("i", {});
    fill.style.width = (100 * row.self) / hottest[0].self + "%";
    return el("li", {},
      el("button", { type: "button", class: "hottest", title: row.label.place,
        on: { click: () => change({ view: "sandwich", about: row.key }) } },
        isolated(row.label.name, { class: "hottest-name" }),
        el("span", { class: "share" }, secondsOf(row.self) + "  ·  " + formatShare(ratio(row.self, caused))),
        el("span", { class: "bar", "aria-hidden": "true" }, fill)));
  }

  return {
    element,
    isDrawn: (gil) => drawn === gil,
    draw(gil) {
      if (drawn === gil) return;
      drawMatrix(gil.matrix, gil.waited);
      list.replaceChildren(...gil.hottest.map((row) => listRow(row, gil)));
      drawn = gil;
    },
  };
}

// Stacks that held it: {element, holder, draw(drawing, width, label), hideTip()}; view: {textOf(frame), numbersOf(frame), open(frame)}.
function createGilFlame(root, { textOf, numbersOf, open }) {
  const holder = el("div", { class: "flame-chart" });
  const element = el("div", { class: "flame diff-plot", "data-testid": "gil-flame" }, holder);
  const tip = el("div", { class: "tip", hidden: true });
  const keys = listenForFrameKeys(element, { name: "frame-gil", textOf, onEnter: open });
  let chart = null;
  root.append(tip);

  element.addEventListener("pointermove", (event) => {
    const under = chart?.frameAt(event.target) ?? null;
    tip.hidden = under === null || event.pointerType === "touch";
    if (tip.hidden) return;
    const frame = chart.dataOf(under);
    tip.replaceChildren(el("bdi", { class: "tip-name" }, frame.label),
      el("span", { class: "tip-numbers" }, numbersOf(frame)));
    placeNear(tip, { x: event.clientX, y: event.clientY });
  });
  element.addEventListener("pointerleave", () => {
    tip.hidden = true;
  });
  return {
    element,
    holder,
    hideTip() {
      tip.hidden = true;
    },
    draw(drawing, width, label) {
      chart ??= createChart(holder, open);
      chart.draw(drawing, width, "heat");
      keys.show(chart, drawing);
      setAttribute(element, "aria-label", label);
    },
  };
}

export function createGil(root, dispatch) {
  const change = (changes) => dispatch({ type: "address", changes, how: "push" });
  const secondsOf = (samples) => formatDuration(samples * state.picture.secondsPerSample);
  const shareOf = (frame) => formatShare(ratio(frame.total, state.picture.gil.caused));
  const summary = el("p", { class: "gil-summary", "data-testid": "gil-summary" });
  const note = el("p", { class: "soft" });
  const title = el("h3", {}, TEXT.gil.stacks);
  const none = el("p", { class: "empty", "data-testid": "gil-none" });
  const tables = createGilTables({ secondsOf, threads: () => state.picture.threads, change });
  const flame = createGilFlame(root, {
    textOf: (frame) => frame.label + ", " + TEXT.gil.othersWaited(secondsOf(frame.total)) + ", " + shareOf(frame),
    numbersOf: (frame) => TEXT.gil.othersWaited(secondsOf(frame.total)) + "  ·  " + shareOf(frame),
    open,
  });
  const element = el("div", { class: "gil", "data-testid": "gil", tabindex: "0", role: "region",
    "aria-label": TEXT.gil.label }, summary, note, tables.element, title, flame.element, none);
  root.append(element);
  let state = null;
  let shown = { gil: null, width: 0, question: "" };

  function open(frame) {
    const key = state.picture.gil.keyOf(frame.remainder ? frame.of : frame.id);
    if (key !== "") change({ view: "sandwich", about: key });
  }

  function showSummary({ waited, unattributed }) {
    const { samples } = state.picture.sums;
    summary.replaceChildren(TEXT.gil.waited, el("strong", {}, secondsOf(waited)), TEXT.gil.forGil,
      el("strong", {}, formatShare(ratio(waited, samples))),
      TEXT.gil.ofSamples(formatCount(samples), state.address.threads.length > 0));
    setText(note, TEXT.gil.how(TEXT.gil.moment) + (isInUse(tables.element) ? TEXT.gil.still : "")
      + (unattributed > 0 ? TEXT.gil.unattributed(formatShare(ratio(unattributed, waited))) : ""));
  }

  tables.element.addEventListener("pointerleave", () => {
    if (!element.hidden && state.picture.gil.reason === null) tables.draw(state.picture.gil);
  });
  watchWidth(element, flame.holder, dispatch,
    (width) => state !== null && width !== state.width && state.address.view === "gil");

  return {
    update(next) {
      state = next;
      element.hidden = state.address.view !== "gil" || state.picture.empty !== null;
      if (element.hidden) return flame.hideTip();
      const { gil } = state.picture;
      for (const part of [note, summary]) part.hidden = gil.reason !== null;
      for (const part of [tables.element, title, flame.element]) part.hidden = gil.reason !== null || gil.caused === 0;
      none.hidden = gil.reason === null;
      setText(none, gil.reason ?? "");
      if (gil.reason !== null || (shown.gil === gil && tables.isDrawn(gil) && shown.width === state.width))
        return undefined;
      showSummary(gil);
      // Whoever is about to press finds it where it was.
      const question = JSON.stringify(state.address);
      if (question !== shown.question || !isInUse(tables.element)) tables.draw(gil);
      shown.question = question;
      if (awaitsWidth(state, () => flame.holder.clientWidth, dispatch)) return undefined;
      if (gil.drawing !== null) flame.draw(gil.drawing, state.width, TEXT.gil.stacksLabel(secondsOf(gil.caused)));
      shown = { gil, width: state.width, question };
      return undefined;
    },
  };
}
