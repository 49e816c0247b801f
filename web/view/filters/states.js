// The state filter: one choice, with the share of samples in each state.

import { hiddenHint, hiddenShare, stateChips } from "../../model/filters/chips.js";
import { isWithoutGil } from "../../model/threads/activity.js";
import { shownStates } from "../../model/profile/states.js";
import { formatCount } from "../../model/base/numbers.js";
import { TEXT } from "../../text/session.js";
import { el, scrollSideways, setAttribute, setText } from "../elements/dom.js";

function createChip(choose) {
  const label = el("span", {});
  const short = el("span", { class: "short-label", "aria-hidden": "true" });
  const share = el("span", { class: "chip-share" });
  // The chips are the legend of the timeline.
  const colour = el("i", { class: "doing", "aria-hidden": "true" });
  const element = el("button", { type: "button", class: "chip", "data-testid": "state" }, colour, label, short, share);
  const chip = { element, label, short, share, colour, shown: null };
  element.addEventListener("click", () => {
    if (!chip.shown.disabled) choose(chip.shown.words);
  });
  return chip;
}

// What the recording left out cannot be shown here.
function recordedText(session) {
  const mode = session?.settings?.mode ?? "wall";
  if (mode === "wall") return "";
  return TEXT.states.recordedMode(mode, formatCount(session.quality?.filtered ?? NaN));
}

export function createStateChips(root, dispatch) {
  const chips = [];
  let inView = null;
  const note = el("span", { class: "states-note", "data-testid": "recorded-mode" });
  const hidden = el("span", {});
  const reveal = el("button", { type: "button", class: "chip hidden-chip", "data-testid": "waiting-hidden", on: { click: () => choose([]) } }, el("i", { class: "doing", "data-doing": "waits", "aria-hidden": "true" }), el("span", {}, hidden, el("span", { class: "long-label" }, TEXT.states.isHidden)), el("span", { class: "link-word" }, TEXT.states.show));
  const list = el("div", { class: "chips", role: "group", "aria-label": TEXT.states.label });
  root.append(list, note);
  const choose = (words) => dispatch({ type: "address", changes: { states: words }, how: "push" });

  function show(chip, shown) {
    chip.shown = shown;
    setText(chip.label, shown.label);
    setText(chip.short, shown.short);
    chip.label.classList.toggle("long-label", shown.short !== "");
    setAttribute(chip.colour, "data-doing", shown.doing);
    chip.colour.hidden = shown.doing === "";
    setText(chip.share, shown.share);
    setAttribute(chip.element, "data-value", shown.key);
    setAttribute(chip.element, "data-hint", shown.hint);
    setAttribute(chip.element, "aria-pressed", String(shown.pressed));
    setAttribute(chip.element, "aria-disabled", shown.disabled ? "true" : null);
  }

  return {
    update(state) {
      const words = shownStates(state);
      const shown = stateChips(state.picture.sums, words, isWithoutGil(state.session, state.picture.sums));
      while (chips.length < shown.length) {
        chips.push(createChip(choose));
        list.append(chips[chips.length - 1].element);
        chips[0].element.after(reveal);
      }
      const share = hiddenShare(state.picture.sums, words);
      reveal.hidden = share === "";
      setText(hidden, TEXT.states.hidden(share));
      setAttribute(reveal, "data-hint", hiddenHint(state.summary));
      chips.forEach((chip, i) => {
        chip.element.hidden = i >= shown.length || shown[i].isIdle;
        if (i < shown.length) show(chip, shown[i]);
      });
      const pressed = shown.findIndex((chip) => chip.pressed);
      if (shown[pressed].label !== inView) scrollSideways(chips[pressed].element);
      inView = shown[pressed].label;
      setText(note, recordedText(state.session));
      note.hidden = note.textContent === "";
    },
  };
}
