import assert from "node:assert/strict";
import { test } from "node:test";
import { qualityValues } from "../../../web/model/page/quality.js";
import { QUALITY_TEXT } from "../../../web/text/quality.js";

const QUALITY = {
  samples: 52001, ticks: 12480, requested_hz: 1000, achieved_hz: 998.4, missed_ticks: 20, exact: 51900, repaired: 60, retried: 30, truncated: 11,
  failed: { gone: 3, fault: 0, perm: 0, corrupt: 1 },
};
const valueOf = (quality, key) => qualityValues(quality).find((value) => value.key === key);

test("every value is there and says what it means", () => {
  const values = qualityValues(QUALITY);
  assert.deepEqual(values.map((value) => value.key), ["samples", "rate", "exact", "repaired", "retried", "truncated", "failed", "missed"]);
  for (const value of values) assert.ok(value.meaning.length > 20, value.key);
  assert.equal(valueOf(QUALITY, "samples").value, "52,001");
  assert.equal(valueOf(QUALITY, "exact").value, "99.8 %");
  assert.equal(valueOf(QUALITY, "missed").value, "20");
});

test("failed samples are a share of all that were tried, with their causes", () => {
  const failed = valueOf(QUALITY, "failed");
  assert.equal(failed.value, "< 0.01 %");
  assert.match(failed.meaning, /4 of 52,005/);
  assert.ok(failed.meaning.includes(QUALITY_TEXT.causes.corrupt));
});

test("before anything is known everything is a dash", () => {
  for (const value of qualityValues(null)) assert.equal(value.value, "—", value.key);
  assert.equal(valueOf({ ...QUALITY, samples: 0, exact: 0 }, "exact").value, "—");
});

test("a rate far below what was wanted is a warning", () => {
  assert.equal(valueOf(QUALITY, "rate").level, "plain");
  assert.equal(valueOf({ ...QUALITY, achieved_hz: 700 }, "rate").level, "warn");
});

test("a cause of failure nobody heard of is named as it is", () => {
  assert.match(valueOf({ ...QUALITY, failed: { __proto__: null, strange: 2 } }, "failed").meaning, /2: strange/);
});
