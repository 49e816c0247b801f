import assert from "node:assert/strict";
import { test } from "node:test";
import { shownOrder } from "../../../web/model/page/state.js";
import { createPicture } from "../../../web/model/picture/picture.js";
import { takeDelivery } from "../../../web/model/trees/recording.js";
import { outline, stateOf } from "../support/sample.mjs";

const LINES = ["main;a 1", "main;b 5", "main;c 3", "main;<native> d 9"];
const drawnWith = (address) => outline(createPicture()(stateOf(LINES, address)).drawing.root);

test("siblings stand by name, those that are no Python functions behind", () => {
  assert.deepEqual(drawnWith({}).slice(2), ["  a  app/a.py 1", "  b  app/b.py 5", "  c  app/c.py 3", "  d  native 9"]);
});

test("on request the largest stands first", () => {
  assert.deepEqual(drawnWith({ order: "size" }).slice(2), ["  d  native 9", "  b  app/b.py 5", "  c  app/c.py 3",
    "  a  app/a.py 1"]);
});

test("what has ended opens with the largest first, what goes on by name", () => {
  const orderOf = (state, live, order = null) =>
    shownOrder({ live, connection: { state: "ok" }, session: { state }, paused: false, address: { order } });
  assert.deepEqual([orderOf("running", true), orderOf("paused", true), orderOf("ended", true), orderOf("failed", true),
    orderOf("ended", false)], ["name", "name", "size", "size", "size"]);
  assert.deepEqual([orderOf("running", true, "size"), orderOf("ended", false, "name")], ["size", "name"]);
});

test("bottom-up the largest always stands first", () => {
  const largest = drawnWith({ bottomUp: true }).filter((line) => /^ \S/.test(line));
  assert.deepEqual(largest, [" d  native 9", " b  app/b.py 5", " c  app/c.py 3", " a  app/a.py 1"]);
});

test("of functions that code of the JIT executed there is the share of their samples; none for C code, nor where nothing is known", () => {
  const badges = (address, inJit) => {
    const { table, inJit: inJitOf } = createPicture()(stateOf(LINES, { view: "table", ...address }, 1000, inJit));
    return table.rows.map((row) => table.labelOf(row).name + ": " + inJitOf(row.frame));
  };
  const inJit = ["main;b 4", "main;<native> d 9"];
  assert.deepEqual(badges({}, inJit), ["d: null", "b: JIT 80.0 %", "c: null", "a: null", "main: null"]);
  assert.deepEqual(badges({}, []), ["d: null", "b: null", "c: null", "a: null", "main: null"]);
});

test("callers and callees of a function follow the same rule", () => {
  const lines = ["a;f;x 1", "b;f;y 5", "c;f;z 3"];
  const compute = createPicture();
  const first = compute(stateOf(lines, { view: "table" }));
  const { key } = first.functions.find(({ label }) => label.name === "f");
  const { sandwich } = createPicture()(stateOf(lines, { view: "sandwich", about: key }));
  const names = (drawing) => drawing.root.children.map((frame) => frame.name[0]);
  assert.deepEqual([names(sandwich.callers), names(sandwich.callees)], [["b", "c", "a"], ["x", "y", "z"]]);
});

test("a sandwich without a function is of the hottest, which it stays while numbers change", () => {
  const lines = ["a;f 3", "a;g 5", "a;<waits: disk> 9"];
  const compute = createPicture();
  const state = stateOf(lines, { view: "sandwich" });
  assert.equal(compute(state).sandwich.label.name, "g");
  const other = stateOf([...lines.slice(0, 1), "a;g 1"], { view: "sandwich" });
  assert.equal(compute(other).sandwich.label.name, "g");
  assert.equal(createPicture()(other).sandwich.label.name, "f");
  // Another range, in which it did nothing.
  takeDelivery(other.recording, { restart: false, recount: true, trees: [],
    view: { generation: 2, node: [2], self: [3] } });
  assert.equal(compute({ ...other, recordingVersion: other.recording.version }).sandwich.label.name, "f");
});
