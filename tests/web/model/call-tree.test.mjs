import assert from "node:assert/strict";
import { test } from "node:test";
import { createPicture } from "../../../web/model/picture/picture.js";
import { openAbove, openBelow, openChain, openRows, TREE_ROWS_MAX } from "../../../web/model/trees/call-tree.js";
import { stateOf } from "../support/sample.mjs";

const pictureOf = (lines, address = {}) => createPicture()(stateOf(lines, address));
const LINES = ["main;a;x 6", "main;a;y 1", "main;b 3", "other 2"];

// Rows as text: "+" can be opened, "-" is open.
function textOf({ tree, describe }, open, from = 0) {
  return openRows(tree, open, from).map((row) =>
    " ".repeat(row.level) + (row.hasChildren ? (row.isOpen ? "-" : "+") : "") + describe(row.id).label.name + " "
    + tree.total(row.id)
  );
}

const idOf = (picture, name) =>
  Array.from({ length: 20 }, (_, id) => id).find((id) => id > 0 && picture.describe(id).label.name === name);

test("at first the way to where most samples are is open, the largest first", () => {
  const picture = pictureOf(LINES);
  assert.deepEqual(textOf(picture, openChain(picture.tree, 0)), ["-main 10", " -a 7", "  x 6", "  y 1", " b 3",
    "other 2"]);
});

test("rows open and close", () => {
  const picture = pictureOf(LINES);
  assert.deepEqual(textOf(picture, new Set()), ["+main 10", "other 2"]);
  assert.deepEqual(textOf(picture, new Set([idOf(picture, "main")])), ["-main 10", " +a 7", " b 3", "other 2"]);
});

test("bottom-up the rows are callers", () => {
  const picture = pictureOf(LINES, { bottomUp: true });
  const open = new Set();
  openBelow(picture.tree, open, 0);
  assert.deepEqual(textOf(picture, open), ["-x 6", " -a 6", "  main 6", "-b 3", " main 3", "other 2", "-y 1", " -a 1",
    "  main 1"]);
});

test("a zoomed frame is the first row", () => {
  const picture = pictureOf(LINES);
  const a = idOf(picture, "a");
  assert.deepEqual(textOf(picture, new Set([a]), a), ["-a 7", " x 6", " y 1"]);
});

test("what leads to a frame is opened for it", () => {
  const picture = pictureOf(LINES);
  const open = new Set();
  openAbove(picture.tree, open, idOf(picture, "y"));
  assert.ok(textOf(picture, open).includes("  y 1"));
});

test("filters leave no rows of what they remove", () => {
  const picture = pictureOf(LINES, { filters: ["hide function:/^a$/"] });
  const open = new Set();
  openBelow(picture.tree, open, 0);
  assert.deepEqual(textOf(picture, open), ["-main 10", " x 6", " b 3", " y 1", "other 2"]);
});

test("no more rows are open than there may be, and a deep stack is no recursion", () => {
  const wide = pictureOf(
    Array.from({ length: 300 }, (_, i) => Array.from({ length: 300 }, (_, j) => "top;f" + i + ";g" + j + " 1")).flat(),
  );
  const open = new Set();
  openBelow(wide.tree, open, 0);
  const rows = openRows(wide.tree, open, 0);
  assert.ok(rows.length > TREE_ROWS_MAX - 600 && rows.length <= TREE_ROWS_MAX, String(rows.length));
  const deep = pictureOf([Array.from({ length: 10000 }, (_, i) => "f" + (i % 3)).join(";") + " 1"]);
  const all = new Set();
  openBelow(deep.tree, all, 0);
  assert.equal(openRows(deep.tree, all, 0).length, 10000);
});
