// Baselines of a session: other sessions, captures, and of these the same hours before and what ran before the last
// restart of the target. A choice is {key, title, command, started, seconds, kind ("session" or "capture"), id,
// baseline}, where `id` is that of the session or the name of the capture, and `baseline` the range in it: {from, to},
// or null for all of it.

import { baseName, commandText } from "../base/text.js";

const CHOICES_MAX = 200;
const HOURS = { day: 24 * 3600, week: 7 * 24 * 3600 };
// The least part of the requested time that a baseline has; less is another time.
const COVERED_LEAST = 0.5;

const secondsOf = (text) => Date.parse(text ?? "") / 1000;
const commandOf = (target) => (target?.command ?? []).join("\0");

function choiceOf(kind, id, record, title) {
  return {
    key: kind + " " + id,
    title,
    command: commandText(record.target),
    program: commandOf(record.target),
    host: record.target?.host ?? "",
    pid: record.target?.pid ?? null,
    started: secondsOf(record.started_at),
    seconds: record.elapsed_s ?? 0,
    kind,
    id,
    isOfHost: record.source === "continuous" || record.continuous === true,
    baseline: null,
  };
}

function titleOfRecord(record, name) {
  if (name) return name;
  const words = record.target?.command ?? [];
  return baseName(words.find((word, i) => i > 0 && !word.startsWith("-")) ?? words[0] ?? "");
}

// All other sessions, and the captures that no session shows, the newest first.
export function otherRecords(session, sessions, captures, mayOpen) {
  const shown = new Set(captures.flatMap((capture) => (capture.sessions.includes(session.id) ? [capture.name] : [])));
  const known = sessions.filter((other) =>
    other.id !== session.id && other.state !== "starting" && other.state !== "failed"
  ).map((other) => choiceOf("session", other.id, other, titleOfRecord(other, other.name)));
  const open = new Set(known.map((choice) => choice.id));
  const kept = captures.filter((capture) =>
    mayOpen && !shown.has(capture.name) && capture.state !== "recording" && !capture.sessions.some((id) => open.has(id))
  )
    .map((capture) => choiceOf("capture", capture.name, capture, titleOfRecord(capture, capture.title)));
  return [...known, ...kept].filter((choice) => Number.isFinite(choice.started)).sort((a, b) => b.started - a.started)
    .slice(0, CHOICES_MAX);
}

// Whatever of `records` covers most of the time from `from` to `to` (seconds since 1970), with the range in it; or null.
function covering(records, from, to) {
  /** @type {{ covered: number, choice: object } | null} */
  let best = null;
  for (const record of records) {
    const range = { from: Math.max(0, from - record.started), to: Math.min(record.seconds, to - record.started) };
    const covered = range.to - range.from;
    if (covered >= COVERED_LEAST * (to - from) && covered > (best?.covered ?? 0))
      best = { covered, choice: { ...record, baseline: range } };
  }
  return best?.choice ?? null;
}

// -> [{suggestion ("day", "week" or "restart"), ...choice}] of records of the same program
export function suggestedChoices(session, range, records) {
  const began = secondsOf(session.started_at);
  const same = records.filter((record) =>
    record.program !== "" && record.program === commandOf(session.target)
    && record.host === (session.target?.host ?? "")
  );
  const [from, to] = [began + (range?.from ?? 0), began + (range?.to ?? session.elapsed_s)];
  const before = Object.entries(HOURS).map((
    [suggestion, back],
  ) => [suggestion, covering(same, from - back, to - back)]);
  // It had ended; times of start are whole seconds. What samples the whole host goes on over restarts.
  const earlier = same.find((record) =>
    !record.isOfHost && record.pid !== null && record.pid !== session.target?.pid
    && record.started + record.seconds <= began + 1
  ) ?? null;
  return [...before, ["restart", earlier]].flatMap((
    [suggestion, choice],
  ) => (choice === null ? [] : [{ suggestion, ...choice, key: suggestion + " " + choice.key }]));
}

// Records whose words are all in what was typed.
export function matchingRecords(records, text) {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  return records.filter(({ title, command, pid }) =>
    words.every((word) => (title + " " + command + " " + pid).toLowerCase().includes(word))
  );
}
