// Reports in a real browser.
//
//   node pages.mjs heatmap FILE | diff FILE | speedscope RELEASE_FOLDER FILE ROW...
//
// Exit code: 0 passed, 1 failed, 77 skipped with a line that says what is missing.

import assert from "node:assert/strict";
import { createReadStream, existsSync } from "node:fs";
import { createServer } from "node:http";
import { basename, join } from "node:path";
import { pathToFileURL } from "node:url";
import { PARTS } from "../../web/model/profile/parts.js";
import { findChromium, launchChromium } from "../web/support/chromium.mjs";

const SHOTS = process.env.PYROMETER_TEST_DIR;

async function shoot(page, name) {
  if (SHOTS) await page.shot(join(SHOTS, name + ".png"));
}

const ALL_PARTS = "&parts=" + PARTS.join() + "&open=all";
const byId = (id) => "document.querySelector('[data-testid=\"" + id + "\"]')";
const textsOf = (selector) =>
  "Array.from(document.querySelectorAll(" + JSON.stringify(selector) + "), (e) => e.textContent)";
const pressed = (group) => "document.querySelector('[data-testid=" + group + "] [aria-pressed=true]')?.dataset.value";
const GROUND = "getComputedStyle(document.documentElement).backgroundColor";

// The page at the view at which it opens; nothing was loaded, nothing was said, and no name has become HTML.
// With the samples of all parts of time, which the numbers below are about.
async function openAt(browser, file, view, options = {}) {
  const page = await browser.open(pathToFileURL(file).href + "#v=1&view=" + view + ALL_PARTS, options);
  await page.until(pressed("view") + " === " + JSON.stringify(view));
  return page;
}

async function expectHarmless(page) {
  assert.equal(await page.evaluate("document.querySelectorAll('img, iframe, object, main b').length"), 0);
  assert.equal(await page.evaluate("performance.getEntriesByType('resource').length"), 0);
  assert.deepEqual(page.said, []);
}

// The rows of one part of the index, as [name, self, total].
const rowsOf = (part) =>
  "Array.from(Array.from(" + byId("source-files")
  + ".querySelectorAll('details')).find((e) => e.firstChild.textContent === " + JSON.stringify(part)
  + ").querySelectorAll('.source-file'), (row) => [row.title.split('\\n')[0], ...Array.from(row.querySelectorAll('.share'), (e) => e.textContent)])";
const pressRow = (title) =>
  "Array.from(document.querySelectorAll('.source-file')).find((row) => row.title?.startsWith("
  + JSON.stringify(title + "\n") + ")).click()";

// The callers and callees of what is called so, once they are those that are shown.
const aboutOf = (title) =>
  byId("source-about") + ".textContent.startsWith(" + JSON.stringify(title) + ") && " + byId("source-about")
  + ".textContent";

async function testHeatmap(browser, file) {
  const page = await openAt(browser, file, "source");
  await page.until("document.querySelectorAll('.source-file').length > 5");

  // The index has every file by where its code comes from, and what is not Python.
  assert.deepEqual(await page.evaluate(rowsOf("Project")), [["/srv/app.py", "40.0 %", "82.0 %"], ["/srv/lib/tree.py",
    "24.0 %", "24.0 %"], ["/srv/view.py", "18.0 %", "18.0 %"], ["/srv/semi;colon:.py", "10.0 %", "10.0 %"], [
    "/srv/</script><b>.py",
    "0 %",
    "10.0 %",
  ]]);
  assert.deepEqual(await page.evaluate(rowsOf("Standard library")), [["/usr/lib/python3.11/threading.py", "0 %",
    "10.0 %"], ["<frozen importlib._bootstrap>", "0 %", "3.0 %"]]);
  assert.deepEqual(await page.evaluate(rowsOf("Packages")), [["/usr/lib/python3/dist-packages/six.py", "3.0 %",
    "3.0 %"]]);
  assert.deepEqual(await page.evaluate(rowsOf("No source file")), [["<native> re.match", "10.0 %", "10.0 %"], ["<GC>",
    "6.0 %", "6.0 %"]]);
  const top = await page.evaluate(rowsOf("Hottest lines"));
  assert.deepEqual([top[0], top.length], [["/srv/app.py", "30.0 %", "30.0 %"], 8]);

  // It opens at the hottest file: its sums, its functions, its lines.
  assert.equal(await page.evaluate(byId("source-path") + ".textContent"), "/srv/app.py");
  assert.equal(await page.evaluate(byId("source-sums") + ".textContent"),
    "40.0 % self (400), 82.0 % total (820) of 1,000 samples.");
  const outline = "Array.from(" + byId("source-outline")
    + ".querySelectorAll('tbody tr'), (row) => Array.from(row.cells, (cell) => cell.textContent))";
  assert.deepEqual(await page.evaluate(outline), [["main", "0 %", "82.0 %"], ["parse", "40.0 %", "40.0 %"]]);
  const line = (number) =>
    "Array.from(document.querySelector('.line[data-line=\"" + number + "\"]').children, (e) => e.textContent)";
  assert.deepEqual((await page.evaluate(line(22))).slice(0, 3), ["22", "30.0 %", "30.0 %"]);
  assert.deepEqual((await page.evaluate(line(14))).slice(0, 3), ["14", "", "40.0 %"]);
  assert.equal(await page.evaluate("document.querySelector('.line[data-line=\"22\"] .line-self').title"),
    "300 samples self, 300 samples in total");
  assert.match(await page.evaluate(byId("source-note") + ".textContent"),
    /^Source not available: this report was written without it\./);
  await expectHarmless(page);
  await shoot(page, "heatmap-light");

  // A line has its callees and instructions, a function its callers, recursion too.
  await page.evaluate("document.querySelector('.line[data-line=\"22\"]').click()");
  assert.match(
    await page.until(
      byId("source-instructions") + "?.textContent.includes('LOAD_ATTR') && " + byId("source-instructions")
        + ".textContent",
    ),
    /LOAD_ATTR_SLOT specialized from LOAD_ATTR.*RETURN_VALUE/,
  );
  await page.evaluate("document.querySelector('.line[data-line=\"23\"]').click()");
  assert.match(await page.until(aboutOf("Line 23:")),
    /Line 23: 10\.0 % self \(100\), 10\.0 % total \(100\), 100 in C code.*Callsre\.match 10\.0 %/);
  await page.evaluate(
    "Array.from(" + byId("source-outline")
      + ".querySelectorAll('button')).find((e) => e.textContent === 'parse').click()",
  );
  assert.match(await page.until(aboutOf("parse:")),
    /parse: 40\.0 % self \(400\).*Called frommain {2}srv\/app\.py:14 40\.0 %/);
  await page.evaluate(pressRow("/srv/lib/tree.py"));
  await page.until(byId("source-path") + ".textContent === '/srv/lib/tree.py'");
  await page.evaluate(
    "Array.from(" + byId("source-outline")
      + ".querySelectorAll('button')).find((e) => e.textContent === 'Tree.walk').click()",
  );
  assert.match(await page.until(aboutOf("Tree.walk:")),
    /Called frommain {2}srv\/app\.py:15 24\.0 %Tree\.walk {2}lib\/tree\.py:9 18\.0 %/);

  // Only lines with samples; the theme.
  assert.equal(await page.evaluate("document.querySelectorAll('.line:not([data-heat])').length > 0"), true);
  await page.evaluate(byId("source-hot-only") + ".click()");
  await page.until(
    "document.querySelectorAll('.line:not([data-heat])').length === 0 && document.querySelectorAll('.line').length > 1",
  );
  const light = await page.evaluate(GROUND);

  // An address says more than the report: it opens at the flame graph where it was left.
  await page.evaluate("document.querySelector('[data-testid=view] [data-value=flame]').click()");
  await page.until("document.querySelectorAll('[data-testid=flame] g.frame').length > 5");
  const left = await page.evaluate("location.href");
  await expectHarmless(page);
  await page.close();
  const again = await browser.open(left);
  await again.until(pressed("view") + " === 'flame'");
  await again.close();
  const dark = await openAt(browser, file, "source", { dark: true });
  await dark.until("document.querySelectorAll('.line').length > 3");
  assert.notEqual(await dark.evaluate(GROUND), light);
  await shoot(dark, "heatmap-dark");
  await dark.close();
}

const frameOf = (name) =>
  "Array.from(document.querySelectorAll('[data-testid=diff-flame] g.frame')).find((g) => g.getAttribute('name').replace(/^[+−↑↓] /, '').startsWith("
  + JSON.stringify(name + "  ") + "))";
const styleOf = (name) => "(" + frameOf(name) + "?.getAttribute('class') ?? 'none')";
const choose = (group, value) =>
  "document.querySelector('[data-testid=" + group + "] [data-value=" + value + "]').click()";

// The text of a frame's tip.
async function tipOf(page, name) {
  const [x, y] = await page.evaluate(
    "(() => { const r = " + frameOf(name)
      + ".querySelector('rect').getBoundingClientRect(); return [r.x + r.width / 2, r.y + r.height / 2]; })()",
  );
  await page.point(x, y);
  return page.until("!" + byId("diff-tip") + ".hidden && " + byId("diff-tip") + ".textContent");
}

async function testDiff(browser, file) {
  const page = await openAt(browser, file, "diff");
  await page.until("document.querySelectorAll('[data-testid=diff-flame] g.frame').length > 5");
  assert.match(await page.evaluate(byId("diff-baseline") + ".textContent"),
    /^1,000 samples in 6\.00 s of process 4711: /);
  assert.match(await page.evaluate(byId("diff-current") + ".textContent"),
    /^1,502 samples in 15\.0 s of process 4800: /);
  assert.match(await page.evaluate(styleOf("parse")), /more-3/);
  assert.match(await page.evaluate(styleOf("render")), /less-3/);
  assert.match(await page.evaluate(styleOf("cache.<locals>.get")), /more-3/);
  assert.match(await page.evaluate(styleOf("log")), /less-3/);
  assert.match(await tipOf(page, "Tree.walk"),
    /Total: 24\.0 % \(240\) → 28\.0 % \(420\), \+4\.0 pp ± 4\.0, more, q 0\.\d+Self: 0 % \(0\) → 0 % \(0\), 0 pp, too few samples$/);
  await expectHarmless(page);
  await shoot(page, "diff-light");

  // Widths: what is gone has none in the current profile, what is new none in the baseline.
  await page.evaluate(choose("diff-width", "current"));
  await page.until(styleOf("log") + " === 'none'");
  assert.match(await page.evaluate(styleOf("cache.<locals>.get")), /more-3/);
  await page.evaluate(choose("diff-width", "baseline"));
  assert.match(await page.until(styleOf("log") + " !== 'none' && " + styleOf("log")), /less-3/);
  assert.equal(await page.evaluate(styleOf("cache.<locals>.get")), "none");
  assert.match(await page.evaluate(styleOf("</script><img src=x onerror=alert(1)>")), /less-3/);
  const share = "(() => { const of = (g) => g.querySelector('rect').getBoundingClientRect().width; return of("
    + frameOf("parse") + ") / of(document.querySelector('[data-testid=diff-flame] g.frame')); })()";
  assert.ok(Math.abs((await page.evaluate(share)) - 0.4) < 0.02);

  // By self samples only what runs itself has a colour; functions by change of their self samples.
  await page.evaluate(choose("diff-by", "self"));
  await page.until("!/more|less/.test(" + styleOf("Thread.run") + ")");
  assert.match(await page.evaluate(styleOf("parse")), /more-3/);
  const rows = await page.evaluate(
    "Array.from(document.querySelectorAll('[data-testid=diff-table] tbody tr'), (row) => [row.dataset.verdict, row.querySelector('button').textContent, row.cells[1].textContent, row.cells[2].textContent, row.cells[3].textContent])",
  );
  assert.deepEqual(rows[0], ["more", "parse", "+29.9 pp ± 5.0", "30.0 %", "59.9 %"]);
  assert.deepEqual(rows.find(([, name]) => name === "log"), ["gone", "log", "−6.0 pp ± 1.3", "6.0 %", "0 %"]);
  assert.deepEqual(rows.find(([, name]) => name === "cache.<locals>.get"), ["new", "cache.<locals>.get",
    "+5.3 pp ± 1.5", "0 %", "5.3 %"]);

  // Zoom and back, search, the same as a table.
  await page.evaluate(choose("diff-width", "both"));
  await page.until(styleOf("render") + " !== 'none'");
  await page.evaluate(
    frameOf("Tree.walk") + ".querySelector('rect').dispatchEvent(new MouseEvent('click', { bubbles: true }))",
  );
  await page.until(styleOf("render") + " === 'none' && location.hash.includes('zoom=')");
  await page.evaluate(byId("diff-reset") + ".click()");
  await page.until(styleOf("render") + " !== 'none'");
  await page.evaluate(
    "(() => { const box = " + byId("search")
      + "; box.value = 'view.py'; box.dispatchEvent(new Event('input', { bubbles: true })); })()",
  );
  await page.until("/match/.test(" + styleOf("render") + ") && /other/.test(" + styleOf("parse") + ")");
  await page.evaluate(byId("as-table-diff-open") + ".click()");
  assert.ok(
    (await page.until(
      textsOf("[data-testid=as-table-diff] tbody tr") + ".length > 5 && "
        + textsOf("[data-testid=as-table-diff] tbody tr"),
    )).some((text) => /render.*12\.0 %6\.7 %−5\.3 ppless/.test(text)),
  );

  // The other views are of the current profile.
  await page.evaluate("location.hash = '#v=1&view=table'");
  await page.until(byId("table") + "?.textContent.includes('1,502 samples')");
  await expectHarmless(page);
  await page.close();
  const dark = await openAt(browser, file, "diff", { dark: true });
  await dark.until("document.querySelectorAll('[data-testid=diff-flame] g.frame').length > 5");
  await shoot(dark, "diff-dark");
  await dark.close();
}

// speedscope as it is published, on a port of this machine.
async function testSpeedscope(browser, release, file, ...rows) {
  const types = new Map([["html", "text/html"], ["js", "text/javascript"], ["css", "text/css"], ["json",
    "application/json"]]);
  const server = createServer((request, response) => {
    const path = new URL(request.url, "http://x").pathname;
    const found = path === "/profile.json" ? file : join(release, basename(path === "/" ? "index.html" : path));
    if (!existsSync(found)) return response.writeHead(404).end();
    response.writeHead(200, { "Content-Type": types.get(found.split(".").pop()) ?? "application/octet-stream" });
    return createReadStream(found).pipe(response);
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  const base = "http://127.0.0.1:" + server.address().port + "/";
  try {
    const page = await browser.open(base + "#profileURL=" + encodeURIComponent(base + "profile.json"));
    await page.until("document.body?.textContent.includes('MainThread (4711)')");
    await page.press("3");
    await page.until("document.body?.textContent.includes('Tree.visit')");
    const table = await page.evaluate("document.body.textContent");
    for (const name of ["parse", "render", "<native> re.match", "main", ...rows])
      assert.ok(table.includes(name), name + " in " + table);
    await shoot(page, "speedscope-of-" + basename(file));
    await page.close();
  } finally {
    server.close();
  }
}

const tests = { heatmap: testHeatmap, diff: testDiff, speedscope: testSpeedscope };
const [name, ...words] = process.argv.slice(2);
if (!findChromium()) {
  console.log("needs Chromium (Debian: chromium)");
  process.exit(77);
}
const browser = await launchChromium();
try {
  await tests[name](browser, ...words);
} finally {
  await browser.close();
}
console.log("passed in Chromium: " + name);
