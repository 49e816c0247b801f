// The keyboard shortcuts, in a dialog.

import { TEXT } from "../../text/session.js";
import { el, icon } from "../elements/dom.js";
import { ICONS } from "../elements/icons.js";

export function createHelp(root, dispatch) {
  const close = el("button", { type: "button", class: "quiet", "aria-label": TEXT.help.close, on: { click: () => dialog.close() } }, icon(ICONS.close));
  const rows = TEXT.help.keys.map(([key, meaning]) => el("div", {}, el("dt", {}, el("kbd", {}, key)), el("dd", {}, meaning)));
  const about = el("p", { class: "soft" }, TEXT.help.about);
  const dialog = el("dialog", { class: "help", "data-testid": "help-dialog", "aria-labelledby": "help-title" },
    el("div", { class: "help-head" }, el("h2", { id: "help-title" }, TEXT.help.title), close), el("dl", {}, ...rows), about);
  dialog.addEventListener("close", () => dispatch({ type: "help", open: false }));
  dialog.addEventListener("click", (event) => {
    if (event.target === dialog) dialog.close();
  });
  root.append(dialog);
  return {
    update(state) {
      if (state.helpOpen && !dialog.open) dialog.showModal();
      if (!state.helpOpen && dialog.open) dialog.close();
    },
  };
}
