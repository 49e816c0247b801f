// The choice of what is counted, the bar of the five parts of time, which choose what is shown, and the chips of the marks among the
// filters.

import { formatCount } from "../../model/base/numbers.js";
import { visibleText } from "../../model/base/text.js";
import { markChips, partItems, partsAfter } from "../../model/filters/selection.js";
import { chosenMeasure, MEASURED_VIEWS, measuresOf, TIME } from "../../model/page/measures.js";
import { PARTS, shownParts, usualParts } from "../../model/profile/parts.js";
import { isWithoutGil } from "../../model/threads/activity.js";
import { TEXT } from "../../text/session.js";
import { el, segmented, setAttribute, setText } from "../elements/dom.js";

// A part: its piece of the bar, and its button below.
function createPartButton(key, choose) {
  const piece = el("i", { class: "part", "data-part": key, on: { click: (event) => choose(key, event) } });
  const share = el("span", { class: "chip-share" });
  const hidden = el("span", { class: "part-hidden" }, TEXT.parts.hidden);
  const [label, , short] = TEXT.parts[key];
  const name = short === undefined
    ? [el("span", {}, label)]
    : [el("span", { class: "long-label" }, label), el("span", { class: "short-label", "aria-hidden": "true" }, short)];
  const button = el("button", { type: "button", class: "chip", "data-testid": "part", "data-value": key,
    on: { click: (event) => choose(key, event) } }, el("i", { class: "part", "data-part": key, "aria-hidden": "true" }),
    ...name, share, hidden);
  // A browser does not press a button for a key with Ctrl.
  button.addEventListener("keydown", (event) => {
    if (!(event.ctrlKey || event.metaKey || event.shiftKey) || ![" ", "Enter"].includes(event.key)) return;
    event.preventDefault();
    choose(key, event);
  });
  return { piece, share, hidden, button };
}

// The text about samples that the recording left out, which cannot be shown here.
function recordedText(session) {
  const mode = session?.settings?.mode ?? "wall";
  return mode === "wall" ? "" : TEXT.states.recordedMode(mode, formatCount(session.quality?.filtered ?? NaN));
}

// Time, or another measure, where the session has several: {element, update(state)}.
function createMeasureChoice(change) {
  const element = el("div", { hidden: "" });
  let group = null;
  let shown = "";
  return {
    element,
    update(state) {
      const measures = measuresOf(state);
      const names = measures.map(({ name }) => name).join(" ");
      if (names !== shown) {
        shown = names;
        group = segmented(TEXT.measure.label, "measure", measures.map(({ name, title, unit }) => {
          const [label, hint] = TEXT.measure.choices[name] ?? [visibleText(title), visibleText(unit)];
          return { value: name, label, hint };
        }), (value) => change({ measure: value === TIME ? null : value }));
        element.replaceChildren(group.element);
      }
      element.hidden = measures.length < 2 || !MEASURED_VIEWS.includes(state.address.view);
      group?.set(chosenMeasure(state) ?? TIME);
    },
  };
}

export function createPartsBar(root, dispatch, marks) {
  let state = null;
  const change = (changes) => dispatch({ type: "address", changes, how: "push" });
  const choose = (key, { ctrlKey, metaKey, shiftKey }) =>
    change({ parts: partsAfter(shownParts(state), usualParts(state), key, ctrlKey || metaKey || shiftKey) });
  const parts = PARTS.map((key) => createPartButton(key, choose));
  const bar = el("div", { class: "part-bar", "aria-hidden": "true" }, ...parts.map(({ piece }) => piece));
  const note = el("span", { class: "states-note", "data-testid": "recorded-mode" });
  const measure = createMeasureChoice(change);
  const ofTime = el("div", { class: "parts", role: "group", "aria-label": TEXT.parts.label, "data-testid": "parts" },
    bar, el("div", { class: "chips" }, ...parts.map(({ button }) => button)));
  root.append(measure.element, ofTime, note);
  let shownMarks = "";

  function showMarks(chips) {
    const signature = JSON.stringify(chips);
    if (signature === shownMarks) return;
    shownMarks = signature;
    const focused = document.activeElement?.closest?.("[data-testid=mark]")?.dataset.value;
    marks.replaceChildren(
      ...chips.map(({ key, label, share, hint, isPressed, words }) =>
        el("button", { type: "button", class: "chip", "data-testid": "mark", "data-value": key, "data-hint": hint,
          "aria-pressed": String(isPressed), on: { click: () => change({ states: words }) } }, el("span", {}, label),
          el("span", { class: "chip-share" }, share))
      ),
    );
    marks.querySelector('[data-value="' + focused + '"]')?.focus();
    marks.hidden = chips.length === 0;
  }

  return {
    update(next) {
      state = next;
      const { sums } = state.picture;
      measure.update(state);
      ofTime.hidden = state.picture.measure !== null;
      partItems(sums, shownParts(state), isWithoutGil(state.session, sums)).forEach((item, i) => {
        const { piece, share, hidden, button } = parts[i];
        piece.style.width = (item.share || 0) * 100 + "%";
        setAttribute(piece, "data-hidden", item.isShown ? null : "");
        setAttribute(piece, "data-hint", item.label + " " + item.text);
        setText(share, item.text);
        hidden.hidden = item.isShown;
        setAttribute(button, "aria-pressed", String(item.isShown));
        setAttribute(button, "data-hint", item.hint);
      });
      showMarks(state.picture.measure === null ? markChips(sums, state.address.states) : []);
      setText(note, recordedText(state.session));
      note.hidden = note.textContent === "";
    },
  };
}
