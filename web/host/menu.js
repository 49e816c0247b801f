// One menu for the whole page, opened below the button that asks for it.

import { el } from "../view/elements/dom.js";

const MENU_MARGIN_PX = 8;

export function createHostMenu(root) {
  const panel = el("div", { class: "popover menu host-menu", popover: "auto", role: "menu",
    "data-testid": "host-menu" });
  root.append(panel);
  let owner = null;
  panel.addEventListener("toggle", (event) => {
    owner?.setAttribute("aria-expanded", String(event.newState === "open"));
    if (event.newState !== "open") owner?.focus({ preventScroll: true });
  });
  panel.addEventListener("keydown", (event) => {
    const items = Array.from(panel.children);
    const at = items.indexOf(document.activeElement);
    const to = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: items.length - 1 }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    items[(to + items.length) % items.length]?.focus();
  });

  function item({ label, hint, run, href, testid }) {
    const words = [el("span", { class: "item-label" }, label), hint ? el("span", { class: "item-hint" }, hint) : null];
    const common = { class: "item", role: "menuitem", "data-testid": testid };
    if (href) return el("a", { ...common, href, download: "", on: { click: () => panel.hidePopover() } }, ...words);
    return el("button", { ...common, type: "button", on: { click: () => {
      panel.hidePopover();
      run();
    } } }, ...words);
  }

  return {
    open(button, items) {
      owner = button;
      panel.replaceChildren(...items.filter(Boolean).map(item));
      panel.showPopover();
      const at = button.getBoundingClientRect();
      const left = Math.max(MENU_MARGIN_PX,
        Math.min(at.right - panel.offsetWidth, window.innerWidth - panel.offsetWidth - MENU_MARGIN_PX));
      const below = at.bottom + 4 + panel.offsetHeight + MENU_MARGIN_PX <= window.innerHeight;
      panel.style.left = left + "px";
      panel.style.top = Math.max(MENU_MARGIN_PX, below ? at.bottom + 4 : at.top - 4 - panel.offsetHeight) + "px";
      panel.firstElementChild?.focus();
    },
  };
}
