// The first line of the page: the answer of the summary in one sentence.

import { PANEL_VIEWS } from "../../model/page/address.js";
import { escapeInvisible, shortenText } from "../../model/base/text.js";
import { isOfMore } from "../flame/summary.js";
import { el, isolated } from "../elements/dom.js";

const HEADLINE_MAX = 400;

export function createHeadline(root) {
  const text = isolated("", { "data-testid": "headline" });
  root.append(text);
  return {
    update(state) {
      const said = isOfMore(state) ? "" : state.summary?.headline ?? "";
      // It is there before it says something, as what comes later would move all below.
      root.hidden = !PANEL_VIEWS.includes(state.address.view);
      // A sentence with several names is longer than a name may be.
      const shown = escapeInvisible(shortenText(said, HEADLINE_MAX, HEADLINE_MAX, 0));
      if (text.dataset.said === shown) return;
      text.dataset.said = shown;
      // Names stand between backquotes.
      text.replaceChildren(...shown.split("`").map((part, i) => (i % 2 === 1 ? el("code", {}, part) : part)));
    },
  };
}
