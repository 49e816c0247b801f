// One chart of frames, drawn by d3-flame-graph: it gets a drawing and draws it, and knows nothing else.

import { setAttribute } from "./dom.js";

const THIN_PX = 4;

// What a frame looks like, as words the style sheet knows.
export function frameLook(frame, pxPerSample) {
  const words = ["h" + frame.heat, "u-" + frame.hue];
  if (frame.neutral) words.push("neutral");
  if (frame.remainder) words.push("remainder");
  if (frame.mark !== "") words.push(frame.mark);
  if (frame.value * pxPerSample < THIN_PX) words.push("thin");
  return words.join(" ");
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
    .setColorMapper(() => null).setLabelHandler(() => "").onClick((node) => onClick(node.data));
  let drawn = false;
  return {
    draw(drawing, width) {
      chart.width(width).height((drawing.levels + (upwards ? 0 : 1)) * cell);
      if (drawn) chart.update(drawing.root);
      else d3.select(holder).datum(drawing.root).call(chart);
      drawn = true;
      const pxPerSample = width / drawing.root.value;
      d3.select(holder).select("svg").attr("height", drawing.levels * cell).attr("role", "presentation")
        .selectAll("g.frame").each(function setLook(node) {
          setAttribute(this, "data-look", frameLook(node.data, pxPerSample));
        });
    },
    frameAt: (element) => element?.closest?.("g.frame") ?? null,
    dataOf: (element) => d3.select(element).datum()?.data ?? null,
    elementOf(id) {
      const found = d3.select(holder).selectAll("g.frame").filter((node) => node.data.id === id);
      return found.empty() ? null : found.node();
    },
  };
}
