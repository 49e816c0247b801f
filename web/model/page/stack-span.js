// Which thread a stack chart shows, and from when to when.

import { shownParts } from "../profile/parts.js";
import { busiestThread } from "../threads/threads.js";
import { timelineSpan } from "../time/timeline.js";
import { statusOf } from "./state.js";

// How much of a running session is followed.
const FOLLOWED_S = 10;
const NARROWEST_S = 0.001;
const SLOTS_MAX = 4096;
// A range is shown with something around it.
const RANGE_AROUND = 0.1;

const isRunning = (state) => state.live && statusOf(state) === "running";

// True if the chart moves on with the session.
export function isFollowing(state) {
  return isRunning(state) && state.stackSpan === null && state.timelineZoom === null && state.address.range === null;
}

// All that the chart can show.
export function wholeSpan(state) {
  return state.timelineZoom ?? timelineSpan(state.timeline, null);
}

// The span that the chart shows: {from, to}.
export function stackSpan(state) {
  const whole = wholeSpan(state);
  if (state.stackSpan !== null) return state.stackSpan;
  const { range } = state.address;
  if (range !== null) {
    const to = range.to ?? whole.to;
    const around = Math.max(NARROWEST_S, to - range.from) * RANGE_AROUND;
    return { from: Math.max(0, range.from - around), to: to + around };
  }
  if (!isFollowing(state)) return whole;
  const known = state.recording.runs;
  const to = known.key !== "" && known.to > whole.to - FOLLOWED_S ? known.to : whole.to;
  return { from: Math.max(whole.from, to - FOLLOWED_S), to };
}

// `span` moved and widened or narrowed so that it is one that can be shown.
export function clampSpan({ from, to }, whole) {
  const length = Math.min(Math.max(NARROWEST_S, to - from), Math.max(NARROWEST_S, whole.to - whole.from));
  const start = Math.min(Math.max(whole.from, (from + to - length) / 2), Math.max(whole.from, whole.to - length));
  return { from: start, to: start + length };
}

// A span `factor` times as long, in which `time` stays where it is.
export function zoomedSpan({ from, to }, time, factor, whole) {
  return clampSpan({ from: time - (time - from) * factor, to: time + (to - time) * factor }, whole);
}

export function movedSpan({ from, to }, by, whole) {
  return clampSpan({ from: from + by, to: to + by }, whole);
}

// -> follow(state, chosen, threads): the thread whose stacks are shown, {thread, isBusiest}: one of those chosen, where some are. It
// stays while the chart is open; the chart opens on the busiest one when something else is shown than before.
export function createFollowedThread() {
  /** @type {{ tid: number, process: number } | null} */
  let before = null;
  let question = "";
  let wasOpen = false;
  return ({ address, session, threadStates }, chosen, threads) => {
    const able = threads.filter((thread) =>
      !thread.tasks && (chosen.every((one) => one.tasks) || chosen.includes(thread))
    );
    const isOpen = address.view === "stacks";
    if (!isOpen || able.length === 0) {
      wasOpen = wasOpen && isOpen;
      return { thread: null, isBusiest: false };
    }
    const shown = shownParts({ address, session });
    const asked = JSON.stringify([address.range, shown]);
    const busiest = busiestThread(able, threadStates, shown);
    const same = able.find((thread) =>
      before !== null && thread.tid === before.tid && thread.process === before.process
    );
    const thread = !wasOpen && asked !== question ? busiest : same ?? busiest;
    // Before the states of threads are known, none is the busiest.
    if (threadStates.size > 0) [before, question, wasOpen] = [thread, asked, true];
    return { thread, isBusiest: able.length > 1 && threadStates.size > 0 && thread === busiest };
  };
}

// The question for the source: {ids, from, to, slots}; more than is shown, for whoever moves on.
export function wantedRuns(state, picture) {
  if (state.address.view !== "stacks" || picture.stackThread === null || state.width === 0) return null;
  const { from, to } = stackSpan(state);
  const around = (to - from) / 2;
  const tidy = (seconds) => Math.round(seconds * 1e4) / 1e4;
  return { ids: picture.stackThread.ids, from: Math.max(0, tidy(from - around)),
    to: isFollowing(state) ? null : tidy(to + around), slots: Math.min(SLOTS_MAX, Math.max(64, 3 * state.width)) };
}

const FINE_STEPS = [0.0001, 0.0002, 0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30,
  60, 120, 300, 600, 1800, 3600, 7200, 21600, 86400];

// Marks of a time axis, finer than those of the strip: [{at, text}], at most `most`.
export function fineMarks({ from, to }, most) {
  const step = FINE_STEPS.find((candidate) => (to - from) / candidate <= most) ?? FINE_STEPS[FINE_STEPS.length - 1];
  const marks = [];
  for (let n = Math.ceil(from / step - 1e-6); n * step <= to; n += 1)
    marks.push({ at: n * step, text: fineTime(n * step, step) });
  return marks;
}

// "1:02.345", as fine as the step.
export function fineTime(seconds, step) {
  const digits = Math.max(0, Math.ceil(-Math.log10(step) - 1e-9));
  const whole = Number(seconds.toFixed(digits));
  const hours = Math.floor(whole / 3600);
  const minutes = Math.floor(whole / 60) % 60;
  const rest = (whole % 60).toFixed(digits).padStart(digits > 0 ? 3 + digits : 2, "0");
  return (hours > 0 ? hours + ":" + String(minutes).padStart(2, "0") : minutes) + ":" + rest;
}
