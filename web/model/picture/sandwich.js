// All that leads to one function, and all that it calls.

import { memoise } from "../base/memoise.js";
import { shownOrder } from "../page/state.js";
import { frameKey, frameLabel } from "../profile/frames.js";
import { createMergedNames, sandwichTrees } from "../trees/trees.js";
import { createFields, drawTree, markDrawing, siblingOrder } from "./drawing.js";
import { frameOfKey, hottestFunctions } from "./functions.js";

// Callers and callees of one function: {label, key, total, self, callers, callees (drawings)}; null when it is not there.
function makeSandwich(recording, version, grouping, totals, key, width, names, order) {
  const frame = key === "" ? 0 : frameOfKey(grouping.frames, recording.profile, key);
  if (frame === 0 || totals.sum === 0) return null;
  const trees = sandwichTrees(names, grouping, totals, frame);
  const label = frameLabel(grouping.frames, recording.profile, frame);
  if (trees.sum === 0 || width <= 0) return { label, key, total: trees.sum, self: trees.self, callers: null, callees: null, keyOf: () => key };
  const draw = (tree, isBottomUp) => drawTree(tree, 0, width, createFields(recording, grouping, totals, tree), totals.sum, siblingOrder(order, isBottomUp));
  const keyOf = (side, id) => frameKey(grouping.frames, recording.profile, trees[side].frame(Number(id)));
  return { label, key, total: trees.sum, self: trees.self, callers: draw(trees.callers, true), callees: draw(trees.callees, false), keyOf };
}

function markSandwich(sandwich, matcher) {
  return sandwich && { ...sandwich, callers: markDrawing(sandwich.callers, matcher), callees: markDrawing(sandwich.callees, matcher) };
}

// sandwich: of the function of the address, else of the one that was the hottest when it was first asked for, or when that no longer had samples.
export function sandwichSelectors() {
  const namesOf = memoise((grouping, key) => ({ up: createMergedNames(), down: createMergedNames() }));
  const sandwichOf = memoise(makeSandwich);
  const markedOf = memoise(markSandwich);
  let hottest = "";

  function keyOf({ address: { about }, recording, functionGrouping, functionCounts }) {
    if (about !== "") hottest = "";
    else if (!(functionCounts.total[frameOfKey(functionGrouping.frames, recording.profile, hottest)] > 0)) {
      const found = hottestFunctions(recording, functionGrouping, functionCounts);
      hottest = (found.find(({ label }) => !label.synthetic) ?? found[0])?.key ?? "";
    }
    return about || hottest;
  }

  return {
    sandwich(picture) {
      if (picture.address.view !== "sandwich") return null;
      const { state, recording, version, functionGrouping, functionTotals, matcher } = picture;
      const key = keyOf(picture);
      return markedOf(sandwichOf(recording, version, functionGrouping, functionTotals, key, state.width, namesOf(functionGrouping, key), shownOrder(state)), matcher);
    },
  };
}
