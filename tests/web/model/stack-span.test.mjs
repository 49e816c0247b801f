import assert from "node:assert/strict";
import { test } from "node:test";
import { clampSpan, createFollowedThread, fineMarks, fineTime, isFollowing, movedSpan, stackSpan, wantedRuns,
  zoomedSpan } from "../../../web/model/page/stack-span.js";
import { PARTS } from "../../../web/model/profile/parts.js";
import { stateOf } from "../support/sample.mjs";

const timeline = (to) => ({ width: 0.25, from: 0, to, slots: [] });
const running = (address = {}, changes = {}) => ({ ...stateOf(["a 1"], { view: "stacks", ...address }),
  session: { state: "running" }, connection: { state: "ok" }, timeline: timeline(60), ...changes });

test("a running session is followed for its last seconds; one that ended is shown whole", () => {
  assert.deepEqual([isFollowing(running()), stackSpan(running())], [true, { from: 50, to: 60 }]);
  const ended = running({}, { session: { state: "ended" } });
  assert.deepEqual([isFollowing(ended), stackSpan(ended)], [false, { from: 0, to: 60 }]);
});

test("a range is shown with something around it, until somebody zooms", () => {
  const state = running({ range: { from: 10, to: 20 } });
  assert.deepEqual([isFollowing(state), stackSpan(state)], [false, { from: 9, to: 21 }]);
  assert.deepEqual(stackSpan({ ...state, stackSpan: { from: 1, to: 2 } }), { from: 1, to: 2 });
});

test("zooming keeps the time under the pointer where it is, and stays within the session", () => {
  const whole = { from: 0, to: 60 };
  assert.deepEqual(zoomedSpan({ from: 10, to: 20 }, 12, 0.5, whole), { from: 11, to: 16 });
  assert.deepEqual(zoomedSpan({ from: 10, to: 20 }, 12, 99, whole), whole);
  const narrow = zoomedSpan({ from: 10, to: 10.001 }, 10, 0.1, whole);
  assert.ok(Math.abs(narrow.to - narrow.from - 0.001) < 1e-9);
  assert.deepEqual(movedSpan({ from: 10, to: 20 }, -50, whole), { from: 0, to: 10 });
  assert.deepEqual(clampSpan({ from: 55, to: 75 }, whole), { from: 40, to: 60 });
});

test("what is asked for is a little more than what is shown", () => {
  const picture = { stackThread: { ids: [3, 4] } };
  assert.deepEqual(wantedRuns(running(), picture), { ids: [3, 4], from: 45, to: null, slots: 3000 });
  assert.deepEqual(wantedRuns(running({}, { stackSpan: { from: 1, to: 2 } }), picture), { ids: [3, 4], from: 0.5,
    to: 2.5, slots: 3000 });
  assert.equal(wantedRuns(running({ view: "flame" }), picture), null);
  assert.equal(wantedRuns(running(), { stackThread: null }), null);
});

const THREADS = [{ tid: 1, process: 0, ids: [0] }, { tid: 2, process: 0, ids: [1] }, { tid: 3, process: 0, ids: [2] }, {
  tid: 0,
  process: 0,
  ids: [3],
  tasks: true,
}];
const sumsOf = (parts) => ({ samples: 9, yes: [], unknown: [], parts: PARTS.map((part) => parts[part] ?? 0) });
const STATES = new Map([[0, sumsOf({ idle: 9 })], [1, sumsOf({ running: 7, idle: 2 })], [2,
  sumsOf({ needs_gil: 3, idle: 6 })], [3, sumsOf({})]]);
const following = (address = {}, changes = {}) => running(address, { threadStates: STATES, ...changes });

test("the chart opens on the busiest thread of those chosen, once it is known which that is", () => {
  const follow = createFollowedThread();
  const seen = (state, chosen = []) => {
    const { thread, isBusiest } = follow(state, chosen, THREADS);
    return [thread?.tid ?? null, isBusiest];
  };
  assert.deepEqual(seen(following({ view: "flame" })), [null, false]);
  assert.equal(seen(following({}, { threadStates: new Map() }))[1], false);
  assert.deepEqual(seen(following()), [2, true]);
  assert.deepEqual(seen(following(), [THREADS[0], THREADS[2]]), [3, true]);
  assert.deepEqual(seen(following(), [THREADS[0]]), [1, false]);
  assert.deepEqual(createFollowedThread()(following(), [], []), { thread: null, isBusiest: false });
});

test("the thread that is shown stays while the chart is open, and until something else is shown", () => {
  const follow = createFollowedThread();
  const tidOf = (state) => follow(state, [], THREADS).thread?.tid;
  assert.equal(tidOf(following()), 2);
  const turned = following({}, { threadStates: new Map([[0, sumsOf({ running: 9 })]]) });
  assert.deepEqual([tidOf(turned), follow(turned, [], THREADS).isBusiest], [2, false]);
  assert.equal(tidOf(following({ parts: ["needs_gil"] })), 2);
  tidOf(following({ view: "flame", parts: ["needs_gil"] }));
  assert.equal(tidOf(following({ parts: ["needs_gil"] })), 2);
  tidOf(following({ view: "flame" }));
  assert.equal(tidOf(following({ parts: ["idle"], range: { from: 1, to: 2 } })), 1);
});

test("marks are as fine as there is room for", () => {
  assert.deepEqual(fineMarks({ from: 1.0004, to: 1.0021 }, 4).map(({ text }) => text), ["0:01.0005", "0:01.0010",
    "0:01.0015", "0:01.0020"]);
  assert.deepEqual(fineMarks({ from: 0, to: 30 }, 6).map(({ text }) => text), ["0:00", "0:05", "0:10", "0:15", "0:20",
    "0:25", "0:30"]);
  assert.equal(fineTime(3725.5, 0.1), "1:02:05.5");
});
