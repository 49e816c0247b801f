// The download menu. Links are plain links; what a report can make by itself is made when it is asked for.

import { visibleText } from "../model/text.js";
import { el, icon } from "./dom.js";
import { ICONS } from "./icons.js";
import { createPopover } from "./popover.js";

function saveText(name, text) {
  const url = URL.createObjectURL(new Blob([text], { type: "text/plain" }));
  const link = el("a", { href: url, download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 10000);
}

// Without what tells whose it is; what a report makes by itself is what it has.
function redactedHref(href, redacts) {
  return redacts ? href + (href.includes("?") ? "&" : "?") + "redact=1" : href;
}

function menuItem(item, redacts, close) {
  const text = [el("span", { class: "item-label" }, item.label), el("span", { class: "item-hint" }, item.hint)];
  const testid = "download-" + item.key;
  if (item.href) return el("a", { class: "item", href: redactedHref(item.href, redacts), download: "", "data-testid": testid, on: { click: close } }, ...text);
  const make = () => {
    close();
    saveText(item.name, item.make());
  };
  return el("button", { type: "button", class: "item", "data-testid": testid, on: { click: make } }, ...text);
}

export function createDownloads() {
  const button = el("button", { type: "button", class: "quiet wide", "data-testid": "download" }, icon(ICONS.download), el("span", {}, "Download"));
  const holder = el("span", { class: "holder" }, button);
  let popover = null;
  let shown = "";
  let items = [];
  const redact = el("input", { type: "checkbox", "data-testid": "redact", on: { change: () => draw() } });
  const redactRow = el("label", { class: "item menu-choice" }, el("span", { class: "item-label" }, redact, " Redact"), el("span", { class: "item-hint" }, "own code as hashes; no command, host or source"));
  const list = el("div", {});
  const noteLine = el("p", { class: "menu-note" });

  function draw() {
    list.replaceChildren(...items.map((item) => menuItem(item, redact.checked, () => popover.close())));
  }

  return {
    elements: [holder],
    attach() {
      popover = createPopover(button, "Download");
      popover.panel.classList.add("menu");
      popover.panel.append(redactRow, list, noteLine);
    },
    update(state) {
      items = state.downloads;
      const byThread = state.picture.chosen.chosen.length > 0;
      const byState = state.address.states.length > 0;
      const chosen = byThread || byState ? "Only the chosen " + [byThread ? "threads" : "", byState ? "state" : ""].filter(Boolean).join(" and ") + "." : "";
      const unfiltered = state.unruled.length > 0 ? "Without these filters, which are the page’s own: " + state.unruled.map((term) => visibleText(term)).join("; ") + "." : "";
      const note = [chosen, unfiltered].filter(Boolean).join(" ");
      const signature = items.map((item) => item.key + (item.href ?? "")).join("\n") + note;
      if (signature === shown) return;
      shown = signature;
      holder.hidden = items.length === 0;
      redactRow.hidden = !items.some((item) => item.href);
      noteLine.hidden = note === "";
      noteLine.textContent = note;
      draw();
    },
  };
}
