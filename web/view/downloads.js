// The download menu. Links are plain links; what a report can make by itself is made when it is asked for.

import { el, icon } from "./dom.js";
import { ICONS } from "./icons.js";
import { createPopover } from "./popover.js";

function saveText(name, text) {
  const url = URL.createObjectURL(new Blob([text], { type: "text/plain" }));
  const link = el("a", { href: url, download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 10000);
}

function menuItem(item, close) {
  const text = [el("span", { class: "item-label" }, item.label), el("span", { class: "item-hint" }, item.hint)];
  const testid = "download-" + item.key;
  if (item.href) return el("a", { class: "item", href: item.href, download: "", "data-testid": testid, on: { click: close } }, ...text);
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
  return {
    elements: [holder],
    attach() {
      popover = createPopover(button, "Download");
      popover.panel.classList.add("menu");
    },
    update(state) {
      const items = state.downloads;
      const byThread = state.picture.chosen.chosen.length > 0;
      const byState = state.address.states.length > 0;
      const note = byThread || byState ? "Only the chosen " + [byThread ? "threads" : "", byState ? "state" : ""].filter(Boolean).join(" and ") + "." : "";
      const signature = items.map((item) => item.key + (item.href ?? "")).join("\n") + note;
      if (signature === shown) return;
      shown = signature;
      holder.hidden = items.length === 0;
      popover.panel.replaceChildren(...items.map((item) => menuItem(item, () => popover.close())), note === "" ? "" : el("p", { class: "menu-note" }, note));
    },
  };
}
