// Ids of pairs of integers: open addressing in a typed array of ids, so that a million pairs need no objects and a lookup of a new pair
// touches memory once. The first of a pair is not negative. 0 is the id of no pair.

const SLOTS_LEAST = 1024;
// Fewer and larger steps: each puts all pairs into other places.
const GROWTH = 4;
const SPREAD = 16;

/** @returns {Pairs} */
export function createPairs() {
  return { slots: new Int32Array(SLOTS_LEAST), count: 0, first: new Int32Array(SLOTS_LEAST).fill(-1),
    second: new Int32Array(SLOTS_LEAST) };
}

/** @param {Pairs} pairs @returns {Pairs} */
export function copyPairs({ slots, count, first, second }) {
  return { slots: slots.slice(), count, first: first.slice(), second: second.slice() };
}

// Near each other for neighbours, as what comes one after the other is often found in one piece of memory.
/** @param {number} first @param {number} second @param {number} mask */
const nearSlot = (first, second, mask) => (second + Math.imul(first, SPREAD)) & mask;

// The slot at which a pair that finds that one taken goes on, so that many neighbours do not stand in each other's way.
/** @param {number} first @param {number} second @param {number} mask */
function farSlot(first, second, mask) {
  let hash = Math.imul(first, SPREAD) ^ Math.imul(second, 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 15), 0xc2b2ae35);
  return (hash ^ (hash >>> 13)) & mask;
}

// The slot of the pair, or the one that it is to have.
/** @param {Pairs} pairs @param {number} one @param {number} other */
function placeOf({ slots, first, second }, one, other) {
  const mask = slots.length - 1;
  let at = nearSlot(one, other, mask);
  let id = slots[at];
  if (id === 0 || (first[id] === one && second[id] === other)) return at;
  at = farSlot(one, other, mask);
  for (id = slots[at]; id !== 0 && (first[id] !== one || second[id] !== other); id = slots[at]) at = (at + 1) & mask;
  return at;
}

// Makes room for so many pairs in all.
/** @param {Pairs} pairs @param {number} count */
export function reservePairs(pairs, count) {
  if (count >= pairs.first.length) reserveId(pairs, count);
  let { length } = pairs.slots;
  while (2 * count > length) length *= GROWTH;
  if (length === pairs.slots.length) return;
  const { first, second } = pairs;
  const slots = new Int32Array(length);
  const mask = length - 1;
  for (let id = 1; id < first.length; id += 1) {
    if (first[id] < 0) continue;
    let at = nearSlot(first[id], second[id], mask);
    if (slots[at] !== 0) { for (at = farSlot(first[id], second[id], mask); slots[at] !== 0; at = (at + 1) & mask); }
    slots[at] = id;
  }
  pairs.slots = slots;
}

/** @param {Pairs} pairs @param {number} id */
function reserveId(pairs, id) {
  const { length } = pairs.first;
  const first = new Int32Array(Math.max(id + 1, 2 * length)).fill(-1, length);
  const second = new Int32Array(first.length);
  first.set(pairs.first);
  second.set(pairs.second);
  Object.assign(pairs, { first, second });
}

// The id of (first, second), or 0.
/** @param {Pairs} pairs @param {number} first @param {number} second */
export function findPair(pairs, first, second) {
  return pairs.slots[placeOf(pairs, first, second)];
}

// The id of (first, second), which is `fresh` from now on if it had none.
/** @param {Pairs} pairs @param {number} first @param {number} second @param {number} fresh */
export function takePair(pairs, first, second, fresh) {
  let at = placeOf(pairs, first, second);
  const known = pairs.slots[at];
  if (known !== 0) return known;
  if (2 * (pairs.count + 1) > pairs.slots.length) {
    reservePairs(pairs, pairs.count + 1);
    at = placeOf(pairs, first, second);
  }
  if (fresh >= pairs.first.length) reserveId(pairs, fresh);
  pairs.slots[at] = fresh;
  pairs.first[fresh] = first;
  pairs.second[fresh] = second;
  pairs.count += 1;
  return fresh;
}
