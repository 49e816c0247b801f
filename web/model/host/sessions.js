// Sessions and captures of a host: their titles, numbers as text, forms and the requests made from them.

import { HOST_TEXT } from "../../text/host.js";
import { captureQuery } from "./address.js";
import { programName } from "./processes.js";

const NAME_BYTES_MAX = 120;
const NOTE_BYTES_MAX = 1000;
const LABELS_MAX = 16;
const LABEL_BYTES_MAX = 60;
const DURATION_MAX_S = 7 * 86400;
const PIDS_MAX = 256;
const UNIT_SECONDS = { ms: 0.001, s: 1, m: 60, min: 60, h: 3600, d: 86400 };
const RATE_MAX_HZ = 10000;
const TIME_EVENT = "time";
const MODES = ["wall", "cpu", "gil", "exception"];

export function isOver(session) {
  return session.state === "ended" || session.state === "failed";
}

export function sessionTitle(session) {
  if (session.name) return session.name;
  if (!session.target?.command?.length)
    return HOST_TEXT.sessions.process(session.target?.pid ?? session.targets?.[0]?.pid ?? "");
  const more = (session.targets?.length ?? 1) - 1;
  const { name } = programName(session.target?.command);
  return more > 0 ? HOST_TEXT.sessions.andMore(name, more) : name;
}

export function captureTitle(capture) {
  return capture.title || programName(capture.target?.command).name;
}

// The newest of each first. A capture that is open did not end here.
export function orderSessions(sessions) {
  /** @type {Record<"running" | "over" | "opened", { id: number }[]>} */
  const groups = { running: [], over: [], opened: [] };
  sessions.sort((a, b) => b.id - a.id);
  for (const session of sessions)
    groups[session.source === "capture" ? "opened" : isOver(session) ? "over" : "running"].push(session);
  return groups;
}

// The files that the server was started with, as captures: they are in no folder. Of GET /captures the server finds those that are asked for.
export function openedFiles(sessions, address, now) {
  const { find, label, on } = address;
  const from = Number(captureQuery(address, now).get("from") ?? 0);
  const files = sessions.filter(({ source, capture }) => source === "capture" && !capture)
    .map((session) => ({ ...session, session, name: "session " + session.id, title: session.name, labels: [],
      state: "file", sessions: [session.id] })
    );
  const isFound = ({ title, note, target }) =>
    find.toLowerCase().split(/\s+/).every((word) =>
      [title, note, target.host, ...target.command].join(" ").toLowerCase().includes(word)
    );
  return files.filter((file) =>
    label === "" && (on === "" || file.target.host === on) && Date.parse(file.started_at) / 1000 >= from
    && isFound(file)
  );
}

// How long something runs, in its largest unit: "4 d".
export function formatAge(seconds) {
  if (typeof seconds !== "number" || !Number.isFinite(seconds)) return "—";
  /** @type {[number, string][]} */
  const units = [[86400, "d"], [3600, "h"], [60, "min"], [1, "s"]];
  const [size, unit] = units.find(([least]) => seconds >= least) ?? [1, "s"];
  return Math.floor(seconds / size) + " " + unit;
}

// "90", "90s", "5 min", "2h" -> seconds; "" -> null, until it is stopped; NaN when it is none of these.
export function parseDuration(text) {
  const given = text.trim().toLowerCase();
  if (given === "") return null;
  const found = /^(\d+(?:\.\d+)?)\s*(ms|s|m|min|h|d)?$/.exec(given);
  return found ? Number(found[1]) * UNIT_SECONDS[found[2] ?? "s"] : NaN;
}

// "1000", "10khz", "2.5 kHz" -> Hz, else NaN
export function parseRate(text) {
  const found = /^(\d+(?:\.\d+)?)\s*(hz|k|khz)?$/.exec(text.trim().toLowerCase());
  return found ? Number(found[1]) * (found[2]?.startsWith("k") ? 1000 : 1) : NaN;
}

function bytesOf(text) {
  return new TextEncoder().encode(text).length;
}

// events: what the server counts where nothing else is asked for.
export function defaultProfile(events = [TIME_EVENT]) {
  return { rate: "1000", duration: "", threads: "all", mode: "wall", async: "off", engine: "auto", native: "off",
    gc: true, opcodes: false, kernel: false, events, subprocesses: false, stop: "auto", name: "", note: "" };
}

// A form -> {body} for POST /sessions, or {problem, field}.
export function profileRequest(pids, form) {
  const wrong = (field, problem) => ({ field, problem });
  if (pids.length === 0) return wrong("", HOST_TEXT.problems.noProcess);
  if (pids.length > PIDS_MAX) return wrong("", HOST_TEXT.problems.tooMany(PIDS_MAX, pids.length));
  const rate = parseRate(form.rate);
  if (!(rate >= 1 && rate <= RATE_MAX_HZ)) return wrong("rate", HOST_TEXT.problems.rate);
  const duration = parseDuration(form.duration);
  if (duration !== null && !(duration > 0 && duration <= DURATION_MAX_S))
    return wrong("duration", HOST_TEXT.problems.duration);
  if (bytesOf(form.name) > NAME_BYTES_MAX) return wrong("name", HOST_TEXT.problems.name(NAME_BYTES_MAX));
  if (bytesOf(form.note) > NOTE_BYTES_MAX) return wrong("note", HOST_TEXT.problems.note(NOTE_BYTES_MAX));
  if (form.events.length === 0) return wrong("events", HOST_TEXT.problems.noEvents);
  if (form.engine === "remote" && form.events.some((event) => event !== TIME_EVENT))
    return wrong("events", HOST_TEXT.problems.events);
  const mode = MODES.includes(form.mode) ? form.mode : MODES[0];
  const { threads, async: tasks, engine, native, gc, opcodes, kernel, events, subprocesses, stop, name, note } = form;
  return {
    body: { pids, rate_hz: rate, duration_s: duration, threads, mode, async: tasks, engine, native, gc, opcodes, kernel,
      events, subprocesses, stop, name, note },
  };
}

// -> {body} of PATCH, or {problem, field}
export function rateRequest(text) {
  const rate = parseRate(text);
  return rate >= 1 && rate <= RATE_MAX_HZ
    ? { body: { rate_hz: rate } }
    : { field: "rate", problem: HOST_TEXT.problems.rate };
}

// "web, before" -> ["web", "before"], none twice; null when there are too many or one is too long.
export function parseLabels(text) {
  const labels = Array.from(new Set(text.split(",").map((label) => label.trim()).filter((label) => label !== "")));
  return labels.length <= LABELS_MAX && labels.every((label) => bytesOf(label) <= LABEL_BYTES_MAX) ? labels : null;
}

// The form of a capture or session -> {body} of PATCH, or {problem, field}. `first` is the member that names it.
export function wordsRequest(form, first) {
  if (bytesOf(form.title) > NAME_BYTES_MAX) return { field: "title", problem: HOST_TEXT.problems.name(NAME_BYTES_MAX) };
  if (bytesOf(form.note) > NOTE_BYTES_MAX) return { field: "note", problem: HOST_TEXT.problems.note(NOTE_BYTES_MAX) };
  if (form.labels === undefined) return { body: { [first]: form.title.trim(), note: form.note } };
  const labels = parseLabels(form.labels);
  if (labels === null) return { field: "labels", problem: HOST_TEXT.problems.labels(LABELS_MAX, LABEL_BYTES_MAX) };
  return { body: { [first]: form.title.trim(), note: form.note, labels } };
}

// The slots of a timeline as heights of 0 to 1: threads in each part of SPARK_PARTS, on average. -> [{x, width, heights}] in a box of 1 by 1.
export const SPARK_PARTS = ["running", "needs_gil", "needs_processor"];

export function sparkSlots(timeline, from, to) {
  const { start, end, seconds } = timeline;
  const span = to - from;
  if (!(span > 0)) return [];
  const slots = [];
  let most = 1;
  for (let i = 0; i < start.length; i += 1) {
    const last = end[i] - start[i];
    if (!(last > 0) || end[i] <= from) continue;
    const heights = SPARK_PARTS.map((part) => (seconds[part]?.[i] ?? 0) / last);
    most = Math.max(most, heights.reduce((sum, height) => sum + height, 0));
    const x = Math.max(0, (start[i] - from) / span);
    slots.push({ x, width: Math.min(1, (end[i] - from) / span) - x, heights });
  }
  return slots.map((slot) => ({ ...slot, heights: slot.heights.map((height) => height / most) }));
}

// How many threads were in each of these parts on average, from the first slot to the last. Slots without samples are not given: at a low
// rate a sample stands for more time than the slot that it is in.
export function sparkThreads(timeline) {
  const sum = (key) => (timeline.seconds[key] ?? []).reduce((total, value) => total + value, 0);
  const lasted = timeline.start.length > 0 ? timeline.end.at(-1) - timeline.start[0] : 0;
  return lasted > 0 ? SPARK_PARTS.map((part) => sum(part) / lasted) : null;
}
