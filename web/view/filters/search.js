// The search box: text or /regex/, with the share of samples whose stack contains a match.

import { formatCount, formatShare } from "../../model/base/numbers.js";
import { TEXT } from "../../text/session.js";
import { el, icon, setAttribute, setText } from "../elements/dom.js";
import { ICONS } from "../elements/icons.js";

function resultText(matches, amountText) {
  return TEXT.search.found(amountText(matches.samples), formatCount(matches.functions));
}

export function createSearch(dispatch) {
  const input = el("input", {
    type: "search",
    placeholder: TEXT.search.placeholder,
    "aria-label": TEXT.search.label,
    "aria-describedby": "search-result",
    autocomplete: "off",
    spellcheck: "false",
    "data-testid": "search",
  });
  const share = el("strong", { "data-testid": "matched" });
  const word = el("span", {});
  const count = el("span", { class: "count", "data-testid": "matched-count" });
  const error = el("span", { "data-testid": "search-error" });
  const result = el("span", { class: "result", id: "search-result" }, share, word, count, error);
  const element = el("div", { class: "search" }, el("label", { class: "field" }, icon(ICONS.search), input), result);
  const change = () => dispatch({ type: "address", changes: { search: input.value }, how: "replace" });
  input.addEventListener("input", change);
  input.addEventListener("keydown", (event) => {
    if (event.key === "Escape") {
      event.preventDefault();
      event.stopPropagation();
      input.value = "";
      change();
      input.blur();
    }
  });
  return {
    element,
    focus() {
      input.focus();
      input.select();
    },
    update(state) {
      const { matches, amountText } = state.picture;
      if (document.activeElement !== input && input.value !== state.address.search) input.value = state.address.search;
      setAttribute(input, "aria-invalid", matches.error === null ? null : "true");
      setText(share, matches.active ? formatShare(matches.share) : "");
      setText(word, matches.active ? TEXT.search.matched : "");
      setText(count, matches.active ? TEXT.search.samples(amountText(matches.samples)) : "");
      setText(error, matches.error ?? "");
      setAttribute(result, "data-hint", matches.active ? resultText(matches, amountText) : null);
      setAttribute(result, "data-error", matches.error !== null || null);
      result.hidden = !matches.active && matches.error === null;
    },
  };
}
