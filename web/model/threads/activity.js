// Activity of a thread as parts of a whole: for the small bars and their descriptions.

import { TEXT } from "../../text/session.js";
import { formatCount, formatShare, ratio } from "../base/numbers.js";
import { PARTS } from "../profile/parts.js";
import { STATE_FACTS } from "../profile/states.js";

export const PART_LABELS = PARTS.map((key) => ({ key, label: TEXT.parts[key][0] }));

// -> [{key, label, share}] in the order they are drawn. Waiting tasks are in no part.
export function partShares(sums) {
  const all = sums.parts.reduce((sum, samples) => sum + samples, 0);
  return PART_LABELS.map(({ key, label }, part) => ({ key, label, share: ratio(sums.parts[part], all) }));
}

export function partsText(sums) {
  if (sums.samples === 0) return TEXT.doing.none;
  const said = partShares(sums).filter((part) => part.share > 0).map((part) =>
    formatShare(part.share) + " " + part.label
  );
  return TEXT.samples(formatCount(sums.samples)) + ": " + said.join(", ");
}

const GIL_FACTS = ["has_gil", "waits_gil"];

// Interpreters without a lock have a t at the end of their version; one that uses its lock all the same shows in the sums.
export function isWithoutGil(session, sums) {
  return /\dt$/.test(session?.target?.python ?? "") && sums.yes[STATE_FACTS.indexOf("has_gil")] === 0;
}

// A share of samples; "—" when it was never known to be so and is unknown in some of them: that is not 0 %.
export function factText(sums, fact, withoutGil = false) {
  if (withoutGil && GIL_FACTS.includes(fact)) return TEXT.doing.noGil;
  const at = STATE_FACTS.indexOf(fact);
  return sums.yes[at] === 0 && sums.unknown[at] > 0 ? formatShare(NaN) : formatShare(ratio(sums.yes[at], sums.samples));
}
