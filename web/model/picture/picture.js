// The picture of a state. Each file of this folder has the selectors of a view: a member of the picture is made when it
// is first asked for, of those other members that its selector names, and is the same object in the next picture if
// nothing that it shows has changed.

import { TEXT } from "../../text/session.js";
import { lazyPrototype } from "../base/lazy.js";
import { memoise } from "../base/memoise.js";
import { formatAmount, formatCount, formatDuration, isKnown, ratio } from "../base/numbers.js";
import { tableRows } from "../code/table.js";
import { emptyReason } from "../page/empty.js";
import { createFollowedThread } from "../page/stack-span.js";
import { countFrames, groupTotals } from "../trees/grouping.js";
import { nativeSetting } from "../trees/native.js";
import { currentGrouping } from "../trees/recording.js";
import { diffSelectors } from "./diff.js";
import { flameSelectors } from "./flame.js";
import { gilSelectors } from "./gil.js";
import { intervalSelectors } from "./intervals.js";
import { locksSelectors } from "./locks.js";
import { overviewSelectors } from "./overview.js";
import { ownSelectors } from "./own.js";
import { requestsSelectors } from "./requests.js";
import { sandwichSelectors } from "./sandwich.js";
import { searchSelectors } from "./search.js";
import { sourceSelectors } from "./source.js";
import { stackSelectors } from "./stacks.js";
import { tableSelectors } from "./table.js";
import { threadSelectors } from "./threads.js";

// Sums that several views count with: groupings, and the samples of their groups and frames.
function sumSelectors() {
  const totalsOf = memoise((recording, version, grouping) => groupTotals(grouping, recording.counts));
  const countsOf = memoise((version, grouping, totals) => countFrames(grouping, totals));
  const functionTotalsOf = memoise((recording, version, grouping) => groupTotals(grouping, recording.counts));
  const functionCountsOf = memoise((version, grouping, totals) => countFrames(grouping, totals));
  const rowsOf = memoise(tableRows);
  return {
    address: ({ state }) => state.address,
    recording: ({ state }) => state.recording,
    version: ({ state }) => state.recordingVersion,
    profile: ({ recording }) => recording.profile,
    nativeFrames: ({ state: { address, session, live } }) => nativeSetting(address, session, live),
    // null: there are none.
    native: ({ profile, nativeFrames }) => (profile.libraries.length > 1 ? nativeFrames : null),
    groupingBy: ({ recording, address, nativeFrames }) => (by) =>
      currentGrouping(recording, by, address.filters, nativeFrames, !address.hidesWaits),
    grouping: ({ address, groupingBy }) => groupingBy(address.by),
    totals: ({ recording, version, grouping }) => totalsOf(recording, version, grouping),
    sum: ({ totals }) => totals.sum,
    counts: ({ version, grouping, totals }) => countsOf(version, grouping, totals),
    rows: ({ counts }) => rowsOf(counts),
    functionGrouping: ({ groupingBy }) => groupingBy("function"),
    functionTotals: ({ recording, version, functionGrouping }) =>
      functionTotalsOf(recording, version, functionGrouping),
    functionCounts: ({ version, functionGrouping, functionTotals }) =>
      functionCountsOf(version, functionGrouping, functionTotals),
    secondsPerSample({ state: { recording: { counts }, session } }) {
      return isKnown(counts.seconds) && counts.seconds > 0
        ? ratio(counts.seconds, counts.total)
        : 1 / (session?.quality?.achieved_hz || NaN);
    },
    // The measure of the samples that are here, if not time: {title, unit, value}, or null.
    measure: ({ recording: { counts }, state: { session, live } }) =>
      (live ? counts.measure : session?.selection?.measure) ?? null,
    // Samples as a number: of another measure than time, what they stand for, with its unit.
    amountText: ({ measure, recording: { counts }, state: { session, live } }) => (samples) =>
      measure === null
        ? formatCount(samples)
        : formatAmount(
          Math.round(samples * (ratio(measure.value, live ? counts.total : session.selection.samples) || 0)),
          measure,
        ),
    // The bytes that were returned while memory grew, and how much more or less that leaves; null: nobody knows.
    balance: ({ measure, recording: { counts } }) =>
      measure === null || counts.returned === null ? null : {
        returned: formatAmount(counts.returned, measure),
        kept: formatAmount(Math.abs(measure.value - counts.returned), measure),
        isLess: measure.value < counts.returned,
      },
    countText: ({ measure, amountText }) => (samples) =>
      measure === null ? TEXT.samples(amountText(samples)) : amountText(samples),
    // The time that samples stand for; "" where they are not of time.
    timeText: ({ measure, secondsPerSample }) => (samples) =>
      measure === null ? "≈ " + formatDuration(samples * secondsPerSample) : "",
    // Why there is nothing to see, or null.
    empty: ({ state, sum, sums, diff }) => emptyReason(state, sum, sums, diff !== null),
  };
}

// -> compute(state): the picture of the state.
export function createPicture() {
  const views = [flameSelectors, searchSelectors, tableSelectors, intervalSelectors, sandwichSelectors, sourceSelectors,
    stackSelectors, ownSelectors, overviewSelectors, diffSelectors, threadSelectors, gilSelectors, locksSelectors,
    requestsSelectors];
  const prototype = lazyPrototype(Object.assign(sumSelectors(), ...views.map((selectors) => selectors())));
  const followedThread = createFollowedThread();
  return (state) => {
    const picture = Object.assign(Object.create(prototype), { state });
    // It depends on what was shown before, whoever asked for it.
    picture.followed = followedThread(state, picture.chosen.chosen, picture.threads);
    return picture;
  };
}
