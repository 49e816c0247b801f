import assert from "node:assert/strict";
import { test } from "node:test";
import { formatClock, formatCount, formatDuration, formatInterval, formatPoints, formatRate, formatShare,
  formatShortCount, ratio } from "../../../web/model/base/numbers.js";

test("unknown is a dash, never 0", () => {
  for (const value of [undefined, null, NaN, Infinity]) {
    for (const format of [formatCount, formatShare, formatRate, formatDuration, formatClock])
      assert.equal(format(value), "—");
  }
  assert.equal(formatShare(ratio(0, 0)), "—");
  assert.equal(formatShare(ratio(undefined, 10)), "—");
});

test("shares never round to nothing or to everything", () => {
  const cases = [[0, "0 %"], [1, "100 %"], [0.00001, "< 0.01 %"], [0.99995, "> 99.99 %"], [0.9995, "99.95 %"], [0.0005,
    "0.05 %"], [0.001, "0.1 %"], [0.0123, "1.2 %"], [0.5, "50.0 %"]];
  for (const [share, text] of cases) assert.equal(formatShare(share), text);
});

test("an interval is rounded outwards, to none and to all", () => {
  const cases = [[0.943, 0.985, "94.3 – 98.5 %"], [0.99932, 0.99995, "99.93 – 100 %"], [0.00001, 0.0012, "0 – 0.1 %"], [
    0.5,
    1,
    "50.0 – 100 %",
  ], [NaN, NaN, ""]];
  for (const [low, high, text] of cases) assert.equal(formatInterval({ low, high }), text);
});

test("counts have separators and, from a million on, a unit", () => {
  assert.equal(formatCount(52001), "52,001");
  assert.equal(formatShortCount(999999), "999,999");
  assert.equal(formatShortCount(1250000), "1.25 M");
  assert.equal(formatShortCount(2.5e9), "2.50 G");
});

test("rates below a hundred keep a decimal", () => {
  assert.equal(formatRate(998.4), "998");
  assert.equal(formatRate(46.13), "46.1");
  assert.equal(formatRate(50), "50");
});

test("durations have the unit that fits", () => {
  const cases = [[0, "0 s"], [0.0000005, "1 µs"], [0.0042, "4.2 ms"], [0.25, "250 ms"], [7.5, "7.50 s"], [42, "42.0 s"],
    [125, "2 min 5 s"], [3725, "1 h 2 min"], [90061, "1 d 1 h"]];
  for (const [seconds, text] of cases) assert.equal(formatDuration(seconds), text);
});

test("clocks count minutes and hours", () => {
  assert.equal(formatClock(12.9), "0:12");
  assert.equal(formatClock(3725), "1:02:05");
});

test("changes are in percentage points, with a sign", () => {
  assert.deepEqual([formatPoints(0.0158), formatPoints(-0.2), formatPoints(0)], ["+1.6 pp", "−20.0 pp", "0 pp"]);
});
