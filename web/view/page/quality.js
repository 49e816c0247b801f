// The quality of the data: a badge, always visible, which opens the details: every number and its meaning.

import { engineValue, measureGroups, qualityBadge, qualityValues, qualityVerdict,
  warningsValue } from "../../model/page/quality.js";
import { QUALITY_TEXT } from "../../text/quality.js";
import { TEXT } from "../../text/session.js";
import { el, icon, setAttribute, setText } from "../elements/dom.js";
import { ICONS } from "../elements/icons.js";

export function createQuality(root, dispatch) {
  const cells = new Map();
  const exact = el("span", {});
  const warning = el("strong", { "data-testid": "quality-warning" });
  const badge = el("button", { type: "button", class: "quality-badge", "data-hint": QUALITY_TEXT.openHint,
    "data-testid": "quality-open", on: { click: () => dispatch({ type: "qualityDialog", open: true }) } }, exact,
    warning);
  // The numbers are the session's, even if a report has only a part of it.
  const whole = el("span", { "data-testid": "quality-whole", hidden: "" }, QUALITY_TEXT.wholeSession);
  const verdict = el("p", { class: "verdict", "data-testid": "quality-verdict" });
  const line = el("p", { class: "quality" }, whole);
  root.append(badge);

  function cellFor(key) {
    let cell = cells.get(key);
    if (cell === undefined) {
      const value = el("strong", { "data-testid": "quality-" + key });
      const label = el("span", {});
      const element = el("span", { class: "quality-value", "data-hint": "" }, value, " ", label);
      cell = { value, label, element };
      cells.set(key, cell);
      line.append(element);
    }
    return cell;
  }

  return {
    parts: [verdict, line],
    update(state) {
      whole.hidden = (state.session?.selection ?? null) === null || state.session.selection.whole;
      const settings = state.session?.settings ?? null;
      const values = [...qualityValues(state.session?.quality ?? null, settings, state.session?.foreign ?? null),
        engineValue(settings), warningsValue(state.session?.targets, state.session?.processes)].filter(Boolean);
      // Before the session is known, nobody knows its engine, and so which values it has.
      for (const [key, cell] of cells) cell.element.hidden = !values.some((shown) => shown.key === key);
      for (const shown of values) {
        const cell = cellFor(shown.key);
        setText(cell.value, shown.value);
        setText(cell.label, shown.label);
        setAttribute(cell.element, "data-hint", shown.meaning);
        setAttribute(cell.element, "data-level", shown.level);
      }
      setText(verdict, qualityVerdict(values));
      const said = qualityBadge(values);
      setText(exact, said.exact);
      setText(warning, said.warning);
      warning.hidden = said.warning === "";
    },
  };
}

function createMeasureRow(row) {
  const value = el("strong", { "data-testid": "measure-" + row.key });
  const share = el("span", { class: "measure-share" });
  const element = el("div", { class: "measure-row" }, el("dt", {}, row.label),
    el("dd", {}, el("span", { class: "measure-value" }, value, share),
      el("span", { class: "measure-meaning" }, row.meaning)));
  return { element, value, share };
}

// `parts`: the elements with the verdict and the values.
export function createMeasures(root, dispatch, parts) {
  const close = el("button", { type: "button", class: "quiet", "aria-label": TEXT.help.close,
    on: { click: () => dialog.close() } }, icon(ICONS.close));
  const groups = el("div", { class: "measure-groups" });
  const waiting = el("p", { class: "soft" }, QUALITY_TEXT.loading);
  const about = el("p", { class: "soft" }, QUALITY_TEXT.about);
  const dialog = el("dialog", { class: "help measures-dialog", "data-testid": "quality-dialog",
    "aria-labelledby": "measures-title" },
    el("div", { class: "help-head" }, el("h2", { id: "measures-title" }, QUALITY_TEXT.label), close), ...parts, waiting,
    groups, about);
  let shownKeys = "";
  let rows = new Map();
  dialog.addEventListener("close", () => dispatch({ type: "qualityDialog", open: false }));
  dialog.addEventListener("click", (event) => {
    if (event.target === dialog) dialog.close();
  });
  root.append(dialog);

  function rebuild(shown) {
    rows = new Map();
    const sections = shown.map((group) =>
      el("section", {}, el("h3", {}, group.title), el("dl", {}, ...group.rows.map((row) => {
        rows.set(row.key, createMeasureRow(row));
        return rows.get(row.key).element;
      })))
    );
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
