import assert from "node:assert/strict";
import { test } from "node:test";
import { formatAmount } from "../../../web/model/base/numbers.js";
import { defaultAddress, parseAddress } from "../../../web/model/page/address.js";
import { chosenMeasure, growthChanges, measuresOf, offersGrowth } from "../../../web/model/page/measures.js";
import { isSameQuestion, questionOf } from "../../../web/model/page/questions.js";
import { applyView, createCounts } from "../../../web/model/trees/recording.js";

const TIME = { name: "time", title: "time", unit: "seconds", value: 2 };
const GROWTH = { name: "page-faults", title: "memory growth", unit: "bytes", value: 8192 };

const stateOf = (measures, changes, live = true) => ({ live, paused: false, session: { measures, elapsed_s: 4 },
  address: { ...defaultAddress(), ...changes } });

test("time is shown unless another measure of the session is chosen, in views that can show it", () => {
  const both = [TIME, GROWTH];
  const rows = [
    [both, {}, null],
    [both, { measure: "page-faults" }, "page-faults"],
    [both, { measure: "page-faults", view: "table" }, "page-faults"],
    [both, { measure: "page-faults", view: "threads" }, null],
    [both, { measure: "page-faults", view: "heatmap" }, null],
    [both, { measure: "cycles" }, null],
    [[TIME], { measure: "page-faults" }, null],
    [[GROWTH], {}, "page-faults"],
    [[GROWTH], { measure: "time", view: "heatmap" }, "page-faults"],
    [undefined, { measure: "page-faults" }, null],
  ];
  for (const [measures, changes, wanted] of rows)
    assert.equal(chosenMeasure(stateOf(measures, changes)), wanted, JSON.stringify([measures, changes]));
  assert.equal(chosenMeasure(stateOf(both, { measure: "page-faults" }, false)), null);
  assert.deepEqual(measuresOf({ live: true, session: null }), []);
});

test("a file of another tool may count anything, and its first measure is shown where it has no time", () => {
  const kinds = ["inuse_space", "alloc_objects"].map((name) => ({ name, title: name, unit: "x", value: 1 }));
  assert.equal(chosenMeasure(stateOf(kinds, {})), "inuse_space");
  assert.equal(chosenMeasure(stateOf(kinds, { measure: "alloc_objects", view: "threads" })), "alloc_objects");
  assert.equal(parseAddress("measure=alloc_objects").measure, "alloc_objects");
  assert.equal(parseAddress("measure=a%20b").measure, null);
  assert.equal(formatAmount(1536, { unit: "bytes", title: "x" }), "1.5 KiB");
  assert.equal(formatAmount(20e6, { unit: "nanoseconds", title: "cpu" }), "20 ms");
  assert.equal(formatAmount(1024, { unit: "count", title: "alloc_objects" }), "1,024 alloc_objects");
});

test("what grew is offered where it is counted, and opens a view that shows it", () => {
  assert.ok(offersGrowth(stateOf([TIME, GROWTH], {})));
  assert.ok(offersGrowth(stateOf([TIME, GROWTH], { view: "threads", measure: "page-faults" })));
  assert.ok(!offersGrowth(stateOf([TIME, GROWTH], { measure: "page-faults" })));
  assert.ok(!offersGrowth(stateOf([TIME], {})));
  assert.deepEqual(growthChanges({ address: { view: "threads" } }), { measure: "page-faults", view: "flame" });
  assert.deepEqual(growthChanges({ address: { view: "table" } }), { measure: "page-faults", view: "table" });
});

test("another measure is another question, without parts of time and marks", () => {
  const changes = { parts: ["idle"], states: ["in_gc"] };
  const time = questionOf(stateOf([TIME, GROWTH], changes), []);
  const growth = questionOf(stateOf([TIME, GROWTH], { ...changes, measure: "page-faults" }), []);
  assert.ok(!isSameQuestion(time, growth));
  assert.deepEqual([time.measure, time.parts, time.states], [null, ["idle"], ["in_gc"]]);
  assert.deepEqual([growth.measure, growth.parts, growth.states], ["page-faults", [], []]);
});

test("answers of one measure add up", () => {
  const counts = createCounts();
  const view = (total, generation) => ({ generation, node: [1], self: [total],
    measure: { ...GROWTH, value: total * 4096 } });
  applyView(counts, view(2, 1), 2);
  applyView(counts, view(3, 2), 2);
  assert.equal(counts.total, 5);
  assert.equal(counts.measure.value, 5 * 4096);
  assert.equal(counts.returned, null);
  applyView(counts, { ...view(1, 3), returned: 4096 }, 2);
  applyView(counts, { ...view(1, 4), returned: 8192 }, 2);
  assert.equal(counts.returned, 3 * 4096);
  const time = createCounts();
  applyView(time, { generation: 1, node: [1], self: [1], seconds: 0.5 }, 2);
  assert.equal(time.measure, null);
});
