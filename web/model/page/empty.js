// Why a view is empty, and what to do about it: {text, actions: [{label, action}]}.

import { TEXT } from "../../text/session.js";
import { formatCount } from "../base/numbers.js";
import { filteredText } from "../filters/selection.js";
import { PARTS, shownParts } from "../profile/parts.js";
import { rangeText } from "../time/timeline.js";
import { statusOf } from "./state.js";

const change = (label, changes) => ({ label, action: { type: "address", changes, how: "push" } });
const SHOW_ALL_PARTS = change(TEXT.empty.allParts, { parts: PARTS, states: [] });
const SHOW_ALL_TIMES = change(TEXT.empty.allTimes, { range: null });
const REMOVE_FILTERS = change(TEXT.empty.noFilters, { filters: [] });
const SHOW_ALL_THREADS = change(TEXT.empty.allThreads, { threads: [] });
const QUALITY_DETAILS = { label: TEXT.empty.quality, action: { type: "qualityDialog", open: true } };

// Views that show what threads did whatever states and filters are chosen; others say themselves why they are empty.
const OF_THREADS = ["threads", "gil"];
const SELF_EXPLAINED = ["locks", "tasks", "requests"];

// There is something, and the filters leave none of it; null when it is not their doing.
function filteredReason({ address, parts, session }, sums, samples, counted) {
  const byThread = address.threads.length + address.processes.length > 0;
  if (counted > 0 && address.filters.length > 0) {
    return { text: TEXT.empty.filtered(formatCount(counted)), actions: [REMOVE_FILTERS] };
  }
  if (address.range !== null && sums.samples === 0 && samples > 0) {
    return { text: TEXT.empty.noneIn(rangeText(address.range)),
      actions: byThread ? [SHOW_ALL_TIMES, SHOW_ALL_THREADS] : [SHOW_ALL_TIMES] };
  }
  if (address.states.length + PARTS.length - parts.length > 0 && sums.samples > 0) {
    const ways = byThread ? [SHOW_ALL_PARTS, SHOW_ALL_THREADS] : [SHOW_ALL_PARTS];
    const others = session?.settings?.threads === "main" ? " " + TEXT.empty.onlyMain : "";
    return { text: filteredText(parts, address.states, sums, byThread ? TEXT.empty.ofThreads : "") + others,
      actions: ways };
  }
  if (byThread && samples > 0) {
    return { text: TEXT.empty.filteredThreads(formatCount(samples)), actions: [SHOW_ALL_THREADS] };
  }
  return null;
}

// Nothing came at all.
function nothingReason(state) {
  const { quality = {}, settings } = state.session ?? {};
  const failed = Object.values(quality.failed ?? {}).reduce((sum, count) => sum + count, 0);
  const said = (text, ...actions) => ({ text, actions });
  // The session has some; the first answer with them is on its way.
  if (state.live && state.recording.version === 0 && quality.samples > 0
    && !["denied", "lost"].includes(statusOf(state))) return said(TEXT.empty.reading);
  if (quality.filtered > 0) return said(TEXT.empty.mode(settings?.mode, formatCount(quality.filtered)));
  switch (statusOf(state)) {
    case "connecting":
      return said(TEXT.empty.connecting);
    case "denied":
      return said(TEXT.empty.denied);
    case "lost":
      return said(TEXT.empty.lost);
    case "failed":
      return said(TEXT.empty.failed, QUALITY_DETAILS);
    case "ended":
      return said(TEXT.empty.ended, QUALITY_DETAILS);
    case "report":
      return said(TEXT.empty.report, QUALITY_DETAILS);
    case "paused":
      return said(TEXT.empty.paused);
    default:
      if (failed > 0) return said(TEXT.empty.failures(formatCount(failed)), QUALITY_DETAILS);
      return said(TEXT.empty.waiting);
  }
}

// sum: samples in view; sums: of the chosen threads and times, whatever state; null when there is something to see.
export function emptyReason(state, sum, sums, isCompared) {
  const { address } = state;
  if (sum > 0 || isCompared || (SELF_EXPLAINED.includes(address.view) && state.session !== null)
    || (OF_THREADS.includes(address.view) && sums.samples > 0)) return null;
  return filteredReason({ address, parts: shownParts(state), session: state.session }, sums,
    state.session?.quality?.samples ?? 0, state.recording.counts.total) ?? nothingReason(state);
}
