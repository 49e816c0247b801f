// Instants as text.

const ZONE = new Intl.DateTimeFormat("en", { timeZoneName: "short" });

// An instant in the reader's time zone, which it names, as names of files are in UTC: the time if it is today, else the day too.
/** @param {string | null | undefined} text @param {number} now */
export function formatWhen(text, now) {
  const at = new Date(text ?? NaN);
  if (Number.isNaN(at.getTime())) return "—";
  const two = (/** @type {number} */ number) => String(number).padStart(2, "0");
  const zone = ZONE.formatToParts(at).find((part) => part.type === "timeZoneName")?.value ?? "";
  const time = two(at.getHours()) + ":" + two(at.getMinutes()) + (zone === "" ? "" : " " + zone);
  const today = new Date(now);
  if (at.toDateString() === today.toDateString()) return "today " + time;
  const month = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"][at.getMonth()];
  return at.getDate() + " " + month + (at.getFullYear() === today.getFullYear() ? "" : " " + at.getFullYear()) + ", "
    + time;
}
