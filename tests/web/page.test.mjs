// The whole page in a real browser, against a made-up program: what only a browser can say.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";
import { launchChromium } from "./chromium.mjs";
import { createProgram, HOSTILE_NAMES } from "./made-up-program.mjs";
import { createMockServer, reportPage } from "./mock-server.mjs";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const folder = mkdtempSync(join(tmpdir(), "pyrometer-page-test-"));
const bundled = join(folder, "page.html");
let browser;
const opened = [];

before(async () => {
  execFileSync(join(ROOT, "scripts/bundle-web"), [bundled]);
  browser = await launchChromium({ width: 1280, height: 800 });
});
after(async () => {
  await browser.close();
  for (const server of opened) server.close();
  rmSync(folder, { recursive: true });
});

// A page on a program that moves when it is told to.
async function live({ seconds = 3, fragment = "", ...options } = {}) {
  let clock = seconds;
  const program = createProgram({ threads: 8, now: () => 0, ...options });
  program.advance(clock);
  const server = createMockServer(program, bundled);
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  opened.push(server);
  const url = "http://127.0.0.1:" + server.address().port + "/";
  const page = await browser.open(url + fragment);
  return { page, program, server, url, advance: (by) => program.advance((clock += by)) };
}

const byId = (id) => "document.querySelector('[data-testid=\"" + id + "\"]')";
const textOf = (page, id) => page.evaluate(byId(id) + ".textContent");
const click = (page, id) => page.evaluate(byId(id) + ".click()");
const frames = "Array.from(document.querySelectorAll('g.frame'))";
const frameNamed = (name) => frames + ".find((g) => g.getAttribute('name').startsWith(" + JSON.stringify(name) + "))";
const drawn = (page) => page.until(frames + ".length > 10");
const widthOf = (page, name) => page.evaluate(frameNamed(name) + ".querySelector('rect').getBoundingClientRect().width");
// The first number of the line over the drawing: samples in view, or under the zoomed frame.
const shownNumber = "parseInt(" + byId("drawing-note") + ".textContent.replaceAll(',', ''))";
const samplesShown = (page) => page.evaluate(shownNumber);

async function clickFrame(page, name) {
  const [x, y] = await page.evaluate("(() => { const r = " + frameNamed(name) + ".querySelector('rect').getBoundingClientRect(); return [r.x + r.width / 2, r.y + r.height / 2]; })()");
  await page.point(x, y, true);
}

function assertQuiet(page) {
  assert.deepEqual(page.said, []);
}

test("a live page draws, keeps up, and its policy stops nothing it needs", async () => {
  const { page, program, advance } = await live();
  await drawn(page);
  const before = await samplesShown(page);
  assert.equal(before, program.view({}).total);
  advance(2);
  await page.until(shownNumber + " === " + program.view({}).total);
  assert.match(await textOf(page, "command"), /python3 \/srv\/shop\/app.py/);
  assert.equal(await textOf(page, "status"), "live");
  assert.equal(await textOf(page, "quality-samples"), program.session().quality.samples.toLocaleString("en-US"));
  assert.match(await page.evaluate("document.title"), /^● app.py/);
  assertQuiet(page);
  await page.close();
});

test("zoom, selection and search survive updates, and every label names its own frame", async () => {
  const { page, advance } = await live();
  await drawn(page);
  await page.evaluate("(" + byId("search") + ".focus(), 0)");
  await page.type("pric");
  await page.until(byId("matched") + ".textContent.endsWith('%')");
  await clickFrame(page, "CheckoutView.post");
  await page.until(byId("breadcrumb") + ".textContent.includes('CheckoutView.post')");
  const width = await widthOf(page, "CheckoutView.post");
  assert.ok(width > 800, String(width));
  for (let i = 0; i < 3; i += 1) {
    const shown = await samplesShown(page);
    advance(2);
    await page.until(shownNumber + " > " + shown);
    assert.equal(await widthOf(page, "CheckoutView.post"), width);
    assert.equal(await page.evaluate(frames + ".filter((g) => g.dataset.look.includes('match')).length > 0"), true);
    assert.equal(await page.evaluate(frames + ".every((g) => (g.querySelector('.d3-flame-graph-label')?.textContent ?? '') === (g.querySelector('rect').width.baseVal.value < 35 ? '' : g.getAttribute('name')))"), true);
    assert.equal(await page.evaluate(frameNamed("CheckoutView.post") + ".hasAttribute('data-selected')"), true);
  }
  assert.match(await textOf(page, "breadcrumb"), /CheckoutView\.post/);
  assert.equal(await textOf(page, "details-name"), "CheckoutView.post");
  assert.equal(await textOf(page, "details-place"), "/srv/shop/views/checkout.py:41");
  assertQuiet(page);
  await page.close();
});

test("the same link shows the same thing, and Back goes back", async () => {
  const first = await live();
  await drawn(first.page);
  await clickFrame(first.page, "Server.handle");
  await first.page.until("location.hash.includes('zoom=')");
  const link = await first.page.evaluate("location.hash");
  const second = await live({ fragment: link });
  await drawn(second.page);
  assert.match(await textOf(second.page, "breadcrumb"), /Server\.handle/);
  await first.page.evaluate("history.back()");
  await first.page.until("!location.hash.includes('zoom=') && !" + byId("breadcrumb") + ".textContent.includes('Server')");
  await Promise.all([first.page.close(), second.page.close()]);
});

test("keys move, zoom, invert, search, pause and change the theme", async () => {
  const { page } = await live();
  await drawn(page);
  await page.evaluate("(" + byId("flame") + ".focus(), 0)");
  for (const key of ["ArrowDown", "ArrowDown", "ArrowDown", "Enter"]) await page.press(key);
  await page.until("location.hash.includes('zoom=')");
  assert.match(await page.evaluate(byId("flame") + ".getAttribute('aria-activedescendant')"), /frame-selected/);
  assert.match(await page.evaluate("document.getElementById('frame-selected').getAttribute('aria-label')"), /%/);
  await page.press("Escape");
  await page.until("!location.hash.includes('zoom=')");
  await page.press("i");
  await page.until("location.hash.includes('inverted')");
  await page.press("p");
  await page.until(byId("status") + ".textContent.startsWith('paused')");
  await page.press("t");
  await page.until("document.documentElement.dataset.theme === 'light'");
  await page.press("t");
  await page.until("getComputedStyle(document.body.parentElement).backgroundColor === 'rgb(19, 20, 23)'");
  await page.press("?");
  await page.until(byId("help-dialog") + ".open");
  await page.press("Escape");
  await page.until("!" + byId("help-dialog") + ".open");
  await page.press("/");
  await page.type("/(/");
  await page.until(byId("search-error") + ".textContent.startsWith('Not a valid')");
  assertQuiet(page);
  await page.close();
});

test("while paused the picture stands still and what came since is counted", async () => {
  const { page, program, advance } = await live();
  await drawn(page);
  await click(page, "pause");
  const shown = await samplesShown(page);
  advance(2);
  await page.until(byId("status") + ".textContent.includes('newer')");
  assert.equal(await samplesShown(page), shown);
  await click(page, "pause");
  await page.until(shownNumber + " === " + program.view({}).total);
  await page.close();
});

test("threads are chosen by name, downloads follow the choice", async () => {
  const { page, program } = await live();
  await drawn(page);
  await click(page, "threads");
  await page.until("document.querySelectorAll('[data-testid=thread] .share')[0]?.textContent.endsWith('%')");
  await page.evaluate("document.querySelector('[data-tid=\"4711\"] input').click()");
  await page.until(shownNumber + " === " + program.view({ threads: [0] }).total);
  assert.equal(await textOf(page, "threads"), "MainThread");
  assert.match(await page.evaluate(byId("download-report") + ".getAttribute('href')"), /report\.html\?thread=0$/);
  assertQuiet(page);
  await page.close();
});

test("hostile names are text wherever they are shown", async () => {
  const { page } = await live({ seconds: 20 });
  await drawn(page);
  await page.evaluate("document.querySelector('[data-value=table]').click()");
  await page.until("document.querySelectorAll('tbody tr').length > 20");
  const names = await page.evaluate("Array.from(document.querySelectorAll('.row-name')).map((button) => button.textContent)");
  for (const name of [HOSTILE_NAMES[0], "__proto__", "constructor", "<lambda>", "(unnamed)", "invoice_\\u202egnp.exe", "half\\ud800surrogate", "nul\\u0000inside"]) assert.ok(names.includes(name), name);
  assert.ok(names.every((name) => name.length < 400));
  await page.evaluate("Array.from(document.querySelectorAll('.row-name')).find((button) => button.textContent.startsWith('</script>')).click()");
  await page.until(frames + ".some((g) => g.dataset.look.includes('match'))");
  await clickFrame(page, "</script>");
  await page.until(byId("details-name") + ".textContent.startsWith('</script>')");
  assert.equal(await page.evaluate("document.querySelectorAll('img').length"), 0);
  assert.doesNotMatch(await page.evaluate("document.title"), /PWNED/);
  assertQuiet(page);
  await page.close();
});

test("the table is a real one and sorts", async () => {
  const { page } = await live({ fragment: "#v=1&view=table" });
  await page.until("document.querySelectorAll('tbody tr').length > 10");
  await click(page, "sort-total");
  await page.until(byId("sort-total") + ".closest('th').getAttribute('aria-sort') === 'descending'");
  const shares = await page.evaluate("Array.from(document.querySelectorAll('tbody tr:not([hidden]) td:nth-child(2) .samples')).map((cell) => Number(cell.textContent.replaceAll(',', '')))");
  assert.deepEqual(shares, shares.slice().sort((a, b) => b - a));
  assert.equal(await page.evaluate("document.querySelectorAll('tbody th[scope=row]').length === document.querySelectorAll('tbody tr').length"), true);
  await page.close();
});

const chip = (key) => "document.querySelector('[data-testid=state][data-value=" + key + "]')";

test("states are chosen live, in the address, with what each would leave", async () => {
  const { page, program, advance } = await live();
  await drawn(page);
  await page.until(chip("has_gil") + ".textContent.endsWith('%')");
  await page.evaluate(chip("has_gil") + ".click()");
  await page.until(shownNumber + " === " + program.view({ states: ["has_gil"] }).total);
  assert.equal(await page.evaluate("location.hash"), "#v=1&state=has_gil");
  assert.equal(await page.evaluate("document.querySelectorAll('[data-testid=state][aria-pressed=true]').length"), 1);
  advance(2);
  await page.until(shownNumber + " === " + program.view({ states: ["has_gil"] }).total);
  assert.match(await page.evaluate(byId("download-report") + ".getAttribute('href')"), /report\.html\?state=has_gil$/);
  await page.evaluate("history.back()");
  await page.until(shownNumber + " === " + program.view({}).total);
  assertQuiet(page);
  await page.close();
});

test("a filter that leaves nothing says what there is, and leads back", async () => {
  const { page, program } = await live({ fragment: "#v=1&state=in_gc&thread=4711~MainThread" });
  await page.until(byId("empty") + "?.textContent.includes('are not in the garbage collector')");
  await page.evaluate("Array.from(" + byId("empty") + ".querySelectorAll('button')).find((b) => b.textContent === 'Show all states').click()");
  await page.until(shownNumber + " === " + program.view({ threads: [0] }).total);
  assertQuiet(page);
  await page.close();
});

test("a state that nobody knows can not be chosen and says why; a mode says what it left out", async () => {
  const { page } = await live({ exceptions: false, mode: "cpu" });
  await drawn(page);
  await page.until(chip("has_exception") + ".getAttribute('aria-disabled') === 'true'");
  assert.match(await page.evaluate(chip("has_exception") + ".dataset.hint"), /Not known here/);
  await page.evaluate(chip("has_exception") + ".click()");
  assert.equal(await page.evaluate("location.hash.includes('state')"), false);
  assert.match(await textOf(page, "recorded-mode"), /^recorded with --mode cpu: [\d,]+ other samples were not kept$/);
  await page.close();
});

test("every number of quality is one key away, and goes on while it is looked at", async () => {
  const { page, program, advance } = await live();
  await drawn(page);
  await page.press("q");
  const samples = byId("measure-samples") + "?.textContent";
  await page.until(samples + " === '" + program.session().quality.samples.toLocaleString("en-US") + "'");
  assert.match(await textOf(page, "quality-dialog"), /MiB/);
  advance(2);
  await page.until(samples + " === '" + program.session().quality.samples.toLocaleString("en-US") + "'");
  await page.press("Escape");
  await page.until("!" + byId("quality-dialog") + ".open");
  // The browser tells of the closing a moment later.
  await page.evaluate("new Promise((resolve) => setTimeout(resolve, 100))");
  await click(page, "quality-open");
  await page.until(byId("quality-dialog") + ".open");
  assertQuiet(page);
  await page.close();
});

test("threads are chosen by process where there are several", async () => {
  const { page, program } = await live({ processes: 2 });
  await drawn(page);
  assert.match(await textOf(page, "facts"), /pid 4711 and 1 other/);
  await click(page, "threads");
  await page.until("document.querySelectorAll('[data-testid=thread-process] .share')[1]?.textContent.endsWith('%')");
  const order = "Array.from(document.querySelectorAll('.thread-list [data-testid]'), (row) => row.dataset.pid ?? row.dataset.tid)";
  assert.deepEqual((await page.evaluate(order)).sort(), ["4711", "4711", "4712", "4712", "4713", "4714", "4715", "4716", "4717", "4718"]);
  await page.evaluate("document.querySelector('[data-pid=\"4712\"] input').click()");
  await page.until(shownNumber + " === " + program.view({ threads: [1, 3, 5, 7] }).total);
  await page.evaluate("document.querySelector('[data-tid=\"4712\"] input').click()");
  await page.until(shownNumber + " === " + program.view({ threads: [3, 5, 7] }).total);
  await page.until("document.querySelector('[data-pid=\"4712\"] input').indeterminate");
  assert.equal(await textOf(page, "threads"), "3 of 8 threads");
  assertQuiet(page);
  await page.close();
});

test("every thread has a bar of what it did", async () => {
  const { page } = await live();
  await drawn(page);
  await click(page, "threads");
  await page.until("document.querySelectorAll('[data-testid=thread]').length === 8");
  const bars = await page.evaluate("Array.from(document.querySelectorAll('[data-testid=thread] .doings'), (bar) => [bar.getBoundingClientRect().width, Array.from(bar.children).reduce((sum, part) => sum + part.getBoundingClientRect().width, 0), bar.dataset.hint])");
  for (const [whole, parts, hint] of bars) {
    assert.ok(Math.abs(whole - parts) < 1, whole + " " + parts);
    assert.match(hint, /^\d+ samples: .*%/);
  }
  await page.close();
});

// Presses at one share of the strip's width and lets go at another.
async function dragStrip(page, from, to) {
  const at = await page.evaluate("(() => { const r = " + byId("strip") + ".getBoundingClientRect(); return { x: r.x, y: r.y + r.height / 2, width: r.width }; })()");
  const mouse = (type, share, button) => page.call("Input.dispatchMouseEvent", { type, x: at.x + share * at.width, y: at.y, button, buttons: button === "left" ? 1 : 0, clickCount: 1 });
  await mouse("mouseMoved", from, "none");
  await mouse("mousePressed", from, "left");
  await mouse("mouseMoved", (from + to) / 2, "left");
  await mouse("mouseMoved", to, "left");
  await mouse("mouseReleased", to, "left");
}

const boxes = "document.querySelectorAll('.strip-layer[d]:not([d=\"\"])').length";

test("a range is chosen on the strip, is in the address, narrows everything, and goes with its chip", async () => {
  const { page, program, advance } = await live({ seconds: 8 });
  await drawn(page);
  await page.until(boxes + " >= 3");
  await dragStrip(page, 0.2505, 0.4995);
  await page.until("location.hash.includes('range=2~4')");
  const range = { from: 2, to: 4 };
  await page.until(shownNumber + " === " + program.view(range).total);
  await page.until(chip("has_gil") + ".dataset.hint.includes('of " + program.view(range).total.toLocaleString("en-US") + " samples')");
  assert.match(await page.evaluate(byId("download-report") + ".getAttribute('href')"), /report\.html\?from=2&to=4$/);
  advance(2);
  await page.until(byId("quality-samples") + ".textContent === '" + program.session().quality.samples.toLocaleString("en-US") + "'");
  assert.equal(await samplesShown(page), program.view(range).total);
  assert.match(await textOf(page, "applied"), /0:02 – 0:04/);
  await page.evaluate("document.querySelector('[data-kind=time] button').click()");
  await page.until(shownNumber + " === " + program.view({}).total);
  await page.evaluate("(" + byId("strip") + ".focus(), 0)");
  await page.press("ArrowLeft");
  await page.until("location.hash.includes('range=')");
  assert.match(await page.evaluate(byId("strip") + ".getAttribute('aria-valuetext')"), / – /);
  await page.press("Escape");
  await page.until("!location.hash.includes('range=')");
  assertQuiet(page);
  await page.close();
});

test("pointing holds the picture, if asked to", async () => {
  const { page } = await live();
  await drawn(page);
  await page.press("h");
  await page.until(byId("hold") + ".getAttribute('aria-pressed') === 'true'");
  await page.point(400, 600);
  await page.until(byId("status") + ".textContent.startsWith('paused')");
  await page.point(400, 10);
  await page.until(byId("status") + ".textContent === 'live'");
  await page.press("h");
  await page.until(byId("hold") + ".getAttribute('aria-pressed') === 'false'");
  await page.close();
});

test("frames are filtered by terms, which are chips and in the address", async () => {
  const { page, program } = await live();
  await drawn(page);
  await page.evaluate("(" + byId("filter-input") + ".focus(), 0)");
  await page.type("hide function:price_basket");
  await page.press("Enter");
  await page.until("location.hash.includes('filter=hide')");
  await page.until(frames + ".length > 10 && !" + frameNamed("price_basket"));
  const rest = await samplesShown(page);
  assert.ok(rest > 0 && rest < program.view({}).total);
  await click(page, "hide-libraries");
  await page.until(frameNamed("Server.handle") + " && !" + frameNamed("Thread.run"));
  assert.equal(await samplesShown(page), rest);
  await page.evaluate("document.querySelector('[data-kind=hide] button').click()");
  await page.until(shownNumber + " === " + program.view({}).total);
  await page.evaluate("(" + byId("filter-input") + ".focus(), 0)");
  await page.type("nonsense");
  await page.press("Enter");
  await page.until(byId("filter-error") + ".textContent.includes('show, hide, merge or focus')");
  assertQuiet(page);
  await page.close();
});

test("filters that leave nothing say so, and lead back", async () => {
  const { page, program } = await live({ fragment: "#v=1&filter=show+nobody+has+this+name" });
  await page.until(byId("empty") + "?.textContent.includes('the filters leave none')");
  await page.evaluate(byId("empty") + ".querySelector('button').click()");
  await page.until(shownNumber + " === " + program.view({}).total);
  await page.close();
});

test("a function stands between its callers and callees, from the table and from a frame, live", async () => {
  const { page, program, advance } = await live({ fragment: "#v=1&view=table" });
  await page.until("document.querySelectorAll('tbody tr').length > 10");
  await page.evaluate("Array.from(document.querySelectorAll('tbody tr')).find((row) => row.querySelector('.row-name').textContent === 'price_basket').querySelector('.row-about').click()");
  await page.until("location.hash.includes('about=') && " + byId("sandwich-name") + ".textContent === 'price_basket'");
  const inside = (side) => "Array.from(" + byId(side) + ".querySelectorAll('g.frame'), (g) => g.getAttribute('name'))";
  await page.until(inside("sandwich-callers") + ".some((name) => name.startsWith('CheckoutView.post'))");
  await page.until(inside("sandwich-callees") + ".some((name) => name.startsWith('TaxTable.lookup'))");
  const numbers = await textOf(page, "sandwich-numbers");
  advance(2);
  await page.until(byId("sandwich-numbers") + ".textContent !== " + JSON.stringify(numbers));
  await page.evaluate("Array.from(" + byId("sandwich-callees") + ".querySelectorAll('g.frame')).find((g) => g.getAttribute('name').startsWith('TaxTable.lookup')).dispatchEvent(new MouseEvent('click', { bubbles: true }))");
  await page.until(byId("sandwich-name") + ".textContent === 'TaxTable.lookup'");
  await page.evaluate("history.back()");
  await page.until(byId("sandwich-name") + ".textContent === 'price_basket'");
  assert.ok(program.view({}).total > 0);
  assertQuiet(page);
  await page.close();
});

test("a table of 50,000 functions has a few rows, and scrolls to its end", async () => {
  const { page } = await live({ functions: 50000, threads: 2, seconds: 2, fragment: "#v=1&view=table" });
  await page.until(byId("table") + "?.getAttribute('aria-rowcount') > 50000", 30000);
  assert.ok(await page.evaluate("document.querySelectorAll('tbody tr').length < 400"));
  await click(page, "sort-name");
  await page.until("(" + byId("table") + ".closest('.table').scrollTop = 1e9) && Number(Array.from(document.querySelectorAll('tbody tr')).at(-1).getAttribute('aria-rowindex')) === Number(" + byId("table") + ".getAttribute('aria-rowcount'))");
  await page.close();
});

test("a stretch of the heat map gives its flame graph; another one with Shift is compared with it", async () => {
  const { page, program } = await live({ seconds: 8, fragment: "#v=1&view=heatmap" });
  await drawn(page);
  await page.until(byId("heatmap") + ".getBoundingClientRect().width > 50 && !" + byId("heatmap") + ".closest('[hidden]')");
  const drag = async (from, to, modifiers) => {
    const at = await page.evaluate("(() => { const r = " + byId("heatmap") + ".getBoundingClientRect(); return { x: r.x, y: r.y, width: r.width, height: r.height }; })()");
    const mouse = (type, [x, y], button) => page.call("Input.dispatchMouseEvent", { type, x: at.x + x * at.width, y: at.y + y * at.height, button, buttons: button === "left" ? 1 : 0, clickCount: 1, modifiers });
    await mouse("mouseMoved", from, "none");
    await mouse("mousePressed", from, "left");
    await mouse("mouseMoved", to, "left");
    await mouse("mouseReleased", to, "left");
  };
  await drag([0.2, 0.01], [0.45, 0.99], 0);
  await page.until("location.hash.includes('range=1~4')");
  await page.until(shownNumber + " === " + program.view({ from: 1, to: 4 }).total);
  await drag([0.55, 0.01], [0.95, 0.99], 8);
  await page.until("location.hash.includes('view=diff') && location.hash.includes('base=4~8')");
  await page.until("document.querySelectorAll('[data-testid=diff-table] tbody tr').length > 10");
  assert.match(await textOf(page, "diff-table"), new RegExp(program.view({ from: 4, to: 8 }).total.toLocaleString("en-US") + " samples in the base"));
  await page.until("document.querySelectorAll('[data-testid=diff-flame] g.frame').length > 10");
  await click(page, "diff-swap");
  await page.until("location.hash.includes('range=4~8') && location.hash.includes('base=1~4')");
  assertQuiet(page);
  await page.close();
});

test("two halves are compared in a report too", async () => {
  const program = createProgram({ threads: 8, now: () => 0 });
  for (let second = 1; second <= 8; second += 1) program.advance(second);
  const path = join(folder, "compared.html");
  writeFileSync(path, reportPage(bundled, program.report({})));
  const page = await browser.open("file://" + path + "#v=1&view=diff");
  await page.until(byId("diff-halves") + "?.getBoundingClientRect().width > 0");
  await click(page, "diff-halves");
  await page.until("document.querySelectorAll('[data-testid=diff-table] tbody tr').length > 10");
  // It writes JSON from its fourth second on.
  await page.until("Array.from(document.querySelectorAll('[data-testid=diff-table] tbody tr')).some((row) => ['new', 'more'].includes(row.dataset.verdict) && row.textContent.includes('JSONEncoder'))");
  assertQuiet(page);
  await page.close();
});

test("who held the GIL while whom waited, live and in a report", async () => {
  const { page, program } = await live({ seconds: 4, threads: 8, fragment: "#v=1&view=gil" });
  const rows = byId("gil-matrix") + "?.querySelectorAll('tbody tr')";
  await page.until(rows + "?.length > 3 && document.querySelectorAll('[data-testid=gil-flame] g.frame').length > 5");
  const whole = program.gil({});
  assert.match(await textOf(page, "gil-summary"), new RegExp("of all " + program.view({}).total.toLocaleString("en-US") + " samples"));
  const kept = await page.evaluate(rows + ".length");
  assert.equal(kept, whole.pairs.filter((row) => row.some((samples) => samples > 0)).length);
  await page.evaluate(byId("gil-matrix") + ".querySelector('thead button').click()");
  await page.until("location.hash.includes('thread=') && " + byId("gil-matrix") + ".querySelectorAll('thead th').length === 2");
  assert.match(await textOf(page, "gil-summary"), /of the chosen threads' /);
  await page.evaluate(byId("gil-list") + ".querySelector('button').click()");
  await page.until("location.hash.includes('view=sandwich') && location.hash.includes('about=')");
  assertQuiet(page);
  await page.close();
  const path = join(folder, "gil.html");
  writeFileSync(path, reportPage(bundled, program.report({})));
  const report = await browser.open("file://" + path + "#v=1&view=gil");
  await report.until(byId("gil-matrix") + "?.querySelectorAll('tbody tr').length === " + kept);
  assertQuiet(report);
  await report.close();
});

test("files by heat, their lines with their text, and the way from line to line", async () => {
  const { page } = await live({ seconds: 6, fragment: "#v=1&view=source&file=/srv/shop/pricing.py" });
  const lines = "Array.from(document.querySelectorAll('.line'))";
  await page.until(lines + ".length === 500");
  assert.equal(await textOf(page, "source-path"), "/srv/shop/pricing.py");
  assert.match(await page.evaluate(lines + "[7].querySelector('.line-code').textContent"), /^<\/script><b>line 8 of/);
  await page.until(lines + ".filter((line) => /^h[1-7]$/.test(line.dataset.look)).length > 1");
  await page.press("n");
  await page.until("location.hash.includes('line=')");
  const first = await page.evaluate("Number(/line=(\\d+)/.exec(location.hash)[1])");
  await page.press("n");
  await page.until("Number(/line=(\\d+)/.exec(location.hash)[1]) !== " + first);
  assert.match(await textOf(page, "source-about"), /Called from/);
  await page.evaluate("Array.from(" + byId("source-about") + ".querySelectorAll('button')).find((button) => button.textContent.includes('checkout.py')).click()");
  await page.until(byId("source-path") + ".textContent === '/srv/shop/views/checkout.py'");
  await page.evaluate("Array.from(document.querySelectorAll('.source-file')).find((button) => button.title.includes('evil')).click()");
  await page.until(byId("source-path") + ".textContent.includes('<b>evil</b>')");
  assert.equal(await page.evaluate("document.querySelectorAll('main b').length"), 0);
  assertQuiet(page);
  await page.close();
});

test("a report has lines without their text, and says so", async () => {
  const program = createProgram({ threads: 8, now: () => 0 });
  program.advance(3);
  const path = join(folder, "lines.html");
  writeFileSync(path, reportPage(bundled, program.report({})));
  const page = await browser.open("file://" + path + "#v=1&view=source");
  await page.until(byId("source-note") + "?.textContent.startsWith('No source text')");
  assert.ok(await page.evaluate("document.querySelectorAll('.line').length > 0"));
  assertQuiet(page);
  await page.close();
});

test("a report has the text of its hottest files, cut to what matters, and the cells of the heat map", async () => {
  const program = createProgram({ threads: 8, now: () => 0 });
  program.advance(3);
  const text = Array.from({ length: 500 }, (_, i) => "</script>line " + (i + 1)).join("\n");
  const path = join(folder, "text.html");
  writeFileSync(path, reportPage(bundled, { ...program.report({}), sources: [{ path: "/srv/shop/pricing.py", changed: false, whole: false, text }] }));
  const page = await browser.open("file://" + path + "#v=1&view=source&file=/srv/shop/pricing.py");
  await page.until("document.querySelectorAll('.line').length > 5 && document.querySelectorAll('.line-gap').length > 0");
  assert.match(await page.evaluate("document.querySelector('.line[aria-current], .line[data-look~=h2], .line').querySelector('.line-code').textContent"), /^<\/script>line \d+$/);
  await page.evaluate("document.querySelector('[data-value=heatmap]').click()");
  await page.until(byId("heatmap") + "?.getBoundingClientRect().width > 50");
  assertQuiet(page);
  await page.close();
});

test("every thread has a lane, live and in a report", async () => {
  const { page, program } = await live({ fragment: "#v=1&view=threads" });
  const lanes = "Array.from(document.querySelectorAll('[data-testid=lane]'))";
  await page.until(lanes + ".length === 8 && " + lanes + ".every((lane) => lane.querySelectorAll('path[d]:not([d=\"\"])').length > 0)");
  assert.match(await page.evaluate(lanes + "[0].querySelector('.lane-plot').getAttribute('aria-label')"), /^[\d,]+ samples: /);
  assertQuiet(page);
  const path = join(folder, "lanes.html");
  writeFileSync(path, reportPage(bundled, program.report({})));
  await page.close();
  const report = await browser.open("file://" + path + "#v=1&view=threads");
  await report.until(lanes + ".length === 8 && " + lanes + ".every((lane) => lane.querySelectorAll('path[d]:not([d=\"\"])').length > 0)");
  await report.evaluate("document.querySelector('[data-tid=\"4712\"] .row-name').click()");
  await report.until(shownNumber + " === " + program.view({ threads: [1] }).total);
  assertQuiet(report);
  await report.close();
});

test("the palette finds what the page can do, and functions", async () => {
  const { page } = await live();
  await drawn(page);
  await page.press("k");
  await page.until(byId("palette") + ".open");
  await page.type("compare");
  await page.until(byId("palette") + ".querySelectorAll('li').length === 1");
  await page.press("Enter");
  await page.until("location.hash.includes('view=diff') && !" + byId("palette") + ".open");
  await page.until("document.activeElement === document.body");
  await page.press("k");
  await page.until(byId("palette") + ".open");
  await page.type("taxtable");
  await page.until(byId("palette") + ".querySelector('li')?.textContent.startsWith('TaxTable.lookup')");
  await page.press("Enter");
  await page.until(byId("sandwich-name") + ".textContent === 'TaxTable.lookup'");
  assertQuiet(page);
  await page.close();
});

test("the end of the target and the loss of the server are said", async () => {
  const { page, server, advance } = await live({ endsAfter: 4 });
  await drawn(page);
  advance(5);
  await page.until(byId("banner-text") + ".textContent.includes('target exited')");
  assert.equal(await textOf(page, "status"), "ended");
  server.close();
  server.closeAllConnections();
  await page.until(byId("banner-text") + ".textContent.includes('does not answer')", 15000);
  assert.equal(await page.evaluate(byId("pause") + ".hidden"), true);
  assert.ok(await page.evaluate(frames + ".length > 10"));
  await page.close();
});

test("a report opens from a file, without a server, and filters threads by itself", async () => {
  const program = createProgram({ threads: 8, now: () => 0 });
  program.advance(5);
  const path = join(folder, "report.html");
  writeFileSync(path, reportPage(bundled, program.report({})));
  const page = await browser.open("file://" + path);
  await drawn(page);
  assert.equal(await samplesShown(page), program.view({}).total);
  assert.match(await textOf(page, "status"), /^report of /);
  assert.equal(await page.evaluate(byId("pause") + ".hidden"), true);
  await click(page, "threads");
  await page.until("document.querySelector('[data-tid=\"4712\"]')");
  await page.evaluate("document.querySelector('[data-tid=\"4712\"] input').click()");
  await page.until(shownNumber + " === " + program.view({ threads: [1] }).total);
  await page.evaluate(chip("waits") + ".click()");
  await page.until(shownNumber + " === " + program.view({ threads: [1], states: ["!on_cpu", "~has_gil", "~waits_gil"] }).total);
  await page.evaluate(chip("all") + ".click()");
  await page.evaluate("document.querySelector('[data-tid=\"4712\"] input').click()");
  await page.until(shownNumber + " === " + program.view({}).total);
  await dragStrip(page, 0.2002, 0.5998);
  await page.until(shownNumber + " === " + program.view({ from: 1, to: 3 }).total);
  await click(page, "quality-open");
  await page.until(byId("measure-read_bytes") + "?.textContent.endsWith('MiB')");
  assert.ok(await page.evaluate(byId("download-collapsed") + " !== null"));
  assertQuiet(page);
  await page.close();
});

test("stacks of 10,000 frames are drawn, said to be deeper, and zoomed into", async () => {
  const { page } = await live({ deep: 10000, threads: 2, seconds: 2 });
  await drawn(page);
  await page.until(frames + ".some((g) => g.getAttribute('name').startsWith('(deeper: 9,000'))");
  await page.evaluate(frameNamed("(deeper") + ".dispatchEvent(new MouseEvent('click', { bubbles: true }))");
  await page.until(frames + ".some((g) => g.getAttribute('name').startsWith('(deeper: 8,000'))");
  assertQuiet(page);
  await page.close();
});

test("on a phone nothing is wider than the screen", async () => {
  const { page } = await live();
  await page.resize(360, 640);
  await drawn(page);
  for (const view of ["flame", "sandwich", "table", "source", "heatmap", "threads", "gil", "diff"]) {
    await page.evaluate("document.querySelector('[data-value=" + view + "]').click()");
    await page.until("document.documentElement.scrollWidth <= 360");
  }
  await page.close();
});
