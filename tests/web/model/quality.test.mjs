import assert from "node:assert/strict";
import { test } from "node:test";
import { engineValue, measureGroups, qualityBadge, qualityValues, qualityVerdict,
  warningsValue } from "../../../web/model/page/quality.js";
import { CHART_TEXT } from "../../../web/text/charts.js";
import { QUALITY_TEXT } from "../../../web/text/quality.js";
import { VIEW_TEXT } from "../../../web/text/views.js";

const QUALITY = {
  samples: 52001,
  ticks: 12480,
  requested_hz: 1000,
  achieved_hz: 998.4,
  missed_ticks: 20,
  exact: 51900,
  retried: 90,
  truncated: 11,
  failed: { gone: 3, fault: 0, perm: 0, corrupt: 1 },
};
const valueOf = (quality, key) => qualityValues(quality).find((value) => value.key === key);

test("the quality of a profile of another tool is unknown", () => {
  const values = qualityValues({ ...QUALITY, exact: 0 }, { engine: "auto" },
    "a profile of py-spy (speedscope), without states");
  assert.deepEqual(values.map(({ key, value }) => [key, value]), [["exact", "—"]]);
  assert.equal(qualityVerdict(values),
    "How right it is, is unknown: this is a profile of py-spy (speedscope), without states.");
  assert.equal(qualityBadge(values).warning, "");
});

test("every value is there and says what it means", () => {
  const values = qualityValues(QUALITY);
  const keys = ["samples", "rate", "stopped", "exact", "retried", "truncated", "failed", "missed"];
  assert.deepEqual(values.map((value) => value.key), keys);
  assert.deepEqual(qualityValues(QUALITY, { engine: "kernel" }).map((value) => value.key),
    keys.filter((key) => key !== "stopped"));
  for (const value of values) assert.ok(value.meaning.length > 20, value.key);
  assert.equal(valueOf(QUALITY, "samples").value, "52,001");
  assert.equal(valueOf(QUALITY, "exact").value, "99.8 %");
  assert.equal(valueOf(QUALITY, "missed").value, "20");
});

test("samples of stopped threads are a share of all, and the stops one of the time", () => {
  const shown = valueOf({ ...QUALITY, samples: 1000, stopped: 970, stopped_s: 0.09, duration_s: 10, stops_refused: 0 },
    "stopped");
  assert.deepEqual([shown.value, shown.label, shown.level], ["97.0 %", "read stopped, 0.9 % of the time", "plain"]);
  assert.ok(!shown.meaning.includes("page faults"));
  const faulting = valueOf({ ...QUALITY, samples: 1000, stopped: 970, stopped_s: 0.09, duration_s: 10,
    page_faults: 200000 }, "stopped");
  assert.match(faulting.meaning, /has 20,000 page faults a second\./);
  const refused = valueOf({ ...QUALITY, stopped: 0, stopped_s: 0, duration_s: 10, stops_refused: 1 }, "stopped");
  assert.equal(refused.level, "warn");
  assert.ok(refused.meaning.endsWith(QUALITY_TEXT.stopped.refused));
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

test("what reads the stacks is said, with the reason why it is not the kernel", () => {
  const kernel = engineValue({ engine: "kernel", engine_reason: null });
  assert.deepEqual([kernel.value, kernel.label], ["kernel engine", ""]);
  const remote = engineValue({ engine: "remote", engine_reason: "not permitted" });
  assert.deepEqual([remote.value, remote.label], ["read from outside:", "not permitted"]);
  assert.match(remote.meaning, /is not used: not permitted\.$/);
  assert.equal(engineValue({ engine: "remote", engine_reason: null }).value, "read from outside");
  assert.equal(engineValue({ engine: "auto", engine_reason: null }), null);
  assert.equal(engineValue(null), null);
});

test("one of a kind is not several", () => {
  const [samples] = qualityValues({ ...QUALITY, samples: 1, ticks: 1 });
  assert.equal(samples.value + " " + samples.label, "1 sample");
  assert.match(samples.meaning, /: 1 sample in 1 tick\.$/);
  assert.equal(VIEW_TEXT.flame.above("1") + VIEW_TEXT.tasks.left("1"),
    "(1 caller above)And 1 more task in smaller groups.");
  assert.equal(CHART_TEXT.table.caption("1", "1"), "1 run in the order of time");
});

test("what is not sampled of a program is a warning of the badge, which names the processes", () => {
  const value = warningsValue([{ pid: 7, warnings: [] }, { pid: 8, warnings: ["another Python\u0007 runs"] }, {
    pid: 9,
  }]);
  assert.match(value.meaning, /^8: another Python.* runs$/);
  assert.equal(qualityBadge([...qualityValues(QUALITY), value]).warning, "1 warning");
  assert.equal(warningsValue([{ pid: 7, warnings: ["x", "y"] }]).label, "warnings");
  assert.match(warningsValue(Array.from({ length: 20 }, (_, pid) => ({ pid, warnings: ["x"] }))).meaning,
    /^0: x; 1: x; .*7: x$/);
  for (const none of [undefined, [], [{ pid: 7, warnings: [] }]]) assert.equal(warningsValue(none), null);
});

test("processes that are left out are a warning with the number and the cause", () => {
  const value = warningsValue([{ pid: 7, warnings: ["x"] }], { attached: 22, running: 22, over_limit: 0,
    short_of_files: 20, denied: 1, not_permitted: 5 });
  assert.equal(value.value + " " + value.label, "3 warnings");
  assert.match(value.meaning, /^20 left out: too many files are open \(ulimit -n\); 1 left out: cannot be read; 7: x$/);
  assert.equal(warningsValue([], { short_of_files: 0, not_permitted: 5 }), null);
});

test("gaps of native stacks are counted by cause, where there are any", () => {
  const counted = { samples: 100, native_complete: 90, native_gaps: 10, native_gaps_no_table: 8, native_gaps_copy: 2,
    native_gaps_register: 0, native_gaps_other: 0 };
  const rowsOf = (quality) =>
    Object.fromEntries(
      measureGroups(quality).find(({ title }) => title === QUALITY_TEXT.groups.native).rows.map((
        { key, value, share },
      ) => [key, value + " " + share]),
    );
  const rows = rowsOf(counted);
  assert.deepEqual([rows.native_gaps, rows.native_gaps_no_table, rows.native_gaps_other], ["10 10.0 %", "8 80.0 %",
    "0 0 %"]);
  assert.deepEqual(
    Object.keys(
      rowsOf({ ...counted, native_complete: 100, native_gaps: 0, native_gaps_no_table: 0, native_gaps_copy: 0 }),
    ),
    ["native_complete", "native_gaps"],
  );
});

test("native stacks that are missing are counted by cause, where any are", () => {
  const counted = { samples: 100, native_complete: 48, native_none: 52, native_none_unstopped: 50,
    native_none_waiting: 0, native_none_truncated: 0, native_none_copy: 2 };
  const rows = measureGroups(counted).find(({ title }) => title === QUALITY_TEXT.groups.native).rows;
  assert.deepEqual(rows.map(({ key, share }) => [key, share]), [
    ["native_complete", "48.0 %"],
    ["native_none", "52.0 %"],
    ["native_none_unstopped", "96.2 %"],
    ["native_none_waiting", "0 %"],
    ["native_none_truncated", "0 %"],
    ["native_none_copy", "3.8 %"],
  ]);
  const rest =
    measureGroups({ ...counted, native_complete: 100, native_none: 0 }).find(({ title }) =>
      title === QUALITY_TEXT.groups.native
    ).rows;
  assert.deepEqual(rest.map(({ key }) => key), ["native_complete", "native_none"]);
});

test("the verdict is in words: nothing yet, good, or what is wrong", () => {
  const verdictOf = (quality) => qualityVerdict(qualityValues(quality, { engine: "kernel" }));
  const good = { samples: 100, ticks: 100, missed_ticks: 0, requested_hz: 100, achieved_hz: 100, exact: 100, retried: 0,
    truncated: 0, failed: { gone: 0 } };
  assert.equal(verdictOf(good), QUALITY_TEXT.verdict.good);
  assert.equal(verdictOf({}), QUALITY_TEXT.verdict.none);
  assert.equal(verdictOf({ ...good, samples: 0 }), QUALITY_TEXT.verdict.none);
  assert.equal(verdictOf({ ...good, exact: 50, truncated: 50 }), QUALITY_TEXT.verdict.warned("50.0 % truncated"));
});
