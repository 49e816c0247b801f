// Locks.

import { memoise } from "../base/memoise.js";
import { formatDuration } from "../base/numbers.js";
import { functionCount } from "../profile/profile.js";
import { leftText, lockFiles, lockRows, locksReason } from "../threads/locks.js";

// {reason, rows, waited, left}
function makeLocks(answer, reason) {
  return { reason, rows: lockRows(answer), waited: answer.locks.reduce((sum, lock) => sum + lock.waited_s, 0),
    left: leftText(answer, formatDuration(answer.dropped_s)) };
}

export function locksSelectors() {
  const locksOf = memoise(makeLocks);
  const filesOf = memoise((locks, profile, count) => lockFiles(locks.rows, profile));
  return {
    locks({ address, state: { locks, session, live } }) {
      return address.view === "locks" ? locksOf(locks, locksReason(locks, session, live)) : null;
    },
    // Functions by the path of their file.
    lockFiles: ({ locks, profile }) => filesOf(locks, profile, functionCount(profile)),
  };
}
