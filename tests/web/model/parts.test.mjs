// The cases of tests/parts.json, which tests/unit/profile/test_part.c runs through the server's half.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { createPartAt, partOf, PARTS, partSet } from "../../../web/model/profile/parts.js";
import { STATE_FACTS } from "../../../web/model/profile/states.js";
import { readWait } from "../../../web/model/profile/wait-causes.js";
import { TEXT } from "../../../web/text/session.js";
import { answersOf, recordingOf } from "../support/sample.mjs";

const table = JSON.parse(readFileSync(new URL("../../parts.json", import.meta.url), "utf8"));
const TITLES = { worker: "idle worker", queue: "queue or condition", gil: "GIL", child: "child process", gpu: "GPU" };

const bitOf = (word) =>
  1 << (word.startsWith("unknown_") ? STATE_FACTS.indexOf(word.slice(8)) + 8 : STATE_FACTS.indexOf(word));
const waitOfCause = (cause) => readWait("<waits: " + (TITLES[cause] ?? cause.replaceAll("_", " ")) + ">");

test("parts have the names that they have on the server", () => {
  assert.deepEqual(Object.fromEntries(PARTS.map((part) => [part, TEXT.parts[part][0]])), table.parts);
});

test("a sample is in the part that it is in on the server", () => {
  assert.ok(table.rows.length > 10);
  for (const { state, cause, part } of table.rows) {
    const wait = cause === null || cause === "unknown" ? null : waitOfCause(cause);
    assert.notEqual(wait === null, cause !== null && cause !== "unknown", cause);
    assert.equal(PARTS[partOf(state.reduce((bits, word) => bits | bitOf(word), 0), wait)], part,
      JSON.stringify({ state, cause }));
  }
});

test("the mark at the end of a stack decides", () => {
  const lines = ["main;<waits: disk> 1", "main;<waits: event loop> 1", "main 1"];
  const { nodes } = answersOf(lines);
  const partAt = createPartAt(recordingOf(lines).profile);
  assert.deepEqual(Array.from(nodes.values(), (node) => PARTS[partAt(0, node)]), ["blocked", "blocked", "blocked",
    "idle"]);
  assert.equal(PARTS[partAt(1, nodes.get("main;<waits: event loop>"))], "running");
});

test("all parts are no condition", () => {
  assert.deepEqual([partSet([]), partSet(PARTS), partSet(["idle"])], [null, null, [false, false, false, false, true]]);
});
