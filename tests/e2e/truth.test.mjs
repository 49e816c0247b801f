// The first screen is true: programs that people profile count for themselves where their time goes, on an idle machine and beside two
// busy loops. It says what they counted without a click, and the page, the API, the summary and pprof say the same numbers.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdirSync, rmSync } from "node:fs";
import { basename, join } from "node:path";
import { after, afterEach, before, test } from "node:test";
import { formatShare } from "../../web/model/base/numbers.js";
import { NEEDS_GIL, PARTS } from "../../web/model/profile/parts.js";
import { TEXT } from "../../web/text/session.js";
import { launchChromium } from "../web/support/chromium.mjs";
import { hook, openPage, SAMPLES } from "./page.mjs";
import { samplesByLabel } from "./pprof.mjs";
import { endAll, FOLDER, PROGRAM, start } from "./processes.mjs";
import { answerLine, observe, PROGRAMS } from "./programs.mjs";

const SECONDS = 4;
const LOOPS = 2;
// Profiles may differ from the truth by NEAR beside chance; chance is up to so many standard deviations.
const NEAR = 0.03;
const DEVIATIONS = 4;
const TENTH = 0.1;
// The share of the time after which the profiler must be there.
const LATE = 0.2;
const captures = join(FOLDER, "e2e-truth");
const rows = (id) => "Array.from(document.querySelectorAll('[data-testid=" + id + "]'), (row) => ({ path: row.dataset.path, line: Number(row.dataset.line), share: row.querySelector('.share').textContent, name: row.querySelector('.own-name').textContent, bottom: row.getBoundingClientRect().bottom }))";
const BAR = "Array.from(document.querySelectorAll('[data-testid=part] .chip-share'), (share) => share.textContent)";
const HOTTEST = "Array.from(document.querySelectorAll('[data-testid=hottest] .hottest-name bdi'), (name) => name.textContent)";
let browser;

before(async () => {
  rmSync(captures, { recursive: true, force: true });
  mkdirSync(captures, { recursive: true });
  browser = await launchChromium({ width: 1440, height: 900 });
});
afterEach(endAll);
after(async () => {
  await endAll();
  await browser.close();
});

const sum = (numbers) => numbers.reduce((all, one) => all + one, 0);

// besides: what else may differ, for a cause that is known.
function assertNear(share, truth, samples, what, besides = 0) {
  const chance = DEVIATIONS * Math.sqrt(Math.max(truth * (1 - truth), 1 / samples) / samples);
  assert.ok(Math.abs(share - truth) <= NEAR + chance + besides, what + ": " + formatShare(share) + " of " + samples + " samples, the program says " + formatShare(truth));
}

// Everything that has the five parts says the same.
async function assertSameParts(profiler, summary, said) {
  const shares = PARTS.map((part) => summary.parts[part]);
  assert.ok(Math.abs(sum(shares) - 1) < 1e-3, JSON.stringify(summary.parts));
  const unknown = said.bar[NEEDS_GIL] === TEXT.states.unknown;
  assert.deepEqual(said.bar.toSpliced(NEEDS_GIL, unknown), shares.map(formatShare).toSpliced(NEEDS_GIL, unknown), "the bar");
  assert.equal(said.panel, PARTS.map((part, i) => said.bar[i] + " " + TEXT.parts[part][0]).join(", ") + ".", "the panel");
  const counted = samplesByLabel(new Uint8Array(await (await profiler.ask("/sessions/1/export?format=pprof")).arrayBuffer()), "part");
  const samples = sum(PARTS.map((part) => counted[part] ?? 0));
  PARTS.forEach((part, i) => assert.ok(Math.abs((counted[part] ?? 0) / samples - shares[i]) < 1e-3, "pprof: " + JSON.stringify(counted)));
  const { all } = await (await profiler.ask("/sessions/1/threads")).json();
  PARTS.forEach((part, i) => assert.ok(Math.abs(all.parts[part] / sum(Object.values(all.parts)) - shares[i]) < 1e-3, "threads: " + JSON.stringify(all.parts)));
}

// Lines with as many samples have no order, so of places only the first is compared. The page leaves out the smallest shares.
function assertSameRows(shown, listed, what) {
  assert.equal(shown.length > 0, listed.length > 0, what);
  assert.deepEqual(shown.map(({ share }) => share), listed.slice(0, shown.length).map(({ share }) => formatShare(share)), what);
  if (shown.length > 0 && shown[0].share !== shown[1]?.share) assert.deepEqual([basename(shown[0].path), shown[0].line], [basename(listed[0].file), listed[0].line], what);
}

// The headline may leave out a share of less than a tenth, if that follows something else.
function assertNamed(program, { share }, { headline }) {
  assert.ok(share < TENTH || headline.includes(":" + answerLine(program)), headline);
}

// Checks that the summary and the page say what the program says of itself.
const CHECKS = {
  running(program, truth, summary, said) {
    const [first] = summary.hot.lines;
    assert.equal(first.line, answerLine(program), JSON.stringify(summary.hot.lines));
    assertNamed(program, first, summary);
    assertNear(first.samples / summary.hot.samples, truth.line / truth.processor, summary.hot.samples, "the line");
    if (truth.waited) assertNear(summary.waiting.share / (1 - summary.idle.share), truth.waited / (truth.waited + truth.processor), summary.observed.samples, "waits");
    assert.equal(said.running[0].line, answerLine(program));
    assert.ok(said.running[0].bottom <= 900, "below the first screen");
  },
  async compiled(program, truth, summary, said, profiler) {
    const whole = await (await profiler.ask("/sessions/1/summary?native=all")).json();
    const row = whole.hot.functions.find(({ name }) => name.endsWith("." + program.name));
    assert.ok(row !== undefined, JSON.stringify(whole.hot.functions));
    assert.ok(summary.headline.includes(row.name), summary.headline);
    assert.ok(said.hottest.includes(row.name), said.hottest.join());
    assertNear(row.total_samples / summary.hot.samples, truth.line / truth.processor, summary.hot.samples, "the function");
  },
  waiting(program, truth, summary, said) {
    const lines = summary.waiting.lines.filter(({ name }) => name.endsWith(program.name));
    assertNamed(program, lines[0], summary);
    assertNear(sum(lines.map((line) => line.samples)) / summary.waiting.samples, truth.line / truth.all, summary.waiting.samples, "the line");
    assertNear(summary.waiting.share / (1 - summary.idle.share), truth.all / truth.seconds, summary.observed.samples, "waits");
    assert.equal(said.waiting[0].line, answerLine(program));
  },
  tasks(program, truth, summary, said) {
    const lines = summary.tasks.lines.filter(({ name }) => name.endsWith(program.name));
    const samples = sum(lines.map((line) => line.samples));
    assert.equal(lines[0].line, answerLine(program), JSON.stringify(lines));
    assertNamed(program, lines[0], summary);
    assert.equal(said.tasks[0].line, answerLine(program));
    assertNear(lines[0].samples / samples, truth.line / truth.all, samples, "the line");
  },
};

for (const program of PROGRAMS) {
  for (const loops of [0, LOOPS]) {
    test(program.title + (loops > 0 ? ", beside busy loops" : ""), async (context) => {
      for (let i = 0; i < loops; i += 1) start(["sh", "-c", "while :; do :; done"]);
      const capture = join(captures, program.title.replaceAll(" ", "-") + "-" + loops + ".pyro");
      const { truth, profiler, late } = await observe(program, SECONDS, capture);
      if (profiler === undefined || late > LATE * truth.seconds) return context.skip("the machine is so busy that the profiler came late");
      const summary = await (await profiler.ask("/sessions/1/summary")).json();
      const page = await openPage(browser, profiler.url);
      await page.until(hook("quality-samples") + " !== null && " + SAMPLES + " > 0 && " + hook("headline") + ".textContent !== '' && " + hook("summary") + " !== null && " + BAR + ".every((share) => share !== '')");
      const said = await page.evaluate("({ headline: " + hook("headline") + ".textContent, bar: " + BAR + ", panel: " + hook("summary") + ".querySelector('dd').textContent.replaceAll('\\u00a0', ' '), running: " + rows("own-line") + ", waiting: " + rows("own-wait") + ", tasks: " + rows("own-task") + ", hottest: " + HOTTEST + " })");
      await page.picture("truth-" + basename(capture, ".pyro"));
      await page.assertInnocent(profiler.origin);
      await page.close();
      const about = JSON.stringify({ truth, said, parts: summary.parts, seconds: summary.hot.seconds });
      context.diagnostic(about);
      assert.equal(said.headline, summary.headline.replaceAll("`", ""), "the page");
      await assertSameParts(profiler, summary, said);
      assertSameRows(said.running, summary.hot.lines, "what runs");
      assertSameRows(said.waiting, summary.waiting.lines, "what waits");
      const rate = summary.hot.seconds / summary.observed.duration_s;
      assertNear(rate / Math.max(1, rate), truth.processor / truth.seconds / Math.max(1, rate), summary.observed.duration_s * summary.observed.requested_hz, "processors", late / truth.seconds);
      await CHECKS[program.kind](program, truth, summary, said, profiler);
      // The capture is whole when its writer has ended.
      await profiler.end("SIGINT");
      const { stdout: text } = spawnSync(PROGRAM, ["replay", capture, "--summary", "-o", "-"], { encoding: "utf8" });
      assert.equal(text.split("\n")[0], summary.headline, "--summary");
      const shares = PARTS.map((part) => (100 * summary.parts[part]).toFixed(1) + " % " + TEXT.parts[part][0]);
      assert.equal(/^Time: (.*), of [\d.]+ s of threads\.$/m.exec(text)[1], shares.join(", "), "--summary");
    });
  }
}
