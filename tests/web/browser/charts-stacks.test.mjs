// The stack chart: live, with a selection of time, zoomed, and in a report.

import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { CHART_TEXT } from "../../../web/text/charts.js";
import { createProgram } from "../support/made-up-program.mjs";
import { reportPage } from "../support/mock-server.mjs";
import { browser, bundled, byId, click, folder, inAllParts, live, textOf } from "../support/open-page.mjs";

const canvas = byId("stacks");
// How many different colours a row of the canvas has, so many pixels from above.
const coloursAt = (y) =>
  "(() => { const c = " + canvas + "; const d = c.getContext('2d').getImageData(0, " + y
  + ", c.width, 1).data; const seen = new Set(); for (let i = 0; i < d.length; i += 4) if (d[i + 3] > 0) seen.add(d[i] + ',' + d[i + 1] + ',' + d[i + 2]); return seen.size; })()";
const drawn = (page) => page.until(canvas + "?.width > 300 && " + coloursAt(24) + " > 0");
// Chromium advises against what these tests do: reading the canvas.
const assertQuiet = (page) => assert.deepEqual(page.said.filter((text) => !text.includes("getImageData")), []);
const spanOf = (page) => page.evaluate("document.querySelector('.stacks-span').textContent");

async function at(page, x, y) {
  const box = await page.evaluate(
    "(() => { const r = " + canvas + ".getBoundingClientRect(); return { x: r.x, y: r.y, width: r.width }; })()",
  );
  return { x: box.x + x * box.width, y: box.y + y };
}

const mouse = (page, type, { x, y }, more = {}) =>
  page.call("Input.dispatchMouseEvent", { type, x, y, button: "none", ...more });

test("a thread's stacks stand in the order of time, and a click selects a function", async () => {
  const { page } = await live({ fragment: "#v=1&view=stacks&thread=4711~MainThread" });
  await drawn(page);
  const place = await at(page, 0.5, 24);
  await mouse(page, "mouseMoved", place);
  await page.until(byId("stacks-tip") + ".hidden === false");
  assert.match(await textOf(page, "stacks-tip"), /^<module> {2}shop\/app\.py/);
  await page.point(place.x, place.y, true);
  await page.until("location.hash.includes('frame=') && " + byId("details-name") + "?.textContent === '<module>'");
  await page.press("ArrowDown");
  await page.until(byId("details-name") + ".textContent !== '<module>'");
  assertQuiet(page);
  await page.close();
});

test("the wheel and the keyboard zoom and move the chart; it follows again on request", async () => {
  const { page, advance } = await live({ seconds: 20, fragment: "#v=1&view=stacks" });
  await drawn(page);
  assert.match(await spanOf(page), /following$/);
  await page.until("!" + byId("stacks-busiest") + ".hidden");
  const before = await spanOf(page);
  advance(2);
  await page.until("document.querySelector('.stacks-span').textContent !== " + JSON.stringify(before));
  await mouse(page, "mouseWheel", await at(page, 0.5, 40), { deltaX: 0, deltaY: -300 });
  await page.until("!document.querySelector('.stacks-span').textContent.includes('following')");
  const zoomed = await spanOf(page);
  await page.evaluate(canvas + ".focus()");
  await page.press("-");
  await page.until("document.querySelector('.stacks-span').textContent !== " + JSON.stringify(zoomed));
  const wider = await spanOf(page);
  advance(1);
  await click(page, "stacks-whole");
  await page.until("document.querySelector('.stacks-span').textContent.startsWith('0:00.000')");
  assert.notEqual(await spanOf(page), wider);
  await click(page, "stacks-follow");
  await page.until("document.querySelector('.stacks-span').textContent.endsWith('following')");
  assertQuiet(page);
  await page.close();
});

test("dragging selects a time range for all views, and the chart stays", async () => {
  const { page, program } = await live({ seconds: 8, fragment: "#v=1&view=stacks" });
  await drawn(page);
  const span = (await spanOf(page)).replace(/,.*/, "");
  const button = { button: "left", buttons: 1, clickCount: 1 };
  await mouse(page, "mouseMoved", await at(page, 0.25, 60));
  await mouse(page, "mousePressed", await at(page, 0.25, 60), button);
  await mouse(page, "mouseMoved", await at(page, 0.4, 60), button);
  await mouse(page, "mouseMoved", await at(page, 0.5, 60), button);
  await mouse(page, "mouseReleased", await at(page, 0.5, 60), button);
  await page.until("location.hash.includes('range=')");
  const [, from, to] = /range=([\d.]+)~([\d.]+)/.exec(await page.evaluate("location.hash"));
  assert.equal(await spanOf(page), span);
  assert.ok(Number(to) > Number(from));
  await page.evaluate("document.querySelector('[data-testid=view] [data-value=table]').click()");
  const { total } = program.view({ from: Number(from), to: Number(to) });
  await page.until(
    byId("table") + "?.querySelector('caption').textContent.includes(" + JSON.stringify(total.toLocaleString("en-US"))
      + ")",
  );
  assertQuiet(page);
  await page.close();
});

test("another thread is another chart, and what has no order is said", async () => {
  const { page } = await live({ seconds: 6, orderedFrom: 3, fragment: "#v=1&view=stacks" });
  await drawn(page);
  await page.until(
    byId("stacks-note") + ".textContent.startsWith(" + JSON.stringify(CHART_TEXT.stacks.unordered("").split(":")[0])
      + ")",
  );
  await page.evaluate(
    "(() => { const s = " + byId("stacks-thread") + "; s.selectedIndex = 3; s.dispatchEvent(new Event('change')); })()",
  );
  await page.until("location.hash.includes('thread=')");
  assert.equal(await page.evaluate(byId("stacks-thread") + ".selectedIndex"), 3);
  await drawn(page);
  assertQuiet(page);
  await page.close();
});

test("a search dims what it does not match", async () => {
  const { page } = await live({ fragment: "#v=1&view=stacks&thread=4711~MainThread&colour=module" });
  await drawn(page);
  const colours = await page.evaluate(coloursAt(24));
  await page.evaluate(
    "(() => { const s = " + byId("search")
      + "; s.value = 'nothing_matches_this'; s.dispatchEvent(new Event('input', { bubbles: true })); })()",
  );
  await page.until("location.hash.includes('search=')");
  const first = "JSON.stringify(Array.from(" + canvas + ".getContext('2d').getImageData(60, 20, 1, 1).data))";
  const dimmed = await page.until(first);
  await page.evaluate(
    "(() => { const s = " + byId("search")
      + "; s.value = 'module'; s.dispatchEvent(new Event('input', { bubbles: true })); })()",
  );
  await page.until(first + " !== " + JSON.stringify(dimmed));
  assert.ok(colours > 0);
  assertQuiet(page);
  await page.close();
});

test("a report has a stack chart too, and says that it is not in order", async () => {
  const program = createProgram({ threads: 8, now: () => 0 });
  for (let second = 1; second <= 6; second += 1) program.advance(second);
  const path = join(folder, "stacks.html");
  writeFileSync(path, reportPage(bundled, program.report({})));
  const page = await browser.open("file://" + path + inAllParts("#v=1&view=stacks"));
  await drawn(page);
  assert.equal(await textOf(page, "stacks-note"), CHART_TEXT.stacks.inReport);
  assertQuiet(page);
  await page.close();
});
