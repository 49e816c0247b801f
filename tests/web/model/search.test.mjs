import assert from "node:assert/strict";
import { test } from "node:test";
import { parseSearch } from "../../../web/model/filters/search.js";
import { createPicture } from "../../../web/model/picture/picture.js";
import { stateOf } from "../support/sample.mjs";

const matches = (lines, search, address = {}) => createPicture()(stateOf(lines, { search, ...address })).matches;

test("a piece of text is found whatever its case", () => {
  assert.ok(parseSearch("WORK").test("do_work file"));
  assert.ok(!parseSearch("work").test("play"));
});

test("what is between slashes is an expression, with its flags", () => {
  assert.ok(parseSearch("/^do_/").test("do_work"));
  assert.ok(!parseSearch("/^DO_/").test("do_work"));
  assert.ok(parseSearch("/^DO_/i").test("do_work"));
});

test("a path that begins with a slash is text", () => {
  assert.ok(parseSearch("/srv/app.py").test("main /srv/app.py:3"));
});

test("an expression that is not valid says so and matches nothing", () => {
  const search = parseSearch("/(/");
  assert.match(search.error, /Invalid regular expression: ./);
  assert.ok(!search.active && !search.test("("));
});

test("text is never taken for an expression", () => {
  assert.ok(parseSearch("a.c(").test("xa.c(y"));
  assert.ok(!parseSearch("a.c").test("abc"));
});

test("a sample counts once, however many of its frames match", () => {
  const lines = ["work;work_more;work_most 5", "work 2", "play 3"];
  assert.deepEqual(matches(lines, "work"), { active: true, error: null, samples: 7, share: 0.7, functions: 3 });
});

test("the matched share is the same bottom-up, by line and zoomed", () => {
  const lines = ["main:1;work:2 5", "main:2;work:3 2", "main:2 3"];
  for (const address of [{ bottomUp: true }, { by: "line" }, { zoom: ["x"] }])
    assert.equal(matches(lines, "work", address).share, 0.7);
});

test("files are searched too", () => {
  assert.equal(matches(["main;work 1", "play 1"], "/app/work.py").samples, 1);
  assert.equal(matches(["main;work 1", "play 1"], "work.py:10").samples, 1);
});

test("frames are marked as found or as others", () => {
  const { drawing } = createPicture()(stateOf(["main;work 5"], { search: "work" }));
  const [main] = drawing.root.children;
  assert.equal(drawing.isMatch(main), false);
  assert.equal(drawing.isMatch(main.children[0]), true);
});

test("another search draws the same frames, which only differ in style", () => {
  const compute = createPicture();
  const state = stateOf(["main;work 5"], {});
  const first = compute(state).drawing;
  const second = compute({ ...state, address: { ...state.address, search: "work" } }).drawing;
  assert.equal(second.root, first.root);
  assert.equal(first.isMatch, undefined);
});

test("hostile names are found as they are", () => {
  const name = "x".repeat(100000);
  assert.equal(matches([name + " 1", "__proto__ 2", "half\ud800 4"], "__PROTO__").samples, 2);
  assert.equal(matches([name + " 1", "half\ud800 4"], "half\ud800").samples, 4);
  assert.equal(matches([name + " 1", "b 4"], name.slice(0, 99)).samples, 1);
});
