// One chart of frames, drawn by d3-flame-graph from a drawing.

import { setAttribute } from "../elements/dom.js";
import { fillOf } from "./fills.js";

const THIN_PX = 4;

// The classes of a frame in the style sheet. isMatch: undefined while nothing is searched for.
function frameClasses(frame, pxPerSample, colour, isMatch) {
  const isMatched = isMatch?.(frame);
  const classes = ["frame", "fill-" + fillOf(frame, colour, isMatched)];
  if (frame.hue === "native" || frame.hue === "kernel") classes.push(frame.hue);
  if (frame.hue.startsWith("wait-")) classes.push("waits");
  if (frame.fold !== undefined) classes.push("folded");
  if (frame.remainder) classes.push("remainder");
  if (frame.fade) classes.push("fade");
  if (isMatched !== undefined) classes.push(isMatched ? "match" : "other");
  if (frame.value * pxPerSample < THIN_PX) classes.push("thin");
  return classes.join(" ");
}

function cellHeight() {
  return parseInt(getComputedStyle(document.documentElement).getPropertyValue("--cell"), 10) || 20;
}

// upwards: the root stands at the bottom.
export function createChart(holder, onClick, upwards = false) {
  const cell = cellHeight();
  const { d3, flamegraph } = globalThis;
  const silent = Object.assign(() => {}, { show() {}, hide() {} });
  const chart = flamegraph.default().inverted(!upwards).transitionDuration(0).cellHeight(cell).tooltip(silent)
    .setColorMapper(() => null).setLabelHandler(() => "");
  let drawn = null;
  let drawnWidth = 0;
  // Finding one of thousands of frames takes as long as looking at all.
  const elements = new Map();
  holder.addEventListener("click", (event) => {
    const frame = event.target.closest("g.frame");
    if (frame !== null) onClick(d3.select(frame).datum().data);
  });

  function place(drawing, width) {
    chart.width(width).height((drawing.levels + (upwards ? 0 : 1)) * cell);
    if (drawn !== null) chart.update(drawing.root);
    else d3.select(holder).datum(drawing.root).call(chart);
    d3.select(holder).select("svg").attr("height", drawing.levels * cell).attr("role", "presentation");
    drawn = drawing.root;
    drawnWidth = width;
  }

  return {
    // A drawing whose frames are those drawn already is only given new styles. colour: "heat" or "module".
    draw(drawing, width, colour) {
      if (drawing.root !== drawn || width !== drawnWidth) place(drawing, width);
      const pxPerSample = width / drawing.root.value;
      elements.clear();
      d3.select(holder).selectAll("g").each(function setClasses(node) {
        elements.set(node.data.id, this);
        setAttribute(this, "class", frameClasses(node.data, pxPerSample, colour, drawing.isMatch));
      });
    },
    frameAt: (element) => element?.closest?.("g.frame") ?? null,
    dataOf: (element) => d3.select(element).datum()?.data ?? null,
    elementOf: (id) => elements.get(id) ?? null,
  };
}

// True if a view has to wait for the width of its charts: it was not known, and is not what the state says. Then the
// state learns it and the view is updated again. A known width is not measured, as that lays out the page.
export function awaitsWidth(state, measure, dispatch) {
  if (state.widths[state.address.view] !== undefined) return false;
  const width = Math.floor(measure());
  if (width > 0) dispatch({ type: "width", width });
  return width > 0 && width !== state.width;
}

// Writes the width that charts may have into the state when `observed` changes and isNews(width of `holder`) says so.
export function watchWidth(observed, holder, dispatch, isNews) {
  new ResizeObserver(() => {
    const width = Math.floor(holder.clientWidth);
    if (width > 0 && isNews(width)) dispatch({ type: "width", width });
  }).observe(observed);
}
