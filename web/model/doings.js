// What a thread did, in parts of a whole: for the small bars and what is said about them.

import { formatCount, formatShare, ratio } from "./numbers.js";
import { STATE_DOINGS, STATE_FACTS } from "./states.js";

export const DOING_LABELS = [
  { key: "holds_gil", label: "holding the GIL" },
  { key: "on_cpu", label: "on CPU otherwise" },
  { key: "waits_gil", label: "waiting for the GIL" },
  { key: "waits", label: "waiting" },
  { key: "unknown", label: "unknown" },
];

// -> [{key, label, share}] in the order they are drawn
export function doingParts(sums) {
  return DOING_LABELS.map(({ key, label }) => ({ key, label, share: ratio(sums.doing[STATE_DOINGS.indexOf(key)], sums.samples) }));
}

export function doingText(sums) {
  if (sums.samples === 0) return "no samples";
  const said = doingParts(sums).filter((part) => part.share > 0).map((part) => formatShare(part.share) + " " + part.label);
  return formatCount(sums.samples) + " samples: " + said.join(", ");
}

const GIL_FACTS = ["has_gil", "waits_gil"];
export const NO_GIL = "n/a (free-threaded)";
// What waiting tasks say to questions about threads.
export const NO_THREAD = "n/a";

// Interpreters without a lock have a t at the end of their version; one that uses its lock all the same shows in the sums.
export function isWithoutGil(session, sums) {
  return /\dt$/.test(session?.target?.python ?? "") && sums.yes[STATE_FACTS.indexOf("has_gil")] === 0;
}

// A share of samples; "—" when it was never known to be so and is unknown in some of them: that is not 0 %.
export function factText(sums, fact, withoutGil = false) {
  if (withoutGil && GIL_FACTS.includes(fact)) return NO_GIL;
  const at = STATE_FACTS.indexOf(fact);
  return sums.yes[at] === 0 && sums.unknown[at] > 0 ? formatShare(NaN) : formatShare(ratio(sums.yes[at], sums.samples));
}
