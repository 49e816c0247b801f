// Ids of pairs of integers: open addressing in one typed array, so that a million pairs need no objects and each lookup
// touches memory once. 0 is the id of no pair.

const SLOTS_LEAST = 1024;
const FIRST = 0;
const SECOND = 1;
const ID = 2;
const STRIDE = 4;

export function createPairs() {
  return { slots: new Int32Array(SLOTS_LEAST * STRIDE), count: 0 };
}

export function copyPairs({ slots, count }) {
  return { slots: slots.slice(), count };
}

function slotOf(first, second, slots) {
  let hash = Math.imul(first, 0x9e3779b1) ^ Math.imul(second, 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 15), 0xc2b2ae35);
  return ((hash ^ (hash >>> 13)) * STRIDE) & (slots.length - 1);
}

// The index of the pair, or the one where it is to be.
function placeOf(slots, first, second) {
  let at = slotOf(first, second, slots);
  while (slots[at + ID] !== 0 && (slots[at + FIRST] !== first || slots[at + SECOND] !== second)) at = (at + STRIDE) & (slots.length - 1);
  return at;
}

function putPair(slots, first, second, id) {
  const at = placeOf(slots, first, second);
  slots[at + FIRST] = first;
  slots[at + SECOND] = second;
  slots[at + ID] = id;
}

// Makes room for so many pairs in all.
export function reservePairs(pairs, count) {
  let length = pairs.slots.length;
  while (2 * count * STRIDE > length) length *= 2;
  if (length === pairs.slots.length) return;
  const { slots } = pairs;
  pairs.slots = new Int32Array(length);
  for (let at = 0; at < slots.length; at += STRIDE) {
    if (slots[at + ID] !== 0) putPair(pairs.slots, slots[at + FIRST], slots[at + SECOND], slots[at + ID]);
  }
}

// The id of (first, second), or 0.
export function findPair(pairs, first, second) {
  return pairs.slots[placeOf(pairs.slots, first, second) + ID];
}

// The id of (first, second), which is `fresh` from now on if it had none.
export function takePair(pairs, first, second, fresh) {
  const at = placeOf(pairs.slots, first, second);
  const known = pairs.slots[at + ID];
  if (known !== 0) return known;
  if (2 * (pairs.count + 1) * STRIDE > pairs.slots.length) {
    addPair(pairs, first, second, fresh);
    return fresh;
  }
  pairs.slots[at + FIRST] = first;
  pairs.slots[at + SECOND] = second;
  pairs.slots[at + ID] = fresh;
  pairs.count += 1;
  return fresh;
}

export function addPair(pairs, first, second, id) {
  pairs.count += 1;
  reservePairs(pairs, pairs.count);
  putPair(pairs.slots, first, second, id);
}
