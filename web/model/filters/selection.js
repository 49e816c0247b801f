// The selection of samples: the bar of the five parts of time, and the chips of the marks beside it.

import { TEXT } from "../../text/session.js";
import { formatCount, formatShare, ratio } from "../base/numbers.js";
import { IDLE, NEEDS_GIL, NEEDS_PROCESSOR, PARTS } from "../profile/parts.js";
import { STATE_FACTS } from "../profile/states.js";

// Marks, with a chip only where they are a part of the samples that matters; who holds the GIL, where others need it.
const MARK_FACTS = ["has_gil", "in_gc", "has_exception", "in_jit"];
const LEAST_MARKED = 0.05;

const factAt = (fact) => STATE_FACTS.indexOf(fact);

// Without waiting tasks, which are in no part.
const countedIn = ({ parts }) => parts.reduce((sum, samples) => sum + samples, 0);

// True if nothing is known of waits for the GIL: of the thread that holds it, it is always known that it does not wait
// for it.
export function isWaitUnknown(sums) {
  const unknown = sums.unknown[factAt("waits_gil")];
  return unknown > 0 && sums.parts[NEEDS_GIL] === 0 && sums.samples - unknown <= sums.yes[factAt("has_gil")];
}

function isPartUnknown(sums, part) {
  if (part === NEEDS_GIL) return isWaitUnknown(sums);
  return part === NEEDS_PROCESSOR && sums.parts[part] === 0 && sums.unknown[factAt("runnable")] > 0;
}

// -> [{key, label, share (a number), text (of it), hint, isShown}] for each part; sums: of the threads shown; shown: words of PARTS
export function partItems(sums, shown, withoutGil = false) {
  const all = countedIn(sums);
  return PARTS.map((key, part) => {
    const [label, meaning] = TEXT.parts[key];
    const isNone = withoutGil && part === NEEDS_GIL;
    const isUnknown = !isNone && isPartUnknown(sums, part);
    const share = ratio(sums.parts[part], all);
    const counted = isNone
      ? TEXT.states.freeThreaded
      : isUnknown
      ? TEXT.states.unavailable
      : all === 0
      ? "."
      : TEXT.states.counted(formatCount(sums.parts[part]), formatCount(all));
    return { key, label, share,
      text: all === 0 ? "" : isNone ? TEXT.doing.noGil : isUnknown ? TEXT.states.unknown : formatShare(share),
      hint: meaning + counted + " " + TEXT.parts.how, isShown: shown.includes(key) };
  });
}

// The parts after a click on one: that alone, or all usual ones again; `isSeveral`: it comes or goes. null: the usual ones.
export function partsAfter(shown, usual, key, isSeveral) {
  const next = isSeveral
    ? PARTS.filter((part) => (part === key) !== shown.includes(part))
    : shown.join() === key
    ? []
    : [key];
  return next.length === 0 || next.join() === usual.join() ? null : next;
}

// "!has_gil" -> "not: holds the GIL"
function wordLabel(word) {
  const [, sign, unknown, fact] = /^([!~]?)(unknown_)?(.*)$/.exec(word) ?? ["", "", "", ""];
  const label = TEXT.states.facts[fact] ?? fact;
  if (unknown) return label + (sign === "" ? TEXT.states.isUnknown : TEXT.states.isKnown);
  return TEXT.states.signs[sign] + label;
}

// -> [{key, label, share (text), hint, isPressed, words (after a click)}]; words: of the address
export function markChips(sums, words) {
  const chips = MARK_FACTS.map((key) => {
    const samples = sums.yes[factAt(key)];
    const isPressed = words.includes(key);
    const matters = (key === "has_gil" ? sums.parts[NEEDS_GIL] : samples) >= Math.max(1, LEAST_MARKED * sums.samples);
    const after = isPressed ? words.filter((word) => word !== key) : [...words, key].sort();
    const share = sums.samples === 0 ? "" : formatShare(ratio(samples, sums.samples));
    return { key, label: TEXT.states.facts[key], share,
      hint: TEXT.states.marks[key] + TEXT.states.counted(formatCount(samples), formatCount(sums.samples)), isPressed,
      words: after, isShown: isPressed || matters };
  });
  const others = words.filter((word) => !MARK_FACTS.includes(word));
  if (others.length > 0)
    chips.push({ key: "link", label: others.map(wordLabel).join(", "), share: "", hint: TEXT.states.fromLink,
      isPressed: true, words: words.filter((word) => MARK_FACTS.includes(word)), isShown: true });
  return chips.filter(({ isShown }) => isShown);
}

// The selection in words; "" when it is all.
export function selectionLabel(parts, words) {
  const isUsual = parts.length === PARTS.length - 1 && !parts.includes(PARTS[IDLE]);
  const ofParts = parts.length === PARTS.length
    ? ""
    : isUsual
    ? TEXT.parts.allButIdle
    : parts.map((part) => TEXT.parts[part][0]).join(" + ");
  return [ofParts, ...words.map(wordLabel)].filter((text) => text !== "").join(", ");
}

// Why parts and states leave nothing, as a sentence; `whose`: "" or TEXT.empty.ofThreads.
export function filteredText(parts, words, sums, whose) {
  const samples = formatCount(sums.samples);
  const unknown = words.length === 1 ? sums.unknown[factAt(words[0])] ?? 0 : 0;
  if (unknown > 0 && unknown === sums.samples) return TEXT.empty.filteredUnknown(samples, whose);
  return TEXT.empty.filteredState(samples, whose, selectionLabel(parts, words))
    + (unknown > 0 ? TEXT.empty.unknownFor(formatCount(unknown)) : "");
}
