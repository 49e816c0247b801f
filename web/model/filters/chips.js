// The state filters, with their counts and descriptions.

import { TEXT } from "../../text/session.js";
import { formatCount, formatShare, ratio } from "../base/numbers.js";
import { STATE_DOINGS, STATE_FACTS } from "../profile/states.js";

const FILTERS = [
  { key: "active", words: ["active"] },
  { key: "compared", words: ["active", "~runnable"] },
  { key: "all", words: [] },
  { key: "on_cpu", words: ["on_cpu"], fact: "on_cpu" },
  { key: "has_gil", words: ["has_gil"], fact: "has_gil" },
  { key: "waits_gil", words: ["waits_gil"], fact: "waits_gil" },
  { key: "runnable", words: ["runnable"], fact: "runnable" },
  { key: "waits", words: ["!on_cpu", "~has_gil", "~runnable", "~waits_gil"], doing: "waits" },
  { key: "in_gc", words: ["in_gc"], fact: "in_gc" },
  { key: "has_exception", words: ["has_exception"], fact: "has_exception" },
  { key: "in_jit", words: ["in_jit"], fact: "in_jit" },
].map((filter) => ({ ...filter, label: TEXT.states[filter.key][0], meaning: TEXT.states[filter.key][1] }));

// All filters by state: [{label, words}]
export function stateFilters() {
  return FILTERS.map(({ label, words }) => ({ label, words }));
}

function filterOf(words) {
  const text = words.join();
  return FILTERS.find((filter) => filter.words.join() === text) ?? null;
}

// "!has_gil" -> "not holding the GIL"
function wordLabel(word) {
  const [, sign, unknown, fact] = /^([!~]?)(unknown_)?(.*)$/.exec(word);
  const label = TEXT.states.facts[fact] ?? fact;
  if (unknown) return label + (sign === "" ? TEXT.states.isUnknown : TEXT.states.isKnown);
  return TEXT.states.signs[sign] + label;
}

// What is shown, as a label: a filter of the list, or the words of a link.
export function stateLabel(words) {
  return filterOf(words)?.label ?? words.map(wordLabel).join(", ");
}

const CAUSES_NAMED = 3;
const waitingOf = (sums) => sums.doing[STATE_DOINGS.indexOf("waits")];

// What the words hide although nobody asked for that, as a share: "" when nothing is hidden.
export function hiddenShare(sums, words) {
  const isActive = filterOf(words)?.key === "active";
  return isActive && waitingOf(sums) > 0 ? formatShare(ratio(waitingOf(sums), sums.samples)) : "";
}

// What the hidden threads wait for, of a summary or null: the causes that are known, the most first.
export function hiddenHint(summary) {
  const causes = (summary?.waiting.causes ?? []).filter(({ cause }) => cause !== "unknown").slice(0, CAUSES_NAMED);
  return causes.length === 0 ? TEXT.states.hiddenHint : TEXT.states.hiddenFor(causes.map(({ title, share }) => title + " " + formatShare(share)).join(", "));
}

function countOf(filter, sums) {
  if (filter.key === "active") return { yes: sums.samples - waitingOf(sums), unknown: 0 };
  if (filter.key === "compared") return { yes: sums.samples - waitingOf(sums) - sums.doing[STATE_DOINGS.indexOf("runnable")], unknown: 0 };
  if (filter.key === "all") return { yes: sums.samples, unknown: 0 };
  if (filter.doing) return { yes: sums.doing[STATE_DOINGS.indexOf(filter.doing)], unknown: sums.doing[STATE_DOINGS.indexOf("unknown")] };
  const fact = STATE_FACTS.indexOf(filter.fact);
  return { yes: sums.yes[fact], unknown: sums.unknown[fact] };
}

// Of the thread that holds the GIL it is always known that it does not wait for it, and of one that waits that it is not
// runnable: that alone says nothing.
function isUnknown(filter, sums, { yes, unknown }) {
  if (unknown === 0 || yes > 0) return false;
  if (filter.key === "runnable") return true;
  const known = sums.samples - unknown;
  return filter.key === "waits_gil" ? known <= sums.yes[STATE_FACTS.indexOf("has_gil")] : known === 0;
}

// Whether nothing is known of waits for the GIL.
export function isWaitUnknown(sums) {
  const filter = FILTERS.find(({ key }) => key === "waits_gil");
  return isUnknown(filter, sums, countOf(filter, sums));
}

function hintOf(filter, sums, count, disabled, withoutGil) {
  if (sums.samples === 0) return filter.meaning + ".";
  if (withoutGil) return filter.meaning + TEXT.states.freeThreaded;
  if (disabled) return filter.meaning + TEXT.states.unavailable;
  const counted = TEXT.states.counted(formatCount(count.yes), filter.key === "all" ? null : formatCount(sums.samples));
  return filter.meaning + counted + (count.unknown > 0 ? TEXT.states.countedUnknown(formatCount(count.unknown)) : "");
}

// The colour of the timeline that a filter is about.
const COLOURS = { on_cpu: "on_cpu", has_gil: "holds_gil", waits_gil: "waits_gil", runnable: "runnable", waits: "waits" };
// Of these there is a chip only where they are a part of the samples that matters.
const RARE = ["in_gc", "has_exception", "in_jit"];
const RARE_SHARE = 0.01;

// What waits has a chip of its own while it is hidden; what comparisons show at first has one there.
function isSpared({ key }, sums, words, { yes }) {
  return key === "compared" || (RARE.includes(key) && yes < RARE_SHARE * sums.samples) || (key === "waits" && hiddenShare(sums, words) !== "");
}

// -> [{key, label, short (where there is little room, or ""), words, share, hint, pressed, disabled, doing (whose colour it has, or ""), isIdle (not worth a chip)}]; sums: of the threads shown
export function stateChips(sums, words, isFreeThreaded = false) {
  const chosen = filterOf(words);
  const chips = FILTERS.map((filter) => {
    const count = countOf(filter, sums);
    const withoutGil = isFreeThreaded && ["has_gil", "waits_gil"].includes(filter.key);
    const disabled = withoutGil || isUnknown(filter, sums, count);
    const share = filter.key === "all" || sums.samples === 0 ? "" : withoutGil ? TEXT.doing.noGil : disabled ? TEXT.states.unknown : formatShare(ratio(count.yes, sums.samples));
    return { key: filter.key, label: filter.label, short: TEXT.states.short[filter.key] ?? "", words: filter.words, share, hint: hintOf(filter, sums, count, disabled, withoutGil), pressed: filter === chosen, disabled, doing: COLOURS[filter.key] ?? "", isIdle: filter !== chosen && isSpared(filter, sums, words, count) };
  });
  if (chosen === null) chips.push({ key: "link", label: stateLabel(words), short: "", words, share: "", hint: TEXT.states.fromLink, pressed: true, disabled: false, doing: "", isIdle: false });
  return chips;
}

// Why a filter leaves nothing, as a sentence; `whose`: "" or TEXT.empty.ofThreads.
export function filteredText(words, sums, whose) {
  const filter = filterOf(words);
  const samples = formatCount(sums.samples);
  const unknown = filter === null ? 0 : countOf(filter, sums).unknown;
  if (unknown > 0 && unknown === sums.samples) return TEXT.empty.filteredUnknown(samples, whose);
  return TEXT.empty.filteredState(samples, whose, stateLabel(words)) + (unknown > 0 ? TEXT.empty.unknownFor(formatCount(unknown)) : "");
}
