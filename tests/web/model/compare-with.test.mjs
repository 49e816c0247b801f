import assert from "node:assert/strict";
import { test } from "node:test";
import { matchingRecords, otherRecords, suggestedChoices } from "../../../web/model/page/compare-with.js";

const DAY = 24 * 3600;
const NOON = Date.UTC(2026, 0, 31, 12) / 1000;
const at = (seconds) => new Date(seconds * 1000).toISOString();
const target = (pid, ...words) => ({ pid, command: ["python3", "/srv/app.py", ...words], host: "box" });
const session = (id, started, elapsed, more = {}) => ({ id, name: "", state: "ended", target: target(Number(id) + 100),
  started_at: at(started), elapsed_s: elapsed, ...more });
const capture = (name, started, elapsed, more = {}) => ({ name, title: "", state: "complete", target: target(7),
  started_at: at(started), elapsed_s: elapsed, sessions: [], ...more });

test("all other sessions and the captures that none shows are there, the newest first", () => {
  const here = session("1", NOON, 60);
  const sessions = [here, session("2", NOON - 100, 60), session("3", NOON, 5, { state: "failed" })];
  const captures = [capture("a", NOON - 50, 9), capture("b", NOON, 9, { sessions: ["2"] }),
    capture("c", NOON, 9, { sessions: ["1"] }), capture("d", NOON, 9, { state: "recording" }),
    capture("e", NOON, 9, { started_at: null })];
  assert.deepEqual(otherRecords(here, sessions, captures, true).map((choice) => choice.key), ["capture a",
    "session 2"]);
  assert.deepEqual(otherRecords(here, sessions, captures, false).map((choice) => choice.key), ["session 2"]);
});

test("the same hours before are a part of what covers most of them", () => {
  const here = session("1", NOON, 600);
  const records = otherRecords(here, [here], [capture("part", NOON - DAY + 400, 900),
    capture("whole", NOON - DAY - 100, 1000), capture("other", NOON - DAY, 600, { target: target(8, "--beta") }),
    capture("week", NOON - 7 * DAY, 700)], true);
  const found = suggestedChoices(here, null, records).filter(({ suggestion }) => suggestion !== "restart");
  assert.deepEqual(found.map(({ suggestion, id, baseline }) => [suggestion, id, baseline]), [["day", "whole", {
    from: 100,
    to: 700,
  }], ["week", "week", { from: 0, to: 600 }]]);
  const range = suggestedChoices(here, { from: 500, to: null }, records)[0];
  assert.deepEqual([range.id, range.baseline], ["part", { from: 100, to: 200 }]);
  assert.equal(
    suggestedChoices(here, null, otherRecords(here, [here], [capture("little", NOON - DAY, 100)], true)).filter((
      { suggestion },
    ) => suggestion === "day").length,
    0,
  );
});

test("before the last restart ran the same program as another process", () => {
  const here = session("1", NOON, 600, { target: target(4711) });
  const records = otherRecords(here, [here], [capture("same", NOON - 50, 10, { target: target(4711) }),
    capture("before", NOON - 900, 10, { target: target(4242) }),
    capture("long before", NOON - 9000, 10, { target: target(4100) }),
    capture("elsewhere", NOON - 800, 10, { target: { ...target(4300), host: "other" } }),
    capture("later", NOON + 900, 10, { target: target(4712) }),
    capture("host", NOON - 100, 10, { target: target(4500), continuous: true })], true);
  const [found] = suggestedChoices(here, null, records);
  assert.deepEqual([found.suggestion, found.id, found.baseline], ["restart", "before", null]);
  assert.deepEqual(suggestedChoices({ ...here, target: { pid: 1, command: [], host: "box" } }, null, records), []);
});

test("records are found by their words", () => {
  const here = session("1", NOON, 60);
  const records = otherRecords(here, [here], [capture("a", NOON, 9, { title: "Release 4" }),
    capture("b", NOON, 9, { target: target(4242) })], true);
  assert.deepEqual(matchingRecords(records, "release").map(({ id }) => id), ["a"]);
  assert.deepEqual(matchingRecords(records, "APP.py 4242").map(({ id }) => id), ["b"]);
  assert.equal(matchingRecords(records, " ").length, 2);
});
