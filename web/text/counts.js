// Counts with their noun. They get numbers as text already.

export const nounOf = (/** @type {string} */ noun) => (/** @type {string} */ count) =>
  noun + (count === "1" ? "" : "s");
export const counted = (/** @type {string} */ noun) => (/** @type {string} */ count) =>
  count + " " + nounOf(noun)(count);
// Amounts with a unit stand for themselves.
export const samples = (
  /** @type {string} */ amount,
) => (/ (?![MG]$)\S+$|B$/.test(amount) ? amount : counted("sample")(amount));
export const functions = counted("function");
export const frames = counted("frame");
