// Why threads wait: marks at the end of their stacks, "<waits: network read 10.0.0.5:5432>". sampler/profile/wait.h has the same causes.

import { functionText, isSynthetic } from "./frames.js";
import { nodeCount } from "./profile.js";

// title -> is it idle (waits for work)? The others are blocked: their work waits.
const CAUSES = new Map([
  ["sleep", true], ["event loop", true], ["idle worker", true], ["terminal", true], ["queue or condition", false], ["lock", false], ["GIL", false],
  ["network read", false], ["network write", false], ["pipe", false], ["disk", false], ["child process", false],
]);

const WAIT_MARK = /^<waits: (.+)>$/s;

// What a mark says: {cause (a title), idle, peer}, or null if the function is no such mark.
export function waitOf(profile, functionId) {
  const found = isSynthetic(profile, functionId) ? WAIT_MARK.exec(functionText(profile, functionId)) : null;
  if (found === null) return null;
  for (const [cause, idle] of CAUSES) {
    if (found[1] === cause || found[1].startsWith(cause + " ")) return { cause, idle, peer: found[1].slice(cause.length + 1) };
  }
  return null;
}

// What filters match: "blocked network read 10.0.0.5:5432"; "" of every other function.
export function waitText(profile, functionId) {
  const wait = waitOf(profile, functionId);
  return wait === null ? "" : [wait.idle ? "idle" : "blocked", wait.cause, wait.peer].filter((part) => part !== "").join(" ");
}

export const isWait = (profile, functionId) => waitOf(profile, functionId) !== null;

// Samples by what their threads waited for, the most first: [{text (of filters), name, idle, samples}]. counted(node): its samples count.
export function waitShares(profile, counts, counted) {
  const rows = new Map();
  const nodes = Math.min(nodeCount(profile), counts.self.length);
  for (let node = 1; node < nodes; node += 1) {
    if (!(counts.self[node] > 0) || !counted(node)) continue;
    const id = profile.nodeFunction.values[node];
    if (!rows.has(id)) {
      const wait = waitOf(profile, id);
      rows.set(id, wait && { text: waitText(profile, id), name: [wait.cause, wait.peer].filter((part) => part !== "").join(" "), idle: wait.idle, samples: 0 });
    }
    const row = rows.get(id);
    if (row !== null) row.samples += counts.self[node];
  }
  return Array.from(rows.values()).filter((row) => row !== null).sort((a, b) => b.samples - a.samples || (a.text < b.text ? -1 : 1));
}
