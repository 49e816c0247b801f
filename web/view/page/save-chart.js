// Saves a chart of the page as a file.

import { imageName, imageTitle } from "../../model/page/charts.js";
import { el } from "../elements/dom.js";
import { chartPng, chartSvg } from "./chart-image.js";

const URL_MS = 10000;
const ROOTS = {
  strip: "#strip",
  flame: "#stage > .flame .flame-chart",
  heatmap: ".heatmap",
  stacks: ".stacks-pin",
  sandwich: ".sandwich",
  threads: "[data-testid=lanes]",
  gil: ".gil",
  diff: ".diff-both",
};
// Pressed buttons are no part of a picture.
const SELECTORS = {
  without:
    "button:not(.row-name):not([aria-pressed=true]), .strip-tools, .strip-read, .as-table, .tip, .sandwich-choose, .heat-head > .soft",
  bare: ".segmented",
};

export function saveBlob(name, blob) {
  const url = URL.createObjectURL(blob);
  el("a", { href: url, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(url), URL_MS);
}

// A promise of whether there was such a chart.
export async function saveChart(state, chart, format) {
  const root = Array.from(document.querySelectorAll(ROOTS[chart])).find((element) =>
    element.checkVisibility() && element.getBoundingClientRect().width > 0
  );
  if (root === undefined) return false;
  const drawn = chartSvg(root, imageTitle(state, chart), SELECTORS);
  saveBlob(imageName(state, chart, format),
    format === "svg" ? new Blob([drawn.text], { type: "image/svg+xml" }) : await chartPng(drawn));
  return true;
}
