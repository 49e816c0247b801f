// The quality line: always on screen, every value explained where it stands.

import { qualityValues } from "../model/quality.js";
import { el, setAttribute, setText } from "./dom.js";

export function createQuality(root) {
  const cells = new Map();

  function cellFor(key) {
    let cell = cells.get(key);
    if (cell === undefined) {
      const value = el("strong", { "data-testid": "quality-" + key });
      const label = el("span", {});
      const element = el("span", { class: "quality-value", tabindex: "0", "data-hint": "" }, value, " ", label);
      cell = { value, label, element };
      cells.set(key, cell);
      root.append(element);
    }
    return cell;
  }

  return {
    update(state) {
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
