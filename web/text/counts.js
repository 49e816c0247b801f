// Counts with their noun. They get numbers as text already.

export const nounOf = (/** @type {string} */ noun) => (/** @type {string} */ count) =>
  noun + (count === "1" ? "" : "s");
export const counted = (/** @type {string} */ noun) => (/** @type {string} */ count) =>
  count + " " + nounOf(noun)(count);
export const samples = counted("sample");
export const functions = counted("function");
export const frames = counted("frame");
