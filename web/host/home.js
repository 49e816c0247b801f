// Switches between the page of the host and those of its sessions: the address names the page, and another page is a reload.

import { sessionOf } from "../model/host/address.js";
import { TEXT } from "../text/session.js";
import { el } from "../view/elements/dom.js";

export function listenForPlaces() {
  const session = sessionOf(location.hash);
  let leaving = false;
  // First of all that listen: nobody else may take the new address for one of the page that is left.
  const follow = (event) => {
    if (sessionOf(location.hash) === session) return;
    event.stopImmediatePropagation();
    // Both events tell of one change; a second reload would close what its user has opened since the first.
    if (leaving) return;
    leaving = true;
    location.reload();
  };
  window.addEventListener("popstate", follow);
  window.addEventListener("hashchange", follow);
  return {
    session,
    showWayBack() {
      const link = el("a", { class: "way-back", href: "#v=1", "data-testid": "home",
        "data-hint": TEXT.header.homeHint }, TEXT.header.home);
      document.querySelector("#header .identity").prepend(link);
    },
  };
}
