// The quality line: what was measured, and how well. Every value says what it means; unknown is "—".

import { formatCount, formatRate, formatShare, formatShortCount, isKnown, ratio } from "./numbers.js";

function failedSamples(failed) {
  if (failed === null || typeof failed !== "object") return NaN;
  return Object.values(failed).reduce((sum, count) => sum + count, 0);
}

function failureDetail(failed) {
  if (failed === null || typeof failed !== "object") return "";
  const said = { gone: "the thread or process was gone", fault: "its memory could not be read", perm: "reading was refused", corrupt: "what was read made no sense" };
  const parts = Object.entries(failed).filter(([, count]) => count > 0);
  return parts.map(([cause, count]) => " " + formatCount(count) + ": " + (said[cause] ?? cause) + ".").join("");
}

function share(key, label, count, samples, meaning, warnAbove) {
  const part = ratio(count, samples);
  return {
    key,
    label,
    value: formatShare(part),
    meaning: meaning + (isKnown(part) ? " " + formatCount(count) + " of " + formatCount(samples) + "." : " Not known yet."),
    level: isKnown(part) && part > warnAbove ? "warn" : "plain",
  };
}

// -> [{key, label, value, meaning, level}]; `quality` as in a SESSION, or null
export function qualityValues(quality) {
  const q = quality ?? {};
  const samples = q.samples;
  const failed = failedSamples(q.failed ?? null);
  const slow = q.ticks > 0 && isKnown(q.rate_hz) && isKnown(q.wanted_hz) && q.rate_hz < 0.9 * q.wanted_hz;
  const looks = isKnown(q.ticks) && isKnown(q.missed) ? q.ticks + q.missed : NaN;
  return [
    {
      key: "samples", label: "samples", value: formatShortCount(samples), level: "plain",
      meaning: "Threads seen, over all looks at the program: " + formatCount(samples) + " in " + formatCount(q.ticks) + " looks.",
    },
    {
      key: "rate", label: "of " + formatRate(q.wanted_hz) + " Hz", value: formatRate(q.rate_hz), level: slow ? "warn" : "plain",
      meaning: "Looks at the program per second: " + formatRate(q.rate_hz) + " reached of " + formatRate(q.wanted_hz) + " wanted." +
        (slow ? " The host is busy, or the program has many threads." : ""),
    },
    share("exact", "exact", q.exact, samples, "Read in one piece, nothing moved meanwhile.", 1),
    share("repaired", "repaired", q.repaired, samples, "The stack moved while it was read, and a second reading settled what was true.", 0.2),
    share("retried", "retried", q.retried, samples, "Read again because the first reading did not hold together.", 0.2),
    share("truncated", "truncated", q.truncated, samples, "Only the part of the stack that is certain was kept.", 0.01),
    {
      ...share("failed", "failed", failed, isKnown(samples) ? samples + failed : NaN,
        "Threads that could not be read; they are not among the samples.", 0.01),
    },
    {
      key: "missed", label: "missed", value: formatShortCount(q.missed), level: ratio(q.missed, looks) > 0.01 ? "warn" : "plain",
      meaning: "Looks skipped because we came too late" + (isKnown(looks) ? ": " + formatShare(ratio(q.missed, looks)) + " of all that were due." : "."),
    },
  ].map((value) => (value.key === "failed" ? { ...value, meaning: value.meaning + failureDetail(q.failed ?? null) } : value));
}
