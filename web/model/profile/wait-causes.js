// The causes of waits, and the names of the marks that stand for them. sampler/profile/wait.h has the same causes.

// title -> [is it idle (waits for work)? The others are blocked: their work waits; the hue of its frames].
const CAUSES = new Map([
  ["sleep", [true, "idle"]], ["event loop", [true, "idle"]], ["idle worker", [true, "idle"]], ["terminal", [true, "idle"]],
  ["queue or condition", [false, "lock"]], ["lock", [false, "lock"]], ["GIL", [false, "lock"]],
  ["network read", [false, "network"]], ["network write", [false, "network"]], ["pipe", [false, "process"]], ["disk", [false, "disk"]], ["child process", [false, "process"]],
]);

// C functions that do nothing but wait. A thread that is active in one has waited, and is about to go on.
const WAITING_CALLS = new Set(["time.sleep", "select.select", "select.poll.poll", "select.epoll.poll", "_thread.lock.acquire", "_thread.lock.acquire_lock",
  "_thread.lock.__enter__", "_thread.RLock.acquire", "_thread.RLock.__enter__", "_queue.SimpleQueue.get", "_thread._ThreadHandle.join", "posix.waitpid"]);
const CALLEE_PREFIX = "<native> ";

const WAIT_MARK = /^<waits: (.+)>$/s;

export const WAIT_HUES = ["idle", "lock", "network", "disk", "process"];

// What the name of a mark says, "<waits: network read 10.0.0.5:5432>": {cause (a title), idle, hue, peer}, or null if it is no such name.
export function readWait(name) {
  const found = WAIT_MARK.exec(name);
  if (found === null) return null;
  for (const [cause, [idle, hue]] of CAUSES) {
    if (found[1] === cause || found[1].startsWith(cause + " ")) return { cause, idle, hue, peer: found[1].slice(cause.length + 1) };
  }
  return null;
}

// Is it the name of a C function that only waits, "<native> time.sleep"?
export function onlyWaits(name) {
  return name.startsWith(CALLEE_PREFIX) && WAITING_CALLS.has(name.slice(CALLEE_PREFIX.length));
}

// What filters match: "blocked network read 10.0.0.5:5432".
export function waitWords({ idle, cause, peer }) {
  return [idle ? "idle" : "blocked", cause, peer].filter((part) => part !== "").join(" ");
}
