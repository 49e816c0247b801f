// The keyboard shortcuts, in a dialog, and the way to the manual, which a report does not hold.

import { TEXT } from "../../text/session.js";
import { el, icon } from "../elements/dom.js";
import { ICONS } from "../elements/icons.js";

// The part of the manual that describes a view: its headings are the names of the views.
const manualOf = (view) => "manual#views-" + TEXT.view[view][0].toLowerCase().replaceAll(" ", "-");

export function createHelp(root, dispatch) {
  const close = el("button", { type: "button", class: "quiet", "aria-label": TEXT.help.close,
    on: { click: () => dialog.close() } }, icon(ICONS.close));
  const rows = TEXT.help.keys.map(([key, meaning]) =>
    el("div", {}, el("dt", {}, el("kbd", {}, key)), el("dd", {}, meaning))
  );
  const link = (href, text, testid) =>
    el("a", { href, target: "_blank", rel: "noopener", "data-testid": testid }, text);
  const ofView = link("manual", TEXT.help.thisView, "manual-view");
  const manual = el("p", { class: "manual", hidden: true }, link("manual", TEXT.help.manual, "manual"), " · ", ofView);
  const about = el("p", { class: "soft" }, TEXT.help.about);
  const dialog = el("dialog", { class: "help", "data-testid": "help-dialog", "aria-labelledby": "help-title" },
    el("div", { class: "help-head" }, el("h2", { id: "help-title" }, TEXT.help.title), close), manual,
    el("dl", {}, ...rows), about);
  dialog.addEventListener("close", () => dispatch({ type: "help", open: false }));
  dialog.addEventListener("click", (event) => {
    if (event.target === dialog) dialog.close();
  });
  root.append(dialog);
  return {
    update(state) {
      manual.hidden = !state.live;
      ofView.href = manualOf(state.address.view);
      if (state.helpOpen && !dialog.open) dialog.showModal();
      if (!state.helpOpen && dialog.open) dialog.close();
    },
  };
}
