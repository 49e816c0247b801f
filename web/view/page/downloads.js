// The download menu. Most entries are plain links; what a report can create by itself is created on click.

import { visibleText } from "../../model/base/text.js";
import { chartsOfView, IMAGE_FORMATS } from "../../model/page/charts.js";
import { TEXT } from "../../text/session.js";
import { el, icon } from "../elements/dom.js";
import { ICONS } from "../elements/icons.js";
import { createPopover } from "../elements/popover.js";
import { saveBlob } from "./save-chart.js";

// Formats that people read; the others are for other tools.
const FOR_PEOPLE = ["report", "summary"];

// Without the names and places of whoever ran it; what a report makes by itself is what it has.
function anonymousHref(href, anonymizes) {
  return anonymizes ? href + (href.includes("?") ? "&" : "?") + "anonymize=1" : href;
}

function menuItem(item, anonymizes, close) {
  const text = [el("span", { class: "item-label" }, item.label), el("span", { class: "item-hint" }, item.hint)];
  const testid = "download-" + item.key;
  if (item.href)
    return el("a", { class: "item", href: anonymousHref(item.href, anonymizes), download: "", "data-testid": testid,
      on: { click: close } }, ...text);
  const make = () => {
    close();
    saveBlob(item.name, new Blob([item.make()], { type: "text/plain" }));
  };
  return el("button", { type: "button", class: "item", "data-testid": testid, on: { click: make } }, ...text);
}

// A row of the menu for each chart that is shown: a button for each format.
function imageRow(chart, save) {
  const buttons = IMAGE_FORMATS.map((format) =>
    el("button", { type: "button", title: TEXT.download.imageHint[format],
      "aria-label": TEXT.download.imageOf(TEXT.charts[chart], format), "data-testid": "save-" + chart + "-" + format,
      on: { click: () => save(chart, format) } }, format.toUpperCase())
  );
  return el("div", { class: "menu-image" }, el("span", { class: "item-label" }, TEXT.charts[chart]), ...buttons);
}

export function createDownloads(dispatch) {
  const button = el("button", { type: "button", class: "quiet wide", "data-testid": "download" }, icon(ICONS.download),
    el("span", {}, TEXT.download.button));
  const holder = el("span", { class: "holder" }, button);
  let popover = null;
  let shown = "";
  let items = [];
  let charts = [];
  const anonymize = el("input", { type: "checkbox", "data-testid": "anonymize", on: { change: () => draw() } });
  const anonymizeRow = el("label", { class: "item menu-choice" },
    el("span", { class: "item-label" }, anonymize, " " + TEXT.download.anonymize),
    el("span", { class: "item-hint" }, TEXT.download.anonymizeHint));
  const list = el("div", {});
  const others = el("div", {});
  const forTools = el("details", { "data-testid": "download-others" },
    el("summary", { class: "item item-label" }, TEXT.download.others), others);
  const images = el("div", { class: "menu-images", role: "group", "aria-label": TEXT.download.image });
  const noteLine = el("p", { class: "menu-note" });

  function save(chart, format) {
    popover.close();
    dispatch({ type: "saveChart", chart, format });
  }

  function draw() {
    const isFirst = ({ key }) => FOR_PEOPLE.includes(key) || !items.some((item) => FOR_PEOPLE.includes(item.key));
    const rowsOf = (first) =>
      items.filter((item) => isFirst(item) === first).map((item) =>
        menuItem(item, anonymize.checked, () => popover.close())
      );
    list.replaceChildren(...rowsOf(true));
    others.replaceChildren(...rowsOf(false));
    forTools.hidden = others.children.length === 0;
    images.hidden = charts.length === 0;
    images.replaceChildren(el("p", { class: "menu-title soft" }, TEXT.download.image),
      ...charts.map((chart) => imageRow(chart, save)));
  }

  return {
    elements: [holder],
    attach() {
      popover = createPopover(button, TEXT.download.button);
      popover.panel.classList.add("menu");
      popover.panel.append(list, images, anonymizeRow, forTools, noteLine);
    },
    update(state) {
      items = state.downloads;
      const byThread = state.picture.chosen.chosen.length > 0;
      const byPart = state.address.parts !== null || state.address.states.length > 0;
      const chosen = byThread || byPart
        ? TEXT.download.includes(
          [byThread ? TEXT.download.threads : "", byPart ? TEXT.download.parts : ""].filter(Boolean),
        )
        : "";
      const unfiltered = state.notApplied.length > 0
        ? TEXT.download.notApplied(state.notApplied.map((term) => visibleText(term)).join("; "))
        : "";
      const note = [chosen, unfiltered].filter(Boolean).join(" ");
      charts = chartsOfView(state.address.view, state.hasTimes);
      const signature = charts.join() + items.map((item) => item.key + (item.href ?? "")).join("\n") + note;
      if (signature === shown) return;
      shown = signature;
      holder.hidden = items.length + charts.length === 0;
      anonymizeRow.hidden = !items.some((item) => item.href);
      noteLine.hidden = note === "";
      noteLine.textContent = note;
      draw();
    },
  };
}
