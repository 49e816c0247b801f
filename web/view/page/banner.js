// The banner: the session ended or failed, or the server does not answer.

import { statusOf } from "../../model/page/state.js";
import { visibleText } from "../../model/base/text.js";
import { TEXT } from "../../text/session.js";
import { el, setAttribute, setText } from "../elements/dom.js";

function endReason({ reason }) {
  return TEXT.banner.reasons[reason] ?? visibleText(reason ?? "", TEXT.banner.noReason);
}

// -> {tone, text[, wait], retry} or null
export function bannerOf(state, now) {
  const { connection, session } = state;
  const status = statusOf(state);
  if (connection.state === "unreadable") return { tone: "bad", text: TEXT.banner.unreadable(visibleText(connection.detail)), retry: false };
  if (status === "denied") return { tone: "bad", text: TEXT.banner.denied, retry: true };
  if (status === "lost") {
    const seconds = Math.max(1, Math.ceil(((connection.retryAt ?? now) - now) / 1000));
    const why = connection.detail === "" ? TEXT.banner.silent : TEXT.banner.answered(visibleText(connection.detail));
    return { tone: "bad", text: why + TEXT.banner.kept, wait: TEXT.banner.retryIn(seconds), retry: true };
  }
  if (status === "failed") return { tone: "bad", text: TEXT.banner.failed(visibleText(session.reason ?? "", TEXT.banner.noReason)), retry: false };
  if (status === "ended") return { tone: "calm", text: TEXT.banner.ended(endReason(session)), retry: false };
  return null;
}

export function createBanner(root, dispatch) {
  const text = el("span", { "data-testid": "banner-text" });
  // Not said again each second.
  const wait = el("span", { "aria-hidden": "true" });
  const retry = el("button", { type: "button", "data-testid": "reconnect", on: { click: () => dispatch({ type: "retry" }) } }, TEXT.banner.retry);
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
      setAttribute(root, "data-tone", banner.tone);
      setText(text, banner.text.replace(/\.\.( |$)/g, ".$1"));
      setText(wait, banner.wait ?? "");
      retry.hidden = !banner.retry;
    },
  };
}
