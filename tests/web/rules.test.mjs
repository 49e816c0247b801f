import assert from "node:assert/strict";
import { test } from "node:test";
import { serverRules } from "../../web/model/rules.js";
import { recordingOf } from "./sample.mjs";

const { profile } = recordingOf(["main;work:3;<native> sorted 5", "main;poll 2"]);
const rulesOf = (...filters) => serverRules(filters, profile);

test("what the server can be told becomes its rules", () => {
  assert.deepEqual(rulesOf("merge function:Work_2"), { rules: [["hide", "function:*[wW][oO][rR][kK]_2*"]], left: [] });
  assert.deepEqual(rulesOf("merge file:a.py"), { rules: [["hide", "*[aA].[pP][yY]*"]], left: [] });
  assert.deepEqual(rulesOf("focus po"), { rules: [["at", "function:*[pP][oO]*"], ["at", "*[pP][oO]*"]], left: [] });
  const { rules, left } = rulesOf("merge libraries");
  assert.deepEqual([rules.length, left], [9, []]);
  assert.ok(rules.every(([name]) => name === "hide"));
});

test("what it cannot be told is left, and said", () => {
  for (const term of ["hide poll", "show poll", "merge module:json", "merge /^a$/", "merge a b", "merge é", "merge 12", "merge a*", "merge a[b", "merge /x", "merge sorted", "focus <native"]) {
    assert.deepEqual(rulesOf(term), { rules: [], left: [term] }, term);
  }
  assert.deepEqual(rulesOf("nonsense"), { rules: [], left: [] });
});

test("stacks begin once, and before frames are taken out", () => {
  assert.deepEqual(rulesOf("focus function:main", "merge function:work").left, []);
  assert.deepEqual(rulesOf("merge function:work", "focus function:main").left, ["focus function:main"]);
  assert.deepEqual(rulesOf("focus function:main", "focus function:work").left, ["focus function:work"]);
  assert.deepEqual(rulesOf("merge libraries", "merge libraries").left, ["merge libraries"]);
});
