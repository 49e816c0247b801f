// Why there is nothing to see, and what to do about it: {text, actions: [{label, action}]}.

import { filteredText } from "./chips.js";
import { formatCount } from "./numbers.js";
import { statusOf } from "./state.js";
import { rangeText } from "./timeline.js";

const change = (label, changes) => ({ label, action: { type: "address", changes, how: "push" } });
const SHOW_ALL_STATES = change("Show all states", { states: [] });
const SHOW_ALL_TIMES = change("Show all of the session", { range: null });
const REMOVE_FILTERS = change("Remove all filters", { filters: [] });
const SHOW_ALL_THREADS = change("Show all threads", { threads: [] });
const ALL_NUMBERS = { label: "All numbers of how well it went", action: { type: "qualityDialog", open: true } };

// Views that show what threads did whatever states and filters are chosen; that of tasks says itself why it is empty.
const OF_THREADS = ["threads", "gil"];

// There is something, and the filters leave none of it; null when it is not their doing.
function filteredReason(address, sums, samples, counted) {
  const byThread = address.threads.length > 0;
  if (counted > 0 && address.filters.length > 0) {
    return { text: "100 % filtered: " + formatCount(counted) + " samples, and the filters leave none.", actions: [REMOVE_FILTERS] };
  }
  if (address.range !== null && sums.samples === 0 && samples > 0) {
    return { text: "Nothing was seen from " + rangeText(address.range) + ".", actions: byThread ? [SHOW_ALL_TIMES, SHOW_ALL_THREADS] : [SHOW_ALL_TIMES] };
  }
  if (address.states.length > 0 && sums.samples > 0) {
    const ways = byThread ? [SHOW_ALL_STATES, SHOW_ALL_THREADS] : [SHOW_ALL_STATES];
    return { text: filteredText(address.states, sums, byThread ? " of the chosen threads" : ""), actions: ways };
  }
  if (byThread && samples > 0) {
    return { text: "100 % filtered: none of the " + formatCount(samples) + " samples is of the chosen threads.", actions: [SHOW_ALL_THREADS] };
  }
  return null;
}

// Nothing came at all.
function nothingReason(state) {
  const { quality = {}, settings } = state.session ?? {};
  const failed = Object.values(quality.failed ?? {}).reduce((sum, count) => sum + count, 0);
  const said = (text, ...actions) => ({ text, actions });
  if (quality.filtered > 0) return said("Nothing kept: recording with --mode " + settings?.mode + " left out all " + formatCount(quality.filtered) + " samples seen. Record without --mode to keep them.");
  switch (statusOf(state)) {
    case "connecting": return said("Connecting…");
    case "denied": return said("No samples reached this page: it may not read from the server. Open the link that pyrometer printed.");
    case "lost": return said("No samples reached this page: the server does not answer. It is asked again by itself; if pyrometer has ended, start it anew.");
    case "failed": return said("Sampling failed before a sample was taken.", ALL_NUMBERS);
    case "ended": return said("The session ended before a sample was taken.", ALL_NUMBERS);
    case "report": return said("This report holds no samples.", ALL_NUMBERS);
    case "paused": return said("No samples yet: sampling is paused.");
    default:
      if (failed > 0) return said("No samples yet: " + formatCount(failed) + " tries failed.", ALL_NUMBERS);
      return said("No samples yet: waiting for the target. If it stays so, the program may be stopped, or run no Python code now.");
  }
}

// sum: samples in view; sums: of the chosen threads and times, whatever state; null when there is something to see.
export function emptyReason(state, sum, sums, isCompared) {
  const { address } = state;
  if (sum > 0 || isCompared || address.view === "tasks" || (OF_THREADS.includes(address.view) && sums.samples > 0)) return null;
  return filteredReason(address, sums, state.session?.quality?.samples ?? 0, state.recording.counts.total) ?? nothingReason(state);
}
