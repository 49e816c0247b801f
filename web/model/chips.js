// The filters by state that people choose from, and what is known about each.

import { NO_GIL } from "./doings.js";
import { formatCount, formatShare, ratio } from "./numbers.js";
import { STATE_DOINGS, STATE_FACTS } from "./states.js";

// `otherwise`: what samples are that this filter leaves out, as "100 % filtered: 4,000 samples ...".
const FILTERS = [
  { key: "all", label: "All", words: [], meaning: "Every sample, whatever the thread was doing", otherwise: "" },
  { key: "on_cpu", label: "On CPU", words: ["on_cpu"], fact: "on_cpu", meaning: "The thread was running on a CPU", otherwise: "are off the CPU" },
  { key: "has_gil", label: "Holding the GIL", words: ["has_gil"], fact: "has_gil", meaning: "The thread held the interpreter's lock", otherwise: "do not hold the GIL" },
  { key: "waits_gil", label: "Waiting for the GIL", words: ["waits_gil"], fact: "waits_gil", meaning: "The thread wanted the interpreter's lock, and another one had it", otherwise: "do not wait for the GIL" },
  { key: "waits", label: "Waiting", words: ["!on_cpu", "~has_gil", "~waits_gil"], doing: "waits", meaning: "Off the CPU, and not for the GIL: input and output, locks, sleep", otherwise: "are on a CPU or have to do with the GIL" },
  { key: "in_gc", label: "In GC", words: ["in_gc"], fact: "in_gc", meaning: "The garbage collector was running", otherwise: "are not in the garbage collector" },
  { key: "has_exception", label: "Handling an exception", words: ["has_exception"], fact: "has_exception", meaning: "The thread was handling an exception", otherwise: "handle no exception" },
];

function filterOf(words) {
  const text = words.join();
  return FILTERS.find((filter) => filter.words.join() === text) ?? null;
}

const FACT_LABELS = new Map([
  ["on_cpu", "on CPU"], ["has_gil", "holding the GIL"], ["waits_gil", "waiting for the GIL"], ["in_gc", "in GC"], ["in_native", "in C code"],
  ["has_exception", "handling an exception"],
]);

const SIGN_LABELS = new Map([["", ""], ["!", "not "], ["~", "not known to be "]]);

// "!has_gil" -> "not holding the GIL"
function wordLabel(word) {
  const [, sign, unknown, fact] = /^([!~]?)(unknown_)?(.*)$/.exec(word);
  const label = FACT_LABELS.get(fact) ?? fact;
  if (unknown) return label + (sign === "" ? ": unknown" : ": known");
  return SIGN_LABELS.get(sign) + label;
}

// What is shown, as a label: a filter of the list, or the words of a link.
export function stateLabel(words) {
  return filterOf(words)?.label ?? words.map(wordLabel).join(", ");
}

function countOf(filter, sums) {
  if (filter.key === "all") return { yes: sums.samples, unknown: 0 };
  if (filter.doing) return { yes: sums.doing[STATE_DOINGS.indexOf(filter.doing)], unknown: sums.doing[STATE_DOINGS.indexOf("unknown")] };
  const fact = STATE_FACTS.indexOf(filter.fact);
  return { yes: sums.yes[fact], unknown: sums.unknown[fact] };
}

// Of the thread that holds the GIL it is always known that it does not wait for it: that alone says nothing.
function isUnknown(filter, sums, { yes, unknown }) {
  if (unknown === 0 || yes > 0) return false;
  const known = sums.samples - unknown;
  return filter.key === "waits_gil" ? known <= sums.yes[STATE_FACTS.indexOf("has_gil")] : known === 0;
}

function hintOf(filter, sums, count, disabled, withoutGil) {
  if (sums.samples === 0) return filter.meaning + ".";
  if (withoutGil) return filter.meaning + ". This interpreter is free-threaded: it has no such lock.";
  const of = " of " + formatCount(sums.samples) + " samples";
  if (disabled) return filter.meaning + ". Not known here: this version of Python, or what pyrometer may read, does not tell.";
  if (filter.key === "all") return filter.meaning + ": " + formatCount(sums.samples) + ".";
  const unknown = count.unknown > 0 ? " Unknown in " + formatCount(count.unknown) + "." : "";
  return filter.meaning + ": " + formatCount(count.yes) + of + "." + unknown;
}

// -> [{key, label, words, share, hint, pressed, disabled}]; sums: of the threads shown
export function stateChips(sums, words, isFreeThreaded = false) {
  const chosen = filterOf(words);
  const chips = FILTERS.map((filter) => {
    const count = countOf(filter, sums);
    const withoutGil = isFreeThreaded && ["has_gil", "waits_gil"].includes(filter.key);
    const disabled = withoutGil || isUnknown(filter, sums, count);
    const share = filter.key === "all" || sums.samples === 0 ? "" : withoutGil ? NO_GIL : disabled ? "unknown" : formatShare(ratio(count.yes, sums.samples));
    return { key: filter.key, label: filter.label, words: filter.words, share, hint: hintOf(filter, sums, count, disabled, withoutGil), pressed: filter === chosen, disabled };
  });
  if (chosen === null) chips.push({ key: "link", label: stateLabel(words), words, share: "", hint: "As the address of this page asks for", pressed: true, disabled: false });
  return chips;
}

// Why a filter leaves nothing, as a sentence; `whose`: "" or " of the chosen threads".
export function filteredText(words, sums, whose) {
  const filter = filterOf(words);
  const samples = formatCount(sums.samples) + " samples" + whose;
  if (filter === null) return "100 % filtered: none of the " + samples + " is “" + stateLabel(words) + "”.";
  const { unknown } = countOf(filter, sums);
  if (unknown > 0 && unknown === sums.samples) return "100 % filtered: of all " + samples + " this is unknown.";
  const rest = { ...sums, samples: sums.samples - unknown };
  const text = "100 % filtered: " + formatCount(rest.samples) + " samples" + whose + " " + filter.otherwise;
  return text + (unknown > 0 ? ", of " + formatCount(unknown) + " it is unknown." : ".");
}
