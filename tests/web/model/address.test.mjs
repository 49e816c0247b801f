import assert from "node:assert/strict";
import { test } from "node:test";
import { defaultAddress, formatAddress, formatPath, parseAddress, parsePath,
  parseRange } from "../../../web/model/page/address.js";
import { createState, reduce } from "../../../web/model/page/state.js";

test("what is written is read back", () => {
  const address = {
    session: "3",
    view: "table",
    bottomUp: true,
    by: "line",
    native: "all",
    hidesWaits: true,
    colour: "module",
    order: "size",
    search: "/a&b=c#d/i é",
    threads: [{ tid: 12, name: "pool ~ 1" }, { tid: 13, name: "" }],
    processes: [4711, 12],
    parts: ["running", "idle"],
    states: ["!has_gil", "on_cpu"],
    measure: "page-faults",
    range: { from: 12.25, to: 20 },
    took: { from: 0.1, to: 0.25 },
    at: null,
    against: "x.1",
    baseline: { from: 1, to: null },
    filters: ["hide libraries", "hide function:/^a&b$/"],
    noFilters: false,
    about: "1a",
    file: "/srv/é & b.py",
    line: 12,
    hotOnly: true,
    diffWidth: "baseline",
    diffBy: "self",
    open: ["a1", "b2"],
    zoom: ["a1", "b2", "b2", "c3"],
    tables: ["strip", "gil"],
    frame: ["z"],
  };
  assert.deepEqual(parseAddress("#" + formatAddress(address)), address);
});

test("that no filter applies is said", () => {
  const none = { ...defaultAddress(), noFilters: true };
  assert.equal(formatAddress(none), "v=1&filter");
  assert.deepEqual(parseAddress("#v=1&filter"), none);
  assert.equal(parseAddress("#v=1&filter=hide+x").noFilters, false);
});

test("what is as always is left out", () => {
  assert.equal(formatAddress(defaultAddress()), "v=1");
  assert.deepEqual(parseAddress(""), defaultAddress());
});

test("a report opens at its view unless the address says something", () => {
  assert.equal(parseAddress("", "source").view, "source");
  assert.equal(parseAddress("#", "diff").view, "diff");
  assert.equal(parseAddress("#v=1", "diff").view, "flame");
  assert.equal(parseAddress("#v=1&view=table", "diff").view, "table");
  assert.equal(parseAddress("", "nonsense").view, "flame");
});

test("nonsense is left at its default", () => {
  const address = parseAddress(
    "#v=1&view=__proto__&by=x&colour=&thread=abc&thread=1~ok&process=x&process=0&process=-4&process=12345678901&zoom=..%3Cscript%3E&frame=A!",
  );
  assert.deepEqual(address, { ...defaultAddress(), threads: [{ tid: 1, name: "ok" }] });
});

test("states are words, in one order, without those that are none or contradict", () => {
  assert.match(formatAddress({ ...defaultAddress(), states: ["!has_gil", "on_cpu", "~in_gc"] }),
    /&state=!has_gil,on_cpu,~in_gc$/);
  const states = (text) => parseAddress("#v=1&state=" + text).states;
  assert.deepEqual(states("on_cpu,!has_gil,on_cpu"), ["!has_gil", "on_cpu"]);
  assert.deepEqual(states("on_cpu,!on_cpu,__proto__,,!!in_gc,unknown_in_gc"), ["on_cpu", "unknown_in_gc"]);
  for (const text of ["", "nothing", "active"]) assert.deepEqual(states(text), [], text);
});

test("parts are words in their order, with hyphens or without", () => {
  const parts = (text) => parseAddress("#v=1&parts=" + text).parts;
  assert.deepEqual(parts("idle,running,idle,all"), ["running", "idle"]);
  assert.deepEqual(parts("needs-gil,needs_processor"), ["needs_gil", "needs_processor"]);
  for (const text of ["", "all", "__proto__"]) assert.equal(parts(text), null, text);
  assert.match(formatAddress({ ...defaultAddress(), parts: ["running", "blocked"] }), /&parts=running,blocked$/);
});

test("a range that is none is all of the session; filters that are none are left out", () => {
  for (const text of ["", "5", "~5", "5~5", "6~5", "-1~2", "1e9~", "a~b", "1~2~3"])
    assert.equal(parseRange(text), null, text);
  assert.deepEqual(parseRange("5~"), { from: 5, to: null });
  assert.deepEqual(parseAddress("#v=1&filter=drop+x&filter=hide&filter=HIDE+%2F(%2F&filter=Hide++File:a+b").filters, [
    "hide file:a b",
  ]);
  assert.equal(parseAddress("#v=1" + "&filter=hide+x".repeat(50)).filters.length, 16);
});

test("a later version of the format is not guessed at", () => {
  assert.deepEqual(parseAddress("#v=2&view=table"), defaultAddress());
});

test("repeated keys are written once", () => {
  const keys = ["a", ...Array.from({ length: 500 }, () => "fib"), "b"];
  assert.equal(formatPath(keys), "a.fib*500.b");
  assert.deepEqual(parsePath("a.fib*500.b"), keys);
});

test("a path that would never end is refused", () => {
  assert.deepEqual(parsePath("a*99999"), []);
  assert.deepEqual(parsePath(Array.from({ length: 30 }, () => "a*1000").join(".")), []);
});

test("halves of surrogate pairs do not break a link", () => {
  assert.ok(formatAddress({ ...defaultAddress(), search: "\ud800" }).includes("search="));
});

test("instants of a dashboard become a range of the session", () => {
  const began = 1769853600000;
  const shown = (text, session = { started_at: new Date(began).toISOString(), state: "running" }) =>
    reduce({ ...createState(true), address: parseAddress(text) }, { type: "session", session }).address;
  assert.deepEqual(shown("v=1&at=" + (began + 2500) + "~" + (began + 4000)).range, { from: 2.5, to: 4 });
  assert.deepEqual(shown("v=1&at=" + (began - 2500) + "~").range, { from: 0, to: null });
  assert.equal(shown("v=1&at=" + (began - 2500) + "~" + (began - 1000)).range, null);
  assert.equal(shown("v=1&at=" + began + "~x").range, null);
  assert.deepEqual(shown("v=1&range=1~2").range, { from: 1, to: 2 });
  // A capture that is still being opened does not know when it began.
  assert.equal(shown("v=1&at=" + began + "~", { started_at: null, state: "starting" }).at.from, began / 1000);
  assert.ok(!formatAddress(shown("v=1&at=" + began + "~")).includes("at="));
});
