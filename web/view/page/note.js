// A short message that disappears by itself.

import { el } from "../elements/dom.js";

const SHOWN_MS = 2500;

export function createNote(root, dispatch) {
  const element = el("div", { class: "note", role: "status", "data-testid": "note" });
  root.append(element);
  let timer = null;
  return {
    update(state) {
      if (element.textContent === state.note) return;
      element.textContent = state.note;
      element.classList.toggle("shown", state.note !== "");
      clearTimeout(timer);
      if (state.note !== "") timer = setTimeout(() => dispatch({ type: "note", text: "" }), SHOWN_MS);
    },
  };
}
