// Between the page of the host and those of its sessions: the address says which, and going to another begins anew.

import { sessionOf } from "../model/hosting.js";
import { el } from "../view/dom.js";

export function listenForPlaces() {
  const session = sessionOf(location.hash);
  // First of all that listen: nobody else may take the new address for one of the page that is left.
  const look = (event) => {
    if (sessionOf(location.hash) === session) return;
    event.stopImmediatePropagation();
    location.reload();
  };
  window.addEventListener("popstate", look);
  window.addEventListener("hashchange", look);
  return {
    session,
    showWayBack() {
      const link = el("a", { class: "way-back", href: "#v=1", "data-testid": "home", "data-hint": "Processes, sessions and captures of this host" }, "‹ Host");
      document.querySelector("#header .identity").prepend(link);
    },
  };
}
