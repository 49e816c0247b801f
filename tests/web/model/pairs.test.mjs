import assert from "node:assert/strict";
import { test } from "node:test";
import { addPair, createPairs, findPair, reservePairs } from "../../../web/model/base/pairs.js";

test("every pair is found again under its id and no other is, however many there are", () => {
  const pairs = createPairs();
  const known = [];
  for (let first = 0; first < 100; first += 1) {
    for (let second = 1; second <= 100; second += 1) {
      known.push([first * 65536, second === 100 ? 0x7fffffff : second]);
      addPair(pairs, ...known[known.length - 1], known.length);
    }
  }
  const all = () => known.every(([first, second], i) => findPair(pairs, first, second) === i + 1);
  assert.ok(all());
  reservePairs(pairs, 100000);
  assert.ok(all());
  assert.equal(findPair(pairs, 65536, 101), 0);
  assert.equal(findPair(pairs, 1, 1), 0);
  assert.equal(findPair(pairs, 0, 0), 0);
});
