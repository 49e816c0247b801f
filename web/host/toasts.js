// Short messages with one action. They disappear by themselves unless the pointer or the focus is on them.

import { HOST_TEXT } from "../text/host.js";
import { el } from "../view/elements/dom.js";

const TOAST_MS = 6000;
const TOASTS_MAX = 4;

export function createToasts(root) {
  const list = el("div", { class: "toasts", role: "status", "aria-live": "polite", "data-testid": "toasts" });
  root.append(list);

  // show({text, tone, action: {label, run} or {label, href}, onGone}) ; onGone is not called when the action was taken
  function show({ text, tone = "calm", action = null, onGone = () => {} }) {
    let timer = null;
    const toast = el("div", { class: "toast", "data-tone": tone, "data-testid": "toast" }, el("bdi", {}, text));
    const leave = (taken) => {
      clearTimeout(timer);
      if (!toast.isConnected) return;
      toast.remove();
      if (!taken) onGone();
    };
    const wait = () => {
      clearTimeout(timer);
      timer = setTimeout(() => leave(false), TOAST_MS);
    };
    if (action?.href) toast.append(el("a", { href: action.href }, action.label));
    else if (action)
      toast.append(el("button", { type: "button", class: "link", "data-testid": "toast-action", on: { click: () => {
        leave(true);
        action.run();
      } } }, action.label));
    toast.append(
      el("button", { type: "button", class: "link close", "aria-label": HOST_TEXT.dismiss,
        on: { click: () => leave(false) } }, "×"),
    );
    toast.addEventListener("pointerenter", () => clearTimeout(timer));
    toast.addEventListener("focusin", () => clearTimeout(timer));
    toast.addEventListener("pointerleave", wait);
    toast.addEventListener("focusout", wait);
    list.append(toast);
    while (list.childElementCount > TOASTS_MAX) list.firstElementChild.querySelector(".close").click();
    wait();
    return () => leave(true);
  }

  return { show };
}
