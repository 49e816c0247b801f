// Activity of a host's processes in the last minutes (GET /activity): by process, and as what a row shows of it.

import { ratio } from "../base/numbers.js";
import { shortPath } from "../base/text.js";

const NATIVE_PREFIX = "<native> ";
const SPARK_FLOOR = 0.04;
const SOURCE_FILE = /^[^<~].*\.(py|pyw|pyx|ipynb)$/s;

export function activityByPid(activity) {
  return new Map((activity?.processes ?? []).map((row) => [row.pid, row]));
}

// -> {name, place}: "parse", "app.py:22"; a C function has no place.
export function activityPlace({ name, file, line }) {
  const shown = name.startsWith(NATIVE_PREFIX) ? name.slice(NATIVE_PREFIX.length) : name;
  if (file === "~" || file === "") return { name: shown, place: "" };
  return { name: shown, place: shortPath(file) + (line > 0 ? ":" + line : "") };
}

// The main wait of a process: {kind: "gil" | "processor" | a cause of ActivityWait | "unknown", place: that wait or
// null, share of all the time its threads waited}, or null.
export function mainWait(row) {
  const { needs_gil: gil, needs_processor: processor, blocked, idle } = row.parts;
  const times = [gil, processor, blocked + idle];
  const all = times.reduce((sum, time) => sum + time, 0);
  if (!(all > 0)) return null;
  const most = times.indexOf(Math.max(...times));
  if (most < 2) return { kind: most === 0 ? "gil" : "processor", place: null, share: times[most] / all };
  return row.waits === null
    ? null
    : { kind: row.waits.cause ?? "unknown", place: row.waits, share: Math.min(1, row.waits.seconds / all) };
}

// Heights of 0 to 1 at the right end of `slots` places, one running thread being 1 unless there were more at once.
export function sparkHeights(running, slots) {
  const shown = running.slice(-slots);
  const most = shown.reduce((peak, value) => Math.max(peak, value), 1);
  return [...new Array(slots - shown.length).fill(null),
    ...shown.map((value) => (value > 0 ? Math.max(SPARK_FLOOR, value / most) : 0))];
}

// The area under them as the path of an SVG of `width` by `height`.
export function sparkPath(heights, width, height) {
  const step = width / heights.length;
  let path = "";
  heights.forEach((value, i) => {
    if (value === null || value === 0) return;
    const tall = value * height;
    path += "M" + (i * step).toFixed(1) + " " + height + "v" + (-tall).toFixed(1) + "h" + step.toFixed(1) + "v"
      + tall.toFixed(1) + "z";
  });
  return path;
}

// The length of what is known in whole slots, the last of which is not over.
export function sampledRange({ from_s: from, to_s: to, slot_s: slot }) {
  return slot > 0 ? Math.max(slot, Math.ceil((to - from) / slot) * slot) : 0;
}

// Threads that ran, on average over all slots.
export function meanRunning(activity, row) {
  return ratio(row.parts.running, activity.to_s - activity.from_s);
}

// Opens the last minutes of a process, or of the host without a pid, at a line where it has one.
/** @param {{ session: string, from_s: number }} activity @param {number | null} pid @param {{ file: string, line: number } | null} place */
export function activityLink(activity, pid, place = null) {
  const link = new URLSearchParams({ v: "1", session: activity.session });
  const range = Math.max(0, activity.from_s) + "~";
  if (place !== null && SOURCE_FILE.test(place.file)) {
    link.set("view", "source");
    link.set("range", range);
    link.set("file", place.file);
    if (place.line > 0) link.set("line", String(place.line));
  } else {
    link.set("range", range);
  }
  if (pid !== null) link.set("process", String(pid));
  return "#" + link.toString().replaceAll("%7E", "~");
}

// The sessions that somebody started: what samples all the time is none of them.
export function startedSessions(process, continuous) {
  return (process.sessions ?? []).filter((id) => !continuous.has(id));
}
