// A button that opens a panel below itself. The browser closes it on Esc and on a click elsewhere.

import { el } from "./dom.js";

const POPOVER_MARGIN_PX = 8;

function placeUnder(button, panel) {
  const at = button.getBoundingClientRect();
  const width = panel.offsetWidth;
  const left = Math.max(POPOVER_MARGIN_PX, Math.min(at.left, window.innerWidth - width - POPOVER_MARGIN_PX));
  panel.style.left = left + "px";
  panel.style.top = at.bottom + 4 + "px";
  panel.style.maxHeight = window.innerHeight - at.bottom - 4 - POPOVER_MARGIN_PX + "px";
}

export function createPopover(button, label, onToggle = () => {}) {
  const panel = el("div", { class: "popover", popover: "auto", role: "dialog", "aria-label": label });
  button.after(panel);
  button.popoverTargetElement = panel;
  button.setAttribute("aria-haspopup", "dialog");
  button.setAttribute("aria-expanded", "false");
  panel.addEventListener("toggle", (event) => {
    const open = event.newState === "open";
    button.setAttribute("aria-expanded", String(open));
    if (open) placeUnder(button, panel);
    onToggle(open);
  });
  return { panel, close: () => panel.hidePopover(), isOpen: () => panel.matches(":popover-open"),
    place: () => placeUnder(button, panel) };
}
