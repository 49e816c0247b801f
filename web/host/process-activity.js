// The last minutes of a process in its row: a spark line, its hottest line, where it waits.

import { formatShare, ratio } from "../model/base/numbers.js";
import { visibleText } from "../model/base/text.js";
import { activityLink, activityPlace, mainWait, meanRunning, sparkHeights, sparkPath } from "../model/host/activity.js";
import { HOST_TEXT } from "../text/host.js";
import { el, isolated, setAttribute, setText } from "../view/elements/dom.js";

const ROW_SPARK = { width: 120, height: 20, slots: 60 };
const ROW_SPARK_SPACE = "http://www.w3.org/2000/svg";

function createRowSpark() {
  const svg = document.createElementNS(ROW_SPARK_SPACE, "svg");
  const path = document.createElementNS(ROW_SPARK_SPACE, "path");
  for (const [name, value] of Object.entries({ class: "row-spark",
    viewBox: "0 0 " + ROW_SPARK.width + " " + ROW_SPARK.height, preserveAspectRatio: "none", role: "img" }))
    svg.setAttribute(name, value);
  svg.append(path);
  return { svg, path };
}

export function createActivityCells() {
  const { svg, path } = createRowSpark();
  const link = (testid) =>
    el("a", { class: "place-link", "data-testid": testid }, isolated("", { class: "place-name" }),
      isolated("", { class: "place-more" }));
  const [hot, under] = [link("hottest-line"), link("hottest-under")];
  const why = isolated("", { class: "soft" });
  const waits = el("span", { class: "place-link" }, isolated("", { class: "place-name" }),
    isolated("", { class: "place-more" }));
  return { svg, path, hot, under, why, waits, hottestCell: el("td", { class: "col-hottest" }, hot, why),
    waitsCell: el("td", { class: "col-waits", "data-testid": "waits" }, waits) };
}

function fillPlace(element, name, more, title) {
  const [first, second] = element.children;
  setText(first, visibleText(name, ""));
  setText(second, visibleText(more, ""));
  setAttribute(element, "title", title === "" ? null : visibleText(title));
}

function fillSpark(cells, activity, row) {
  setAttribute(cells.path, "d",
    sparkPath(sparkHeights(row.running, ROW_SPARK.slots), ROW_SPARK.width, ROW_SPARK.height));
  const text = HOST_TEXT.activity.spark(meanRunning(activity, row).toFixed(2));
  setAttribute(cells.svg, "aria-label", text);
  setAttribute(cells.svg, "data-hint", text);
}

function fillHottest(cells, activity, row) {
  const { hottest, pid } = row;
  for (const element of [cells.hot, cells.under]) {
    element.hidden = hottest === null;
    if (hottest === null) continue;
    const { name, place } = activityPlace(hottest);
    const share = formatShare(ratio(hottest.seconds, row.parts.running));
    fillPlace(element, name, [place, share].filter(Boolean).join(" · "),
      hottest.file + ":" + hottest.line + "\n" + HOST_TEXT.activity.hottest(share));
    setAttribute(element, "href", activityLink(activity, pid, hottest));
  }
  setText(cells.why, hottest === null ? HOST_TEXT.activity.idleProcess : "");
}

// The cause, or the function where that is unknown.
function fillWaits(cells, row) {
  const found = mainWait(row);
  cells.waits.hidden = found === null;
  if (found === null) return;
  const text = HOST_TEXT.activity;
  const { name, place } = found.place === null ? { name: "", place: "" } : activityPlace(found.place);
  const isKnown = found.kind !== "unknown";
  const first = isKnown ? text.causes[found.kind] : name;
  const second = isKnown ? (found.place?.peer ?? "") : place;
  const share = second === "" ? text.waits(formatShare(found.share)) : formatShare(found.share);
  const where = found.place === null
    ? []
    : isKnown
    ? [text.waitsIn([name, place].filter(Boolean).join(" "))]
    : [text.unknownCause];
  fillPlace(cells.waits, first, [share, second].filter(Boolean).join(" · "),
    [[first, second].filter(Boolean).join(" "), ...where, text.waits(formatShare(found.share))].join("\n"));
}

// row: of /activity, undefined: none.
export function fillActivityCells(cells, process, row, state) {
  const known = row !== undefined;
  cells.svg.toggleAttribute("hidden", !known);
  setAttribute(cells.why, "title", process.can_attach ? null : visibleText(process.reason ?? ""));
  if (known) {
    fillSpark(cells, state.activity, row);
    fillHottest(cells, state.activity, row);
    fillWaits(cells, row);
    return;
  }
  for (const element of [cells.hot, cells.under, cells.waits]) element.hidden = true;
  setText(cells.why, process.can_attach ? HOST_TEXT.activity.notYet : visibleText(process.reason ?? "", ""));
}
