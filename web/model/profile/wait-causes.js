// The causes of waits, and the names of the marks that stand for them. sampler/profile/wait_cause.h has the same causes.

// title -> [is it idle (waits for work)? The others are blocked: their work waits; the hue of its frames].
/** @type {Map<string, [boolean, string]>} */
const CAUSES = new Map([
  ["sleep", [true, "idle"]],
  ["pause", [false, "lock"]],
  ["event loop", [true, "idle"]],
  ["idle worker", [true, "idle"]],
  ["threads", [true, "idle"]],
  ["terminal", [true, "idle"]],
  ["queue or condition", [false, "lock"]],
  ["lock", [false, "lock"]],
  ["GIL", [false, "gil"]],
  ["processor", [false, "processor"]],
  ["network read", [false, "network"]],
  ["network write", [false, "network"]],
  ["pipe", [false, "process"]],
  ["disk", [false, "disk"]],
  ["child process", [false, "process"]],
  ["GPU", [false, "disk"]],
]);

const WAIT_MARK = /^<waits: (.+)>$/s;

export const WAIT_HUES = ["gil", "processor", "lock", "network", "disk", "process", "idle"];

// The facts in the name of a mark, "<waits: network read 10.0.0.5:5432>": {cause (a title), idle, hue, peer}, or null if it is no such name.
/** @param {string} name @returns {Wait | null} */
export function readWait(name) {
  const found = WAIT_MARK.exec(name);
  if (found === null) return null;
  for (const [cause, [idle, hue]] of CAUSES) {
    if (found[1] === cause || found[1].startsWith(cause + " "))
      return { cause, idle, hue, peer: found[1].slice(cause.length + 1) };
  }
  return null;
}

// The text that filters match: "blocked network read 10.0.0.5:5432".
export function waitWords({ idle, cause, peer }) {
  return [idle ? "idle" : "blocked", cause, peer].filter((part) => part !== "").join(" ");
}
