import assert from "node:assert/strict";
import { test } from "node:test";
import { createPicture } from "../../../web/model/page/picture.js";
import { outline, stateOf } from "../support/sample.mjs";

const LINES = ["main;a 1", "main;b 5", "main;c 3", "main;<native> d 9"];
const drawnWith = (address) => outline(createPicture()(stateOf(LINES, address)).drawing.root);

test("siblings stand by name, those that are no Python functions behind", () => {
  assert.deepEqual(drawnWith({}).slice(2), ["  a  a.py 1", "  b  b.py 5", "  c  c.py 3", "  d  native 9"]);
});

test("on request the largest stands first", () => {
  assert.deepEqual(drawnWith({ order: "size" }).slice(2), ["  d  native 9", "  b  b.py 5", "  c  c.py 3", "  a  a.py 1"]);
});

test("bottom-up the largest always stands first", () => {
  const largest = drawnWith({ bottomUp: true }).filter((line) => /^ \S/.test(line));
  assert.deepEqual(largest, [" d  native 9", " b  b.py 5", " c  c.py 3", " a  a.py 1"]);
});

test("callers and callees of a function follow the same rule", () => {
  const lines = ["a;f;x 1", "b;f;y 5", "c;f;z 3"];
  const compute = createPicture();
  const first = compute(stateOf(lines, { view: "table" }));
  const { key } = first.functions().find(({ label }) => label.name === "f");
  const { sandwich } = createPicture()(stateOf(lines, { view: "sandwich", about: key }));
  const names = (drawing) => drawing.root.children.map((frame) => frame.name[0]);
  assert.deepEqual([names(sandwich.callers), names(sandwich.callees)], [["b", "c", "a"], ["x", "y", "z"]]);
});
