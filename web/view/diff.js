// Two time ranges compared, as a flame graph and as a table; what is not significant is grey.

import { formatCount, formatShare, isKnown } from "../model/numbers.js";
import { rangeText, timelineSpan } from "../model/timeline.js";
import { TEXT } from "../text/session.js";
import { createChart, watchWidth } from "./chart.js";
import { el, isolated, placeNear, setAttribute, setText } from "./dom.js";

const ROWS_MAX = 200;

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
  const baselineText = el("strong", { "data-testid": "diff-baseline" });
  const currentText = el("strong", { "data-testid": "diff-current" });
  const change = (changes) => dispatch({ type: "address", changes, how: "push" });
  const setBaseline = el("button", { type: "button", "data-testid": "diff-set-baseline", "data-hint": TEXT.compare.setHint, on: { click: () => change({ baseline: state.address.range, range: null }) } }, TEXT.compare.set);
  const swap = el("button", { type: "button", "data-testid": "diff-swap", on: { click: () => change({ baseline: state.address.range ?? whole(), range: state.address.baseline }) } }, TEXT.compare.swap);
  const head = el("div", { class: "diff-head" }, el("span", {}, TEXT.compare.baseline, baselineText), el("span", { "aria-hidden": "true" }, "→"), el("span", {}, TEXT.compare.current, currentText), setBaseline, swap);
  const halves = el("button", { type: "button", hidden: true, "data-testid": "diff-halves", on: { click: compareHalves } }, TEXT.compare.halves);
  const none = el("div", { class: "empty" }, el("p", {}, TEXT.compare.how), el("p", { class: "ways" }, halves));
  const legend = el("p", { class: "diff-legend soft" }, ...[["less-3", TEXT.compare.verdicts.less], ["", TEXT.compare.verdicts.same], ["more-3", TEXT.compare.verdicts.more]].map(([look, text]) => el("span", { class: "scale" }, el("i", { class: "swatch", "data-look": look }), text)), TEXT.compare.width);
  const body = el("tbody", {});
  const caption = el("caption", {});
  const heads = TEXT.compare.heads.map((text) => el("th", { scope: "col" }, text));
  const table = el("table", { class: "diff-table", "data-testid": "diff-table" }, caption, el("thead", {}, el("tr", {}, ...heads)), body);
  const plot = el("div", { class: "diff-plot flame", role: "img", "data-testid": "diff-flame" }, holder);
  const both = el("div", { class: "diff-both", tabindex: "0", role: "region", "aria-label": TEXT.compare.label }, plot, legend, table);
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
    change({ baseline: { from, to: middle }, range: { from: middle, to: Math.max(to, middle + step) } });
  }

  plot.addEventListener("pointermove", (event) => {
    const under = chart?.frameAt(event.target) ?? null;
    const frame = under === null ? null : chart.dataOf(under);
    tip.hidden = frame === null || frame.remainder !== undefined || event.pointerType === "touch";
    if (tip.hidden) return;
    const { baseline, current } = frame;
    const said = frame.verdict === undefined ? "" : "  ·  " + TEXT.compare.verdicts[frame.verdict];
    tip.replaceChildren(el("bdi", { class: "tip-name" }, frame.label),
      el("span", { class: "tip-numbers" }, isKnown(baseline) ? formatShare(baseline) + " → " + formatShare(current) + "  ·  " + changeText(current - baseline) + said : ""));
    placeNear(tip, { x: event.clientX, y: event.clientY });
  });
  plot.addEventListener("pointerleave", () => {
    tip.hidden = true;
  });
  watchWidth(holder, holder, dispatch, (width) => state !== null && width !== state.width && state.address.view === "diff");

  function rowOf(row) {
    const { baselineShare, currentShare, verdict } = row;
    const cell = (text) => el("td", { class: "number" }, text);
    return el("tr", { "data-verdict": verdict }, cell(changeText(row.change)), cell(formatShare(baselineShare)), cell(formatShare(currentShare)), cell(changeText(row.totalChange)),
      el("td", {}, TEXT.compare.verdicts[verdict]), cell(row.q === null ? "" : row.q < 0.001 ? "< 0.001" : row.q.toFixed(3)),
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
      const { baseline, range } = state.address;
      head.hidden = baseline === null && range === null;
      setText(baselineText, baseline === null ? TEXT.compare.notChosen : rangeText(baseline));
      setText(currentText, range === null ? TEXT.compare.whole : rangeText(range));
      setBaseline.hidden = range === null;
      swap.hidden = baseline === null;
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
      setAttribute(plot, "aria-label", TEXT.compare.flame);
      setText(caption, TEXT.compare.caption(formatCount(diff.count), formatCount(diff.baselineSum), formatCount(diff.currentSum)));
      if (shownRows !== diff.rows) body.replaceChildren(...diff.rows.slice(0, ROWS_MAX).map(rowOf));
      shownRows = diff.rows;
    },
  };
}
