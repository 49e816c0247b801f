// The quality line: always visible, with a hint for every value and a link to the details.

import { qualityValues } from "../../model/page/quality.js";
import { QUALITY_TEXT } from "../../text/quality.js";
import { el, setAttribute, setText } from "../elements/dom.js";

export function createQuality(root, dispatch) {
  const cells = new Map();
  const more = el("button", { type: "button", class: "link", "data-hint": QUALITY_TEXT.openHint, "data-testid": "quality-open", on: { click: () => dispatch({ type: "qualityDialog", open: true }) } }, QUALITY_TEXT.open);
  // The numbers are the session's, even if a report has only a part of it.
  const whole = el("span", { "data-testid": "quality-whole", hidden: "" }, QUALITY_TEXT.wholeSession);
  root.append(whole, more);

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
      whole.hidden = (state.session?.selection ?? null) === null || state.session.selection.whole;
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
