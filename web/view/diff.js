// Two ranges of time: what became more, less, new, gone, as a flame graph and as a table, with what may be chance left grey.

import { formatCount, formatShare, isKnown } from "../model/numbers.js";
import { rangeText, timelineSpan } from "../model/timeline.js";
import { createChart, watchWidth } from "./chart.js";
import { el, isolated, placeNear, setAttribute, setText } from "./dom.js";

const ROWS_MAX = 200;
export const VERDICTS = { same: "no more than chance", few: "too few samples to say", more: "more", less: "less", new: "new", gone: "gone" };

function changeText(change) {
  return (change > 0 ? "+" : change < 0 ? "−" : "") + formatShare(Math.abs(change)).replace(" %", " pp");
}

export function createDiff(root, dispatch) {
  let state = null;
  let chart = null;
  let shownDrawing = null;
  let shownWidth = 0;
  let shownRows = null;
  const holder = el("div", { class: "flame-chart" });
  const tip = el("div", { class: "tip", hidden: true });
  const baseText = el("strong", { "data-testid": "diff-base" });
  const nowText = el("strong", { "data-testid": "diff-now" });
  const change = (changes) => dispatch({ type: "address", changes, how: "push" });
  const asBase = el("button", { type: "button", "data-testid": "diff-set-base", "data-hint": "What is chosen on the strip becomes what is compared with", on: { click: () => change({ base: state.address.range, range: null }) } }, "Use this range as the base");
  const swap = el("button", { type: "button", "data-testid": "diff-swap", on: { click: () => change({ base: state.address.range ?? whole(), range: state.address.base }) } }, "Swap");
  const head = el("div", { class: "diff-head" }, el("span", {}, "Base ", baseText), el("span", { "aria-hidden": "true" }, "→"), el("span", {}, "now ", nowText), asBase, swap);
  const halves = el("button", { type: "button", hidden: true, "data-testid": "diff-halves", on: { click: compareHalves } }, "Compare the second half with the first");
  const none = el("div", { class: "empty" }, el("p", {}, "Choose two ranges of time: drag one on the strip, make it the base, and drag another."), el("p", { class: "ways" }, halves));
  const legend = el("p", { class: "diff-legend soft" }, ...[["less-3", "less"], ["", "no more than chance"], ["more-3", "more"]].map(([look, text]) => el("span", { class: "scale" }, el("i", { class: "swatch", "data-look": look }), text)), "frames are as wide as both together");
  const body = el("tbody", {});
  const caption = el("caption", {});
  const heads = ["Own, change", "Base", "Now", "Total, change", "Verdict", "q", "Function"].map((text) => el("th", { scope: "col" }, text));
  const table = el("table", { class: "diff-table", "data-testid": "diff-table" }, caption, el("thead", {}, el("tr", {}, ...heads)), body);
  const plot = el("div", { class: "diff-plot flame", role: "img", "data-testid": "diff-flame" }, holder);
  const both = el("div", { class: "diff-both", tabindex: "0", role: "region", "aria-label": "Comparison" }, plot, legend, table);
  const element = el("div", { class: "diff", "data-testid": "diff" }, head, none, both);
  root.append(element, tip);

  function whole() {
    const { from, to } = timelineSpan(state.timeline, null);
    return { from, to };
  }

  function compareHalves() {
    const { from, to } = whole();
    const step = state.timeline.width || 1;
    const middle = Math.max(from + step, Math.round((from + to) / 2 / step) * step);
    change({ base: { from, to: middle }, range: { from: middle, to: Math.max(to, middle + step) } });
  }

  plot.addEventListener("pointermove", (event) => {
    const under = chart?.frameAt(event.target) ?? null;
    const frame = under === null ? null : chart.dataOf(under);
    tip.hidden = frame === null || frame.remainder !== undefined || event.pointerType === "touch";
    if (tip.hidden) return;
    const { base, now } = frame;
    const said = frame.verdict === undefined ? "" : "  ·  " + VERDICTS[frame.verdict];
    tip.replaceChildren(el("bdi", { class: "tip-name" }, frame.label),
      el("span", { class: "tip-numbers" }, isKnown(base) ? formatShare(base) + " → " + formatShare(now) + "  ·  " + changeText(now - base) + said : ""));
    placeNear(tip, { x: event.clientX, y: event.clientY });
  });
  plot.addEventListener("pointerleave", () => {
    tip.hidden = true;
  });
  watchWidth(holder, holder, dispatch, (width) => state !== null && width !== state.width && state.address.view === "diff");

  function rowOf(row) {
    const { base, now, verdict } = row;
    const cell = (text) => el("td", { class: "number" }, text);
    return el("tr", { "data-verdict": verdict }, cell(changeText(row.change)), cell(formatShare(base)), cell(formatShare(now)), cell(changeText(row.totalChange)),
      el("td", {}, VERDICTS[verdict]), cell(row.q === null ? "" : row.q < 0.001 ? "< 0.001" : row.q.toFixed(3)),
      el("th", { scope: "row" }, el("button", { type: "button", class: "row-name", on: { click: () => change({ view: "sandwich", about: row.key }) } }, isolated(row.label.name)), " ", isolated(row.label.place, { class: "place" })));
  }

  return {
    update(next) {
      state = next;
      element.hidden = state.address.view !== "diff" || state.picture.empty !== null;
      if (element.hidden) {
        tip.hidden = true;
        return;
      }
      const { diff } = state.picture;
      const { base, range } = state.address;
      head.hidden = base === null && range === null;
      setText(baseText, base === null ? "not chosen" : rangeText(base));
      setText(nowText, range === null ? "all of the session" : rangeText(range));
      asBase.hidden = range === null;
      swap.hidden = base === null;
      none.hidden = diff !== null;
      halves.hidden = !state.hasTimes || state.timeline.slots.length === 0;
      both.hidden = diff === null;
      if (diff === null) return;
      const width = Math.floor(holder.clientWidth);
      if (width > 0 && width !== state.width) return void dispatch({ type: "width", width });
      if (diff.drawing !== null && (diff.drawing !== shownDrawing || state.width !== shownWidth)) {
        chart ??= createChart(holder, () => {});
        chart.draw(diff.drawing, state.width);
        shownDrawing = diff.drawing;
        shownWidth = state.width;
      }
      setAttribute(plot, "aria-label", "Differential flame graph; the table below has the same as text.");
      setText(caption, formatCount(diff.count) + " functions; " + formatCount(diff.baseSum) + " samples in the base, " + formatCount(diff.nowSum) + " now. Changes in percentage points (pp).");
      if (shownRows !== diff.rows) body.replaceChildren(...diff.rows.slice(0, ROWS_MAX).map(rowOf));
      shownRows = diff.rows;
    },
  };
}
