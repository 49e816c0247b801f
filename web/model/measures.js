// All that is known of how well it was measured: the numbers of /quality in groups, each with its meaning.

import { formatCount, formatDuration, formatRate, formatShare, isKnown, ratio } from "./numbers.js";
import { visibleText } from "./text.js";

const bytesText = (bytes) => {
  if (!isKnown(bytes)) return formatCount(NaN);
  const step = Math.min(3, Math.max(0, Math.floor(Math.log2(Math.max(bytes, 1)) / 10)));
  const value = bytes / 1024 ** step;
  return (step === 0 || value >= 100 ? formatCount(value) : value.toFixed(1)) + " " + ["B", "KiB", "MiB", "GiB"][step];
};
const hertzText = (hz) => (isKnown(hz) ? formatRate(hz) + " Hz" : formatRate(hz));

const looksOf = (q) => q.ticks + q.missed;
const failedOf = (q) => Object.values(q.failed ?? {}).reduce((sum, count) => sum + count, 0);
const triedOf = (q) => q.samples + failedOf(q);
const framesOf = (q) => q.code_hits + q.code_misses;

// [key, label, text of a value, whole of which it is a share]
const GROUPS = [
  ["Looks at the program", [
    ["rate_hz", "reached", hertzText], ["wanted_hz", "asked for", hertzText], ["aimed_hz", "aimed at", hertzText], ["ticks", "looks", formatCount, looksOf],
    ["missed", "missed", formatCount, looksOf], ["duration_s", "duration", formatDuration],
  ]],
  ["Samples", [
    ["samples", "samples", formatCount], ["exact", "exact", formatCount, (q) => q.samples], ["repaired", "repaired", formatCount, (q) => q.samples],
    ["retried", "retried", formatCount, (q) => q.samples], ["truncated", "truncated", formatCount, (q) => q.samples],
    ["filtered", "filtered", formatCount, (q) => q.samples + q.filtered], ["stood_in", "stood in", formatCount, (q) => q.samples],
  ]],
  ["Threads that could not be read", [
    ["failed_gone", "gone", formatCount, triedOf], ["failed_fault", "not mapped", formatCount, triedOf], ["failed_perm", "not permitted", formatCount, triedOf],
    ["failed_corrupt", "made no sense", formatCount, triedOf],
  ]],
  ["What it cost the program", [["stopped_s", "stopped", formatDuration, (q) => q.duration_s], ["reads", "reads", formatCount], ["read_bytes", "memory read", bytesText]]],
  ["What it cost this host", [
    ["cpu_user_s", "CPU, own code", formatDuration, (q) => q.duration_s], ["cpu_sys_s", "CPU, kernel", formatDuration, (q) => q.duration_s],
    ["rss_bytes", "memory", bytesText], ["rss_peak_bytes", "memory, at most", bytesText],
  ]],
  ["Code objects", [
    ["code_hits", "known", formatCount, framesOf], ["code_misses", "read anew", formatCount, framesOf], ["code_stale", "found changed", formatCount],
  ]],
];

const STATE_LABELS = [
  ["on_cpu", "on CPU", "the kernel's own account of each thread"], ["has_gil", "holding the GIL", "the interpreter's own record of the holder"],
  ["waits_gil", "waiting for the GIL", "the thread's request for the lock"], ["in_gc", "in GC", "the collector's flag"],
  ["in_native", "in C code", "what was being called"], ["has_exception", "handling an exception", "the thread's exception state"],
];

// One flat object of numbers, reasons of failure named as in `meaning`.
function flatNumbers(quality) {
  const numbers = {};
  for (const [key, value] of Object.entries(quality)) if (isKnown(value)) numbers[key] = value;
  for (const [reason, value] of Object.entries(quality.failed ?? {})) numbers["failed_" + reason] = value;
  return numbers;
}

function numberRow(key, label, text, whole, numbers, quality) {
  const share = whole === undefined ? NaN : ratio(numbers[key], whole(quality));
  const meaning = quality.meaning?.[key];
  return { key, label, value: text(numbers[key]), share: isKnown(share) ? formatShare(share) : "", meaning: meaning === undefined ? "" : visibleText(String(meaning)) };
}

function stateRow([key, label, source], states) {
  const { at_least: low, at_most: high } = states[key] ?? {};
  const same = formatShare(low) === formatShare(high);
  const value = !isKnown(low) ? formatShare(NaN) : low === 0 && high === 1 ? "unknown" : same ? formatShare(low) : formatShare(low) + " to " + formatShare(high);
  const meaning = "share of samples, from " + source + (same || value === "unknown" ? "" : "; unknown in " + formatShare(high - low));
  return { key: "state_" + key, label, value, share: "", meaning };
}

// -> [{title, rows: [{key, label, value, share, meaning}]}]; `quality` as /quality says it, or as a SESSION does
export function measureGroups(quality) {
  if (quality === null || typeof quality !== "object") return [];
  const numbers = flatNumbers(quality);
  const named = new Set(GROUPS.flatMap(([, rows]) => rows.map(([key]) => key)));
  const groups = GROUPS.map(([title, rows]) => ({
    title, rows: rows.filter(([key]) => key in numbers).map(([key, label, text, whole]) => numberRow(key, label, text, whole, numbers, quality)),
  }));
  const others = Object.keys(numbers).filter((key) => !named.has(key)).map((key) => numberRow(key, key.replaceAll("_", " "), formatCount, undefined, numbers, quality));
  groups.push({ title: "Other", rows: others });
  if (quality.states) groups.push({ title: "What threads were doing", rows: STATE_LABELS.map((row) => stateRow(row, quality.states)) });
  return groups.filter((group) => group.rows.length > 0);
}
