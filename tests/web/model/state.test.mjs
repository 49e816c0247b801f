import assert from "node:assert/strict";
import { test } from "node:test";
import { memoise } from "../../../web/model/base/memoise.js";
import { formatAddress, parseAddress } from "../../../web/model/page/address.js";
import { createState, newerSamples, nextTheme, reduce, statusOf } from "../../../web/model/page/state.js";
import { heatLevel } from "../../../web/model/picture/drawing.js";
import { createPicture } from "../../../web/model/picture/picture.js";
import { TEXT } from "../../../web/text/session.js";
import { outline, stateOf } from "../support/sample.mjs";

const session = (state, samples) => ({ state, reason: null, quality: { samples } });

test("a change of direction or grouping leaves the zoom behind", () => {
  const zoomed = reduce(createState(true), { type: "address", changes: { zoom: ["a"], frame: ["a"], search: "x" } });
  const bottomUp = reduce(zoomed, { type: "address", changes: { bottomUp: true } });
  assert.deepEqual([bottomUp.address.zoom, bottomUp.address.frame, bottomUp.address.search], [[], [], "x"]);
  const linked = reduce(zoomed, { type: "address", changes: { bottomUp: true, zoom: ["b"] } });
  assert.deepEqual(linked.address.zoom, ["b"]);
});

test("while paused the samples that came since are counted", () => {
  let state = reduce(createState(true), { type: "session", session: session("running", 100) });
  state = reduce(state, { type: "pause", paused: true });
  state = reduce(state, { type: "session", session: session("running", 130) });
  assert.equal(newerSamples(state), 30);
  assert.equal(statusOf(state), "view paused");
  assert.equal(newerSamples(reduce(state, { type: "pause", paused: false })), 0);
});

test("what is wrong goes before what is going on", () => {
  const running = reduce(createState(true), { type: "session", session: session("running", 1) });
  assert.equal(statusOf(running), "running");
  assert.equal(statusOf({ ...running, connection: { state: "lost" } }), "lost");
  assert.equal(statusOf(createState(true)), "connecting");
  assert.equal(statusOf(createState(false)), "report");
});

test("sorting by the same column turns it round", () => {
  let { table } = reduce(createState(true), { type: "sort", sort: "total" });
  assert.deepEqual([table.sort, table.descending], ["total", true]);
  table = reduce({ ...createState(true), table }, { type: "sort", sort: "total" }).table;
  assert.equal(table.descending, false);
  assert.equal(reduce(createState(true), { type: "sort", sort: "name" }).table.descending, false);
});

test("an action nobody knows changes nothing", () => {
  const state = createState(true);
  assert.equal(reduce(state, { type: "__proto__" }), state);
  assert.equal(reduce(state, { type: "constructor" }), state);
});

test("a step back leaves the zoom, then the selection, then the search", () => {
  let state = reduce(createState(true), { type: "address", changes: { zoom: ["a"], frame: ["a"], search: "x" } });
  const left = [];
  for (let i = 0; i < 4; i += 1) {
    state = reduce(state, { type: "stepBack" });
    left.push([state.address.zoom.length, state.address.frame.length, state.address.search]);
  }
  assert.deepEqual(left, [[0, 1, "x"], [0, 0, "x"], [0, 0, ""], [0, 0, ""]]);
});

test("themes go round", () => {
  assert.deepEqual(["system", "light", "dark", "x"].map(nextTheme), ["light", "dark", "system", "system"]);
});

test("the picture is the same object until something it shows changes", () => {
  const compute = createPicture();
  const state = stateOf(["a;b 3"]);
  const { drawing } = compute(state);
  assert.equal(compute({ ...state, hover: "1" }).drawing, drawing);
  assert.notEqual(compute({ ...state, width: 900 }).drawing, drawing);
});

test("a picture makes what it is asked for, once", () => {
  const state = stateOf(["a:3;b:5 3"], { by: "line", view: "table" });
  const picture = createPicture()(state);
  assert.equal(state.recording.groupings.size, 0);
  assert.equal(picture.sum, 3);
  assert.deepEqual(Array.from(state.recording.groupings.values(), ({ by }) => by), ["line"]);
  assert.equal(picture.table, picture.table);
  assert.equal(picture.functions, picture.functions);
});

test("the table holds every function, in its order; labels are made where they are asked for", () => {
  const state = stateOf(Array.from({ length: 450 }, (_, i) => "f" + i + " " + (i + 1)), { view: "table" });
  const { table } = createPicture()(state);
  assert.deepEqual([table.rows.length, table.count], [450, 450]);
  assert.deepEqual([table.labelOf(table.rows[0]).name, table.labelOf(table.rows[449]).name], ["f449", "f0"]);
});

test("a sandwich counts every sample once, recursion or not", () => {
  const about = (name, lines) => {
    const state = stateOf(lines, { view: "table" });
    const { table } = createPicture()(state);
    const key = table.keyOf(table.rows.find((row) => table.labelOf(row).name === name));
    return createPicture()({ ...state, address: { ...state.address, view: "sandwich", about: key } }).sandwich;
  };
  const lines = ["m;a;f;x 4", "m;b;f 3", "m;a;f;f;y 2", "m;a;f;f 1", "m;a 9"];
  const sandwich = about("f", lines);
  assert.deepEqual([sandwich.total, sandwich.self], [10, 4]);
  assert.deepEqual(outline(sandwich.callers.root).map((line) => line.replace(/  [\w/]+\.py/, "")), ["f 10", " a 7",
    "  m 7", " b 3", "  m 3"]);
  assert.deepEqual(outline(sandwich.callees.root).map((line) => line.replace(/  [\w/]+\.py/, "")), ["f 10", " f 3",
    "  y 2", " x 4"]);
  assert.equal(createPicture()({ ...stateOf(lines, { view: "sandwich", about: "zzz" }) }).sandwich, null);
});

test("a filter that leaves nothing says so and offers a way back", () => {
  const state = stateOf(["a 0"], { threads: [{ tid: 7, name: "MainThread" }] });
  const { empty } = createPicture()({ ...state, session: session("running", 400) });
  assert.equal(empty.text, TEXT.empty.filteredThreads("400"));
  assert.deepEqual(empty.actions, [{ label: TEXT.empty.allThreads,
    action: { type: "address", changes: { threads: [] }, how: "push" } }]);
});

test("heat rises with the share", () => {
  assert.deepEqual([0, 0.001, 0.002, 0.03, 0.4, 1].map(heatLevel), [0, 0, 1, 3, 7, 7]);
});

test("memoise keeps one result", () => {
  let made = 0;
  const add = memoise((a, b) => {
    made += 1;
    return a + b;
  });
  assert.deepEqual([add(1, 2), add(1, 2), add(2, 2), made], [3, 3, 4, 2]);
});

const recorded = (...filters) => ({ ...session("ended", 1),
  settings: { filters: filters.map(([filter, pattern]) => ({ filter, pattern })) } });

test("a page begins with the filters of the recording, unless its address names others or none", () => {
  const open = (fragment) =>
    reduce({ ...createState(true), address: parseAddress(fragment) }, { type: "session",
      session: recorded(["hide", "libraries"], ["show_from", "main"]) });
  assert.deepEqual(open("#v=1&session=1&zoom=a").address.filters, ["hide libraries", "show-from main"]);
  assert.deepEqual(open("#v=1&session=1&zoom=a").address.zoom, ["a"]);
  assert.deepEqual(open("#v=1&filter=focus+x").address.filters, ["focus x"]);
  assert.deepEqual(open("#v=1&filter").address.filters, []);
  assert.deepEqual(
    reduce({ ...createState(false) }, { type: "session", session: recorded(["hide", "x"]) }).address.filters,
    [],
  );
});

test("a capture that is being opened brings its filters once it is open", () => {
  const starting = reduce(createState(true), { type: "session", session: { ...recorded(), state: "starting" } });
  assert.deepEqual(reduce(starting, { type: "session", session: recorded(["hide", "x"]) }).address.filters, ["hide x"]);
});

test("filters of the recording that were removed stay away, and come back where the address says nothing", () => {
  const begun = reduce(createState(true), { type: "session", session: recorded(["hide", "x"]) });
  const removed = reduce(begun, { type: "address", changes: { filters: [] } });
  assert.match(formatAddress(removed.address), /&filter$/);
  assert.deepEqual(reduce(removed, { type: "session", session: recorded(["hide", "x"]) }).address.filters, []);
  assert.deepEqual(reduce(removed, { type: "address", changes: { view: "table" } }).address.filters, []);
  assert.deepEqual(
    reduce(removed, { type: "address", changes: parseAddress("#" + formatAddress(removed.address)) }).address.filters,
    [],
  );
  assert.deepEqual(reduce(removed, { type: "address", changes: parseAddress("#v=1") }).address.filters, ["hide x"]);
  const own = reduce(reduce(createState(true), { type: "session", session: recorded() }), { type: "filter",
    text: "hide y" });
  assert.equal(formatAddress(reduce(own, { type: "address", changes: { filters: [] } }).address), "v=1");
});

test("a recorded filter that the page cannot read is reported", () => {
  const state = reduce(createState(true), { type: "session",
    session: recorded(["hide", "/(/"], ["hide", "fine"], ["what", "x"]) });
  assert.deepEqual(state.address.filters, ["hide fine"]);
  assert.equal(state.filterError, TEXT.filters.unknownRecorded(2));
  assert.equal(reduce(createState(true), { type: "session", session: recorded(["hide", "/(/"]) }).filterError,
    TEXT.filters.unknownRecorded(1));
});

test("each view remembers the width of its charts; another window forgets those of the others", () => {
  const show = (state, view) => reduce(state, { type: "address", changes: { view } });
  const widen = (state, width) => reduce(state, { type: "width", width });
  const both = widen(show(widen(createState(true), 1000), "sandwich"), 1400);
  assert.deepEqual([both.width, show(both, "flame").width, show(show(both, "flame"), "sandwich").width], [1400, 1000,
    1400]);
  assert.equal(show(both, "gil").width, 1400);
  const smaller = widen(show(both, "flame"), 900);
  assert.deepEqual(smaller.widths, { flame: 900 });
  assert.equal(show(smaller, "sandwich").width, 900);
});
