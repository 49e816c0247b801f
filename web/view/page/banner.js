// The banner: the session failed, or the server does not answer.

import { visibleText } from "../../model/base/text.js";
import { statusOf } from "../../model/page/state.js";
import { TEXT } from "../../text/session.js";
import { el, setText } from "../elements/dom.js";

// -> {text[, wait], retry} or null
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
  return null;
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
  root.append(text, wait, retry);
  return {
    update(state) {
      const banner = bannerOf(state, Date.now());
      root.hidden = banner === null;
      if (banner === null) return;
      setText(text, banner.text.replace(/\.\.( |$)/g, ".$1"));
      setText(wait, banner.wait ?? "");
      retry.hidden = !banner.retry;
    },
  };
}
