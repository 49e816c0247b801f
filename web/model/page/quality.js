// The quality line: how much was sampled, and how well. Every value says what it means; unknown is "—".

import { QUALITY_TEXT } from "../../text/quality.js";
import { formatCount, formatRate, formatShare, formatShortCount, isKnown, ratio } from "../base/numbers.js";

function failedSamples(failed) {
  if (failed === null || typeof failed !== "object") return NaN;
  return Object.values(failed).reduce((sum, count) => sum + count, 0);
}

function failureText(failed) {
  if (failed === null || typeof failed !== "object") return "";
  const parts = Object.entries(failed).filter(([, count]) => count > 0);
  return parts.map(([cause, count]) => QUALITY_TEXT.cause(formatCount(count), QUALITY_TEXT.causes[cause] ?? cause)).join("");
}

function shareValue(key, count, all, warnAbove) {
  const [label, meaning] = QUALITY_TEXT[key];
  const part = ratio(count, all);
  return {
    key, label, value: formatShare(part),
    meaning: meaning + (isKnown(part) ? QUALITY_TEXT.of(formatCount(count), formatCount(all)) : QUALITY_TEXT.notKnown),
    level: isKnown(part) && part > warnAbove ? "warn" : "plain",
  };
}

function samplesValue({ samples, ticks }) {
  const [label, meaning] = QUALITY_TEXT.samples;
  return { key: "samples", label, value: formatShortCount(samples), level: "plain", meaning: meaning(formatCount(samples), formatCount(ticks)) };
}

function rateValue({ ticks, achieved_hz: achieved, requested_hz: requested }) {
  const [unit, meaning] = QUALITY_TEXT.rate;
  const slow = ticks > 0 && isKnown(achieved) && isKnown(requested) && achieved < 0.9 * requested;
  return {
    key: "rate", label: unit + " " + QUALITY_TEXT.requested(formatRate(requested)), value: formatRate(achieved), level: slow ? "warn" : "plain",
    meaning: meaning(formatRate(achieved), formatRate(requested)) + (slow ? QUALITY_TEXT.slow : ""),
  };
}

function missedValue({ ticks, missed_ticks: missed }) {
  const [label, meaning] = QUALITY_TEXT.missed;
  const due = isKnown(ticks) && isKnown(missed) ? ticks + missed : NaN;
  const share = ratio(missed, due);
  return { key: "missed", label, value: formatShortCount(missed), level: share > 0.01 ? "warn" : "plain", meaning: meaning + (isKnown(due) ? QUALITY_TEXT.missedShare(formatShare(share)) : ".") };
}

// -> [{key, label, value, meaning, level}]; `quality` as in a SESSION, or null
export function qualityValues(quality) {
  const q = quality ?? {};
  const { samples } = q;
  const failed = failedSamples(q.failed ?? null);
  const failures = shareValue("failed", failed, isKnown(samples) ? samples + failed : NaN, 0.01);
  return [
    samplesValue(q), rateValue(q),
    shareValue("exact", q.exact, samples, 1), shareValue("repaired", q.repaired, samples, 0.2), shareValue("retried", q.retried, samples, 0.2), shareValue("truncated", q.truncated, samples, 0.01),
    { ...failures, meaning: failures.meaning + failureText(q.failed ?? null) },
    missedValue(q),
  ];
}
