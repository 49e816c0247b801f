// Choosing what a session is compared with, in a dialog. The choices stand in the state: `picker`, which is null, or
// {sessions, captures, mayOpen, error, busy}.

import { formatWhen } from "../../model/base/instants.js";
import { formatDuration } from "../../model/base/numbers.js";
import { visibleText } from "../../model/base/text.js";
import { matchingRecords, otherRecords, suggestedChoices } from "../../model/page/compare-with.js";
import { rangeText } from "../../model/time/timeline.js";
import { TEXT } from "../../text/session.js";
import { el, icon, isolated, setText } from "../elements/dom.js";
import { ICONS } from "../elements/icons.js";

function pickerRow(choice, choose) {
  const { title, started, seconds, kind, pid, baseline, suggestion } = choice;
  const part = baseline === null ? formatDuration(seconds) : rangeText(baseline);
  const detail = [suggestion === undefined ? TEXT.picker.kinds[kind] : visibleText(title),
    formatWhen(started * 1000, Date.now()), part, pid === null ? "" : "PID " + pid].filter(Boolean).join(" · ");
  const name = suggestion === undefined ? visibleText(title) : TEXT.picker.suggestions[suggestion];
  return el("li", {},
    el("button", { type: "button", class: "item", title: visibleText(choice.command, ""),
      "data-testid": "picker-choice", "data-key": choice.key, on: { click: () => choose(choice) } },
      isolated(name, { class: "item-label" }), isolated(detail, { class: "item-hint" })));
}

export function createComparePicker(root, dispatch) {
  const search = el("input", { type: "text", placeholder: TEXT.picker.search, "aria-label": TEXT.picker.search,
    autocomplete: "off", spellcheck: "false", "data-testid": "picker-search" });
  const suggested = el("ul", { class: "picker-list", "aria-label": TEXT.picker.suggested });
  const list = el("ul", { class: "picker-list", "aria-label": TEXT.picker.all, "data-testid": "picker-list" });
  const status = el("p", { class: "soft", role: "status", "data-testid": "picker-status" });
  const close = el("button", { type: "button", class: "quiet", "aria-label": TEXT.help.close,
    on: { click: () => dialog.close() } }, icon(ICONS.close));
  const dialog = el("dialog", { class: "help host-dialog picker", "data-testid": "picker",
    "aria-labelledby": "picker-title" },
    el("div", { class: "help-head" }, el("h2", { id: "picker-title" }, TEXT.picker.title), close), suggested, search,
    status, list);
  root.append(dialog);
  let state = null;
  let shown = null;

  const choose = (choice) => dispatch({ type: "compareWith", choice });

  function fill() {
    const { picker, session, address } = state;
    if (picker.sessions === null)
      return setText(status, picker.error === "" ? TEXT.picker.loading : visibleText(picker.error));
    const records = otherRecords(session, picker.sessions, picker.captures, picker.mayOpen);
    const found = matchingRecords(records, search.value);
    suggested.replaceChildren(
      ...suggestedChoices(session, address.range, records).map((choice) => pickerRow(choice, choose)),
    );
    list.replaceChildren(...found.map((choice) => pickerRow(choice, choose)));
    const none = records.length === 0 ? TEXT.picker.none : found.length === 0 ? TEXT.picker.noMatch : "";
    return setText(status, picker.error !== "" ? visibleText(picker.error) : picker.busy ? TEXT.picker.opening : none);
  }

  search.addEventListener("input", fill);
  dialog.addEventListener("close", () => dispatch({ type: "picker", picker: null }));
  dialog.addEventListener("click", (event) => {
    if (event.target === dialog) dialog.close();
  });

  return {
    update(next) {
      state = next;
      if (state.picker === null && dialog.open) dialog.close();
      if (state.picker === null || state.session === null) return;
      if (!dialog.open) {
        search.value = "";
        suggested.replaceChildren();
        list.replaceChildren();
        dialog.showModal();
        search.focus();
        shown = null;
      }
      if (shown === state.picker) return;
      shown = state.picker;
      fill();
    },
  };
}
