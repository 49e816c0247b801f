// Counts with their noun. They get numbers as text already.

export const nounOf = (noun) => (count) => noun + (count === "1" ? "" : "s");
export const counted = (noun) => (count) => count + " " + nounOf(noun)(count);
export const samples = counted("sample");
export const functions = counted("function");
export const frames = counted("frame");
