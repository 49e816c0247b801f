// Numbers as text. Unknown is "—", never 0.

export const UNKNOWN = "—";

/** @typedef {number | null | undefined} Maybe */

const WHOLE = new Intl.NumberFormat("en-US", { maximumFractionDigits: 0 });

/** @param {unknown} value @returns {value is number} */
export function isKnown(value) {
  return typeof value === "number" && Number.isFinite(value);
}

/** @param {Maybe} value */
export function formatCount(value) {
  return isKnown(value) ? WHOLE.format(value) : UNKNOWN;
}

// 52001 -> "52,001"; from a million on "1.25 M".
/** @param {Maybe} value */
export function formatShortCount(value) {
  if (!isKnown(value) || value < 1e6) return formatCount(value);
  if (value < 1e9) return (value / 1e6).toFixed(value < 1e7 ? 2 : 1) + " M";
  return (value / 1e9).toFixed(2) + " G";
}

// 1536 -> "1.5 KiB"
/** @param {Maybe} bytes */
export function formatBytes(bytes) {
  if (!isKnown(bytes)) return UNKNOWN;
  if (bytes < 1024) return bytes + " B";
  let value = bytes / 1024;
  let unit = 0;
  for (; value >= 1023.5 && unit < 3; unit += 1) value /= 1024;
  return value.toFixed(value < 9.95 ? 1 : 0) + " " + ["KiB", "MiB", "GiB", "TiB"][unit];
}

// An amount of a measure of that unit and title: "1.5 KiB", "20 ms", "1,024 alloc_objects".
/** @param {Maybe} value @param {{ unit: string, title: string }} measure */
export function formatAmount(value, { unit, title }) {
  if (unit === "bytes") return formatBytes(value);
  if (unit === "nanoseconds") return formatDuration(isKnown(value) ? value / 1e9 : NaN);
  return formatCount(value) + " " + title;
}

// A share of 1 as a percentage that never rounds to 0 % or 100 % what is neither.
/** @param {Maybe} share */
export function formatShare(share) {
  if (!isKnown(share)) return UNKNOWN;
  const percent = share * 100;
  if (percent === 0 || percent === 100) return percent + " %";
  if (percent < 0.01) return "< 0.01 %";
  if (percent > 99.99 && percent < 100) return "> 99.99 %";
  return percent.toFixed(percent > 99.9 || percent < 0.095 ? 2 : 1) + " %";
}

// "94.3 – 98.5 %", rounded outwards where a bound is close to none or to all; "" where the interval is unknown.
/** @param {{low: number, high: number}} interval */
export function formatInterval({ low, high }) {
  if (!isKnown(low)) return "";
  return formatShare(low < 0.0001 ? 0 : low).replace(/ %$/, "") + " – " + formatShare(high > 0.9999 ? 1 : high);
}

/** @param {Maybe} part @param {Maybe} whole */
export function ratio(part, whole) {
  return isKnown(part) && isKnown(whole) && whole > 0 ? part / whole : NaN;
}

/** @param {Maybe} hz */
export function formatRate(hz) {
  if (!isKnown(hz)) return UNKNOWN;
  if (hz >= 99.5 || Number.isInteger(hz)) return WHOLE.format(hz);
  return hz.toFixed(1);
}

/** @param {Maybe} seconds */
export function formatDuration(seconds) {
  if (!isKnown(seconds)) return UNKNOWN;
  if (seconds === 0) return "0 s";
  if (seconds < 0.001) return Math.round(seconds * 1e6) + " µs";
  if (seconds < 1) return (seconds * 1000).toFixed(seconds < 0.01 ? 1 : 0) + " ms";
  if (seconds < 60) return seconds.toFixed(seconds < 10 ? 2 : 1) + " s";
  const whole = Math.floor(seconds);
  const parts = [Math.floor(whole / 86400), Math.floor(whole / 3600) % 24, Math.floor(whole / 60) % 60, whole % 60];
  const units = ["d", "h", "min", "s"];
  const first = parts.findIndex((part) => part > 0);
  return parts.slice(first, first + 2).map((part, i) => part + " " + units[first + i]).join(" ");
}

// 12 -> "0:12", 3725 -> "1:02:05"
/** @param {Maybe} seconds */
export function formatClock(seconds) {
  if (!isKnown(seconds)) return UNKNOWN;
  const whole = Math.max(0, Math.floor(seconds));
  const hours = Math.floor(whole / 3600);
  const minutes = Math.floor(whole / 60) % 60;
  const tail = String(whole % 60).padStart(2, "0");
  return hours > 0 ? hours + ":" + String(minutes).padStart(2, "0") + ":" + tail : minutes + ":" + tail;
}

// A difference of two shares of 1 in percentage points.
/** @param {number} change */
export function formatPoints(change) {
  return (change > 0 ? "+" : change < 0 ? "−" : "") + formatShare(Math.abs(change)).replace(" %", " pp");
}
