// The page of a host: what it says of the last minutes of its processes.

import assert from "node:assert/strict";
import { test } from "node:test";
import { activityByPid, activityLink, activityPlace, mainWait, meanRunning, sampledRange, sparkHeights, sparkPath, startedSessions } from "../../../web/model/host/activity.js";
import { HOST_TEXT } from "../../../web/text/host.js";
import { parseAddress } from "../../../web/model/page/address.js";

const row = (parts, waits = null) => ({ parts: { running: 5, needs_gil: 0, needs_processor: 0, blocked: 0, idle: 0, ...parts }, waits });
const poll = { name: "<native> select.epoll.poll", file: "~", line: 0, own: false, seconds: 8, cause: null, idle: null, peer: null };
const read = { name: "fetch", file: "/srv/app.py", line: 4, own: true, seconds: 12, cause: "network_read", idle: false, peer: "10.0.0.5:5432" };

test("a function is named with its file, C code without", () => {
  assert.deepEqual(activityPlace({ name: "parse", file: "/srv/app.py", line: 22 }), { name: "parse", place: "srv/app.py:22" });
  assert.deepEqual(activityPlace({ name: "parse", file: "/srv/app.py", line: 0 }), { name: "parse", place: "srv/app.py" });
  assert.deepEqual(activityPlace(poll), { name: "select.epoll.poll", place: "" });
});

test("the main wait is what took most of the waiting: the GIL, a processor, a cause, or a place of unknown cause", () => {
  assert.equal(mainWait(row({})), null);
  assert.deepEqual(mainWait(row({ needs_gil: 6, needs_processor: 1, idle: 3 }, poll)), { kind: "gil", place: null, share: 0.6 });
  assert.deepEqual(mainWait(row({ needs_gil: 1, needs_processor: 3 })), { kind: "processor", place: null, share: 0.75 });
  assert.deepEqual(mainWait(row({ needs_gil: 2, blocked: 4, idle: 10 }, poll)), { kind: "unknown", place: poll, share: 0.5 });
  assert.deepEqual(mainWait(row({ needs_processor: 1, blocked: 15 }, read)), { kind: "network_read", place: read, share: 0.75 });
  assert.equal(mainWait(row({ idle: 14 })), null);
});

test("a spark line ends on the right, and one running thread fills it unless there were more", () => {
  assert.deepEqual(sparkHeights([0.5, 0, 1], 5), [null, null, 0.5, 0, 1]);
  assert.deepEqual(sparkHeights([1, 2, 4], 2), [0.5, 1]);
  assert.deepEqual(sparkHeights([], 2), [null, null]);
  assert.ok(sparkHeights([0.001], 1)[0] > 0.01, "what is little can be seen");
  assert.equal(sparkPath([null, 0, 0.5, 1], 40, 10), "M20.0 10v-5.0h10.0v5.0zM30.0 10v-10.0h10.0v10.0z");
});

test("numbers of the range", () => {
  const activity = { from_s: 100, to_s: 397, slot_s: 5, session: "3" };
  assert.equal(sampledRange(activity), 300);
  assert.equal(sampledRange({ from_s: 0, to_s: 0, slot_s: 5 }), 5);
  assert.ok(Math.abs(meanRunning(activity, { parts: { running: 29.7 } }) - 0.1) < 1e-9);
});

test("a link opens the process, the range, and the line where there is source", () => {
  const activity = { session: "3", from_s: 100, to_s: 397 };
  const open = (...words) => parseAddress(activityLink(activity, ...words));
  const place = { name: "f", file: "/srv/a b/ä&=#.py", line: 7 };
  const source = open(4711, place);
  assert.deepEqual([source.session, source.view, source.file, source.line, source.processes, source.range], ["3", "source", place.file, 7, [4711], { from: 100, to: null }]);
  for (const file of ["~", "<string>", "", "/lib/libz.so"]) {
    const other = open(4711, { name: "g", file, line: 3 });
    assert.deepEqual([other.view, other.file, other.processes], ["flame", "", [4711]]);
  }
  assert.deepEqual(open(null, place).processes, []);
  assert.equal(parseAddress(activityLink({ session: "3", from_s: -40, to_s: 9 }, 4711)).range.from, 0);
});

test("rows are found by pid, and sessions that sample all the time are not somebody's", () => {
  assert.equal(activityByPid({ processes: [{ pid: 5, total: 1 }] }).get(5).total, 1);
  assert.equal(activityByPid(null).size, 0);
  assert.deepEqual(startedSessions({ sessions: ["1", "2", "3"] }, new Set(["1", "3"])), ["2"]);
  assert.deepEqual(startedSessions({}, new Set()), []);
});

test("every cause that the server names has a word", async () => {
  const { readFile } = await import("node:fs/promises");
  const api = JSON.parse(await readFile(new URL("../../../server/openapi.json", import.meta.url), "utf8"));
  for (const cause of api.components.schemas.WaitCause.enum) if (cause !== "unknown") assert.ok(HOST_TEXT.activity.causes[cause], cause);
});
