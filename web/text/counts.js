// Counts with their noun. They get numbers as text already.

export const samples = (count) => count + (count === "1" ? " sample" : " samples");
export const functions = (count) => count + (count === "1" ? " function" : " functions");
export const frames = (count) => count + (count === "1" ? " frame" : " frames");
