// Chains of frames that are not yours and lead to yours without a branch, such as those that start a thread: each is drawn as one frame,
// which opens with a click. No sample ends in such a frame.

import { frameKey, originOf } from "../profile/frames.js";
import { groupCount } from "./grouping.js";

const FOLD_LEAST = 2;

// The kind of a frame: "own", "library", or "other": what is no Python code, and code of a terminal.
function kindOfFrame(frames, profile, frame) {
  const { kind, name } = (frames.origins[frame] ??= originOf(profile, frames.function[frame]));
  if (kind === "own"
    || (kind === "package"
      && profile.ownCode.some((level) => level.kind === "program" && level.packages.includes(name)))) return "own";
  return kind === "library" || kind === "package" ? "library" : "other";
}

// Groups above by totals, which are those of one grouping.
const groupsAbove = new WeakMap();

// For every group whether frames of yours with samples are below it.
function groupsAboveOwn(grouping, totals, profile) {
  const known = groupsAbove.get(totals);
  if (known !== undefined) return known;
  const above = new Uint8Array(groupCount(grouping));
  for (let group = above.length - 1; group > 0; group -= 1) {
    if (totals.total[group] > 0
      && (above[group] === 1 || kindOfFrame(grouping.frames, profile, grouping.frame.values[group]) === "own"))
      above[grouping.parent.values[group]] = 1;
  }
  groupsAbove.set(totals, above);
  return above;
}

// The top-down tree of a grouping with its chains folded: a chain is its last frame, foldOf(id) says {first, count, key (of the first, as in an
// address)} of it, or null of what is no chain. `open`: keys of those that are not folded.
export function foldTree(tree, grouping, totals, profile, open) {
  const above = groupsAboveOwn(grouping, totals, profile);
  const folds = new Map();

  const isLibrary = (id) =>
    id !== 0 && tree.self(id) === 0 && above[id] === 1
    && kindOfFrame(grouping.frames, profile, tree.frame(id)) === "library";

  // The only child with samples, or 0.
  function onlyChild(id) {
    let only = 0;
    for (const child of tree.children(id)) {
      if (tree.total(child) === 0) continue;
      if (only !== 0) return 0;
      only = child;
    }
    return only;
  }

  function lastOf(first) {
    let [last, count] = [first, 1];
    for (let next = onlyChild(last); next !== 0 && isLibrary(next); next = onlyChild(last)) {
      last = next;
      count += 1;
    }
    const key = frameKey(grouping.frames, profile, tree.frame(first));
    if (count < FOLD_LEAST || open.includes(key)) return first;
    folds.set(last, { first, count, key });
    return last;
  }

  return {
    ...tree,
    // In a chain that is open, or that is zoomed into, nothing begins.
    children: (
      id,
    ) => (isLibrary(id) && !folds.has(id) && onlyChild(id) !== 0
      ? tree.children(id)
      : Array.from(tree.children(id), (child) => (isLibrary(child) ? lastOf(child) : child))),
    foldOf: (id) => folds.get(id) ?? null,
  };
}
