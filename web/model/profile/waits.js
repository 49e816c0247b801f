// Why threads wait: marks at the end of their stacks.

import { functionText, isSynthetic } from "./frames.js";
import { functionCount, nodeCount } from "./profile.js";
import { readWait, waitWords } from "./wait-causes.js";

// The facts in a mark, as readWait() gives them, or null if the function is no such mark.
/** @param {Profile} profile @param {number} functionId @returns {Wait | null} */
export function waitOf(profile, functionId) {
  return isSynthetic(profile, functionId) ? readWait(functionText(profile, functionId)) : null;
}

// The text that filters match: "blocked network read 10.0.0.5:5432"; "" of every other function.
export function waitText(profile, functionId) {
  const wait = waitOf(profile, functionId);
  return wait === null ? "" : waitWords(wait);
}

export const isWait = (profile, functionId) => waitOf(profile, functionId) !== null;

// Samples by what their threads waited for, the most first: [{text (of filters), name, idle, hue, samples}]. counted(node): its samples count.
export function waitShares(profile, counts, counted) {
  const rows = new Map();
  const waits = Array.from({ length: functionCount(profile) }, (_, id) => waitOf(profile, id));
  if (waits.every((wait) => wait === null)) return [];
  const nodes = Math.min(nodeCount(profile), counts.self.length);
  for (let node = 1; node < nodes; node += 1) {
    const id = profile.nodeFunction.values[node];
    const wait = waits[id];
    if (wait === null || !(counts.self[node] > 0) || !counted(node)) continue;
    if (!rows.has(id)) {
      rows.set(id, { text: waitText(profile, id), name: [wait.cause, wait.peer].filter((part) => part !== "").join(" "),
        idle: wait.idle, hue: wait.hue, samples: 0 });
    }
    rows.get(id).samples += counts.self[node];
  }
  return Array.from(rows.values()).sort((a, b) => b.samples - a.samples || (a.text < b.text ? -1 : 1));
}
