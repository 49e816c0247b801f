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
import { findChromium, launchChromium } from "../web/chromium.mjs";

const SHOTS = process.env.PYROMETER_TEST_DIR;

async function shoot(page, name) {
  if (SHOTS) await page.shot(join(SHOTS, name + ".png"));
}

const shown = (selector) => "Array.from(document.querySelectorAll(" + JSON.stringify(selector) + ")).filter((e) => e.offsetParent !== null)";
const textOf = (selector) => shown(selector) + ".map((e) => e.textContent)";

// Whatever the names hold, nothing of it has become markup, and nothing was loaded.
async function expectHarmless(page) {
  assert.deepEqual(await page.evaluate("Array.from(document.querySelectorAll('img, iframe, object, link')).length"), 0);
  assert.deepEqual(await page.evaluate("document.title.includes('<b>')"), true);
  assert.deepEqual(await page.evaluate("performance.getEntriesByType('resource').length"), 0);
  assert.deepEqual(page.said, []);
}

async function testHeatmap(browser, file) {
  const url = pathToFileURL(file).href;
  let page = await browser.open(url);
  await page.until("document.readyState === 'complete' && document.getElementById('files') !== null");
  assert.equal((await page.evaluate(shown("section.file") + ".length")), 0);
  const links = await page.evaluate("Array.from(document.querySelectorAll('#files a')).map((a) => [a.textContent, a.getAttribute('href')])");
  const app = links.find(([text]) => text === "/srv/app.py")[1];
  assert.ok(links.some(([text]) => text === "/srv/</script><b>.py"));
  assert.ok(links.some(([text]) => text === "<native> re.match"));
  for (const [, href] of links) assert.ok(await page.evaluate("document.getElementById(" + JSON.stringify(href.slice(1)) + ") !== null"), href);
  await expectHarmless(page);
  await shoot(page, "heatmap-index");

  // A file's address shows that file alone, a line's address its file.
  await page.evaluate("document.querySelector('#files a[href=\"" + app + "\"]').click()");
  assert.deepEqual(await page.until(shown("section.file") + ".length === 1 && " + textOf("section.file h1")), ["/srv/app.py"]);
  assert.equal(await page.evaluate("document.getElementById('files').offsetParent"), null);
  await page.evaluate("location.hash = '" + app + "-22'");
  assert.deepEqual(await page.evaluate(textOf("section.file h1")), ["/srv/app.py"]);
  const row = await page.evaluate("Array.from(document.querySelector('tr:target').cells).map((cell) => cell.textContent)");
  assert.deepEqual(row.slice(0, 3), ["22", "300", "300"]);
  assert.match(row[4], /Instructions.*LOAD_ATTR_SLOT a form of LOAD_ATTR columns 5 to 9 150.*RETURN_VALUE/);
  const callers = await page.evaluate("document.querySelector(" + JSON.stringify('[id="' + app.slice(1) + '-20"] details') + ").textContent");
  assert.match(callers, /Called from.*app\.py:14 400/);

  // Every link leads somewhere; keys alone get to it.
  assert.deepEqual(await page.evaluate("Array.from(document.querySelectorAll('a')).map((a) => a.getAttribute('href').slice(1)).filter((id) => !document.getElementById(id))"), []);
  await page.evaluate("document.querySelector('header a').focus()");
  await page.press("Enter");
  assert.ok(await page.until("document.getElementById('files').offsetParent !== null"));

  // Colours, theme, what is hidden: all by the style.
  const ground = "getComputedStyle(document.body).backgroundColor";
  const light = await page.evaluate(ground);
  await page.evaluate("document.getElementById('theme-dark').click()");
  assert.notEqual(await page.evaluate(ground), light);
  await page.evaluate("location.hash = '" + app + "'; document.getElementById('hot-only').click()");
  assert.equal(await page.evaluate(shown("tr.cold") + ".length"), 0);
  await shoot(page, "heatmap-file-dark");
  await page.close();
  page = await browser.open(url, { dark: true });
  await page.until("document.readyState === 'complete' && document.getElementById('files') !== null");
  assert.notEqual(await page.evaluate(ground), light);
  await page.close();
}

async function testDiff(browser, file) {
  const page = await browser.open(pathToFileURL(file).href);
  await page.until("document.querySelectorAll('.flame button').length > 3");
  const look = (name) => "(Array.from(document.querySelectorAll('.flame button')).find((b) => b.getAttribute('aria-label').startsWith(" + JSON.stringify(name + ", ") + ")) ?? {}).className";
  assert.match(await page.evaluate(look("parse")), /more-/);
  assert.match(await page.evaluate(look("render")), /less-/);
  assert.match(await page.evaluate(look("cache.<locals>.get")), /more-3/);
  assert.equal(await page.evaluate(look("log")), undefined);
  assert.deepEqual(page.said, []);
  await shoot(page, "diff");

  // What is gone is there when asked for; nothing of its name is markup.
  await page.evaluate("document.getElementById('gone').click()");
  assert.match(await page.until(look("log")), /less-3/);
  assert.match(await page.until(look("</script><img src=x onerror=alert(1)>")), /less-3/);
  assert.equal(await page.evaluate("document.querySelectorAll('img').length"), 0);
  assert.equal(await page.evaluate("performance.getEntriesByType('resource').length"), 0);

  // Zoom by key, and back.
  await page.evaluate("Array.from(document.querySelectorAll('.flame button')).find((b) => b.textContent === 'Tree.walk').focus()");
  assert.match(await page.evaluate("document.querySelector('.hint').textContent"), /Tree\.walk.*total: 24\.00 % \(240\) → 27\.96 % \(420\)/);
  await page.press("Enter");
  assert.ok(await page.until("!Array.from(document.querySelectorAll('.flame button')).some((b) => b.textContent === 'render')"));
  await page.evaluate("document.querySelector('header button').click()");
  assert.ok(await page.until("Array.from(document.querySelectorAll('.flame button')).some((b) => b.textContent === 'render')"));
  assert.match(await page.evaluate("document.querySelector('.rows').textContent"), /parse/);
  await page.evaluate("document.getElementById('theme-dark').click()");
  await shoot(page, "diff-dark");
  assert.deepEqual(page.said, []);
  await page.close();
}

// speedscope as it is published, on a port of this machine.
async function testSpeedscope(browser, release, file, ...rows) {
  const types = new Map([["html", "text/html"], ["js", "text/javascript"], ["css", "text/css"], ["json", "application/json"]]);
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
    for (const name of ["parse", "render", "<native> re.match", "main", ...rows]) assert.ok(table.includes(name), name + " in " + table);
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
