// The lines of your code with the most samples.

import { memoise } from "../base/memoise.js";
import { createOwnLines, extendOwnLines, hottestOwnLines, waitingOwnLines } from "../code/own.js";
import { IDLE, isRunningAPart, PARTS, RUNNING, shownParts } from "../profile/parts.js";
import { isRunningBehind } from "../trees/recording.js";

// A level of your code with such a share of the samples answers.
const ENOUGH = 0.01;
const OWN_COUNT = 5;
const OWN_WAITS = 3;

// What runs and what waits, whatever these lines called, of the first level that has enough samples, or the last: {running, waiting: what
// hottestOwnLines() and waitingOwnLines() give, and the level; null where none of it is shown, or nothing waits}.
function makeOwn(recording, version, runningVersion, grouping, lines, words) {
  const parts = words.split(",");
  const runs = parts.includes(PARTS[RUNNING]);
  const waits = parts.some((part) => part !== PARTS[RUNNING] && part !== PARTS[IDLE]);
  const running = !runs ? null : parts.length === 1 ? recording.counts : recording.running;
  const { profile, counts } = recording;
  const find = (count) => {
    let found;
    for (const level of profile.ownCode) {
      extendOwnLines(lines, profile, level);
      found = { ...count(), level };
      if (found.samples >= ENOUGH * found.all) break;
    }
    return found;
  };
  const waiting = waits ? find(() => waitingOwnLines(lines, profile, grouping, counts, running, OWN_WAITS)) : null;
  // Nothing that waits is no news; that none of your code runs is.
  return { running: runs ? find(() => hottestOwnLines(lines, profile, grouping, counts, running, OWN_COUNT)) : null, waiting: waiting?.rows.length > 0 ? waiting : null };
}

export function ownSelectors() {
  const linesOf = memoise((profile, patterns) => createOwnLines(patterns));
  const ownOf = memoise(makeOwn);
  return {
    // null while it is not known yet what runs: of what is counted, or, `anyway`, of any of it.
    own: ({ state, recording, version, grouping }) => (anyway) => {
      if (isRunningAPart(state) && (anyway ? recording.running === null : isRunningBehind(recording))) return null;
      return ownOf(recording, version, recording.runningVersion, grouping, linesOf(recording.profile, state.ownPatterns), shownParts(state).join());
    },
  };
}
