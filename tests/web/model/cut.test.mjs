import assert from "node:assert/strict";
import { test } from "node:test";
import { createHeap, heapPop, heapPush } from "../../../web/model/base/heap.js";
import { createPicture } from "../../../web/model/picture/picture.js";
import { LEVELS_MAX, NODES_MAX } from "../../../web/model/trees/cut.js";
import { outline, stateOf } from "../support/sample.mjs";

const show = (lines, address, width) => createPicture()(stateOf(lines, address, width));

function everyFrame(root) {
  const found = [];
  for (let stack = [root]; stack.length > 0;) {
    const frame = stack.pop();
    found.push(frame);
    stack.push(...frame.children);
  }
  return found;
}

const keysOf = (lines, name, address = {}) => {
  const picture = show(lines, address);
  const entry = Array.from(picture.drawing.byId.values()).find(({ frame }) => frame.name.startsWith(name));
  return picture.keysTo(entry.frame.id);
};

test("frames are in order of their names, those that are not Python last", () => {
  const { drawing } = show(["b 9", "a 1", "c;<native> 5", "<native> 2"]);
  assert.deepEqual(outline(drawing.root), ["all 17", " a  app/a.py 1", " b  app/b.py 9", " c  app/c.py 5",
    "  <native> 5", " <native> 2"]);
});

test("what is too narrow to be drawn becomes one visible remainder", () => {
  const lines = ["big 900", ...Array.from({ length: 50 }, (_, i) => "small" + i + " 2")];
  const { drawing } = show(lines, {}, 200);
  assert.deepEqual(outline(drawing.root), ["all 1000", " big  app/big.py 900", " (50 more, 10.0 %) 100"]);
});

test("children never exceed their parent, and what is cut is not lost", () => {
  const lines = Array.from({ length: 3000 },
    (_, i) => "f" + (i % 40) + ";g" + (i % 170) + ";h" + i + " " + (1 + ((i * 7919) % 50)));
  const { drawing, sum } = show(lines, {}, 300);
  for (const frame of everyFrame(drawing.root)) {
    const below = frame.children.reduce((total, child) => total + child.value, 0);
    assert.ok(below <= frame.value, frame.name);
  }
  assert.equal(drawing.root.children.reduce((total, child) => total + child.value, 0), sum);
});

test("never more frames than the chart can bear, even when all are equally wide", () => {
  const lines = Array.from({ length: 30000 }, (_, i) => "m" + (i % 100) + ";f" + i + ";g" + i + " 1");
  const { drawing } = show(lines, {}, 100000);
  assert.ok(drawing.count <= NODES_MAX, String(drawing.count));
  assert.ok(drawing.count > NODES_MAX * 0.8, String(drawing.count));
  assert.equal(everyFrame(drawing.root).length, drawing.count);
});

test("a zoom shows the way from the root, faded, and only the zoomed frame below it", () => {
  const lines = ["a;b;c 6", "a;b;d 2", "a;e 8", "z 4"];
  const { drawing, focusTotal } = show(lines, { zoom: keysOf(lines, "b ") });
  assert.deepEqual(outline(drawing.root), ["all 8", " a  app/a.py 8", "  b  app/b.py 8", "   c  app/c.py 6",
    "   d  app/d.py 2"]);
  assert.deepEqual(everyFrame(drawing.root).filter((frame) => frame.fade).map((frame) => frame.name), ["all",
    "a  app/a.py"]);
  assert.equal(focusTotal, 8);
});

test("zooming brings back what was too narrow before", () => {
  const lines = ["big 100000", "small;one 3", "small;two 2"];
  assert.ok(!outline(show(lines, {}, 500).drawing.root).join().includes("one"));
  const all = show(lines, {}, 500);
  assert.ok(all.drawing.root.children.length === 1);
  const zoomed = show(lines, { zoom: keysOf(["small 1"], "small") }, 500);
  assert.deepEqual(outline(zoomed.drawing.root).slice(1), [" small  app/small.py 5", "  one  app/one.py 3",
    "  two  app/two.py 2"]);
});

test("deep stacks end in a frame that says how much deeper they go, and zooming goes on from there", () => {
  const lines = [Array.from({ length: 10000 }, () => "f").join(";") + " 4"];
  const picture = show(lines);
  assert.equal(picture.drawing.levels, LEVELS_MAX + 2);
  const last = everyFrame(picture.drawing.root).find((frame) => frame.remainder === "deeper");
  assert.equal(last.name, "(deeper: 9,000 frames)");
  const further = show(lines, { zoom: picture.keysTo(last.of) });
  assert.equal(further.focus.missing, 0);
  assert.equal(further.pathTo(further.focus.id).length, LEVELS_MAX);
  assert.ok(everyFrame(further.drawing.root).some((frame) => frame.name === "(deeper: 8,000 frames)"));
});

test("of many callers above a zoom only the nearest are drawn, and the others counted", () => {
  const lines = [Array.from({ length: 100 }, (_, i) => "f" + i).join(";") + " 4"];
  const picture = show(lines, {});
  const { drawing } = show(lines, { zoom: picture.keysTo("90") });
  const faded = everyFrame(drawing.root).filter((frame) => frame.fade);
  assert.equal(faded.length, 20);
  assert.equal(faded[1].name, "(71 callers above)");
  assert.equal(everyFrame(drawing.root).filter((frame) => frame.remainder === "above").length, 1);
});

test("ids in one drawing are unique", () => {
  const lines = Array.from({ length: 500 }, (_, i) => "a" + (i % 7) + ";b" + (i % 31) + ";c" + i + " 1");
  const ids = everyFrame(show(lines, {}, 60).drawing.root).map((frame) => frame.id);
  assert.equal(new Set(ids).size, ids.length);
});

test("without samples there is nothing to draw, and the reason is said", () => {
  const picture = createPicture()(stateOf(["a 0"]));
  assert.equal(picture.drawing, null);
  assert.match(picture.empty.text, /Connecting/);
});

test("the heap gives the greatest first, and equals in the order they came", () => {
  const heap = createHeap();
  [3, 1, 2, 3, 2].forEach((priority, i) => heapPush(heap, priority, "i" + i));
  assert.deepEqual(Array.from({ length: 6 }, () => heapPop(heap)), ["i0", "i3", "i2", "i4", "i1", undefined]);
});

test("a profile of 200,000 nodes is cut to the frames that can be seen", () => {
  const lines = Array.from({ length: 100000 }, (_, i) => "m" + (i % 50) + ";f" + i + " 1");
  const state = stateOf(lines, {}, 1400);
  const count = everyFrame(createPicture()(state).drawing.root).length;
  assert.ok(count > 50 && count < 1400, String(count));
});
