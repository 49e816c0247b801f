// How much was sampled, and how well: the quality line, and its details, which are all that /quality says, in groups.
// Every value says what it means; unknown is "—".

import { QUALITY_TEXT } from "../../text/quality.js";
import { formatCount, formatDuration, formatRate, formatShare, formatShortCount, isKnown,
  ratio } from "../base/numbers.js";
import { visibleText } from "../base/text.js";

// A share of missed ticks above which the rest is no fair choice of instants.
const MANY_MISSED = 0.05;
// With fewer page faults a second, stops that come late make no difference of a point.
const FEW_FAULTS_HZ = 2000;

function failedSamples(failed) {
  if (failed === null || typeof failed !== "object") return NaN;
  return Object.values(failed).reduce((sum, count) => sum + count, 0);
}

function failureText(failed) {
  if (failed === null || typeof failed !== "object") return "";
  const parts = Object.entries(failed).filter(([, count]) => count > 0);
  return parts.map(([cause, count]) => QUALITY_TEXT.cause(formatCount(count), QUALITY_TEXT.causes[cause] ?? cause))
    .join("");
}

function shareValue(key, count, all, warnAbove) {
  const [label, meaning] = QUALITY_TEXT[key];
  const part = ratio(count, all);
  return {
    key,
    label,
    value: formatShare(part),
    meaning: meaning + (isKnown(part) ? QUALITY_TEXT.of(formatCount(count), formatCount(all)) : QUALITY_TEXT.notKnown),
    level: isKnown(part) && part > warnAbove ? "warn" : "plain",
  };
}

function samplesValue({ samples, ticks }) {
  const [label, meaning] = QUALITY_TEXT.samples;
  return { key: "samples", label: label(formatShortCount(samples)), value: formatShortCount(samples), level: "plain",
    meaning: meaning(formatCount(samples), formatCount(ticks)) };
}

function rateValue({ ticks, achieved_hz: achieved, requested_hz: requested }) {
  const [unit, meaning] = QUALITY_TEXT.rate;
  const slow = ticks > 0 && isKnown(achieved) && isKnown(requested) && achieved < 0.9 * requested;
  return {
    key: "rate",
    label: unit + " " + QUALITY_TEXT.requested(formatRate(requested)),
    value: formatRate(achieved),
    level: slow ? "warn" : "plain",
    meaning: meaning(formatRate(achieved), formatRate(requested)) + (slow ? QUALITY_TEXT.slow : ""),
  };
}

function missedValue({ ticks, missed_ticks: missed }) {
  const [label, meaning] = QUALITY_TEXT.missed;
  const due = isKnown(ticks) && isKnown(missed) ? ticks + missed : NaN;
  const share = ratio(missed, due);
  return { key: "missed", label, value: formatShortCount(missed), level: share > MANY_MISSED ? "warn" : "plain",
    meaning: meaning + (isKnown(due) ? QUALITY_TEXT.missedShare(formatShare(share)) : ".") };
}

function stoppedValue(
  { samples, stopped, stopped_s: seconds, duration_s: duration, stops_refused: refused, page_faults: faults },
) {
  const texts = QUALITY_TEXT.stopped;
  const share = ratio(stopped, samples), time = ratio(seconds, duration);
  const counted = isKnown(share) ? QUALITY_TEXT.of(formatCount(stopped), formatCount(samples)) : QUALITY_TEXT.notKnown;
  const faultsHz = ratio(faults, duration);
  const many = stopped > 0 && faultsHz >= FEW_FAULTS_HZ ? texts.faults(formatCount(Math.round(faultsHz))) : "";
  return {
    key: "stopped",
    value: formatShare(share),
    label: texts.label + (stopped > 0 && isKnown(time) ? texts.time(formatShare(time)) : ""),
    meaning: texts.meaning + counted + many + (refused > 0 ? texts.refused : ""),
    level: refused > 0 ? "warn" : "plain",
  };
}

// -> the same, or null before the session has started; `settings` as in a SESSION, or null
/** @param {{ engine: string, engine_reason?: string } | null} settings */
export function engineValue(settings) {
  const [value, meaning] = QUALITY_TEXT.engines[settings?.engine ?? ""] ?? [];
  if (value === undefined) return null;
  const reason = visibleText(settings?.engine_reason ?? "", "");
  return { key: "engine", label: reason, value: value + (reason === "" ? "" : ":"), level: "plain",
    meaning: meaning + (reason === "" ? "" : QUALITY_TEXT.engineReason(reason)) };
}

// -> the same of what is not sampled, or null; `targets` and `processes` as in a SESSION
export function warningsValue(targets = [], processes = {}) {
  const leftOut = Object.keys(QUALITY_TEXT.leftOut).filter((cause) => processes[cause] > 0);
  const said = [
    ...leftOut.map((cause) => QUALITY_TEXT.leftOut[cause](formatCount(processes[cause]))),
    ...targets.flatMap(({ pid, warnings = [] }) => warnings.map((text) => visibleText(pid + ": " + text))),
  ];
  return said.length === 0
    ? null
    : { key: "warnings", value: formatCount(said.length), label: QUALITY_TEXT.warnings(formatCount(said.length)),
      level: "warn", meaning: said.slice(0, 8).join("; ") };
}

// -> [{key, label, value, meaning, level}]; `quality`, `settings` and `foreign` as in a SESSION, or null
/**
 * @param {{ engine: string } | null} settings
 * @param {string | null} foreign
 */
export function qualityValues(quality, settings = null, foreign = null) {
  const q = quality ?? {};
  // A profile of another tool says nothing of how it was sampled.
  if (foreign !== null) {
    const [label, meaning] = QUALITY_TEXT.foreign;
    return [{ key: "exact", label, value: formatShare(NaN), level: "plain", meaning: meaning(visibleText(foreign)) }];
  }
  const { samples } = q;
  const failed = failedSamples(q.failed ?? null);
  const failures = shareValue("failed", failed, isKnown(samples) ? samples + failed : NaN, 0.01);
  // The kernel engine copies a stack in one instant, and stops nothing.
  const fromOutside = settings?.engine === "kernel" ? [] : [stoppedValue(q)];
  return [
    samplesValue(q),
    rateValue(q),
    ...fromOutside,
    shareValue("exact", q.exact, samples, 1),
    shareValue("retried", q.retried, samples, 0.2),
    shareValue("truncated", q.truncated, samples, 0.01),
    { ...failures, meaning: failures.meaning + failureText(q.failed ?? null) },
    missedValue(q),
  ];
}

// The values in one sentence: that of the first that is a warning, if there is one.
export function qualityVerdict(values) {
  const warned = values.filter(({ level }) => level === "warn");
  // A profile of another tool has no number of samples.
  if (values[0]?.key === "exact") return values[0].meaning;
  if (values.every(({ key, value }) => key !== "samples" || value === formatShortCount(NaN) || value === "0"))
    return QUALITY_TEXT.verdict.none;
  return warned.length === 0
    ? QUALITY_TEXT.verdict.good
    : QUALITY_TEXT.verdict.warned(warned.map(({ value, label }) => value + " " + label).join(", "));
}

// The badge of the values: {exact, warning: the first that is one, or ""}
export function qualityBadge(values) {
  const text = ({ value, label }) => value + " " + label;
  const warned = values.find(({ level }) => level === "warn");
  return { exact: text(values.find(({ key }) => key === "exact")), warning: warned === undefined ? "" : text(warned) };
}

const bytesText = (bytes) => {
  if (!isKnown(bytes)) return formatCount(NaN);
  const step = Math.min(3, Math.max(0, Math.floor(Math.log2(Math.max(bytes, 1)) / 10)));
  const value = bytes / 1024 ** step;
  return (step === 0 || value >= 100 ? formatCount(value) : value.toFixed(1)) + " " + ["B", "KiB", "MiB", "GiB"][step];
};
const hertzText = (hz) => (isKnown(hz) ? formatRate(hz) + " Hz" : formatRate(hz));

const dueOf = (q) => q.ticks + q.missed_ticks;
const failedOf = (q) => Object.values(q.failed ?? {}).reduce((sum, count) => sum + count, 0);
const triedOf = (q) => q.samples + failedOf(q);
const framesOf = (q) => q.code_hits + q.code_misses;
const samplesOf = (q) => q.samples;
const durationOf = (q) => q.duration_s;

/** @type {(whole: string, ...causes: string[]) => [string, (value: number) => string, (quality: { [measure: string]: number }) => number][]} */
const causesOf = (whole, ...causes) => causes.map((cause) => [whole + "_" + cause, formatCount, (q) => q[whole]]);

// Group: [key of a measure, text of a value, whole of which it is a share]
/** @type {{ [group: string]: [string, (value: number) => string, ((quality: { [measure: string]: number }) => number)?][] }} */
const GROUPS = {
  rate: [
    ["achieved_hz", hertzText],
    ["requested_hz", hertzText],
    ["current_hz", hertzText],
    ["ticks", formatCount, dueOf],
    ["missed_ticks", formatCount, dueOf],
    ["duration_s", formatDuration],
    ["interval_min_s", formatDuration],
    ["interval_mean_s", formatDuration],
    ["interval_max_s", formatDuration],
  ],
  samples: [
    ["samples", formatCount],
    ["exact", formatCount, samplesOf],
    ["retried", formatCount, samplesOf],
    ["truncated", formatCount, samplesOf],
    ["filtered", formatCount, (q) => q.samples + q.filtered],
    ["extrapolated", formatCount, samplesOf],
    ["unmatched", formatCount, samplesOf],
    ["overflowed", formatCount, samplesOf],
    ["undelivered", formatCount, samplesOf],
  ],
  native: [["native_complete", formatCount, samplesOf], ["native_gaps", formatCount, samplesOf],
    ...causesOf("native_gaps", "no_table", "copy", "register", "switch", "other"), ["native_mismatched", formatCount,
    samplesOf], ["native_none", formatCount, samplesOf],
    ...causesOf("native_none", "unstopped", "waiting", "truncated", "copy"), ["native_entries", formatCount], [
    "native_placed",
    formatCount,
    (q) => q.native_entries,
  ]],
  stops: [
    ["moving", formatCount, samplesOf],
    ["stopped", formatCount, samplesOf],
    ["stops_refused", formatCount],
    ["page_faults", formatCount],
  ],
  failed: [["failed_gone", formatCount, triedOf], ["failed_fault", formatCount, triedOf], ["failed_perm", formatCount,
    triedOf], ["failed_corrupt", formatCount, triedOf]],
  target: [["stopped_s", formatDuration, durationOf], ["taken_s", formatDuration, durationOf], ["reads", formatCount], [
    "read_bytes",
    bytesText,
  ]],
  host: [["cpu_user_s", formatDuration, durationOf], ["cpu_sys_s", formatDuration, durationOf], ["rss_bytes",
    bytesText], ["rss_peak_bytes", bytesText], ["profile_bytes", bytesText], ["profile_limit_bytes", bytesText]],
  code: [["code_hits", formatCount, framesOf], ["code_misses", formatCount, framesOf], ["code_stale", formatCount], [
    "code_clears",
    formatCount,
  ]],
  tasks: [["tasks", formatCount], ["tasks_moving", formatCount, (q) => q.tasks], ["tasks_unread", formatCount,
    (q) => q.tasks], ["tasks_cut", formatCount], ["awaiters_cut", formatCount]],
};
const MEASURED = new Set(Object.values(GROUPS).flatMap((rows) => rows.map(([key]) => key)));

// One flat object of numbers, reasons of failure named as in `descriptions`.
function flatNumbers(quality) {
  const numbers = {};
  for (const [key, value] of Object.entries(quality)) if (isKnown(value)) numbers[key] = value;
  for (const [reason, value] of Object.entries(quality.failed ?? {})) numbers["failed_" + reason] = value;
  return numbers;
}

/** @param {[string, (value: number) => string, ((quality: { [measure: string]: number }) => number)?]} row @param {{ [measure: string]: number }} numbers */
function numberRow([key, text, whole], numbers, quality) {
  const share = whole === undefined ? NaN : ratio(numbers[key], whole(quality));
  const meaning = quality.descriptions?.[key];
  return { key, label: QUALITY_TEXT.measures[key] ?? key.replaceAll("_", " "), value: text(numbers[key]),
    share: isKnown(share) ? formatShare(share) : "",
    meaning: meaning === undefined ? "" : visibleText(String(meaning)) };
}

function stateRow(key, states) {
  const [label, source] = QUALITY_TEXT.states[key];
  const { at_least: low, at_most: high } = states[key] ?? {};
  const same = formatShare(low) === formatShare(high);
  const isUnknown = low === 0 && high === 1;
  const value = !isKnown(low)
    ? formatShare(NaN)
    : isUnknown
    ? QUALITY_TEXT.unknown
    : same
    ? formatShare(low)
    : QUALITY_TEXT.between(formatShare(low), formatShare(high));
  return { key: "state_" + key, label, value, share: "",
    meaning: QUALITY_TEXT.stateMeaning(source, same || isUnknown ? "" : formatShare(high - low)) };
}

// -> [{title, rows: [{key, label, value, share, meaning}]}]; `quality` as /quality says it, or as a SESSION does
export function measureGroups(quality) {
  if (quality === null || typeof quality !== "object") return [];
  const numbers = flatNumbers(quality);
  // Without native stacks, none of these counts anything.
  if (!GROUPS.native.some(([key]) => numbers[key] > 0)) { for (const [key] of GROUPS.native) delete numbers[key]; }
  for (const [key, , whole] of GROUPS.native) if (whole?.(numbers) === 0) delete numbers[key];
  const groups = Object.entries(GROUPS).map(([name, rows]) => ({
    title: QUALITY_TEXT.groups[name],
    rows: rows.filter(([key]) => key in numbers).map((row) => numberRow(row, numbers, quality)),
  }));
  const others = Object.keys(numbers).filter((key) => !MEASURED.has(key));
  groups.push({ title: QUALITY_TEXT.groups.other,
    rows: others.map((key) => numberRow([key, formatCount], numbers, quality)) });
  if (quality.states)
    groups.push({ title: QUALITY_TEXT.groups.states,
      rows: Object.keys(QUALITY_TEXT.states).map((key) => stateRow(key, quality.states)) });
  return groups.filter((group) => group.rows.length > 0);
}
