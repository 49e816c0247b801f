// From a running Python program to what a person sees and does in the browser.

import assert from "node:assert/strict";
import { existsSync, mkdirSync, readdirSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { after, afterEach, before, test } from "node:test";
import { TEXT } from "../../web/text/session.js";
import { launchChromium, pause } from "../web/support/chromium.mjs";
import { ALL_PARTS, FRAMES, hook, openPage, SAMPLES, SHOWN } from "./page.mjs";
import { attach, endAll, FOLDER, PROGRAM, start, startVictim, VICTIM_SECONDS, WAIT_MS } from "./processes.mjs";

const REPORT_MAX_BYTES = 400 * 1024;
const HOSTILE = "</script><img src=x onerror=alert(1)>";
const downloads = join(FOLDER, "e2e-downloads");
let browser;

before(async () => {
  rmSync(downloads, { recursive: true, force: true });
  mkdirSync(downloads, { recursive: true });
  browser = await launchChromium({ width: 1280, height: 800 });
});
afterEach(endAll);
after(async () => {
  await endAll();
  await browser.close();
});

// The fragment of a page that shows waiting threads too.
const ALL = "#v=1" + ALL_PARTS;

async function live(path, words, options, page = {}) {
  const victim = await startVictim(path, ...words);
  const profiler = await attach(victim.pid, ...options);
  const shown = await openPage(browser, profiler.url + ALL, page);
  await shown.drawn();
  return { victim, profiler, page: shown };
}

const threads = () => live("tests/victims/threads.py", ["4", VICTIM_SECONDS], ["-a"]);

test("what threads work for is listed; a click keeps only that", async () => {
  const { page } = await live("tests/victims/contexts.py", ["threads", VICTIM_SECONDS], ["-a", "--context",
    "request_id", "--engine", "remote"]);
  const rows = "Array.from(document.querySelectorAll('[data-testid=context]'))";
  await page.until(rows + ".length >= 3");
  const names = await page.evaluate(rows + ".map((row) => row.querySelector('.hottest-name').textContent)");
  assert.deepEqual(names.toSorted(), ["not set", "seventy", "thirty"]);
  assert.deepEqual(
    (await page.names()).filter((name) => name.includes("<context") || name.includes("context request_id")),
    [],
  );
  await page.picture("contexts");
  await page.evaluate("(" + rows + ".find((row) => row.textContent.includes('thirty')).click(), 0)");
  await page.until(rows + ".length === 1 && " + rows + "[0].textContent.includes('thirty')");
  assert.match(await page.evaluate("decodeURIComponent(location.hash.replaceAll('+', ' '))"),
    /filter=focus context:\/\^request_id: thirty\$\//);
  await page.close();
});

test("a running program is alive in the browser; zoom survives updates", async () => {
  const { victim, profiler, page } = await threads();
  assert.equal(await page.text("status"), TEXT.status.running);
  assert.match(await page.text("command"), /threads\.py 4/);
  assert.match(await page.text("facts"), new RegExp("PID " + victim.pid + ".*Python 3\\.\\d+"));
  await page.until(page.frame("spin") + " !== undefined && " + page.frame("rest") + " !== undefined");
  await page.updates(3, async () => assert.ok(await page.has("spin")));
  await page.clickFrame("spin");
  await page.until(hook("breadcrumb") + ".textContent.includes('spin')");
  const width = await page.width("spin");
  assert.ok(width > 600, String(width));
  const link = await page.evaluate("location.hash");
  await page.updates(4, async () => {
    assert.equal(await page.width("spin"), width);
    assert.match(await page.text("breadcrumb"), /spin/);
    assert.equal(await page.evaluate("location.hash"), link);
  });
  assert.equal(await page.text("details-name"), "spin");
  assert.match(await page.text("details-place"), /threads\.py:22$/);
  await page.press("zoom-reset");
  await page.until("!" + hook("breadcrumb") + ".textContent.includes('spin')");
  assert.ok((await page.width("spin")) < width);
  await page.assertInnocent(profiler.origin);
  await page.close();
});

test("search says how much matches and marks it", async () => {
  const { profiler, page } = await threads();
  await page.until(page.frame("spin") + " !== undefined");
  await page.search("spin");
  // Two of five threads spin. In the first moments, those that wait are not known yet.
  await page.until("(share => share > 25 && share < 55)(parseFloat(" + hook("matched") + ".textContent))");
  const share = parseFloat(await page.text("matched"));
  assert.equal(
    await page.evaluate(
      FRAMES + ".filter((g) => g.classList.contains('match')).every((g) => g.getAttribute('name').startsWith('spin'))",
    ),
    true,
  );
  assert.ok(await page.evaluate(FRAMES + ".some((g) => g.classList.contains('match'))"));
  await page.updates(3, async () => {
    assert.ok(await page.evaluate(FRAMES + ".some((g) => g.classList.contains('match'))"));
    assert.equal(await page.evaluate(hook("search") + ".value"), "spin");
  });
  await page.search("/^(spin|rest) /");
  await page.until("parseFloat(" + hook("matched") + ".textContent) > " + (share + 15));
  await page.search("no such function");
  await page.until("parseFloat(" + hook("matched") + ".textContent) === 0");
  await page.assertInnocent(profiler.origin);
  await page.close();
});

test("one thread alone, and what is running on top", async () => {
  const { profiler, page } = await threads();
  await page.press("threads");
  await page.until("document.querySelectorAll('[data-testid=thread]').length === 5");
  const rows = await page.evaluate(
    "Array.from(document.querySelectorAll('[data-testid=thread]'), (row) => [row.querySelector('.name').textContent, row.dataset.tid])",
  );
  const tid = new Map(rows);
  assert.deepEqual(Array.from(tid.keys()).sort(), ["MainThread", "worker-0", "worker-1", "worker-2", "worker-3"]);
  await page.evaluate("document.querySelector('[data-tid=\"" + tid.get("worker-1") + "\"] input').click()");
  await page.until("!" + page.frame("spin") + " && " + page.frame("rest") + " !== undefined");
  await page.until(hook("threads") + ".textContent === 'worker-1'");
  await page.updates(3, async () => assert.ok(!(await page.has("spin")) && !(await page.has("main"))));
  assert.ok((await page.evaluate(SHOWN)) < (await page.samples()) / 3);
  await page.press("threads-all");
  await page.until(page.frame("spin") + " !== undefined");
  // Inverted, the functions that run stand at the root and their callers further out. Any of them may be seen running itself.
  const tops = (most, name) =>
    "Math." + most + "(..." + FRAMES + ".filter((g) => g.getAttribute('name').startsWith('" + name
    + "')).map((g) => g.getBoundingClientRect().top))";
  const both = FRAMES + ".some((g) => g.getAttribute('name').startsWith('spin')) && ";
  await page.choose("direction", "up");
  await page.until(
    "location.hash.includes('bottom-up') && " + both + tops("min", "spin") + " < " + tops("max", "Thread.run"),
  );
  await page.choose("direction", "down");
  await page.until(
    "!location.hash.includes('bottom-up') && " + both + tops("max", "spin") + " > " + tops("min", "Thread.run"),
  );
  await page.assertInnocent(profiler.origin);
  await page.close();
});

test("the picture is held and let go", async () => {
  const { profiler, page } = await threads();
  await page.press("pause");
  await page.until(hook("status") + ".dataset.status === 'view paused'");
  const held = await page.evaluate(SHOWN);
  await page.until(hook("status") + ".textContent.includes(' new ')");
  assert.equal(await page.evaluate(SHOWN), held);
  assert.ok((await profiler.session()).quality.samples > held);
  await page.press("pause");
  await page.until(SHOWN + " > " + held);
  await page.until(hook("status") + ".dataset.status === 'running'");
  await page.assertInnocent(profiler.origin);
  await page.close();
});

test("light and dark, graph and table, of a lively program", async () => {
  const { profiler, page } = await live("scripts/demo.py", [VICTIM_SECONDS], ["-a"]);
  const background = () => page.evaluate("getComputedStyle(document.documentElement).backgroundColor");
  await page.until(SAMPLES + " > 8000");
  await page.picture("flame-light");
  const light = await background();
  await page.dark(true);
  await page.until("getComputedStyle(document.documentElement).backgroundColor !== '" + light + "'");
  await page.picture("flame-dark");
  const dark = await background();
  // The button wins over the system: light, dark, system.
  await page.press("theme");
  await page.until("document.documentElement.dataset.theme === 'light'");
  assert.equal(await background(), light);
  await page.press("theme");
  await page.until("document.documentElement.dataset.theme === 'dark'");
  assert.equal(await background(), dark);
  await page.clickFrame("pipeline");
  await page.until(hook("breadcrumb") + ".textContent.includes('pipeline')");
  await page.search("order");
  await page.picture("zoomed-dark");
  await page.press("theme");
  await page.dark(false);
  await page.picture("zoomed-light");
  await page.press("zoom-reset");
  await page.evaluate(
    "(" + hook("search") + ".value = '', " + hook("search") + ".dispatchEvent(new Event('input')), 0)",
  );
  await page.press("threads");
  await page.until(
    "document.querySelectorAll('[data-testid=thread] .share').length === 6 && document.querySelector('[data-testid=thread] .share').textContent.endsWith('%')",
  );
  await page.picture("threads-light");
  await page.press("threads");
  await page.choose("direction", "up");
  await page.until("location.hash.includes('bottom-up')");
  await page.until(FRAMES + ".length > 10");
  await page.picture("bottom-up-light");
  await page.choose("direction", "down");
  await page.choose("view", "table");
  await page.until("document.querySelectorAll('tbody tr').length > 15");
  // Rows that are not in view follow.
  for (const name of ["fibonacci", "hanoi", "Parser.encode", "<module>"])
    await page.until(
      "Array.from(document.querySelectorAll('.row-name'), (row) => row.textContent).includes('" + name + "')",
    );
  const shares = await page.evaluate(
    "Array.from(document.querySelectorAll('tbody tr'), (row) => Array.from(row.querySelectorAll('.share'), (cell) => parseFloat(cell.textContent)))",
  );
  for (const [own, total] of shares) assert.ok(own >= 0 && own <= total && total <= 100, own + " of " + total);
  await page.picture("table-light");
  await page.dark(true);
  await page.picture("table-dark");
  await page.assertInnocent(profiler.origin);
  await page.close();
});

// A live picture may move before the click, which meets a neighbour then.
async function zoomTo(page, name) {
  for (let tries = 0; tries < 10; tries += 1) {
    await page.clickFrame(name);
    await page.updates(1, () => {});
    if ((await page.text("breadcrumb")).includes(name)) return;
    await page.press("zoom-reset");
  }
  assert.fail("no click met " + name);
}

async function assertInert(page, title) {
  assert.equal(await page.evaluate("document.querySelectorAll('img, b, iframe, object, embed').length"), 0);
  assert.equal(await page.evaluate("document.querySelectorAll('script[src]').length"), 0);
  assert.equal(await page.evaluate("document.title"), title);
}

test("names of a hostile program are text, on the page and in its report", async () => {
  const { profiler, page } = await live("tests/victims/hostile.py", [VICTIM_SECONDS], ["-a"]);
  const scripts = await page.evaluate("document.scripts.length");
  await page.until(page.frame(HOSTILE) + " !== undefined");
  assert.match(await page.evaluate("document.title"), /hostile\.py/);
  const title = await page.evaluate("document.title");
  await zoomTo(page, HOSTILE);
  await page.until(hook("details-name") + ".textContent === " + JSON.stringify(HOSTILE));
  await page.updates(2, async () => assert.match(await page.text("breadcrumb"), /<\/script><img/));
  await page.press("threads");
  await page.until(
    "Array.from(document.querySelectorAll('[data-testid=thread] .name')).some((name) => name.textContent.startsWith('</script>'))",
  );
  await page.picture("hostile-light");
  await page.press("threads");
  await page.press("zoom-reset");
  for (const name of ["__proto__", "constructor", "<b>&amp;\"'`", "(unnamed)", "right\\u202eleft", "nul\\u0000inside",
    "../../etc/passwd"])
  {
    await page.until(FRAMES + ".some((g) => g.getAttribute('name').includes(" + JSON.stringify(name) + "))");
  }
  assert.ok((await page.names()).every((name) => name.length < 600));
  assert.equal(await page.evaluate("document.scripts.length"), scripts);
  await assertInert(page, title);
  const path = await download(page, "report");
  await page.assertInnocent(profiler.origin);
  await page.close();

  const report = await openReport(path);
  await report.until(report.frame(HOSTILE) + " !== undefined");
  await report.choose("view", "table");
  await report.until("document.querySelectorAll('tbody tr').length > 10");
  await assertInert(report, await report.evaluate("document.title"));
  assert.doesNotMatch(await report.evaluate("document.title"), /^●/);
  await report.assertInnocent(null);
  await report.close();
});

// Presses the item of the menu; the path of the file that arrives.
async function download(page, key) {
  const before = new Set(readdirSync(downloads));
  await page.call("Page.setDownloadBehavior", { behavior: "allow", downloadPath: downloads });
  await page.press("download");
  await page.evaluate("(" + hook("download-others") + ".open = true, 0)");
  await page.press("download-" + key);
  const deadline = Date.now() + WAIT_MS;
  for (;;) {
    const found = readdirSync(downloads).find((name) => !before.has(name) && !name.endsWith(".crdownload"));
    if (found !== undefined) return join(downloads, found);
    assert.ok(Date.now() < deadline, "no file arrived: " + readdirSync(downloads));
    await pause(100);
  }
}

// A report, as it is opened from a disk by somebody without network.
async function openReport(path, options = {}) {
  const report = await openPage(browser, "file://" + path + ALL, options);
  await report.drawn();
  assert.match(await report.text("status"), /^Report of /);
  return report;
}

test("a report holds what the page held, without a server", async () => {
  const { victim, profiler, page } = await threads();
  await page.until(SAMPLES + " > 3000");
  await victim.end();
  await page.until(hook("status") + ".dataset.status === 'ended'");
  const samples = (await profiler.session()).quality.samples;
  await page.until(SHOWN + " === " + samples);
  const names = await page.names();
  const path = await download(page, "report");
  assert.match(path, /\.html$/);
  const folded = await download(page, "collapsed");
  assert.ok(existsSync(folded));
  assert.ok(statSync(path).size <= REPORT_MAX_BYTES, statSync(path).size + " bytes");
  await page.assertInnocent(profiler.origin);
  await page.close();
  await profiler.end("SIGINT");
  assert.equal(profiler.code, 0);

  const report = await openReport(path);
  assert.equal(await report.evaluate(SHOWN), samples);
  assert.deepEqual((await report.names()).sort(), names.sort());
  assert.match(await report.text("command"), /threads\.py/);
  await report.until(hook("summary") + "?.textContent.includes('GIL')");
  await report.clickFrame("spin");
  await report.until(hook("breadcrumb") + ".textContent.includes('spin')");
  await report.press("zoom-reset");
  await report.press("threads");
  await report.until("document.querySelectorAll('[data-testid=thread]').length === 5");
  await report.evaluate(
    "Array.from(document.querySelectorAll('[data-testid=thread]')).find((row) => row.querySelector('.name').textContent === 'worker-0').querySelector('input').click()",
  );
  await report.until("!" + report.frame("rest"));
  await report.press("threads");
  await report.picture("report-light");
  await report.choose("view", "source");
  await report.until(
    "Array.from(document.querySelectorAll('.line-code')).some((line) => line.textContent.startsWith('def spin'))",
  );
  await report.choose("view", "stacks");
  await report.until(
    hook("stacks") + ".getBoundingClientRect().width > 10 && " + hook("stacks-note") + ".textContent === ''",
  );
  await report.choose("view", "heatmap");
  await report.until(hook("heatmap") + ".getBoundingClientRect().width > 10");
  await report.choose("view", "gil");
  await report.until(hook("gil") + ".getBoundingClientRect().height > 50");
  await report.assertInnocent(null);
  await report.close();
});

test("what record writes opens too", async () => {
  const victim = await startVictim("scripts/demo.py", VICTIM_SECONDS);
  const path = join(FOLDER, "e2e-recorded.html");
  const recording = start([PROGRAM, "record", "-a", "-d", "2", "--flamegraph", "-o", path, String(victim.pid)]);
  assert.equal(await recording.ended, 0, recording.err);
  const samples = Number(/captured (\d+) samples/.exec(recording.err)[1]);
  const report = await openReport(path, { dark: true });
  assert.equal(await report.evaluate(SHOWN), samples);
  assert.equal(await report.samples(), samples);
  assert.ok(await report.has("fibonacci"));
  await report.picture("report-dark");
  await report.assertInnocent(null);
  await report.close();
});

test("the target ends: the page says so and goes on working", async () => {
  const { victim, profiler, page } = await threads();
  await page.until(page.frame("spin") + " !== undefined");
  await victim.end("SIGTERM");
  await page.until(hook("status") + ".textContent === " + JSON.stringify(TEXT.status.ended("the target exited")));
  const samples = (await profiler.session()).quality.samples;
  await page.until(SHOWN + " === " + samples);
  await page.clickFrame("spin");
  await page.until(hook("breadcrumb") + ".textContent.includes('spin')");
  await page.picture("ended-light");
  await page.evaluate("(globalThis.leaving = true, location.reload(), 0)");
  await page.until(
    "globalThis.leaving === undefined && " + FRAMES + ".length > 2 && " + hook("breadcrumb")
      + ".textContent.includes('spin')",
  );
  await page.assertInnocent(profiler.origin);
  await page.close();
});

test("the profiler is killed: the page says so and keeps what it has", async () => {
  const { victim, profiler, page } = await threads();
  await page.until(page.frame("spin") + " !== undefined");
  await profiler.end("SIGKILL");
  await page.until(hook("banner-text") + ".textContent.includes('does not answer')");
  assert.equal(await page.evaluate(hook("status") + ".dataset.status"), "lost");
  assert.ok(await page.has("spin"));
  await page.clickFrame("spin");
  await page.until(hook("breadcrumb") + ".textContent.includes('spin')");
  await page.picture("lost-light");
  assert.equal(victim.code, undefined);
  assert.deepEqual(await page.evaluate("misdeeds"), []);
  await page.close();
});

test("without the token there is a page that says what to do", async () => {
  const victim = await startVictim("tests/victims/chain.py", VICTIM_SECONDS);
  const profiler = await attach(victim.pid);
  const page = await openPage(browser, profiler.origin + "/");
  await page.until("document.body.textContent.includes('token')");
  assert.equal(await page.evaluate(FRAMES + ".length"), 0);
  // It has a style of its own, which its policy allows.
  assert.equal(await page.evaluate("getComputedStyle(document.body).display"), "grid");
  assert.ok(!page.said.some((line) => line.includes("Security Policy")), page.said.join());
  await page.picture("no-token-light");
  await page.close();
});
