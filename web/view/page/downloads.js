// The download menu. Most entries are plain links; what a report can create by itself is created on click.

import { visibleText } from "../../model/base/text.js";
import { TEXT } from "../../text/session.js";
import { el, icon } from "../elements/dom.js";
import { ICONS } from "../elements/icons.js";
import { createPopover } from "../elements/popover.js";

function saveText(name, text) {
  const url = URL.createObjectURL(new Blob([text], { type: "text/plain" }));
  const link = el("a", { href: url, download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 10000);
}

// Without the names and places of whoever ran it; what a report makes by itself is what it has.
function anonymousHref(href, anonymizes) {
  return anonymizes ? href + (href.includes("?") ? "&" : "?") + "anonymize=1" : href;
}

function menuItem(item, anonymizes, close) {
  const text = [el("span", { class: "item-label" }, item.label), el("span", { class: "item-hint" }, item.hint)];
  const testid = "download-" + item.key;
  if (item.href) return el("a", { class: "item", href: anonymousHref(item.href, anonymizes), download: "", "data-testid": testid, on: { click: close } }, ...text);
  const make = () => {
    close();
    saveText(item.name, item.make());
  };
  return el("button", { type: "button", class: "item", "data-testid": testid, on: { click: make } }, ...text);
}

export function createDownloads() {
  const button = el("button", { type: "button", class: "quiet wide", "data-testid": "download" }, icon(ICONS.download), el("span", {}, TEXT.download.button));
  const holder = el("span", { class: "holder" }, button);
  let popover = null;
  let shown = "";
  let items = [];
  const anonymize = el("input", { type: "checkbox", "data-testid": "anonymize", on: { change: () => draw() } });
  const anonymizeRow = el("label", { class: "item menu-choice" }, el("span", { class: "item-label" }, anonymize, " " + TEXT.download.anonymize), el("span", { class: "item-hint" }, TEXT.download.anonymizeHint));
  const list = el("div", {});
  const noteLine = el("p", { class: "menu-note" });

  function draw() {
    list.replaceChildren(...items.map((item) => menuItem(item, anonymize.checked, () => popover.close())));
  }

  return {
    elements: [holder],
    attach() {
      popover = createPopover(button, TEXT.download.button);
      popover.panel.classList.add("menu");
      popover.panel.append(anonymizeRow, list, noteLine);
    },
    update(state) {
      items = state.downloads;
      const byThread = state.picture.chosen.chosen.length > 0;
      const byState = (state.address.states ?? []).length > 0;
      const chosen = byThread || byState ? TEXT.download.includes([byThread ? TEXT.download.threads : "", byState ? TEXT.download.state : ""].filter(Boolean)) : "";
      const unfiltered = state.notApplied.length > 0 ? TEXT.download.notApplied(state.notApplied.map((term) => visibleText(term)).join("; ")) : "";
      const note = [chosen, unfiltered].filter(Boolean).join(" ");
      const signature = items.map((item) => item.key + (item.href ?? "")).join("\n") + note;
      if (signature === shown) return;
      shown = signature;
      holder.hidden = items.length === 0;
      anonymizeRow.hidden = !items.some((item) => item.href);
      noteLine.hidden = note === "";
      noteLine.textContent = note;
      draw();
    },
  };
}
