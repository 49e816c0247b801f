// The flame graph, and the frames of its tree.

import { TEXT } from "../../text/session.js";
import { memoise } from "../base/memoise.js";
import { formatCount } from "../base/numbers.js";
import { ALL_OPEN, FLAME_VIEWS } from "../page/address.js";
import { shownOrder } from "../page/state.js";
import { frameLabel } from "../profile/frames.js";
import { foldTree } from "../trees/folds.js";
import { bottomUpTree, resolveKeys, topDownTree, treeKeys, treePath } from "../trees/trees.js";
import { createFields, drawTree, markDrawing, rootFields, siblingOrder } from "./drawing.js";
import { functionKey } from "./functions.js";

// `open`: the folded chains that are open, or null: nothing is folded.
function makeDrawing(recording, version, grouping, totals, tree, focus, width, order, open) {
  if (totals.sum === 0 || width <= 0) return null;
  const plain = createFields(recording, grouping, totals, tree);
  const shown = open === null ? tree : foldTree(tree, grouping, totals, recording.profile, open);
  const fieldsOf = open === null ? plain : (id) => foldedFields(plain, tree, shown.foldOf(id), id);
  return drawTree(shown, focus, width, (id) => (id === 0 ? rootFields(totals) : fieldsOf(id)), totals.sum, order);
}

// A frame that stands for a chain of them.
function foldedFields(fieldsOf, tree, fold, id) {
  if (fold === null) return fieldsOf(id);
  const [functions, ids] = [[], []];
  for (let at = id; at !== tree.parent(fold.first); at = tree.parent(at)) {
    functions.push(fieldsOf(at));
    ids.push(String(at));
  }
  const label = TEXT.flame.folded(formatCount(fold.count), functions.at(-1).label, functions[0].label);
  return { ...functions[0], name: label, label, neutral: true, fold: fold.key, ids, functions: functions.map((one) => one.function) };
}

// What a frame of the tree is, for the details.
function describeFrame(recording, grouping, tree, id) {
  const label = frameLabel(grouping.frames, recording.profile, tree.frame(id));
  return { id: String(id), label, key: functionKey(recording, grouping, tree.frame(id)), self: tree.self(id), total: tree.total(id) };
}

export function flameSelectors() {
  const treeOf = memoise((recording, version, grouping, totals, isBottomUp) => (isBottomUp ? bottomUpTree(grouping.bottomUpNames, grouping, totals) : topDownTree(grouping, totals)));
  const focusOf = memoise(resolveKeys);
  const selectedOf = memoise(resolveKeys);
  const drawingOf = memoise(makeDrawing);
  const markedOf = memoise(markDrawing);
  return {
    tree: ({ recording, version, address, grouping, totals }) => treeOf(recording, version, grouping, totals, address.bottomUp && address.view !== "stacks"),
    focus: ({ profile, address, grouping, tree }) => focusOf(tree, grouping.frames, profile, address.zoom),
    focusTotal: ({ tree, focus }) => tree.total(focus.id),
    selected({ profile, address, grouping, tree }) {
      const { id, missing } = selectedOf(tree, grouping.frames, profile, address.frame);
      return missing === 0 && id !== 0 ? String(id) : null;
    },
    drawing({ state, recording, version, address: { view, bottomUp, open }, grouping, totals, tree, focus, matcher }) {
      if (!FLAME_VIEWS.includes(view)) return null;
      const order = siblingOrder(shownOrder(state), bottomUp);
      return markedOf(drawingOf(recording, version, grouping, totals, tree, focus.id, state.width, order, bottomUp || open.includes(ALL_OPEN) ? null : open), matcher);
    },
    isMatch: ({ grouping, tree, matcher }) => (id) => matcher.matched[grouping.frames.function[tree.frame(id)]],
    // Frames are asked for by the id they are drawn under.
    describe: ({ recording, grouping, tree }) => (id) => describeFrame(recording, grouping, tree, Number(id)),
    pathTo: ({ recording, grouping, tree }) => (id) => treePath(tree, Number(id)).map((at) => describeFrame(recording, grouping, tree, at)),
    keysTo: ({ profile, grouping, tree }) => (id) => treeKeys(tree, grouping.frames, profile, Number(id)),
  };
}
