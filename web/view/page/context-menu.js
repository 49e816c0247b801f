// The menu of a frame, a row or a line. What it is about stands in the state: `menu`, which is null or {label, key, stack, x, y}.

import { mergeLinks } from "../../model/page/links.js";
import { menuItems } from "../../model/page/menu.js";
import { TEXT } from "../../text/session.js";
import { el, isolated } from "../elements/dom.js";

const CONTEXT_MARGIN_PX = 8;

export function createContextMenu(root, dispatch) {
  const panel = el("div", { class: "popover menu", popover: "auto", role: "menu", "aria-label": TEXT.menu.label,
    "data-testid": "context-menu" });
  root.append(panel);
  let shown = null;
  let owner = null;

  function close() {
    panel.hidePopover();
  }

  panel.addEventListener("toggle", (event) => {
    if (event.newState === "open" || shown === null) return;
    shown = null;
    dispatch({ type: "menu", menu: null });
    owner?.focus({ preventScroll: true });
  });
  panel.addEventListener("keydown", (event) => {
    const items = Array.from(panel.querySelectorAll(".item"));
    const at = items.indexOf(document.activeElement);
    const to = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: items.length - 1 }[event.key];
    event.stopPropagation();
    if (event.key === "Tab") close();
    if (to === undefined) return;
    event.preventDefault();
    items[(to + items.length) % items.length].focus();
  });

  function itemOf({ key, label, hint, action, href }) {
    const run = () => {
      close();
      if (action !== undefined) dispatch(action);
    };
    // An editor takes its address from this page; a web page gets a tab of its own.
    if (href !== undefined)
      return el("a", { href, class: "item", role: "menuitem", title: hint,
        target: /^https?:/i.test(href) ? "_blank" : null, rel: "noopener noreferrer", "data-testid": "menu-" + key,
        on: { click: close } }, label);
    return el("button", { type: "button", class: "item", role: "menuitem", title: hint, "data-testid": "menu-" + key,
      on: { click: run } }, label);
  }

  function open(menu, links) {
    shown = menu;
    owner = document.activeElement;
    panel.replaceChildren(el("p", { class: "menu-note" }, isolated(menu.label.name)),
      ...menuItems(menu, links).map(itemOf));
    panel.showPopover();
    panel.style.left =
      Math.max(CONTEXT_MARGIN_PX, Math.min(menu.x, window.innerWidth - panel.offsetWidth - CONTEXT_MARGIN_PX)) + "px";
    panel.style.top =
      Math.max(CONTEXT_MARGIN_PX, Math.min(menu.y, window.innerHeight - panel.offsetHeight - CONTEXT_MARGIN_PX)) + "px";
    panel.querySelector(".item").focus();
  }

  return {
    update({ menu, links, session }) {
      if (menu !== null && menu !== shown) open(menu, mergeLinks(links.came, links.own, session?.checkout));
    },
  };
}
