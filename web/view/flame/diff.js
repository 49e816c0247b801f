// Two time ranges, two sessions, or a report and its baseline, compared as a table and as a flame graph; what is not significant is grey.

import { formatCount, formatDuration, formatPoints, formatShare, isKnown } from "../../model/base/numbers.js";
import { shortCommand, visibleText } from "../../model/base/text.js";
import { DIFF_BY, DIFF_WIDTHS } from "../../model/page/address.js";
import { isBaselineComing, otherBaseline } from "../../model/page/questions.js";
import { rangeText, timelineSpan } from "../../model/time/timeline.js";
import { CHANGE_LEAST, CHANGE_LEAST_RELATIVE, changeStyle, COMPARED_Q_MAX } from "../../model/trees/compare.js";
import { TEXT } from "../../text/session.js";
import { el, isolated, placeNear, segmented, setAttribute, setText, swatch } from "../elements/dom.js";
import { awaitsWidth, createChart, watchWidth } from "./chart.js";

// So many at first; the flame graph is below.
const ROWS_FIRST = 12;
const ROWS_MAX = 200;

const isSame = (verdict) => verdict === "same" || verdict === "few";

function qText(q) {
  return q === null ? "" : q < 0.001 ? "< 0.001" : q.toFixed(3);
}

// The changes of the address that zoom in to a frame: the chart is top-down and by function.
export function zoomOfDiff({ picture }, id) {
  return { zoom: picture.diff.keysTo(id), bottomUp: false, by: "function" };
}

// The text about a side of a report with a baseline of its own.
function sideText({ session, selection }, samples, amountText) {
  const part = selection.whole ? "" : TEXT.compare.selected(visibleText(selection.text));
  return TEXT.compare.side(amountText(samples), formatDuration(selection.duration_s), session.target.pid,
    visibleText(shortCommand(session.target))) + part;
}

// The ranges, or the two sessions, and the buttons that choose them: {element, halves (a button), update(state)}.
function createSides(change, stateOf, pickOther) {
  const baselineText = el("strong", { "data-testid": "diff-baseline" });
  const currentText = el("strong", { "data-testid": "diff-current" });
  const set = el("button", { type: "button", "data-testid": "diff-set-baseline", "data-hint": TEXT.compare.setHint,
    on: { click: () => change({ baseline: stateOf().address.range, range: null }) } }, TEXT.compare.set);
  const swap = el("button", { type: "button", "data-testid": "diff-swap",
    on: { click: () => change({ baseline: stateOf().address.range ?? whole(), range: stateOf().address.baseline }) } },
    TEXT.compare.swap);
  const choose = (testid) =>
    el("button", { type: "button", "data-hint": TEXT.picker.hint, "data-testid": testid, on: { click: pickOther } },
      TEXT.picker.open);
  const pick = choose("diff-pick");
  const pickFirst = choose("diff-pick-first");
  const element = el("div", { class: "diff-head" }, el("span", {}, TEXT.compare.baseline, baselineText),
    el("span", { "aria-hidden": "true" }, "→"), el("span", {}, TEXT.compare.current, currentText), set, swap, pick);
  const halves = el("button", { type: "button", hidden: true, "data-testid": "diff-halves",
    on: { click: compareHalves } }, TEXT.compare.halves);

  function whole() {
    const { from, to } = timelineSpan(stateOf().timeline, null);
    return { from, to };
  }

  function compareHalves() {
    const { from, to } = whole();
    const step = stateOf().timeline.width || 1;
    const middle = Math.max(from + step, Math.round((from + to) / 2 / step) * step);
    change({ baseline: { from, to: middle }, range: { from: middle, to: Math.max(to, middle + step) } });
  }

  return {
    element,
    halves,
    pickFirst,
    update(state) {
      pickFirst.hidden = !state.live;
      const { address: { baseline, range }, session, picture: { diff, amountText } } = state;
      const other = otherBaseline(state);
      element.hidden = baseline === null && range === null && other === null;
      const ofRange = range === null ? TEXT.compare.whole : rangeText(range);
      setText(baselineText, other !== null
        ? sideText(other, diff?.baselineSum, amountText)
        : baseline === null
        ? TEXT.compare.notChosen
        : rangeText(baseline));
      setText(currentText, other !== null && range === null
        ? sideText({ session, selection: session.selection }, diff?.currentSum, amountText)
        : ofRange);
      set.hidden = range === null;
      swap.hidden = baseline === null || other !== null;
      pick.hidden = !state.live;
      halves.hidden = !state.hasTimes || state.timeline.slots.length === 0;
    },
  };
}

// Options of the chart, and what its colours mean: {element, update(state)}.
function createOptions(change) {
  const width = segmented(TEXT.compare.width, "diff-width",
    DIFF_WIDTHS.map((value) => ({ value, label: TEXT.compare.widths[value] })),
    (value) => change({ diffWidth: value }));
  const by = segmented(TEXT.compare.by, "diff-by", DIFF_BY.map((value) => ({ value, label: TEXT.table[value] })),
    (value) => change({ diffBy: value }));
  const reset = el("button", { type: "button", class: "link", "data-testid": "diff-reset",
    on: { click: () => change({ zoom: [] }) } }, TEXT.crumbs.reset);
  const scale = [["less-3", TEXT.compare.verdicts.less], ["heat-0", TEXT.compare.verdicts.same], ["more-3",
    TEXT.compare.verdicts.more]].map(([fill, text]) => el("span", { class: "scale" }, swatch(fill), text));
  const basis = el("span", {});
  return {
    element: el("div", { class: "diff-legend soft" }, el("span", {}, TEXT.compare.width), width.element,
      el("span", {}, TEXT.compare.by), by.element, ...scale, basis, reset),
    update(state) {
      width.set(state.address.diffWidth);
      by.set(state.address.diffBy);
      reset.hidden = state.picture.diff.focus === 0;
      setText(basis, (otherBaseline(state)?.by === "time" ? TEXT.compare.byTime : TEXT.compare.bySamples) + " "
        + TEXT.compare.method(formatShare(COMPARED_Q_MAX), formatPoints(CHANGE_LEAST).slice(1),
          formatShare(CHANGE_LEAST_RELATIVE))
        + (state.picture.diff.hasBlocks
          ? ""
          : " " + (state.live ? TEXT.compare.blocksLater : TEXT.compare.noBlocks)));
    },
  };
}

// A change with half of its 95 % interval.
function changeText({ baselineShare, currentShare, half }) {
  const change = currentShare - baselineShare;
  return formatPoints(change) + (isKnown(half) ? " ± " + formatShare(half).replace(" %", "") : "");
}

function numbersText(number, { baseline, current, baselineShare, currentShare, half, q, verdict }, amountText) {
  const certainty = q === null ? "" : ", q " + qText(q);
  return number + ": " + formatShare(baselineShare) + " (" + amountText(baseline) + ") → " + formatShare(currentShare)
    + " (" + amountText(current) + "), " + changeText({ baselineShare, currentShare, half }) + ", "
    + TEXT.compare.verdicts[verdict] + certainty;
}

// The numbers of the frame under the pointer: {element, show(frame or null, place)}.
function createDiffTip() {
  const element = el("div", { class: "tip", hidden: true, "data-testid": "diff-tip" });
  return {
    element,
    show(frame, place, amountText) {
      element.hidden = frame === null || frame.changes === undefined;
      if (element.hidden) return;
      const lines = [[TEXT.table.total, frame.changes.total], [TEXT.table.self, frame.changes.self]];
      element.replaceChildren(el("bdi", { class: "tip-name" }, frame.label),
        ...lines.map(([number, change]) =>
          el("span", { class: "tip-numbers" }, numbersText(number, change, amountText))
        ));
      placeNear(element, place);
    },
  };
}

// The functions by change of their self samples: {element, update(diff)}.
function createRows(change) {
  const body = el("tbody", {});
  const caption = el("caption", {});
  const heads = TEXT.compare.heads.map((text) => el("th", { scope: "col" }, text));
  const more = el("button", { type: "button", class: "link", "data-testid": "diff-more", on: { click: showMore } });
  let shown = null;
  let isWhole = false;

  function showMore() {
    isWhole = !isWhole;
    fill();
  }

  function fill() {
    body.replaceChildren(...shown.slice(0, isWhole ? ROWS_MAX : ROWS_FIRST).map(rowOf));
    more.hidden = shown.length <= ROWS_FIRST;
    setText(more, isWhole ? TEXT.compare.fewer : TEXT.compare.more(formatCount(Math.min(shown.length, ROWS_MAX))));
  }

  // The number that changed significantly, else self.
  function rowOf(row) {
    const isTotal = isSame(row.self.verdict) && !isSame(row.total.verdict);
    const { verdict, q } = isTotal ? row.total : row.self;
    const cell = (text) => el("td", { class: "number" }, text);
    const mark = changeStyle(verdict, isTotal ? row.totalChange : row.change);
    const result = el("td", {}, mark === "" ? el("i", { class: "swatch" }) : swatch(mark, { "aria-hidden": "true" }),
      (isTotal ? TEXT.table.total + ": " : "") + TEXT.compare.verdicts[verdict]);
    return el("tr", { "data-verdict": verdict },
      el("th", { scope: "row" },
        el("button", { type: "button", class: "row-name",
          on: { click: () => change({ view: "sandwich", about: row.key }) } }, isolated(row.label.name)), " ",
        isolated(row.label.near, { class: "place", title: row.label.place })), cell(changeText(row.self)),
      cell(formatShare(row.self.baselineShare)), cell(formatShare(row.self.currentShare)), cell(changeText(row.total)),
      result, cell(qText(q)));
  }

  return {
    element: el("div", {},
      el("table", { class: "diff-table", "data-testid": "diff-table" }, caption,
        el("thead", {}, el("tr", {}, ...heads)), body), more),
    update({ diff, amountText }) {
      setText(caption,
        TEXT.compare.caption(formatCount(diff.count), amountText(diff.baselineSum), amountText(diff.currentSum)));
      if (shown === diff.rows) return;
      shown = diff.rows;
      fill();
    },
  };
}

export function createDiff(root, dispatch) {
  let state = null;
  let chart = null;
  let shown = { drawing: null, width: 0 };
  const change = (changes) => dispatch({ type: "address", changes, how: "push" });
  const holder = el("div", { class: "flame-chart" });
  const tip = createDiffTip();
  const sides = createSides(change, () => state, () => dispatch({ type: "openPicker" }));
  const options = createOptions(change);
  const rows = createRows(change);
  const gone = el("p", { role: "status", "data-testid": "diff-gone" });
  const how = el("p", { "data-testid": "diff-how" });
  const ways = el("p", { class: "ways" }, sides.halves, sides.pickFirst);
  const none = el("div", { class: "empty" }, how, gone, ways);
  const plot = el("div", { class: "diff-plot flame", role: "img", "aria-label": TEXT.compare.flame,
    "data-testid": "diff-flame" }, holder);
  const both = el("div", { class: "diff-both", tabindex: "0", role: "region", "aria-label": TEXT.compare.label },
    rows.element, options.element, plot);
  const element = el("div", { class: "diff", "data-testid": "diff" }, sides.element, none, both);
  root.append(element, tip.element);

  plot.addEventListener("pointermove", (event) => {
    const under = event.pointerType === "touch" ? null : chart?.frameAt(event.target) ?? null;
    tip.show(under === null ? null : chart.dataOf(under), { x: event.clientX, y: event.clientY },
      state.picture.amountText);
  });
  plot.addEventListener("pointerleave", () => tip.show(null));
  watchWidth(holder, holder, dispatch,
    (width) => state !== null && width !== state.width && state.address.view === "diff");

  function zoomTo(frame) {
    tip.show(null);
    change(zoomOfDiff(state, frame.remainder ? frame.of : frame.id));
  }

  function draw({ drawing }) {
    if (drawing === null || (drawing === shown.drawing && state.width === shown.width)) return;
    chart ??= createChart(holder, zoomTo);
    chart.draw(drawing, state.width, "heat");
    shown = { drawing, width: state.width };
  }

  return {
    update(next) {
      state = next;
      const { diff } = state.picture;
      element.hidden = state.address.view !== "diff" || state.picture.empty !== null;
      if (element.hidden) return tip.show(null);
      sides.update(state);
      setText(gone, state.address.against !== null && state.missing === state.address.against ? TEXT.picker.gone : "");
      const isComing = isBaselineComing(state);
      setText(how, isComing ? TEXT.compare.reading : TEXT.compare.how);
      ways.hidden = isComing;
      none.hidden = diff !== null;
      both.hidden = diff === null;
      if (diff === null) return undefined;
      if (awaitsWidth(state, () => holder.clientWidth, dispatch)) return undefined;
      options.update(state);
      draw(diff);
      return rows.update(state.picture);
    },
  };
}
