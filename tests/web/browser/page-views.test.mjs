// Every view but the flame graph, live and in a report.

import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { VIEWS } from "../../../web/model/page/address.js";
import { TEXT } from "../../../web/text/session.js";
import { createProgram } from "../support/made-up-program.mjs";
import { reportPage } from "../support/mock-server.mjs";
import { assertQuiet, browser, bundled, byId, click, drawn, folder, inAllParts, live, pointAt, samplesShown,
  shownNumber, textOf } from "../support/open-page.mjs";

test("a function has one time: in the table, in the panel and in the sandwich", async () => {
  const { page } = await live({ fragment: "#v=1&view=table" });
  const row =
    "Array.from(document.querySelectorAll('[data-testid=table] tbody tr')).find((one) => one.querySelector('.row-name')?.textContent === 'price_basket')";
  await page.until(row + " !== undefined");
  const inTable = await page.evaluate("Array.from(" + row + ".querySelectorAll('.time'), (time) => time.textContent)");
  assert.match(inTable.join(" "), /^[\d.]+ m?s [\d.]+ m?s$/);
  await page.evaluate(row + ".querySelector('.row-name').click()");
  const inPanel = (measure) => byId(measure + "-share") + "?.parentElement.querySelector('.soft').textContent";
  await page.until(byId("total-share") + " !== null");
  assert.deepEqual([await page.evaluate(inPanel("self")), await page.evaluate(inPanel("total"))],
    inTable.map((time) => "≈ " + time));
  await page.evaluate("(location.hash = location.hash.replace(/view=[a-z]+/, '') + '&view=sandwich', 0)");
  await page.until(byId("sandwich") + "?.checkVisibility()");
  await page.until(byId("sandwich") + ".textContent.includes(" + JSON.stringify(inTable[1]) + ")");
  assertQuiet(page);
  await page.close();
});

test("C functions of the table are marked native", async () => {
  const { page } = await live({ fragment: "#v=1&view=table" });
  await page.until(byId("table") + "?.querySelectorAll('tbody tr').length > 5");
  const places = "Array.from(" + byId("table")
    + ".querySelectorAll('tbody tr'), (row) => row.querySelector('.place').textContent)";
  const found = await page.evaluate(places);
  assert.ok(found.includes("native") && found.some((place) => place.includes(".py")), JSON.stringify(found));
  await page.close();
});

test("the table has the name first, then where it is in the short form, whose title is the whole path", async () => {
  const { page } = await live({ fragment: "#v=1&view=table" });
  await page.until(byId("table") + "?.querySelectorAll('tbody tr').length > 5");
  const place = "Array.from(" + byId("table")
    + ".querySelectorAll('.place')).find((one) => one.textContent.startsWith('sqlkit/sql/'))";
  await page.until(place + " !== undefined");
  assert.deepEqual(
    await page.evaluate(
      "[" + place + ".textContent, " + place + ".title, " + place + ".scrollWidth <= " + place + ".clientWidth, "
        + place + ".closest('tr').firstElementChild.tagName]",
    ),
    ["sqlkit/sql/compiler.py:4410", "/srv/shop/.venv/lib/python3.13/site-packages/sqlkit/sql/compiler.py:4410", true,
      "TH"],
  );
  await page.close();
});

test("intervals are in the table on request", async () => {
  const { page } = await live({ fragment: "#v=1&view=table" });
  await page.until(byId("table") + "?.querySelectorAll('tbody tr').length > 5");
  const intervals = "Array.from(" + byId("table")
    + ".querySelectorAll('tbody .interval')).filter((one) => one.checkVisibility()).length";
  assert.equal(await page.evaluate(intervals), 0);
  await click(page, "intervals");
  await page.until(intervals + " > 5 && " + byId("intervals") + ".getAttribute('aria-pressed') === 'true'");
  await page.close();
});

test("the table is a real one and sorts", async () => {
  const { page } = await live({ fragment: "#v=1&view=table" });
  await page.until("document.querySelectorAll('tbody tr').length > 10");
  await click(page, "sort-total");
  await page.until(byId("sort-total") + ".closest('th').getAttribute('aria-sort') === 'descending'");
  const shares = await page.evaluate(
    "Array.from(document.querySelectorAll('tbody tr:not([hidden]) td:nth-child(3) .samples')).map((cell) => Number(cell.textContent.replaceAll(',', '')))",
  );
  assert.deepEqual(shares, shares.slice().sort((a, b) => b - a));
  assert.equal(
    await page.evaluate(
      "document.querySelectorAll('tbody th[scope=row]').length === document.querySelectorAll('tbody tr').length",
    ),
    true,
  );
  await page.close();
});

test("a function stands between its callers and callees, from the table and from a frame, live", async () => {
  const { page, program, advance } = await live({ fragment: "#v=1&view=table" });
  await page.until("document.querySelectorAll('tbody tr').length > 10");
  await page.evaluate(
    "Array.from(document.querySelectorAll('tbody tr')).find((row) => row.querySelector('.row-name').textContent === 'price_basket').querySelector('.row-about').click()",
  );
  await page.until("location.hash.includes('about=') && " + byId("sandwich-name") + ".textContent === 'price_basket'");
  const inside = (side) => "Array.from(" + byId(side) + ".querySelectorAll('g.frame'), (g) => g.getAttribute('name'))";
  await page.until(inside("sandwich-callers") + ".some((name) => name.startsWith('CheckoutView.post'))");
  await page.until(inside("sandwich-callees") + ".some((name) => name.startsWith('TaxTable.lookup'))");
  const numbers = await textOf(page, "sandwich-numbers");
  advance(2);
  await page.until(byId("sandwich-numbers") + ".textContent !== " + JSON.stringify(numbers));
  await page.evaluate(
    "Array.from(" + byId("sandwich-callees")
      + ".querySelectorAll('g.frame')).find((g) => g.getAttribute('name').startsWith('TaxTable.lookup')).dispatchEvent(new MouseEvent('click', { bubbles: true }))",
  );
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
  await page.until(
    "(" + byId("table")
      + ".closest('.table').scrollTop = 1e9) && Number(Array.from(document.querySelectorAll('tbody tr')).at(-1).getAttribute('aria-rowindex')) === Number("
      + byId("table") + ".getAttribute('aria-rowcount'))",
  );
  await page.close();
});

test("a stretch of the heat map gives its flame graph; another one with Shift is compared with it", async () => {
  const { page, program } = await live({ seconds: 8, fragment: "#v=1&view=heatmap" });
  await drawn(page);
  await page.until(
    byId("heatmap") + ".getBoundingClientRect().width > 50 && !" + byId("heatmap") + ".closest('[hidden]')",
  );
  const drag = async (from, to, modifiers) => {
    const at = await page.evaluate(
      "(() => { const r = " + byId("heatmap")
        + ".getBoundingClientRect(); return { x: r.x, y: r.y, width: r.width, height: r.height }; })()",
    );
    const mouse = (type, [x, y], button) =>
      page.call("Input.dispatchMouseEvent", { type, x: at.x + x * at.width, y: at.y + y * at.height, button,
        buttons: button === "left" ? 1 : 0, clickCount: 1, modifiers });
    await mouse("mouseMoved", from, "none");
    await mouse("mousePressed", from, "left");
    await mouse("mouseMoved", to, "left");
    await mouse("mouseReleased", to, "left");
  };
  await drag([0.2, 0.01], [0.45, 0.99], 0);
  await page.until("location.hash.includes('range=1~4')");
  await page.until(shownNumber + " === " + program.view({ from: 1, to: 4 }).total);
  await drag([0.55, 0.01], [0.95, 0.99], 8);
  await page.until("location.hash.includes('view=diff') && location.hash.includes('baseline=4~8')");
  await page.until("document.querySelectorAll('[data-testid=diff-table] tbody tr').length > 10");
  assert.match(await textOf(page, "diff-table"),
    new RegExp(program.view({ from: 4, to: 8 }).total.toLocaleString("en-US") + " samples in the base"));
  await page.until("document.querySelectorAll('[data-testid=diff-flame] g.frame').length > 10");
  await click(page, "diff-swap");
  await page.until("location.hash.includes('range=4~8') && location.hash.includes('baseline=1~4')");
  assertQuiet(page);
  await page.close();
});

test("two halves are compared in a report too", async () => {
  const program = createProgram({ threads: 8, now: () => 0 });
  for (let second = 1; second <= 8; second += 1) program.advance(second);
  const path = join(folder, "compared.html");
  writeFileSync(path, reportPage(bundled, program.report({})));
  const page = await browser.open("file://" + path + inAllParts("") + "&view=diff");
  await page.until(byId("diff-halves") + "?.getBoundingClientRect().width > 0");
  await click(page, "diff-halves");
  await page.until("document.querySelectorAll('[data-testid=diff-table] tbody tr').length > 10");
  // It writes JSON from its fourth second on.
  await page.until(
    "Array.from(document.querySelectorAll('[data-testid=diff-table] tbody tr')).some((row) => ['new', 'more'].includes(row.dataset.verdict) && row.textContent.includes('JSONEncoder'))",
  );
  assertQuiet(page);
  await page.close();
});

test("who held the GIL while whom waited, live and in a report", async () => {
  const { page, program } = await live({ seconds: 4, threads: 8, fragment: "#v=1&view=gil" });
  const rows = byId("gil-matrix") + "?.querySelectorAll('tbody tr')";
  await page.until(rows + "?.length > 3 && document.querySelectorAll('[data-testid=gil-flame] g.frame').length > 5");
  const whole = program.gil({});
  assert.match(await textOf(page, "gil-summary"),
    new RegExp("of all " + program.view({}).total.toLocaleString("en-US") + " samples"));
  const kept = await page.evaluate(rows + ".length");
  assert.equal(kept, whole.pairs.filter((row) => row.some((samples) => samples > 0)).length);
  await page.evaluate(byId("gil-matrix") + ".querySelector('thead button').click()");
  await page.until(
    "location.hash.includes('thread=') && " + byId("gil-matrix") + ".querySelectorAll('thead th').length === 2",
  );
  assert.match(await textOf(page, "gil-summary"), /of the selected threads' /);
  await page.evaluate(byId("gil-list") + ".querySelector('button').click()");
  await page.until("location.hash.includes('view=sandwich') && location.hash.includes('about=')");
  assertQuiet(page);
  await page.close();
  const path = join(folder, "gil.html");
  writeFileSync(path, reportPage(bundled, program.report({})));
  const report = await browser.open("file://" + path + inAllParts("") + "&view=gil");
  await report.until(byId("gil-matrix") + "?.querySelectorAll('tbody tr').length === " + kept);
  assertQuiet(report);
  await report.close();
});

test("where no holder of the GIL was seen there is no empty matrix", async () => {
  const { page } = await live({ seconds: 4, threads: 8 });
  await drawn(page);
  const noHolder =
    "window.fetch = ((before) => async (url, ...more) => { const answer = await before(url, ...more); if (!/\\/gil\\b/.test(String(url))) return answer;"
    + " const gil = await answer.json(); return new Response(JSON.stringify({ ...gil, unattributed: gil.waited, threads: [], pairs: [], node: [], waits_caused: [] }), { headers: answer.headers }); })(fetch)";
  await page.evaluate("(" + noHolder + ", location.hash = '#v=1&view=gil', 0)");
  await page.until(byId("gil") + "?.textContent.includes('No holder was seen for 100 %')");
  assert.equal(
    await page.evaluate(
      "Array.from(" + byId("gil")
        + ".querySelectorAll('h3, table, [data-testid=gil-flame]')).some((part) => part.checkVisibility())",
    ),
    false,
  );
  assertQuiet(page);
  await page.close();
});

test("locks have the lines that wait for them and hold them, with their text, and lead to Source", async () => {
  const { page } = await live({ seconds: 4, threads: 8, locks: true, fragment: "#v=1&view=locks" });
  const rows = "document.querySelectorAll('[data-testid=lock]')";
  await page.until(rows + ".length === 4 && " + rows + "[0].querySelectorAll('code').length === 3");
  assert.match(await textOf(page, "locks-summary"), /^Threads waited 1 min 17 s for 4 locks/);
  const shown = await page.evaluate("Array.from(" + rows + "[0].cells, (cell) => cell.innerText)");
  assert.deepEqual([shown[0].includes("threading.Lock 0x7f3c2a10b4c0"), shown[1], shown[3]], [true, "12.4 s", "3"]);
  assert.match(shown[4], /pricing\.py:20 price_basket\s+9\.00 s/);
  assert.match(shown[5], /pricing\.py:131 TaxTable\.lookup\s+11\.9 s[^]*unknown holder 500 ms/);
  assert.equal(await page.evaluate(rows + "[2].querySelector('img, script, b') === null && document.title !== 'PWNED'"),
    true);
  await page.evaluate(rows + "[0].querySelector('button').click()");
  await page.until("location.hash.includes('view=source') && location.hash.includes('line=20')");
  assertQuiet(page);
  await page.close();
});

test("requests have their durations, rows and pieces, and a band of them is kept in every view", async () => {
  const { page } = await live({ seconds: 2, fragment: "#v=1&view=requests" });
  const rows = "document.querySelectorAll('[data-testid=request]')";
  await page.until(rows + ".length === 2");
  assert.match(await textOf(page, "requests-summary"), /^61 requests.*50 % 8\.0 ms.*95 % 120 ms/);
  // Names of requests leave room for what they did; on a phone each column is a line.
  const headed =
    "document.querySelector('[data-testid=request-table] tbody th').getBoundingClientRect().width / innerWidth";
  assert.ok(await page.evaluate(headed + " < 0.45"), String(await page.evaluate(headed)));
  await page.resize(390, 844);
  assert.deepEqual(await page.evaluate("[" + byId("requests") + "].flatMap((e) => [e.scrollWidth - e.clientWidth,"
    + " document.documentElement.scrollWidth - innerWidth])"), [0, 0]);
  await page.resize(1440, 900);
  assert.equal(await page.evaluate("Array.from(document.querySelectorAll('svg.request-scatter rect'),"
    + " (rect) => rect.getBoundingClientRect().width > 0).join()"), "true,true");
  await page.evaluate(rows + "[0].querySelector('.task-open').click()");
  await page.until("document.querySelectorAll('.waterfall li').length === 3");
  await page.evaluate("document.querySelectorAll('[data-testid=request-bar]')[2].click()");
  await page.until("location.hash.includes('took=0.1~')");
  await page.until("document.querySelector('[data-testid=applied][data-kind=requests]') !== null");
  // The server chooses the samples of a band for each view.
  const asked = (path) =>
    "performance.getEntriesByType('resource').some(({ name }) => name.includes('/" + path
    + "?') && name.includes('slower_than=0.1'))";
  for (const view of ["heatmap", "gil", "threads", "stacks"]) {
    await page.evaluate("location.hash = location.hash.replace(/view=\\w+/, 'view=" + view + "')");
    await page.until(asked({ heatmap: "heatmap", gil: "gil", threads: "timeline", stacks: "runs" }[view]));
  }
  await page.evaluate("location.hash = location.hash.replace(/view=\\w+/, 'view=requests')");
  await page.until(rows + ".length === 2");
  await click(page, "requests-compare");
  await page.until("location.hash.includes('view=diff') && location.hash.includes('against=')");
  await page.press("R");
  await page.until("location.hash.includes('view=requests')");
  await page.evaluate(rows + "[1].querySelector('.row-name').click()");
  await page.until("location.hash.includes('filter=focus+context')");
  assertQuiet(page);
  await page.close();
});

test("a deadlock is said in every view, as text, and leads to the locks, which may be none", async () => {
  const { page } = await live({ deadlocked: true });
  await page.until(byId("banner") + "?.hidden === false");
  assert.match(await textOf(page, "banner-text"),
    /^deadlock: <\/script>.* waits for threading\.Lock 0x\w+ \(held by mover-2 at bank\.py:7\), mover-2 waits for /);
  assert.equal(await page.evaluate(byId("banner-text") + ".querySelector('img') === null"), true);
  await click(page, "banner-locks");
  await page.until("location.hash.includes('view=locks') && " + byId("banner-locks") + ".hidden");
  await page.until(byId("locks-none") + ".textContent === " + JSON.stringify(TEXT.locks.none));
  await page.press("0");
  await page.until("location.hash.includes('view=tasks')");
  await page.press("L");
  await page.until("location.hash.includes('view=locks')");
  assertQuiet(page);
  await page.close();
});

test("files by heat, their lines with their text, and the way from line to line", async () => {
  const { page } = await live({ seconds: 6, fragment: "#v=1&view=source&file=/srv/shop/pricing.py" });
  const lines = "Array.from(document.querySelectorAll('.line'))";
  await page.until(lines + ".length === 500");
  assert.equal(await textOf(page, "source-path"), "/srv/shop/pricing.py");
  assert.match(await page.evaluate(lines + "[7].querySelector('.line-code').textContent"), /^<\/script><b>line 8 of/);
  await page.until(lines + ".filter((line) => /^h[1-7]$/.test(line.dataset.heat)).length > 1");
  await page.press("n");
  await page.until("location.hash.includes('line=')");
  const first = await page.evaluate("Number(/line=(\\d+)/.exec(location.hash)[1])");
  await page.press("n");
  await page.until("Number(/line=(\\d+)/.exec(location.hash)[1]) !== " + first);
  assert.match(await textOf(page, "source-about"), /Called from/);
  await page.evaluate(
    "Array.from(" + byId("source-about")
      + ".querySelectorAll('button')).find((button) => button.textContent.includes('checkout.py')).click()",
  );
  await page.until(byId("source-path") + ".textContent === '/srv/shop/views/checkout.py'");
  await page.evaluate(
    "Array.from(document.querySelectorAll('.source-file')).find((button) => button.title.includes('evil')).click()",
  );
  await page.until(byId("source-path") + ".textContent.includes('<b>evil</b>')");
  assert.equal(await page.evaluate("document.querySelectorAll('main b').length"), 0);
  assertQuiet(page);
  await page.close();
});

test("times below the timeline are whole, or not there", async () => {
  const { page } = await live({ seconds: 10, fragment: "#v=1&view=heatmap" });
  const axes = "Array.from(document.querySelectorAll('.strip-axis')).filter((axis) => axis.checkVisibility())";
  // The box of the text of a label, and of its axis.
  const cut = axes
    + ".flatMap((axis) => Array.from(axis.children, (label) => { const range = document.createRange(); range.selectNodeContents(label); const [a, b] = [range.getBoundingClientRect(), axis.getBoundingClientRect()];"
    + " const text = Array.from(range.getClientRects()).at(-1); return text.top < b.bottom - 2 && (text.right > b.right + 1 || a.width === 0) ? label.textContent : null; })).filter(Boolean)";
  for (const width of [1280, 1310, 1340, 390, 420]) {
    await page.resize(width, 800);
    await page.until(
      "innerWidth === " + width + " && " + axes + ".length > 1 && " + axes
        + ".every((axis) => axis.children.length > 0)",
    );
    await page.evaluate("new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn)))");
    assert.deepEqual(await page.evaluate(cut), [], String(width));
  }
  await page.close();
});

test("every thread has a lane, live and in a report", async () => {
  const { page, program } = await live({ fragment: "#v=1&view=threads" });
  const lanes = "Array.from(document.querySelectorAll('[data-testid=lane]'))";
  await page.until(
    lanes + ".length === 8 && " + lanes + ".every((lane) => lane.querySelectorAll('path[d]:not([d=\"\"])').length > 0)",
  );
  assert.match(await page.evaluate(lanes + "[0].querySelector('.lane-plot').getAttribute('aria-label')"),
    /^[\d,]+ samples: /);
  // Everything that is drawn has a column.
  const heads = "Array.from(document.querySelectorAll('.lanes thead th'), (th) => th.textContent)";
  assert.deepEqual((await page.evaluate(heads)).slice(3), TEXT.threads.lanes.slice(3));
  assert.equal(
    await page.evaluate(
      lanes
        + ".every((lane) => lane.querySelectorAll('td').length === 8 && Array.from(lane.querySelectorAll('td.number')).every((cell) => /%$|^—$/.test(cell.textContent)))",
    ),
    true,
  );
  assertQuiet(page);
  const path = join(folder, "lanes.html");
  writeFileSync(path, reportPage(bundled, program.report({})));
  await page.close();
  const report = await browser.open("file://" + path + inAllParts("") + "&view=threads");
  await report.until(
    lanes + ".length === 8 && " + lanes + ".every((lane) => lane.querySelectorAll('path[d]:not([d=\"\"])').length > 0)",
  );
  await report.evaluate("document.querySelector('[data-tid=\"4712\"] .row-name').click()");
  await report.until(shownNumber + " === " + program.view({ threads: [1] }).total);
  assertQuiet(report);
  await report.close();
});

test("a chart is a table too, by key, which stays while somebody is in it", async () => {
  const { page, advance } = await live({ fragment: "#v=1" });
  await drawn(page);
  await page.evaluate("(" + byId("as-table-flame-open") + ".focus(), 0)");
  await page.press("Enter");
  const rows = "document.querySelectorAll('#as-table-flame tbody tr')";
  await page.until(rows + ".length > 10 && location.hash.includes('tables=flame')");
  assert.equal(await page.evaluate(byId("as-table-flame-open") + ".getAttribute('aria-expanded')"), "true");
  const samples = rows + "[0].cells[1].querySelector('.samples').textContent.replaceAll(',', '')";
  const before = await page.evaluate(samples);
  advance(2);
  await page.until("Number(" + samples + ") > " + before);
  // The keyboard is in it: nothing moves.
  await page.evaluate("(" + byId("call-tree") + ".focus(), 0)");
  const held = await page.evaluate(samples);
  const shown = await samplesShown(page);
  advance(2);
  await page.until(shownNumber + " > " + shown);
  assert.equal(await page.evaluate(samples), held);
  await page.press("Enter");
  await page.until("location.hash.includes('zoom=') && " + rows + "[0].getAttribute('aria-selected') === 'true'");
  assert.equal(await page.evaluate("document.activeElement === " + byId("call-tree")), true);
  await page.evaluate("(document.querySelector('[data-value=table]').click(), 0)");
  await page.until(byId("as-table-flame") + ".hidden && " + byId("as-table-flame-open") + ".hidden");
  assertQuiet(page);
  await page.close();
});

test("rows stay under the pointer while their numbers go on, and are sorted again when it leaves", async () => {
  const { page, program, advance } = await live({ fragment: "#v=1&view=table" });
  await page.until("document.querySelectorAll('tbody tr').length > 10");
  const names = "Array.from(document.querySelectorAll('.functions .row-name'), (name) => name.textContent)";
  const own =
    "Array.from(document.querySelectorAll('.functions tbody td:first-child .samples'), (cell) => Number(cell.textContent.replaceAll(',', '')))";
  const total = byId("table") + ".caption.textContent.includes(', ' + (%).toLocaleString('en-US') + ' samples')";
  const [x, y] = await page.evaluate(
    "(() => { const at = document.querySelectorAll('.functions tbody tr')[3].getBoundingClientRect(); return [at.x + 40, at.y + at.height / 2]; })()",
  );
  await page.point(x, y);
  await page.until("document.querySelector('.functions tbody').matches(':hover')");
  const before = await page.evaluate(names);
  for (let i = 0; i < 3; i += 1) {
    advance(3);
    await page.until(total.replace("%", String(program.view({}).total)));
    assert.deepEqual((await page.evaluate(names)).slice(0, before.length), before);
  }
  await page.point(x, 5);
  await page.until(
    "(() => { const counts = " + own + "; return counts.every((count, i) => i === 0 || count <= counts[i - 1]); })()",
  );
  assertQuiet(page);
  await page.close();
});

test("asyncio tasks stand by coroutine, open to where each waits and to their stacks, and follow the program", async () => {
  const { page, advance } = await live({ waiting: 40, fragment: "#v=1&view=tasks" });
  const listed = (testid) => "Array.from(document.querySelectorAll('[data-testid=" + testid + "]'))";
  const [groups, rows] = [listed("task-group"), listed("task")];
  const count = (list) => list + ".reduce((sum, row) => sum + Number(row.querySelector('.task-open').textContent), 0)";
  await page.until(groups + ".length > 0");
  assert.match(await textOf(page, "tasks-summary"), /^40 tasks, 1 running, 38 waiting, the longest for 2\.\d+ s\.$/);
  assert.equal(await page.evaluate(groups + "[0].dataset.state"), "running");
  assert.deepEqual(await page.evaluate("[" + count(groups) + ", " + rows + ".length, " + groups + ".length < 10]"), [40,
    0, true]);
  await page.evaluate(
    groups
      + ".forEach((row) => document.querySelector('[data-testid=task-group] > td > .task-open[aria-expanded=false]').click())",
  );
  assert.equal(await page.evaluate(count(rows)), 40);
  assert.equal(
    await page.evaluate("document.title.includes('PWNED') || document.querySelector('.task-table img') !== null"),
    false,
  );
  await page.evaluate(rows + ".at(-1).querySelector('.task-open').click()");
  await page.until("document.querySelectorAll('.task-stack li').length > 2");
  const before = await textOf(page, "tasks-summary");
  advance(2);
  await page.until(byId("tasks-summary") + ".textContent !== " + JSON.stringify(before));
  assert.deepEqual(await page.evaluate("[document.querySelectorAll('.task-stack').length, " + count(rows) + "]"), [1,
    40]);
  await page.evaluate("document.querySelector('.task-stack .row-name').click()");
  await page.until("location.hash.includes('search=') && !location.hash.includes('view=tasks')");
  assertQuiet(page);
  await page.close();
});

test("ten thousand tasks of a few coroutines are a few rows", async () => {
  const { page } = await live({ waiting: 10000, fragment: "#v=1&view=tasks" });
  await page.until("document.querySelectorAll('[data-testid=task-group]').length > 0");
  assert.match(await textOf(page, "tasks-summary"), /^10,000 tasks/);
  assert.equal(await page.evaluate("document.querySelectorAll('[data-testid=tasks] tbody tr').length < 10"), true);
  assertQuiet(page);
  await page.close();
});

test("without tasks the page says what shows them, and has no button for them", async () => {
  const { page } = await live({});
  await drawn(page);
  assert.equal(await page.evaluate("document.querySelector('[data-testid=view] [data-value=tasks]').hidden"), true);
  await page.press("0");
  await page.until("/--async-aware/.test(" + byId("tasks-none") + ".textContent) && !" + byId("tasks") + ".hidden");
  assertQuiet(page);
  await page.close();
});

test("without colours of ours what is pressed is framed, charts keep theirs, and changes have signs", async () => {
  const { page } = await live({ seconds: 6, fragment: "#v=1&view=diff&baseline=0~2&range=2~4" });
  await page.until("document.querySelectorAll('[data-testid=diff-flame] g.frame').length > 5");
  await page.call("Emulation.setEmulatedMedia", { features: [{ name: "forced-colors", value: "active" }] });
  await page.until("matchMedia('(forced-colors: active)').matches");
  const frame = (selector) =>
    page.evaluate("getComputedStyle(document.querySelector('" + selector + "')).outlineStyle");
  assert.equal(await frame("[data-testid=view] [aria-pressed=true]"), "solid");
  assert.equal(await frame("[data-testid=view] [aria-pressed=false]"), "none");
  for (const selector of [".diff-plot .flame-chart", ".strip-plot", ".swatch", ".part"])
    assert.equal(await page.evaluate("getComputedStyle(document.querySelector('" + selector + "')).forcedColorAdjust"),
      "none", selector);
  assert.equal(
    await page.evaluate(
      "Array.from(document.querySelectorAll('[data-testid=diff-flame] g.frame')).every((g) => !/more-|less-/.test(g.getAttribute('class')) || /^[+−↑↓] /.test(g.getAttribute('name')))",
    ),
    true,
  );
  assertQuiet(page);
  await page.close();
});

test("frames stay where they are while one is pointed at, and follow when the pointer leaves", async () => {
  const { page, program, advance } = await live({ seconds: 3 });
  await drawn(page);
  const places =
    "JSON.stringify(Array.from(document.querySelectorAll('[data-testid=flame] g.frame'), (g) => [g.getAttribute('name'), g.getAttribute('transform')]))";
  const [x, y] = await pointAt(page, "document.querySelectorAll('[data-testid=flame] g.frame')[3]");
  await page.until("!document.querySelector('.tip').hidden");
  const before = await page.evaluate(places);
  for (let i = 0; i < 3; i += 1) {
    advance(3);
    await page.until(shownNumber + " === " + program.view({}).total);
    assert.equal(await page.evaluate(places), before);
  }
  assert.match(await page.evaluate("document.querySelector('.tip').textContent"), new RegExp(TEXT.flame.frozen));
  await page.point(x, 5);
  await page.until(places + " !== " + JSON.stringify(before));
  assertQuiet(page);
  await page.close();
});

test("on a phone no view is wider than the screen, and the button of the view can be seen", async () => {
  // Many failures, which the badge of the quality warns of.
  const { page } = await live({ seconds: 4, failing: 0.9, threads: 30 });
  await page.call("Emulation.setDeviceMetricsOverride", { width: 390, height: 844, deviceScaleFactor: 1,
    mobile: true });
  await drawn(page);
  await page.until(byId("quality-warning") + ".textContent.includes('failed')");
  for (const view of VIEWS) {
    await page.evaluate("(location.hash = '#v=1&view=" + view + "', 0)");
    const button = "document.querySelector('[data-testid=view] [data-value=" + view + "]')";
    await page.until(button + ".getAttribute('aria-pressed') === 'true'");
    const [wide, left, right] = await page.evaluate(
      "[document.documentElement.scrollWidth, " + button + ".getBoundingClientRect().left, " + button
        + ".getBoundingClientRect().right]",
    );
    assert.ok(wide <= 390, view + ": " + wide);
    assert.ok(left >= 0 && right <= 390, view + ": " + left + " to " + right);
  }
  assertQuiet(page);
  await page.close();
});
