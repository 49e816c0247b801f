// Locks, as in /locks: for which threads waited, where, and where the threads were that held them.

import { TEXT } from "../../text/session.js";
import { formatCount } from "../base/numbers.js";
import { baseName, visibleText } from "../base/text.js";
import { fileText } from "../profile/frames.js";
import { functionCount } from "../profile/profile.js";

const PLACES_SHOWN = 4;
const CYCLE_SHOWN = 8;
// Files of which the text is read, for the lines in the table.
const FILES_READ_MAX = 12;

/** @returns {LocksAnswer} */
export function emptyLocks() {
  return { available: false, sampled_s: 0, measured_s: 0, limit_reached: false, dropped: 0, dropped_s: 0, deadlocks: [],
    locks: [] };
}

// {path, line, place, name, waited}; no path: the thread is known, its line is not.
/** @param {LockPlace} given */
function lockPlaceOf({ function: name, file, line, waited_s: waited }) {
  return { path: file, line, waited, name: visibleText(name, ""),
    place: file === "" ? "" : visibleText(baseName(file)) + (line > 0 ? ":" + line : "") };
}

// The first lines of a side, and how long threads waited at the others, and for holders that nobody knows.
/** @param {LockPlace[]} places @param {number} others @param {number} unknown */
function sideOf(places, others, unknown) {
  return { places: places.slice(0, PLACES_SHOWN).map(lockPlaceOf), unknown,
    others: places.slice(PLACES_SHOWN).reduce((sum, { waited_s: waited }) => sum + waited, others) };
}

// Locks as rows, in the order of the server: those for which threads waited longest while somebody held them first.
/** @param {LocksAnswer} answer */
export function lockRows({ locks }) {
  const hasProcesses = new Set(locks.map(({ process }) => process)).size > 1;
  return locks.map((lock) => ({
    expression: visibleText(
      [...lock.waiters, ...lock.holders].find(({ expression }) => expression !== null)?.expression ?? "",
      "",
    ),
    type: visibleText(lock.type),
    object: visibleText(lock.object),
    process: hasProcesses ? lock.process : null,
    waited: lock.waited_s,
    longest: lock.longest_s,
    waits: lock.waits,
    waiting: lock.waiting,
    waiters: sideOf(lock.waiters, lock.other_waiters_s, 0),
    holders: sideOf(lock.holders, lock.other_holders_s, Math.max(0, lock.waited_s - lock.held_s)),
  }));
}

/** @typedef {ReturnType<typeof lockRows>[number]} LockRow */

// Functions of the files in which the first rows have lines, by path: to ask for their text. It goes through all functions.
/** @param {LockRow[]} rows @param {Profile} profile @returns {Map<string, number>} */
export function lockFiles(rows, profile) {
  const paths = rows.flatMap(({ waiters, holders }) => [...waiters.places, ...holders.places]).map(({ path }) => path);
  const wanted = new Set(Array.from(new Set(paths)).filter((path) => path !== "").slice(0, FILES_READ_MAX));
  const found = new Map();
  for (let id = 1; id < functionCount(profile) && found.size < wanted.size; id += 1) {
    const path = fileText(profile, id);
    if (wanted.has(path) && !found.has(path)) found.set(path, id);
  }
  return found;
}

// Why there are no locks to show, or null.
/** @param {LocksAnswer} answer @param {{source?: string} | null} session @param {boolean} live */
export function locksReason({ available, locks }, session, live) {
  if (session === null) return "";
  if (!live) return TEXT.locks.inReport;
  if (locks.length > 0) return null;
  if (session.source === "capture") return TEXT.locks.inCapture;
  return available ? TEXT.locks.none : TEXT.locks.unavailable;
}

const threadName = (/** @type {{thread: string, tid: number}} */ { thread, tid }) =>
  visibleText(thread, TEXT.locks.thread(tid));
const waiterName = (/** @type {{thread: string, tid: number, task: string | null}} */ waiter) =>
  waiter.task === null ? threadName(waiter) : TEXT.locks.task + visibleText(waiter.task);
const withProcess = (/** @type {string} */ name, /** @type {number} */ pid) => name + " " + TEXT.locks.ofProcess(pid);

// Deadlocks in sentences, in which every second part is a name from the target: the first one, and how many more there are.
/** @param {LockWait[][]} deadlocks @returns {string[]} */
export function deadlocksParts([cycle, ...more]) {
  const hasOthers = cycle.some(({ process }) => process !== cycle[0].process);
  const nameOf = (/** @type {LockWait | LockWait["holder"]} */ who) =>
    hasOthers ? withProcess(waiterName(who), who.process) : waiterName(who);
  const parts = cycle.slice(0, CYCLE_SHOWN).flatMap((wait, i) => {
    const { file, line } = wait.holder;
    const place = file === "" ? [] : [TEXT.locks.at, visibleText(baseName(file)) + (line > 0 ? ":" + line : "")];
    const begin = [i === 0 ? TEXT.locks.deadlock : TEXT.locks.next, nameOf(wait)];
    if (wait.event_loop) return [...begin, TEXT.locks.loop, threadName(wait)];
    return [...begin, TEXT.locks.waitsFor, visibleText(wait.expression ?? wait.type) + " " + visibleText(wait.object),
      TEXT.locks.heldBy, nameOf(wait.holder), ...place];
  });
  const hidden = cycle.length - CYCLE_SHOWN;
  return [...parts, TEXT.locks.end + (hidden > 0 ? TEXT.locks.moreThreads(formatCount(hidden)) : "") + (more.length > 0
    ? TEXT.locks.moreDeadlocks(formatCount(more.length))
    : "")];
}

// Locks that the table does not have, in a sentence.
/** @param {LocksAnswer} answer @param {string} time */
export function leftText({ dropped, limit_reached: isCut }, time) {
  if (dropped > 0) return TEXT.locks.dropped(formatCount(dropped), time);
  return isCut ? TEXT.locks.cut : "";
}
