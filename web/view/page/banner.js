// The banner: the session failed, the server does not answer, or threads wait for each other.

import { visibleText } from "../../model/base/text.js";
import { statusOf } from "../../model/page/state.js";
import { deadlocksParts } from "../../model/threads/locks.js";
import { TEXT } from "../../text/session.js";
import { el, isolated, setText } from "../elements/dom.js";

// -> {text[, parts (of which every second one is a name from the target)][, wait], retry[, opensLocks]} or null
export function bannerOf(state, now) {
  const { connection, session } = state;
  const status = statusOf(state);
  if (connection.state === "unreadable")
    return { text: TEXT.banner.unreadable(visibleText(connection.detail)), retry: false };
  if (status === "denied") return { text: TEXT.banner.denied, retry: true };
  if (status === "lost") {
    const seconds = Math.max(1, Math.ceil(((connection.retryAt ?? now) - now) / 1000));
    const why = connection.detail === "" ? TEXT.banner.silent : TEXT.banner.answered(visibleText(connection.detail));
    return { text: why + TEXT.banner.kept, wait: TEXT.banner.retryIn(seconds), retry: true };
  }
  if (status === "failed")
    return { text: TEXT.banner.failed(visibleText(session.reason ?? "", TEXT.banner.noReason)), retry: false };
  if (state.deadlocks.length === 0 || status === "ended") return null;
  const parts = deadlocksParts(state.deadlocks);
  return { text: parts.join(""), parts, retry: false, opensLocks: state.address.view !== "locks" };
}

export function createBanner(root, dispatch) {
  const text = el("span", { "data-testid": "banner-text" });
  // Not said again each second.
  const wait = el("span", { "aria-hidden": "true" });
  const retry = el("button", { type: "button", "data-testid": "reconnect",
    on: { click: () => dispatch({ type: "retry" }) } }, TEXT.banner.retry);
  root.classList.add("banner");
  root.hidden = true;
  root.setAttribute("role", "alert");
  root.dataset.testid = "banner";
  const locks = el("button", { type: "button", "data-testid": "banner-locks",
    on: { click: () => dispatch({ type: "address", changes: { view: "locks" }, how: "push" }) } }, TEXT.locks.show);
  root.append(text, wait, retry, locks);
  return {
    update(state) {
      const banner = bannerOf(state, Date.now());
      root.hidden = banner === null;
      if (banner === null) return;
      const said = banner.text.replace(/\.\.( |$)/g, ".$1");
      const parts = banner.parts?.map((part, i) => (i % 2 === 1 ? isolated(part) : part)) ?? [said];
      if (text.textContent !== said) text.replaceChildren(...parts);
      setText(wait, banner.wait ?? "");
      wait.hidden = banner.wait === undefined;
      wait.hidden = banner.wait === undefined;
      retry.hidden = !banner.retry;
      locks.hidden = banner.opensLocks !== true;
    },
  };
}
