import assert from "node:assert/strict";
import { test } from "node:test";
import { FILTER_VERBS } from "../../web/model/filter.js";
import { serverFilters } from "../../web/model/server-filters.js";
import { recordingOf } from "./sample.mjs";

const { profile } = recordingOf(["main;work:3;<native> sorted 5", "main;poll 2"]);
const rulesOf = (...filters) => serverFilters(filters, profile);

test("what the server knows is sent in its words", () => {
  assert.deepEqual(rulesOf("hide function:Work_2"), { rules: [["hide", "function:*[wW][oO][rR][kK]_2*"]], left: [] });
  assert.deepEqual(rulesOf("hide file:a.py"), { rules: [["hide", "*[aA].[pP][yY]*"]], left: [] });
  assert.deepEqual(rulesOf("show-from po"), { rules: [["at", "function:*[pP][oO]*"], ["at", "*[pP][oO]*"]], left: [] });
  const { rules, left } = rulesOf("hide libraries");
  assert.deepEqual([rules.length, left], [9, []]);
  assert.ok(rules.every(([name]) => name === "hide"));
});

test("what the server has no parameter for is left, and said", () => {
  for (const verb of FILTER_VERBS) {
    const term = verb + " function:poll";
    const parameter = { hide: "hide", "show-from": "at" }[verb];
    assert.deepEqual(rulesOf(term), parameter === undefined ? { rules: [], left: [term] } : { rules: [[parameter, "function:*[pP][oO][lL][lL]*"]], left: [] }, verb);
  }
});

test("parameters come in the order in which they are applied", () => {
  const { rules, left } = rulesOf("show-from function:main", "hide function:work", "focus function:main", "hide function:poll");
  assert.deepEqual(rules.map(([name]) => name), ["hide", "hide", "at"]);
  assert.deepEqual(left, ["focus function:main"]);
});

test("stacks that begin at a hidden frame are not asked for: the server begins them before it hides", () => {
  assert.deepEqual(rulesOf("hide function:work", "show-from or"), { rules: [["hide", "function:*[wW][oO][rR][kK]*"]], left: ["show-from or"] });
  assert.deepEqual(rulesOf("hide function:work", "show-from function:poll").left, []);
  assert.deepEqual(rulesOf("hide /^work/", "show-from function:work"), { rules: [], left: ["hide /^work/", "show-from function:work"] });
});

test("what cannot be translated is left, and said", () => {
  for (const term of ["hide module:json", "hide /^a$/", "hide a b", "show-from é", "show-from 12", "hide a*", "hide a[b", "hide /x", "hide sorted", "show-from <native"]) {
    assert.deepEqual(rulesOf(term), { rules: [], left: [term] }, term);
  }
  assert.deepEqual(rulesOf("nonsense"), { rules: [], left: [] });
  assert.deepEqual(rulesOf("hide libraries", "hide libraries").left, ["hide libraries"]);
});

test("a file never has less than the page: part of what is to be kept is not asked for", () => {
  assert.deepEqual(rulesOf("show-from function:main", "show-from module:json"), { rules: [], left: ["show-from function:main", "show-from module:json"] });
  assert.deepEqual(rulesOf("hide function:work", "hide module:json"), { rules: [["hide", "function:*[wW][oO][rR][kK]*"]], left: ["hide module:json"] });
});
