// The cases of tests/filters.json, which tests/unit/profile/test_frame_filters.c runs through the server's half.

import assert from "node:assert/strict";
import { test } from "node:test";
import { cleanTerm, filterParameters, parseTerm } from "../../../web/model/filters/filter.js";
import { parseSearch } from "../../../web/model/filters/search.js";
import { readSharedCases } from "../support/shared-cases.mjs";

const { cases: all, shown, checkPatterns } = readSharedCases("filters.json");
const { patterns, refused, letters, cases } = all;

test("a pattern matches what it matches on the server", checkPatterns);

test("a pattern is refused where the server refuses it", () => {
  for (const pattern of refused) assert.ok(parseTerm("hide " + pattern).error?.length > 10, pattern);
});

test("letters are the same as on the server", () => {
  for (const [kind, expected] of [["same", true], ["other", false]]) {
    for (const [one, other] of letters[kind]) {
      assert.equal(parseSearch(`/${one}/i`).test(other), expected, one + other);
      assert.equal(parseSearch(one).test(other), expected, one + other);
      assert.equal(parseSearch(`/${one}/`).test(other), false, one + other);
    }
  }
});

test("filters leave what they leave on the server", () => {
  for (const [filters, lines] of cases) assert.deepEqual(shown(filters), lines, filters.join(", "));
});

test("filters are sent as they are", () => {
  assert.deepEqual(filterParameters(["hide libraries", "show-from  Function:a b", "focus /^x/i", "nonsense"]), [["hide",
    "libraries"], ["show_from", "function:a b"], ["focus", "/^x/i"]]);
  for (const [pattern] of patterns) {
    const [[, sent]] = filterParameters(["hide " + pattern]);
    assert.equal(cleanTerm("hide " + sent), cleanTerm("hide " + pattern));
  }
});
