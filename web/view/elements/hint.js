// The hint of an element with data-hint, shown while it is hovered or focused.

import { el } from "./dom.js";

const HINT_MARGIN_PX = 8;

export function createHint(root) {
  const bubble = el("div", { class: "hint", role: "tooltip", id: "hint", hidden: true });
  root.append(bubble);
  let owner = null;

  function place(target) {
    const at = target.getBoundingClientRect();
    const width = bubble.offsetWidth;
    const left = Math.max(HINT_MARGIN_PX,
      Math.min(at.left + at.width / 2 - width / 2, window.innerWidth - width - HINT_MARGIN_PX));
    const below = at.bottom + 6;
    const fits = below + bubble.offsetHeight + HINT_MARGIN_PX < window.innerHeight;
    bubble.style.left = left + "px";
    bubble.style.top = (fits ? below : at.top - bubble.offsetHeight - 6) + "px";
  }

  function show(target) {
    owner = target;
    bubble.textContent = target.dataset.hint;
    bubble.hidden = false;
    target.setAttribute("aria-describedby", "hint");
    place(target);
  }

  function hide() {
    owner?.removeAttribute("aria-describedby");
    owner = null;
    bubble.hidden = true;
  }

  // The place where the pointer was pressed: what a click moves beneath a pointer that stands still is not pointed at.
  let pressed = null;

  // Under a finger it would cover what stands beside it.
  function onEnter(event) {
    if (event.pointerType === "touch"
      || (pressed !== null && event.clientX === pressed.x && event.clientY === pressed.y)) return;
    pressed = null;
    const target = event.target instanceof Element ? event.target.closest("[data-hint]") : null;
    if (target === owner) return;
    hide();
    if (target !== null && target.dataset.hint !== "") show(target);
  }

  document.addEventListener("pointerover", onEnter);
  document.addEventListener("focusin", (event) => {
    if (event.target.matches?.(":focus-visible")) onEnter(event);
  });
  document.addEventListener("focusout", hide);
  document.addEventListener("pointerdown", ({ clientX: x, clientY: y }) => {
    hide();
    pressed = { x, y };
  });
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape") hide();
  });

  return {
    update() {
      if (owner !== null && !owner.isConnected) hide();
      else if (owner !== null && bubble.textContent !== owner.dataset.hint) bubble.textContent = owner.dataset.hint;
    },
  };
}
