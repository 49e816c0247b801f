import assert from "node:assert/strict";
import { test } from "node:test";
import { applyTree, createProfile } from "../../../web/model/profile/profile.js";
import { deadlocksParts, emptyLocks, leftText, lockFiles, lockRows,
  locksReason } from "../../../web/model/threads/locks.js";
import { TEXT } from "../../../web/text/session.js";

const place = (name, file, line, waited) => ({ function: name, file, line, expression: null, waited_s: waited });

const lock = (changes = {}) => ({ process: 4711, type: "threading.Lock", object: "0x7f00", waited_s: 12, held_s: 11,
  longest_s: 1.5, waits: 8, waiting: 2, first_s: 0, last_s: 60, waiters: [place("handle", "/srv/app.py", 41, 12)],
  other_waiters_s: 0, holders: [place("refresh", "/srv/cache.py", 90, 9), place("", "", 0, 2)], other_holders_s: 0,
  ...changes });

const answer = (...locks) => ({ ...emptyLocks(), available: true, locks });

test("a row has the lines of both sides, and the time in which nobody knows who held it", () => {
  const [row] = lockRows(answer(lock()));
  assert.deepEqual([row.type, row.process, row.waited, row.longest, row.waiting], ["threading.Lock", null, 12, 1.5, 2]);
  assert.deepEqual(row.waiters, { unknown: 0, others: 0,
    places: [{ path: "/srv/app.py", line: 41, waited: 12, name: "handle", place: "app.py:41" }] });
  assert.deepEqual(row.holders.places.map(({ place: at }) => at), ["cache.py:90", ""]);
  assert.equal(row.holders.unknown, 1);
});

test("a lock is called as the source calls it, if that is known", () => {
  const waiters = [place("f", "/a.py", 1, 2), { ...place("g", "/a.py", 2, 1), expression: "self.<lock>" }];
  assert.deepEqual(lockRows(answer(lock({ waiters }), lock())).map(({ expression }) => expression), ["self.<lock>",
    ""]);
});

test("a task of a deadlock is called so, and one may wait for the thread of its loop", () => {
  const cycle = [
    { ...wait("MainThread", 1, 7, { tid: 2, thread: "outsider" }), expression: "block" },
    wait("outsider", 2, 0, { tid: 1, thread: "MainThread", task: "mover", file: "" }),
    { ...wait("MainThread", 1, 0, { tid: 1, thread: "MainThread" }), task: "mover", event_loop: true },
  ];
  assert.equal(deadlocksParts([cycle]).join(""),
    "deadlock: MainThread waits for block 0x1 (held by outsider at bank.py:7), outsider waits for threading.Lock 0x2 "
      + "(held by task mover), task mover waits for its event loop (in MainThread).");
});

test("threads of a deadlock of several processes are named with these", () => {
  const cycle = [wait("MainThread", 1, 7, { process: 12, tid: 2, thread: "MainThread" }), {
    ...wait("MainThread", 2, 9, { tid: 1, thread: "MainThread" }),
    process: 12,
  }];
  assert.ok(deadlocksParts([cycle]).join("").startsWith("deadlock: MainThread of process 1 waits for threading.Lock "
    + "0x1 (held by MainThread of process 12 at bank.py:7), MainThread of process 12 waits for "));
});

test("of many lines the first are shown, and the time of the others is one", () => {
  const waiters = [5, 4, 3, 2, 1, 1].map((time, i) => place("f", "/a.py", i + 1, time));
  const [row] = lockRows(answer(lock({ waiters, other_waiters_s: 0.5 })));
  assert.deepEqual([row.waiters.places.length, row.waiters.others], [4, 2.5]);
});

test("locks of several processes say of which they are", () => {
  assert.deepEqual(lockRows(answer(lock(), lock({ process: 4712 }))).map(({ process }) => process), [4711, 4712]);
});

test("text is asked for by a function of each file", () => {
  const profile = createProfile();
  applyTree(profile, { epoch: "e", generation: 1, since: 0,
    strings: { first: 0, values: ["", "a", "b", "/srv/cache.py", "/srv/app.py"] },
    functions: { first: 0, name: [0, 1, 2, 2], file: [0, 3, 4, 4], line: [0, 1, 1, 9] },
    nodes: { first: 0, parent: [0], function: [0], line: [0] },
    threads: { first: 0, process: [], tid: [], name: [], main: [] }, processes: { first: 0, pid: [], name: [] } });
  assert.deepEqual(Array.from(lockFiles(lockRows(answer(lock())), profile)), [["/srv/cache.py", 1], ["/srv/app.py",
    2]]);
});

test("the reason why there are no locks is said", () => {
  const session = { source: "live" };
  assert.equal(locksReason(answer(lock()), session, true), null);
  assert.equal(locksReason(answer(), session, true), TEXT.locks.none);
  assert.equal(locksReason(emptyLocks(), session, true), TEXT.locks.unavailable);
  assert.equal(locksReason(emptyLocks(), { source: "capture" }, true), TEXT.locks.inCapture);
  assert.equal(locksReason(emptyLocks(), session, false), TEXT.locks.inReport);
  assert.equal(leftText({ ...answer(), dropped: 3 }, "2 s"), TEXT.locks.dropped("3", "2 s"));
  assert.equal(leftText({ ...answer(), limit_reached: true }, ""), TEXT.locks.cut);
});

const wait = (thread, tid, line, holder) => ({ process: 1, tid, thread, task: null, event_loop: false, expression: null,
  type: "threading.Lock", object: "0x" + tid, function: "move", file: "/srv/bank.py", line: 1,
  holder: { process: 1, task: null, function: "move", file: "/srv/bank.py", line, ...holder } });

test("a deadlock is a sentence of who waits for whom", () => {
  const cycle = [wait("mover-1", 13, 7, { tid: 14, thread: "mover-2" }),
    wait("mover-2", 14, 0, { tid: 13, thread: "mover-1", file: "" })];
  const parts = deadlocksParts([cycle]);
  assert.equal(parts.join(""),
    "deadlock: mover-1 waits for threading.Lock 0x13 (held by mover-2 at bank.py:7), mover-2 waits for threading.Lock 0x14 (held by mover-1).");
  assert.ok(deadlocksParts([cycle, cycle]).at(-1).endsWith(TEXT.locks.moreDeadlocks("1")));
  const long = Array.from({ length: 20 }, (_, i) => wait("t" + i, i, 7, { tid: i + 1, thread: "t" + (i + 1) }));
  assert.ok(deadlocksParts([long]).join("").length < 900);
});

test("names of the target are visible text, and stand alone in a deadlock", () => {
  const evil = "\u202e<script>";
  const [row] = lockRows(answer(lock({ type: evil, waiters: [place("", "/x/" + evil, 3, 1)] })));
  assert.equal(row.type, "\\u202e<script>");
  assert.equal(row.waiters.places[0].place, "\\u202e<script>:3");
  const parts = deadlocksParts([[wait(evil, 13, 7, { tid: 14, thread: "" })]]);
  assert.deepEqual(parts.filter((_, i) => i % 2 === 1), ["\\u202e<script>", "threading.Lock 0x13",
    TEXT.locks.thread(14), "bank.py:7"]);
});
