// Notes on ranges of time in the side panel: each leads to its range; who may write adds one to the selected range.

import { visibleText } from "../../model/base/text.js";
import { mayOperate } from "../../model/page/state.js";
import { isNoteRange, isNoteTooLong, newNote, notesOf } from "../../model/time/range-notes.js";
import { rangeText } from "../../model/time/timeline.js";
import { TEXT } from "../../text/session.js";
import { el, icon, isolated, setAttribute } from "../elements/dom.js";
import { ICONS } from "../elements/icons.js";

// Text in the field stays there while the panel is made again. -> {parts(state)}
export function createRangeNotes(dispatch) {
  const field = el("input", { type: "text", autocomplete: "off", maxlength: "240", "data-testid": "range-note-text" });
  const error = el("p", { class: "form-error", role: "alert" });
  const form = el("form", { class: "range-note-form" }, field,
    el("button", { type: "submit", "data-testid": "range-note-add" }, TEXT.rangeNotes.add), error);
  let latest = null;

  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const { address, session } = latest;
    error.textContent = isNoteTooLong(field.value) ? TEXT.rangeNotes.tooLong : "";
    const note = address.range === null ? null : newNote(field.value, address.range, session.elapsed_s);
    if (note === null || error.textContent !== "") return field.focus();
    field.value = "";
    // The panel does not change beneath a focus.
    document.activeElement?.blur();
    return dispatch({ type: "addRangeNote", note });
  });

  function row(note, state) {
    const range = { from: note.from_s, to: note.to_s };
    const text = visibleText(note.text);
    const open = el("button", { type: "button", class: "range-note", "data-testid": "range-note",
      "aria-current": isNoteRange(note, state.address.range) ? "true" : null,
      on: { click: () => dispatch({ type: "address", changes: { range }, how: "push" }) } }, isolated(text),
      el("span", { class: "soft" }, rangeText(range)));
    const remove = mayOperate(state)
      ? el("button", { type: "button", class: "quiet", "aria-label": TEXT.rangeNotes.remove(text),
        "data-testid": "range-note-remove", on: { click: (event) => {
          event.currentTarget.blur();
          dispatch({ type: "removeRangeNote", id: note.id });
        } } }, icon(ICONS.close, 12))
      : null;
    return el("li", {}, open, remove);
  }

  return {
    parts(state) {
      latest = state;
      const notes = notesOf(state.session);
      const canAdd = mayOperate(state) && state.address.range !== null;
      if (notes.length === 0 && !canAdd) return [];
      setAttribute(field, "placeholder", canAdd ? TEXT.rangeNotes.placeholder(rangeText(state.address.range)) : null);
      setAttribute(field, "aria-label", TEXT.rangeNotes.label);
      return [
        el("h2", { class: "plain" }, TEXT.rangeNotes.title),
        notes.length === 0
          ? null
          : el("ul", { class: "range-notes", "data-testid": "range-notes" }, ...notes.map((note) => row(note, state))),
        canAdd ? form : null,
      ];
    },
  };
}
