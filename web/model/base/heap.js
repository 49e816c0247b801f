// A binary heap of (priority, item): the greatest priority first; of equals, the one pushed first.

/** @template T @typedef {{items: T[], priorities: number[], stamps: number[], pushed: number}} Heap */

/** @template T @returns {Heap<T>} */
export function createHeap() {
  return { items: [], priorities: [], stamps: [], pushed: 0 };
}

/** @param {Heap<unknown>} heap @param {number} a @param {number} b */
function heapBefore(heap, a, b) {
  if (heap.priorities[a] !== heap.priorities[b]) return heap.priorities[a] > heap.priorities[b];
  return heap.stamps[a] < heap.stamps[b];
}

/** @param {Heap<unknown>} heap @param {number} a @param {number} b */
function heapSwap(heap, a, b) {
  for (const column of [heap.items, heap.priorities, heap.stamps]) {
    const kept = column[a];
    column[a] = column[b];
    column[b] = kept;
  }
}

/** @template T @param {Heap<T>} heap @param {number} priority @param {T} item */
export function heapPush(heap, priority, item) {
  let at = heap.items.length;
  heap.items.push(item);
  heap.priorities.push(priority);
  heap.stamps.push(heap.pushed);
  heap.pushed += 1;
  while (at > 0) {
    const parent = (at - 1) >> 1;
    if (!heapBefore(heap, at, parent)) break;
    heapSwap(heap, at, parent);
    at = parent;
  }
}

// The first item, or undefined when there is none.
/** @template T @param {Heap<T>} heap @returns {T | undefined} */
export function heapPop(heap) {
  const last = heap.items.length - 1;
  if (last < 0) return undefined;
  heapSwap(heap, 0, last);
  const item = heap.items.pop();
  heap.priorities.pop();
  heap.stamps.pop();
  let at = 0;
  for (;;) {
    let first = at;
    for (const child of [2 * at + 1, 2 * at + 2]) {
      if (child < last && heapBefore(heap, child, first)) first = child;
    }
    if (first === at) return item;
    heapSwap(heap, at, first);
    at = first;
  }
}
