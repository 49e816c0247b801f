// The drawn frames: at most NODES_MAX, heaviest first, none narrower than FRAME_LEAST_PX. What is cut is summed up in
// visible remainders. Works on both trees of trees.js.

import { createHeap, heapPop, heapPush } from "../base/heap.js";
import { treePath } from "./trees.js";

export const NODES_MAX = 4000;
export const LEVELS_MAX = 1000;
// Half of such a frame is the gap beside it.
export const FRAME_LEAST_PX = 2;
const ABOVE_MAX = 20;
const COUNTED_MAX = 20000;

function drawnFrame(id, value, fields) {
  return { id: String(id), value, children: [], ...fields };
}

// The heaviest frames under `focus`, parents first: {ids, depths}.
function heaviest(tree, focus, limits) {
  const heap = createHeap();
  const ids = [];
  const depths = [];
  heapPush(heap, tree.total(focus), { id: focus, depth: 0 });
  for (let next = heapPop(heap); next !== undefined && ids.length < limits.nodes; next = heapPop(heap)) {
    ids.push(next.id);
    depths.push(next.depth);
    if (next.depth >= limits.levels) continue;
    for (const child of tree.children(next.id)) {
      const total = tree.total(child);
      if (total > 0 && total >= limits.floor) heapPush(heap, total, { id: child, depth: next.depth + 1 });
    }
  }
  return { ids, depths };
}

function framesBelow(tree, id) {
  let count = 0;
  const stack = [id];
  while (stack.length > 0 && count < COUNTED_MAX) {
    for (const child of tree.children(stack.pop())) {
      if (tree.total(child) > 0) {
        count += 1;
        stack.push(child);
      }
    }
  }
  return count;
}

// Hangs the children of `frame` that are drawn under it and sums up the others.
function hangChildren(tree, id, frame, drawn, isLast, options) {
  const cut = { count: 0, value: 0 };
  for (const child of tree.children(id)) {
    const under = isLast ? undefined : drawn.get(child);
    if (under !== undefined) frame.children.push(under);
    else if (tree.total(child) > 0) {
      cut.count += 1;
      cut.value += tree.total(child);
    }
  }
  frame.children.sort(options.order);
  if (cut.value === 0 || cut.value < options.floor) return;
  if (isLast) cut.count = framesBelow(tree, id);
  const kind = isLast ? "deeper" : "more";
  const more = isLast && cut.count >= COUNTED_MAX;
  const fields = { ...options.remainder(kind, cut.count, cut.value, more), remainder: kind, of: id };
  frame.children.push(drawnFrame(kind + " " + id, cut.value, fields));
}

// The first `limit` of the heaviest frames as a drawing: {frame, levels, count}.
function drawHeaviest(tree, found, limit, options) {
  const drawn = new Map();
  const shown = Math.min(limit, found.ids.length);
  for (let at = 0; at < shown; at += 1) {
    drawn.set(found.ids[at], drawnFrame(found.ids[at], tree.total(found.ids[at]), options.fields(found.ids[at])));
  }
  let count = 1;
  let levels = 1;
  for (let at = 0; at < shown; at += 1) {
    const frame = drawn.get(found.ids[at]);
    hangChildren(tree, found.ids[at], frame, drawn, found.depths[at] >= options.levels, options);
    count += frame.children.length;
    if (frame.children.length > 0) levels = Math.max(levels, found.depths[at] + 2);
  }
  return { frame: drawn.get(found.ids[0]), levels, count };
}

function drawBelow(tree, focus, options) {
  const found = heaviest(tree, focus, options);
  let limit = options.nodes;
  for (;;) {
    const drawing = drawHeaviest(tree, found, limit, options);
    if (drawing.count <= options.nodes || limit <= 1) return drawing;
    limit = Math.max(1, Math.min(limit - 1, Math.floor((limit * options.nodes) / drawing.count)));
  }
}

// The frames over `focus`, root first; of many only the root and the nearest, with one frame for those between.
function framesAbove(tree, focus, options) {
  if (focus === 0) return [];
  const ids = [0, ...treePath(tree, focus).slice(0, -1)];
  const plain = (id) => ({ id, fields: options.fields(id) });
  if (ids.length <= ABOVE_MAX) return ids.map(plain);
  const nearest = ids.slice(ids.length - ABOVE_MAX + 2);
  const skipped = ids.length - nearest.length - 1;
  const last = ids[skipped];
  const fields = { ...options.remainder("above", skipped, tree.total(last), false), remainder: "above", of: last };
  return [plain(0), { id: "above " + last, fields }, ...nearest.map(plain)];
}

// options: {width, fields(id), remainder(kind, count, value, isMore), order(a, b)[, nodes, levels]}, where `kind` is
// "more" (siblings too narrow), "deeper" (levels too deep) or "above" (callers of the focus left out).
// -> {root, levels, count}; every drawn frame has id, value, children, `fade` when above the focus, and its fields.
export function cutTree(tree, focus, options) {
  const above = framesAbove(tree, focus, options);
  const nodes = (options.nodes ?? NODES_MAX) - above.length;
  const floor = (FRAME_LEAST_PX * tree.total(focus)) / Math.max(1, options.width);
  const below = drawBelow(tree, focus, { levels: LEVELS_MAX, ...options, nodes, floor });
  let root = below.frame;
  for (const step of above.reverse()) {
    const parent = drawnFrame(step.id, root.value, { ...step.fields, fade: true });
    parent.children.push(root);
    root = parent;
  }
  return { root, levels: above.length + below.levels, count: above.length + below.count };
}
