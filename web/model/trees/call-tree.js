// A tree of trees.js as rows that open and close.

import { treePath } from "./trees.js";

// More rows are never open.
export const TREE_ROWS_MAX = 50000;
// At first the heaviest callees are open, as long as they have this share of the function above.
const CHAIN_SHARE = 0.5;
const CHAIN_MAX = 40;

// The children with samples, the largest first; of equals those that were seen first.
export function heavyChildren(tree, id) {
  return Array.from(tree.children(id)).filter((child) => tree.total(child) > 0).sort((a, b) =>
    tree.total(b) - tree.total(a) || a - b
  );
}

const hasChildren = (tree, id) => {
  for (const child of tree.children(id)) if (tree.total(child) > 0) return true;
  return false;
};

// Rows that are open before anybody opened something: the way to where most samples are.
export function openChain(tree, from) {
  const open = new Set();
  let at = from;
  for (let step = 0; step < CHAIN_MAX; step += 1) {
    const [first] = heavyChildren(tree, at);
    if (first === undefined || (step > 0 && tree.total(first) < tree.total(at) * CHAIN_SHARE)) break;
    open.add(first);
    at = first;
  }
  return open;
}

// Opens all that is above `id`.
export function openAbove(tree, open, id) {
  for (const at of treePath(tree, id).slice(0, -1)) open.add(at);
}

// Opens everything below `id` (0: everything), the largest first, for as long as there are not too many rows.
export function openBelow(tree, open, id) {
  let rows = openRows(tree, open, 0).length;
  const waiting = [id];
  for (let at = 0; at < waiting.length && rows < TREE_ROWS_MAX; at += 1) {
    const children = heavyChildren(tree, waiting[at]);
    if (children.length === 0) continue;
    if (waiting[at] !== 0 && !open.has(waiting[at])) {
      if (rows + children.length > TREE_ROWS_MAX) break;
      open.add(waiting[at]);
      rows += children.length;
    }
    for (const child of children) waiting.push(child);
  }
}

// The rows that are there, in the order of the tree: [{id, level, isOpen, hasChildren}], at most TREE_ROWS_MAX. `from`: the zoomed frame, which is a
// row itself, or 0.
export function openRows(tree, open, from) {
  const rows = [];
  const stack = (from === 0 ? heavyChildren(tree, 0) : [from]).reverse().map((id) => ({ id, level: 0 }));
  for (let next = stack.pop(); next !== undefined && rows.length < TREE_ROWS_MAX; next = stack.pop()) {
    const { id, level } = next;
    const able = hasChildren(tree, id);
    const isOpen = able && open.has(id);
    rows.push({ id, level, isOpen, hasChildren: able });
    if (isOpen) { for (const child of heavyChildren(tree, id).reverse()) stack.push({ id: child, level: level + 1 }); }
  }
  return rows;
}
