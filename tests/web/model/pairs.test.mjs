import assert from "node:assert/strict";
import { test } from "node:test";
import { copyPairs, createPairs, findPair, reservePairs, takePair } from "../../../web/model/base/pairs.js";

test("every pair is found again under its id and no other is, however many there are", () => {
  const pairs = createPairs();
  const known = [];
  for (let first = 0; first < 100; first += 1) {
    for (let second = 1; second <= 100; second += 1) {
      known.push([first * 65536, second === 100 ? 0x7fffffff : second]);
      assert.equal(takePair(pairs, ...known[known.length - 1], known.length), known.length);
    }
  }
  const all = () => known.every(([first, second], i) => findPair(pairs, first, second) === i + 1 && takePair(pairs, first, second, known.length + 1) === i + 1);
  assert.ok(all());
  reservePairs(pairs, 100000);
  assert.ok(all());
  assert.equal(findPair(pairs, 65536, 101), 0);
  assert.equal(findPair(pairs, 1, 1), 0);
  assert.equal(findPair(pairs, 0, 0), 0);
});

test("a copy has the pairs it was made of, and takes others than the original; ids may leave some out", () => {
  const pairs = createPairs();
  for (let i = 1; i <= 5000; i += 1) takePair(pairs, i % 7, -i, 3 * i);
  const copy = copyPairs(pairs);
  takePair(copy, 8, 1, 15001);
  takePair(pairs, 8, 1, 15002);
  assert.deepEqual([copy, pairs].map((one) => findPair(one, 8, 1)), [15001, 15002]);
  for (let i = 1; i <= 5000; i += 1) assert.equal(findPair(copy, i % 7, -i), 3 * i);
});
