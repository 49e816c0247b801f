// Requests, as in /requests: how long each value of a context lasted.

import { TEXT } from "../../text/session.js";
import { formatCount, formatDuration } from "../base/numbers.js";
import { baseName, visibleText } from "../base/text.js";
import { isInBand } from "../profile/contexts.js";
import { PARTS } from "../profile/parts.js";

// A waterfall has so many lanes; the pieces of further threads are in the last one.
const WATERFALL_LANES_MAX = 12;

/** @returns {RequestsAnswer} */
export function emptyRequests() {
  return { unknown: 0, unset: 0, other: 0, samples: 0, requests: 0, whole: 0, cut: 0, rough: 0, percentiles: [],
    histogram: [], scatter: { from: 0, width: 1, slots: 1, cells: [] }, chosen: 0, rows: [], pieces_left_out: 0,
    pieces: [] };
}

// The answer of /requests, by what a report holds of it. Rows and pieces are there of some requests only.
export function requestsOfReport(report, took, mark) {
  const { requests, request_durations: durations } = report;
  const isChosen = (seconds) => took === null || isInBand(took, seconds);
  const opened = requests.waterfalls.find((one) => one.mark === mark);
  return { ...requests, chosen: durations.ns.filter((ns) => isChosen(ns / 1e9)).length,
    rows: requests.rows.filter(({ duration }) => isChosen(duration)), pieces: opened?.pieces ?? [],
    pieces_left_out: opened?.pieces_left_out ?? 0 };
}

/** @param {TimeRange} band */
export function bandText({ from, to }) {
  return to === null ? TEXT.requests.slower(formatDuration(from)) : formatDuration(from) + " – " + formatDuration(to);
}

// The begin of the band of the slowest: the 95th percentile; null without one.
/** @param {RequestsAnswer} answer @returns {TimeRange | null} */
export function slowestBand({ percentiles }) {
  const found = percentiles.find(({ percent }) => percent === 95);
  return found === undefined ? null : { from: found.duration, to: null };
}

// Percentiles as texts: {percent, duration, interval ("" where nothing is known of it)}
/** @param {RequestsAnswer} answer */
export function percentileTexts({ percentiles }) {
  return percentiles.map(({ percent, duration, low, high }) => ({
    percent: TEXT.requests.percentile(String(percent)),
    duration: formatDuration(duration),
    interval: low === null && high === null
      ? ""
      : (low === null ? "?" : formatDuration(low)) + " – " + (high === null ? "?" : formatDuration(high)),
  }));
}

/** @param {RequestLine | null} line */
function requestPlaceOf(line) {
  return line === null
    ? null
    : { name: visibleText(line.name), path: line.file, line: line.line, function: line.function,
      place: visibleText(baseName(line.file)) + (line.line > 0 ? ":" + line.line : "") };
}

// A request that is guessed lacks its name in samples before that was known.
/** @param {{variable: string, value: string, guessed: boolean}} row */
function termOf({ variable, value, guessed }) {
  const kept = variable + ": " + (guessed ? value.split(" ", 1)[0] : value);
  return "context:/^" + kept.replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&") + (guessed ? "( |$)/" : "$/");
}

// Rows with what is shown of a request.
/** @param {RequestsAnswer} answer */
export function requestRows({ rows }) {
  return rows.map((row) => ({
    mark: row.mark,
    value: visibleText(row.value),
    term: termOf(row),
    view: requestPlaceOf(row.view),
    line: requestPlaceOf(row.line),
    begin: row.begin,
    duration: (row.cut ? "≥ " : "") + formatDuration(row.duration),
    error: "± " + formatDuration(row.error),
    running: formatDuration(row.parts.running),
    waits: [[TEXT.parts.needs_gil[0], row.parts.needs_gil], [TEXT.parts.needs_processor[0], row.parts.needs_processor],
      ...row.causes.map(({ title, seconds }) => [title, seconds]), [TEXT.parts.idle[0], row.parts.idle], [
      TEXT.requests.awaits,
      row.awaits,
    ]].filter(([, seconds]) => Number(seconds) > 0).map(([title, seconds]) =>
      title + " " + formatDuration(Number(seconds))
    ),
  }));
}

// One request in the order of time: {lanes: [{title, pieces: [{left, width (shares of its time), part, text}]}], from, to}, or null.
/** @param {RequestsAnswer} answer */
export function waterfallOf({ pieces }) {
  if (pieces.length === 0) return null;
  const from = Math.min(...pieces.map((piece) => piece.from));
  const to = Math.max(...pieces.map((piece) => piece.to));
  const lanes = new Map();
  for (const piece of pieces) {
    const key = piece.pid + " " + piece.tid + " " + piece.thread;
    const lane = lanes.get(key)
      ?? (lanes.size < WATERFALL_LANES_MAX
        ? { title: visibleText(piece.thread) + " " + piece.tid, pieces: [] }
        : Array.from(lanes.values()).pop());
    lanes.set(key, lane);
    const place = requestPlaceOf(piece.line);
    const what = piece.part === "awaits" ? TEXT.requests.awaits : PARTS.includes(piece.part)
      ? TEXT.parts[piece.part][0]
      : piece.part;
    lane.pieces.push({ left: (piece.from - from) / (to - from || 1), width: (piece.to - piece.from) / (to - from || 1),
      part: piece.part,
      text: formatDuration(piece.to - piece.from) + " " + what + (piece.cause === null ? "" : ", " + piece.cause)
        + (place === null ? "" : ", " + place.name + " " + place.place) });
  }
  return { from, to, lanes: Array.from(new Set(lanes.values())) };
}

// Sentences that say what is missing.
/** @param {RequestsAnswer} answer */
export function missingText({ cut, rough, other, rows, chosen }) {
  return [rows.length < chosen ? TEXT.requests.listed(formatCount(rows.length), formatCount(chosen)) : "",
    rows.some((row) => row.guessed) ? TEXT.requests.guessed : "", cut > 0 ? TEXT.requests.cut(formatCount(cut)) : "",
    rough > 0 ? TEXT.requests.rough(formatCount(rough)) : "", other > 0 ? TEXT.requests.other(formatCount(other)) : ""]
    .filter(Boolean).join(" ");
}

// Why there are no requests to show, or null.
/** @param {RequestsAnswer} answer @param {object | null} session @param {boolean} live */
export function requestsReason({ requests }, session, live) {
  if (session === null) return "";
  if (requests > 0) return null;
  return live ? TEXT.requests.none : TEXT.requests.inReport;
}
