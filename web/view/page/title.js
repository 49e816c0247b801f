// The title of the tab: the status first, because tabs are narrow.

import { baseName, visibleText } from "../../model/base/text.js";
import { newerSamples, statusOf } from "../../model/page/state.js";
import { TEXT } from "../../text/session.js";

const SIGNS = { running: "●", "view paused": "❚❚", ended: "■", failed: "✕", lost: "✕", denied: "✕", report: "◆" };

function targetName(session) {
  const words = session?.target?.command ?? [];
  const script = words.slice(1).find((word) => !word.startsWith("-")) ?? words[0];
  return script === undefined ? "" : visibleText(baseName(script));
}

export function titleOf(state) {
  const status = statusOf(state);
  const newer = status === "view paused" ? newerSamples(state) : 0;
  const words = [SIGNS[status] ?? "○", targetName(state.session), TEXT.title[status],
    newer > 0 ? TEXT.title.paused : ""];
  return words.filter(Boolean).join(" ") + " – Pyrometer";
}

export function createTitle() {
  return {
    update(state) {
      const title = titleOf(state);
      if (document.title !== title) document.title = title;
    },
  };
}
