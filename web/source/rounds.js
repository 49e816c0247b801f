// Rounds of requests, one after the other. The next round starts when its time has come, at once after hurry(),
// and with growing delays while the server does not answer.

import { HttpProblem } from "./requests.js";

const RETRY_MS = [1000, 2000, 4000, 8000];

// round({urgent, count}) is a promise; waitMs(count of rounds that succeeded) is the time until the next; onConnection takes
// {state, detail, retryAt}; onProblem(problem) comes before it.
export function createRounds({ round, waitMs, onConnection, onProblem = () => {} }) {
  let timer = null;
  let running = false;
  let again = false;
  let failures = 0;
  let count = 0;

  function fail(problem) {
    const wait = RETRY_MS[Math.min(failures, RETRY_MS.length - 1)];
    failures += 1;
    onProblem(problem);
    const denied = problem.status === 401 || problem.status === 403;
    onConnection({ state: denied ? "denied" : "lost", detail: problem instanceof HttpProblem ? problem.message : "",
      retryAt: Date.now() + wait });
    return wait;
  }

  async function run() {
    timer = null;
    running = true;
    const urgent = again;
    again = false;
    let wait;
    try {
      await round({ urgent, count });
      count += 1;
      failures = 0;
      onConnection({ state: "ok", detail: "", retryAt: null });
      wait = waitMs(count);
    } catch (problem) {
      wait = fail(problem);
    }
    running = false;
    timer = setTimeout(run, again ? 0 : wait);
  }

  // The next round is at once.
  function hurry() {
    again = true;
    if (running || timer === null) return;
    clearTimeout(timer);
    timer = setTimeout(run, 0);
  }

  document.addEventListener("visibilitychange", () => {
    if (!document.hidden) hurry();
  });

  return {
    start() {
      timer = setTimeout(run, 0);
    },
    hurry,
  };
}
