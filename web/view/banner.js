// What has to be known before anything else is believed: the target ended, the server is gone.

import { statusOf } from "../model/state.js";
import { visibleText } from "../model/text.js";
import { el, setAttribute, setText } from "./dom.js";

// -> {tone, text[, wait], retry} or null
export function bannerOf(state, now) {
  const { connection, session } = state;
  const status = statusOf(state);
  if (connection.state === "unreadable") return { tone: "bad", text: "The data in this report cannot be read: " + visibleText(connection.detail), retry: false };
  if (status === "denied") return { tone: "bad", text: "This page may not read from the server any more. Open the link that pyrometer printed.", retry: true };
  if (status === "lost") {
    const seconds = Math.max(1, Math.ceil(((connection.retryAt ?? now) - now) / 1000));
    const why = connection.detail === "" ? "The server does not answer." : "The server answers: " + visibleText(connection.detail);
    return { tone: "bad", text: why + " What was received stays here.", wait: " Next try in " + seconds + " s.", retry: true };
  }
  if (status === "failed") return { tone: "bad", text: "Sampling failed: " + visibleText(session.reason ?? "", "no reason given") + ".", retry: false };
  if (status === "ended") return { tone: "calm", text: "Session ended: " + visibleText(session.reason ?? "", "no reason given") + ". Nothing more will be recorded.", retry: false };
  return null;
}

export function createBanner(root, dispatch) {
  const text = el("span", { "data-testid": "banner-text" });
  // Not said again each second.
  const wait = el("span", { "aria-hidden": "true" });
  const retry = el("button", { type: "button", "data-testid": "reconnect", on: { click: () => dispatch({ type: "retry" }) } }, "Reconnect now");
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
