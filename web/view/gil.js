// Who held the GIL while whom waited: a table of threads, where they held it as a flame graph, and the same as a list.

import { heatLevel } from "../model/picture.js";
import { formatCount, formatDuration, formatShare, ratio } from "../model/numbers.js";
import { threadPlace } from "../model/threads.js";
import { listenForFrameKeys } from "./chart-keys.js";
import { createChart } from "./chart.js";
import { el, isInUse, isolated, placeNear, setAttribute, setText } from "./dom.js";
import { threadKeyOf } from "./threads.js";

// A cell glows by its share of the hottest one of two threads, which is as hot as can be.
const HOTTEST_CELL_SHARE = 0.45;

export function createGil(root, dispatch) {
  const summary = el("p", { class: "gil-summary", "data-testid": "gil-summary" });
  const note = el("p", { class: "soft" });
  const matrix = el("table", { class: "gil-matrix", "data-testid": "gil-matrix" });
  const list = el("ol", { class: "gil-list", "data-testid": "gil-list" });
  const holder = el("div", { class: "flame-chart" });
  const plot = el("div", { class: "flame diff-plot", "data-testid": "gil-flame", "data-colour": "heat" }, holder);
  const parts = el("div", { class: "gil-parts" },
    el("section", {}, el("h3", {}, "Held by (rows) while waiting (columns)"), el("div", { class: "gil-scroll", tabindex: "0", role: "region", "aria-label": "Who held the GIL while whom waited" }, matrix)),
    el("section", {}, el("h3", {}, "Where it was held meanwhile"), list));
  const title = el("h3", {}, "Stacks that held the GIL, as wide as others waited");
  const tip = el("div", { class: "tip", hidden: true });
  const none = el("p", { class: "empty", "data-testid": "gil-none" });
  const element = el("div", { class: "gil", "data-testid": "gil", tabindex: "0", role: "region", "aria-label": "The GIL" }, summary, note, parts, title, plot, none);
  root.append(element, tip);
  let state = null;
  let chart = null;
  let shown = null;
  let shownWidth = 0;
  let shownFor = "";
  let shownTables = null;

  const secondsOf = (samples) => formatDuration(samples * state.picture.secondsPerSample);

  function sideName({ thread, count }) {
    if (thread === null) return el("span", { class: "soft" }, count > 1 ? formatCount(count) + " others" : "others");
    const choose = () => dispatch({ type: "address", changes: { threads: [threadKeyOf(thread)] }, how: "push" });
    return el("button", { type: "button", class: "row-name", title: "tid " + thread.tid, "data-hint": "Only what this thread waited", on: { click: choose } }, isolated(threadPlace(thread, state.picture.threads)));
  }

  function cell(samples, hottest, waited) {
    const level = samples > 0 ? Math.max(1, heatLevel((samples / hottest) * HOTTEST_CELL_SHARE)) : 0;
    return el("td", { class: "number", "data-heat": "h" + level, title: formatShare(ratio(samples, waited)) + ", " + formatCount(Math.round(samples)) + " samples" }, samples > 0 ? secondsOf(samples) : "");
  }

  const textOf = (frame) => frame.label + ", others waited " + secondsOf(frame.total) + ", " + formatShare(ratio(frame.total, state.picture.gil.kept));
  const keys = listenForFrameKeys(plot, { name: "frame-gil", textOf, onEnter: open });

  function drawMatrix({ holders, waiters, cells, hottest }, waited) {
    const head = el("tr", {}, el("td", {}), ...waiters.map((side) => el("th", { scope: "col" }, sideName(side))), el("th", { scope: "col" }, "All"));
    const rows = holders.map((side, i) => el("tr", {}, el("th", { scope: "row" }, sideName(side)), ...cells[i].map((samples) => cell(samples, hottest, waited)), el("td", { class: "number" }, secondsOf(side.samples), " ", el("small", {}, formatShare(ratio(side.samples, waited))))));
    matrix.replaceChildren(el("thead", {}, head), el("tbody", {}, ...rows));
  }

  function drawList({ hottest, kept }) {
    list.replaceChildren(...hottest.map((row) => {
      const fill = el("i", {});
      fill.style.width = (100 * row.self) / hottest[0].self + "%";
      const go = () => dispatch({ type: "address", changes: { view: "sandwich", about: row.key }, how: "push" });
      return el("li", {}, el("button", { type: "button", class: "hottest", title: row.label.place, on: { click: go } }, isolated(row.label.name, { class: "hottest-name" }),
        el("span", { class: "share" }, secondsOf(row.self) + "  ·  " + formatShare(ratio(row.self, kept))), el("span", { class: "bar", "aria-hidden": "true" }, fill)));
    }));
  }

  function drawTables(gil) {
    if (shownTables === gil) return;
    drawMatrix(gil.matrix, gil.waited);
    drawList(gil);
    shownTables = gil;
  }

  parts.addEventListener("pointerleave", () => {
    if (!element.hidden && state.picture.gil.reason === null) drawTables(state.picture.gil);
  });

  function open(frame) {
    const key = state.picture.gil.keyOf(frame.remainder ? frame.of : frame.id);
    if (key !== "") dispatch({ type: "address", changes: { view: "sandwich", about: key }, how: "push" });
  }

  function drawFlame({ drawing, kept }) {
    chart ??= createChart(holder, open);
    chart.draw(drawing, state.width);
    keys.show(chart, drawing);
    setAttribute(plot, "aria-label", "Stacks that held the GIL while others waited " + secondsOf(kept) + ". Arrow keys move, Enter shows the callers and callees of a frame.");
  }

  plot.addEventListener("pointermove", (event) => {
    const under = chart?.frameAt(event.target) ?? null;
    tip.hidden = under === null || event.pointerType === "touch";
    if (tip.hidden) return;
    const frame = chart.dataOf(under);
    tip.replaceChildren(el("bdi", { class: "tip-name" }, frame.label), el("span", { class: "tip-numbers" }, "others waited " + secondsOf(frame.total) + "  ·  " + formatShare(ratio(frame.total, state.picture.gil.kept))));
    placeNear(tip, { x: event.clientX, y: event.clientY });
  });
  plot.addEventListener("pointerleave", () => { tip.hidden = true; });
  new ResizeObserver(() => {
    const width = Math.floor(holder.clientWidth);
    if (state !== null && width > 0 && width !== state.width && state.address.view === "gil") dispatch({ type: "width", width });
  }).observe(element);

  return {
    update(next) {
      state = next;
      element.hidden = state.address.view !== "gil" || state.picture.empty !== null;
      if (element.hidden) {
        tip.hidden = true;
        return;
      }
      const { gil } = state.picture;
      const reason = gil.reason;
      for (const part of [parts, title, plot, note]) part.hidden = reason !== null;
      none.hidden = reason === null;
      setText(none, reason ?? "");
      summary.hidden = reason !== null;
      if (reason !== null || (shown === gil && shownTables === gil && shownWidth === state.width)) return;
      const samples = state.picture.sums.samples;
      summary.replaceChildren("Threads waited ", el("strong", {}, secondsOf(gil.waited)), " for the GIL: ", el("strong", {}, formatShare(ratio(gil.waited, samples))), " of " + (state.address.threads.length > 0 ? "the chosen threads' " : "all ") + formatCount(samples) + " samples.");
      setText(note, "What a thread waited in a moment (" + gil.moment + ") is shared out among those that held the GIL in it." + (isInUse(parts) ? " Table and list stand still while you are in them." : "") + (gil.unheld > 0 ? " Nobody was seen to hold it for " + formatShare(ratio(gil.unheld, gil.waited)) + "." : ""));
      // Whoever is about to press finds it where it was.
      const question = JSON.stringify(state.address);
      const held = question === shownFor && isInUse(parts);
      if (!held) drawTables(gil);
      shownFor = question;
      const width = Math.floor(holder.clientWidth);
      if (width > 0 && width !== state.width) return void dispatch({ type: "width", width });
      if (gil.drawing !== null) drawFlame(gil);
      shown = gil;
      shownWidth = state.width;
    },
  };
}
