import assert from "node:assert/strict";
import { test } from "node:test";
import { gzipSync } from "node:zlib";
import { addCellFacts, createAsked, threadsOfCells, viewOfCells } from "../../../web/model/profile/cells.js";
import { foldedStacks, stackText } from "../../../web/model/profile/folded.js";
import { applyTree, createProfile } from "../../../web/model/profile/profile.js";
import { keptRuns } from "../../../web/model/profile/runs.js";
import { createReportSource } from "../../../web/source/report.js";
import { createProgram } from "../support/made-up-program.mjs";

function recorded() {
  const program = createProgram({ threads: 5, now: () => 0 });
  program.advance(3);
  const report = program.report({});
  addCellFacts(report);
  return { program, report };
}

function open(text) {
  return new Promise((resolve) => {
    const seen = { deliveries: [] };
    seen.source = createReportSource(text, {
      onSession: (session) => (seen.session = session),
      onDelivery: (delivery) => seen.deliveries.push(delivery),
      onThreadStates: (threads) => (seen.threads = threads),
      onQuality: (quality) => (seen.quality = quality),
      onRuns: ({ runs }) => (seen.runs = runs),
      onSummary: (summary) => (seen.summary = summary),
      onConnection(connection) {
        seen.connection = connection;
        resolve(seen);
      },
    });
    seen.source.start();
  });
}

const encode = (value) => gzipSync(JSON.stringify(value)).toString("base64");

test("a report answers as the server did", () => {
  const { program, report } = recorded();
  for (const threads of [[], [1], [0, 3]]) {
    for (const [states, parts] of [[[], []], [["on_cpu"], []], [["!on_cpu", "~has_gil"], ["idle"]], [["unknown_on_cpu"],
      []], [["has_exception"], ["running"]], [[], ["blocked", "needs_gil"]]])
    {
      const { total, node, self } = viewOfCells(report, { threads, states, parts });
      const there = program.view({ threads, states, parts });
      assert.deepEqual({ total, node, self }, { total: there.total, node: there.node, self: there.self });
    }
  }
  const threads = threadsOfCells(report);
  assert.equal(threads.get(2).samples, program.view({ threads: [2] }).total);
  assert.equal(threads.get(2).parts[3], program.view({ threads: [2], parts: ["blocked"] }).total);
  assert.equal(threads.get(2).yes[1], program.view({ threads: [2], states: ["has_gil"] }).total);
});

test("a report's samples stand for the time that it says of each, else for what they do on average", () => {
  const { report } = recorded();
  const { total } = viewOfCells(report, { threads: [], states: [] });
  assert.ok(Number.isNaN(viewOfCells(report, { threads: [], states: [] }).seconds));
  report.selection = { samples: total, seconds: total / 50 };
  const some = viewOfCells(report, { threads: [1], states: [] });
  assert.ok(Math.abs(some.seconds - some.total / 50) < 1e-9);
  report.cells.ns = report.cells.count.map((count, i) => count * (report.cells.thread[i] === 1 ? 1e6 : 1e7));
  assert.ok(Math.abs(viewOfCells(report, { threads: [1], states: [] }).seconds - some.total / 1000) < 1e-9);
  assert.ok(
    Math.abs(
      viewOfCells(report, { threads: [2], states: [] }).seconds
        - viewOfCells(report, { threads: [2], states: [] }).total / 100,
    ) < 1e-9,
  );
});

test("an embedded report opens, hostile names and all", async () => {
  const { report } = recorded();
  const seen = await open(encode(report));
  assert.equal(seen.connection.state, "ok");
  assert.equal(seen.session.target.pid, 4711);
  assert.equal(seen.deliveries.length, 1);
  seen.source.ask({ threads: [1], states: ["has_gil"], parts: [] });
  assert.equal(seen.deliveries[1].view.total, viewOfCells(report, { threads: [1], states: ["has_gil"] }).total);
  assert.equal(seen.threads.size, 5);
  assert.ok(seen.quality.read_bytes > 0);
  assert.deepEqual(seen.source.downloads({ threads: [] }).map((item) => item.key), ["collapsed"]);
});

test("a report says which of the samples code of the JIT executed", async () => {
  const { report } = recorded();
  const { cells } = report;
  cells.state = cells.state.map((state, i) => (cells.thread[i] === 1 && state & 1 ? state | 128 : state));
  const { source, deliveries } = await open(encode(report));
  source.ask({ threads: [1], states: ["on_cpu"] });
  source.ask({ threads: [1], states: ["!on_cpu"] });
  assert.deepEqual(deliveries.slice(1).map(({ view }) => view.in_jit.total), [deliveries[1].view.total, 0]);
  assert.ok(deliveries[0].view.in_jit.total < deliveries[0].view.total && deliveries[1].view.total > 0);
});

test("data that cannot be read says so", async () => {
  for (const text of ["%%%", "aGVsbG8=", encode({ version: 99 })])
    assert.equal((await open(text)).connection.state, "unreadable", text);
});

test("folded stacks have one line a stack, counts last, most frequent first", () => {
  const { report } = recorded();
  const profile = createProfile();
  applyTree(profile, report.tree);
  const lines = foldedStacks(profile, report.cells, () => true).trimEnd().split("\n");
  const counts = lines.map((line) => Number(/ (\d+)$/.exec(line)[1]));
  assert.equal(counts.reduce((sum, count) => sum + count, 0), viewOfCells(report, { threads: [], states: [] }).total);
  assert.deepEqual(counts, counts.toSorted ? counts.toSorted((a, b) => b - a) : counts);
  for (const line of lines) assert.match(line, /^tid:\d+( [^;]+)?;/);
  const one = foldedStacks(profile, report.cells, createAsked(report, { threads: [0], states: [] }));
  assert.ok(one.split("\n").filter(Boolean).every((line) => /^tid:4711[ ;]/.test(line)));
  const held = foldedStacks(profile, report.cells, createAsked(report, { threads: [], states: ["has_gil"] })).trimEnd()
    .split("\n");
  assert.equal(held.reduce((sum, line) => sum + Number(/ (\d+)$/.exec(line)[1]), 0),
    viewOfCells(report, { threads: [], states: ["has_gil"] }).total);
});

test("a copied stack has a line a frame, with its place", () => {
  assert.equal(stackText([{ name: "a", place: "/x.py:3" }, { name: "<native>", place: "" }]),
    "a (/x.py:3)\n<native>\n");
});

test("a report answers with the runs that it keeps of a thread, and else with the sums of its slots", async () => {
  const { report } = recorded();
  report.runs = [{ threads: [1, 2], from: 0, to: 3, gap_us: [500, 0, 1000], length_us: [1500, 500, 250000],
    node: [3, 2, 3], state: [1, 0, 1], ordered: [1, 1, 0], runs: [1, 4, 1] }];
  const { source, ...seen } = await open(encode(report));
  assert.equal(keptRuns(report, [1]), null);
  assert.equal(keptRuns({}, [1, 2]), null);
  const { key, start, end, node, ordered } = keptRuns(report, [1, 2]);
  assert.deepEqual([key, Array.from(start), Array.from(end)], ["1,2", [0.0005, 0.002, 0.0035], [0.002, 0.0025,
    0.2535]]);
  assert.deepEqual([Array.from(node), Array.from(ordered)], [[3, 2, 3], [1, 1, 0]]);
  assert.equal(seen.runs, undefined);
});

test("a report has the summary of the whole of it", async () => {
  const { report } = recorded();
  const seen = await open(encode({ ...report, summary: { gc_share: 0.5 }, summary_markdown: "## all" }));
  seen.source.watch("summary", null);
  assert.equal(seen.summary, undefined);
  seen.source.watch("summary", { threads: [] });
  assert.deepEqual(seen.summary, { gc_share: 0.5, ofReport: true });
  assert.equal(await seen.source.summaryText(), "## all");
  seen.source.watch("runs", { ids: [0] });
  assert.ok(Array.from(seen.runs.ordered).every((one) => one === 0) && seen.runs.key === "0");
});
