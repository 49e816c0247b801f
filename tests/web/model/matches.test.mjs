import assert from "node:assert/strict";
import { test } from "node:test";
import { foundMatches, matchAt, matchedShare, matchesOfCells, runsOf,
  windowLengths } from "../../../web/model/time/matches.js";

test("ids as runs", () => {
  assert.deepEqual(runsOf([false, true, true, false, true]), [1, 2, 4, 4]);
  assert.deepEqual(runsOf([true]), [0, 0]);
  assert.deepEqual(runsOf([]), []);
});

// Nodes: 1 is f, 2 is g beneath f, 3 is f beneath g, 4 is g alone.
const REPORT = {
  tree: { nodes: { parent: [0, 0, 1, 2, 0], function: [0, 1, 2, 1, 2] } },
  cells: { node: [1, 3, 4, 2, 4], count: [2, 3, 4, 5, 6], slot: [0, 0, 0, 1, 2] },
  slots: { width: 0.25, start: [0, 0.25, 4], end: [0.25, 0.5, 10] },
};

test("a report counts, slot by slot, the samples whose stack has a match, once each", () => {
  const matches = matchesOfCells(REPORT, [false, true, false]);
  assert.deepEqual(matches.samples, [9, 5, 6]);
  assert.deepEqual(matches.matching, [5, 5, 0]);
  assert.deepEqual(matchesOfCells(REPORT, []).matching, [0, 0, 0]);
  assert.equal(matchesOfCells({ ...REPORT, slots: undefined }, []), null);
});

test("a moment is in one window or in none", () => {
  const matches = matchesOfCells(REPORT, [false, true, false]);
  assert.equal(matchAt(matches, 0).matching, 5);
  assert.equal(matchAt(matches, 0.25).start, 0.25);
  assert.equal(matchAt(matches, 2), null);
  assert.equal(matchAt(matches, 9.99).matching, 0);
  assert.equal(matchAt(matches, 10), null);
  assert.deepEqual(windowLengths(matches, { from: 0, to: 5 }), { least: 0.25, most: 6 });
  assert.deepEqual(windowLengths(matches, { from: 0, to: 1 }), { least: 0.25, most: 0.25 });
  assert.equal(windowLengths(matches, { from: 2, to: 3 }), null);
});

test("matches are of the search they were asked for", () => {
  const matches = { term: "a", ...matchesOfCells(REPORT, [false, true, false]) };
  assert.equal(foundMatches(matches, "a"), matches);
  assert.equal(foundMatches(matches, "b"), null);
  assert.equal(foundMatches({ ...matches, error: "too many" }, "a"), null);
  assert.equal(foundMatches({ ...matches, term: "" }, ""), null);
  assert.equal(matchedShare(matches, { from: 0, to: 1 }), 10 / 14);
  assert.ok(Number.isNaN(matchedShare(matches, { from: 2, to: 3 })));
});
