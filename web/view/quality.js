// The quality line: always on screen, every value explained where it stands; all numbers are behind it.

import { qualityValues } from "../model/quality.js";
import { el, setAttribute, setText } from "./dom.js";

export function createQuality(root, dispatch) {
  const cells = new Map();
  const more = el("button", { type: "button", class: "link", "data-hint": "Every number, and what it means  ( q )", "data-testid": "quality-open", on: { click: () => dispatch({ type: "qualityDialog", open: true }) } }, "all numbers");
  // Counters of how it went are the session's, whatever part of it a report has.
  const whose = el("span", { "data-testid": "quality-whose", hidden: "" }, "Whole session:");
  root.append(whose, more);

  function cellFor(key) {
    let cell = cells.get(key);
    if (cell === undefined) {
      const value = el("strong", { "data-testid": "quality-" + key });
      const label = el("span", {});
      const element = el("span", { class: "quality-value", tabindex: "0", "data-hint": "" }, value, " ", label);
      cell = { value, label, element };
      cells.set(key, cell);
      more.before(element);
    }
    return cell;
  }

  return {
    update(state) {
      whose.hidden = (state.session?.selection ?? null) === null || state.session.selection.whole;
      for (const shown of qualityValues(state.session?.quality ?? null)) {
        const cell = cellFor(shown.key);
        setText(cell.value, shown.value);
        setText(cell.label, shown.label);
        setAttribute(cell.element, "data-hint", shown.meaning);
        setAttribute(cell.element, "data-level", shown.level);
      }
    },
  };
}
