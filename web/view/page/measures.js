// The details of data quality, in a dialog: every number and its meaning.

import { measureGroups } from "../../model/page/measures.js";
import { QUALITY_TEXT } from "../../text/quality.js";
import { TEXT } from "../../text/session.js";
import { el, icon, setText } from "../elements/dom.js";
import { ICONS } from "../elements/icons.js";

function createMeasureRow(row) {
  const value = el("strong", { "data-testid": "measure-" + row.key });
  const share = el("span", { class: "measure-share" });
  const element = el("div", { class: "measure-row" },
    el("dt", {}, row.label), el("dd", {}, el("span", { class: "measure-value" }, value, share), el("span", { class: "measure-meaning" }, row.meaning)));
  return { element, value, share };
}

export function createMeasures(root, dispatch) {
  const close = el("button", { type: "button", class: "quiet", "aria-label": TEXT.help.close, on: { click: () => dialog.close() } }, icon(ICONS.close));
  const groups = el("div", { class: "measure-groups" });
  const waiting = el("p", { class: "soft" }, QUALITY_TEXT.loading);
  const about = el("p", { class: "soft" }, QUALITY_TEXT.about);
  const dialog = el("dialog", { class: "help measures-dialog", "data-testid": "quality-dialog", "aria-labelledby": "measures-title" },
    el("div", { class: "help-head" }, el("h2", { id: "measures-title" }, QUALITY_TEXT.label), close), waiting, groups, about);
  let shownKeys = "";
  let rows = new Map();
  dialog.addEventListener("close", () => dispatch({ type: "qualityDialog", open: false }));
  dialog.addEventListener("click", (event) => {
    if (event.target === dialog) dialog.close();
  });
  root.append(dialog);

  function rebuild(shown) {
    rows = new Map();
    const sections = shown.map((group) => el("section", {}, el("h3", {}, group.title), el("dl", {}, ...group.rows.map((row) => {
      rows.set(row.key, createMeasureRow(row));
      return rows.get(row.key).element;
    }))));
    groups.replaceChildren(...sections);
  }

  function fill(shown) {
    const keys = shown.map((group) => group.rows.map((row) => row.key).join()).join(";");
    if (keys !== shownKeys) rebuild(shown);
    shownKeys = keys;
    for (const row of shown.flatMap((group) => group.rows)) {
      setText(rows.get(row.key).value, row.value);
      setText(rows.get(row.key).share, row.share);
    }
  }

  return {
    update(state) {
      if (state.qualityOpen && !dialog.open) dialog.showModal();
      if (!state.qualityOpen && dialog.open) dialog.close();
      if (!dialog.open) return;
      waiting.hidden = state.quality !== null;
      fill(measureGroups(state.quality));
    },
  };
}
