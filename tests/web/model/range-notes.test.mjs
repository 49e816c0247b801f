// Notes on ranges of time.

import assert from "node:assert/strict";
import { test } from "node:test";
import { isNoteRange, isNoteTooLong, newNote, notesAt, notesOf } from "../../../web/model/time/range-notes.js";

const NOTES = [{ id: 1, from_s: 1, to_s: 3, text: "a" }, { id: 2, from_s: 2, to_s: 4, text: "b" }];

test("notes are found by instant and by range", () => {
  const idsAt = (time) => notesAt(NOTES, time).map(({ id }) => id);
  assert.deepEqual([idsAt(0.9), idsAt(1), idsAt(2.5), idsAt(3), idsAt(4)], [[], [1], [1, 2], [2], []]);
  assert.ok(isNoteRange(NOTES[0], { from: 1.0004, to: 3 }));
  for (const range of [null, { from: 1, to: null }, { from: 1, to: 4 }]) assert.ok(!isNoteRange(NOTES[0], range));
  assert.deepEqual([notesOf(null), notesOf({}), notesOf({ notes: NOTES })], [[], [], NOTES]);
});

test("a note has a text and a range with an end", () => {
  assert.deepEqual(newNote("  slow \n", { from: 2, to: null }, 7), { from_s: 2, to_s: 7, text: "slow" });
  assert.deepEqual(newNote("x", { from: 2, to: 3 }, 7), { from_s: 2, to_s: 3, text: "x" });
  assert.equal(newNote("  ", { from: 2, to: 3 }, 7), null);
  assert.equal(newNote("x", { from: 2, to: null }, 2), null);
});

test("bytes count, not letters", () => {
  assert.ok(!isNoteTooLong("x".repeat(240)));
  assert.ok(isNoteTooLong("x".repeat(241)));
  assert.ok(isNoteTooLong("ä".repeat(121)));
});
