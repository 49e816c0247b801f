// Reports: opened from a file, without a server.

import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { TEXT } from "../../../web/text/session.js";
import { createProgram } from "../support/made-up-program.mjs";
import { withRequests } from "../support/made-up-requests.mjs";
import { reportPage } from "../support/mock-server.mjs";
import { assertQuiet, browser, bundled, byId, click, dragStrip, drawn, folder, inAllParts, part, samplesShown,
  shownNumber, textOf } from "../support/open-page.mjs";

const ALL = inAllParts("");

test("a report has lines without their text, and says so", async () => {
  const program = createProgram({ threads: 8, now: () => 0 });
  program.advance(3);
  const path = join(folder, "lines.html");
  writeFileSync(path, reportPage(bundled, program.report({})));
  const page = await browser.open("file://" + path + ALL + "&view=source");
  await page.until(byId("source-note") + "?.textContent.startsWith('Source not available')");
  assert.ok(await page.evaluate("document.querySelectorAll('.line').length > 0"));
  assertQuiet(page);
  await page.close();
});

test("a report has the text of its hottest files, cut to what matters, and the cells of the heat map", async () => {
  const program = createProgram({ threads: 8, now: () => 0 });
  program.advance(3);
  const text = Array.from({ length: 500 }, (_, i) => (i % 100 < 30 ? "</script>line " + (i + 1) : "")).join("\n");
  const path = join(folder, "text.html");
  writeFileSync(path,
    reportPage(bundled, { ...program.report({}),
      sources: [{ path: "/srv/shop/pricing.py", changed: false, whole: false, text }] }));
  const page = await browser.open("file://" + path + ALL + "&view=source&file=/srv/shop/pricing.py");
  await page.until(
    "document.querySelectorAll('.line').length > 5 && document.querySelectorAll('.line-gap').length > 0",
  );
  assert.match(
    await page.evaluate(
      "document.querySelector('.line[aria-current], .line[data-heat=h2], .line').querySelector('.line-code').textContent",
    ),
    /^<\/script>line \d+$/,
  );
  await page.evaluate("document.querySelector('[data-value=heatmap]').click()");
  await page.until(byId("heatmap") + "?.getBoundingClientRect().width > 50");
  assertQuiet(page);
  await page.close();
});

test("the report of a part says what was selected and how long that lasted, hostile names and all", async () => {
  const program = createProgram({ threads: 3, now: () => 0 });
  program.advance(3);
  const text = "1.0 s to 2.25 s of 3.0 s; process 4712; thread <img src=x> (1)\u202e; hide function:main";
  const selection = { text, whole: false, from_s: 1, to_s: 2.25, duration_s: 1.25, session_s: 3, samples: 10,
    seconds: 0.1, process_count: 1 };
  for (const [name, part, facts] of [["part", selection,
    /selected: 1\.0 s to 2\.25 s of 3\.0 s; process 4712; thread <img src=x> \(1\)[^\u202e]*; hide function:main$/], [
    "whole",
    { ...selection, whole: true, duration_s: 3 },
    /^(?!.*selected)/,
  ], ["old", undefined, /^(?!.*selected)/]]) {
    const path = join(folder, "selection-" + name + ".html");
    writeFileSync(path, reportPage(bundled, { ...program.report({}), selection: part }));
    const page = await browser.open("file://" + path + ALL);
    await drawn(page);
    assert.match(await textOf(page, "facts"), facts, name);
    assert.equal(await textOf(page, "elapsed"), name === "part" ? "0:01" : "0:03", name);
    assert.equal(await page.evaluate(byId("quality-whole") + ".hidden"), name !== "part", name);
    assertQuiet(page);
    await page.close();
  }
});

test("a report opens from a file, without a server, and filters threads by itself", async () => {
  const program = createProgram({ threads: 8, now: () => 0 });
  program.advance(5);
  const path = join(folder, "report.html");
  writeFileSync(path, reportPage(bundled, program.report({})));
  const page = await browser.open("file://" + path + ALL);
  await drawn(page);
  assert.equal(await samplesShown(page), program.view({}).total);
  assert.match(await textOf(page, "status"), /^Report of /);
  assert.equal(await page.evaluate(byId("pause") + ".hidden"), true);
  await click(page, "threads");
  await page.until("document.querySelector('[data-tid=\"4712\"]')");
  await page.evaluate("document.querySelector('[data-tid=\"4712\"] input').click()");
  await page.until(shownNumber + " === " + program.view({ threads: [1] }).total);
  await page.evaluate(part("blocked") + ".click()");
  await page.until(shownNumber + " === " + program.view({ threads: [1], parts: ["blocked"] }).total);
  await page.evaluate("history.back()");
  await page.until(shownNumber + " === " + program.view({ threads: [1] }).total);
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

test("a report has its requests, and a band of them is kept in every view, without a server", async () => {
  const program = createProgram({ threads: 8, now: () => 0 });
  program.advance(5);
  const path = join(folder, "requests.html");
  const selection = { text: "", whole: true, duration_s: 5, session_s: 5, samples: 2000, seconds: 40,
    process_count: 1 };
  const report = { ...withRequests(program.report({})), selection };
  writeFileSync(path, reportPage(bundled, report));
  // Two of four cells are of the slow request, the third is of the other.
  const samplesOf = (rests) => report.cells.count.reduce((sum, n, i) => sum + (rests.includes(i % 4) ? n : 0), 0);
  const page = await browser.open("file://" + path + ALL + "&view=requests");
  const rows = "document.querySelectorAll('[data-testid=request]')";
  await page.until(rows + ".length === 2");
  assert.match(await textOf(page, "requests-summary"), /^61 requests.*50 % 8\.0 ms.*95 % 120 ms/);
  // A column that says nothing of any row is not shown.
  const hasViews = "getComputedStyle(" + rows + "[0].cells[5]).display !== 'none'";
  assert.equal(await page.evaluate(hasViews), true);
  await page.evaluate("location.hash += '&took=0.007~0.009'");
  await page.until(rows + ".length === 1");
  assert.equal(await page.evaluate(hasViews), false);
  await click(page, "requests-all");
  await page.until(rows + ".length === 2");
  await page.evaluate(rows + "[0].querySelector('.task-open').click()");
  await page.until("document.querySelectorAll('.waterfall li').length === 3");
  await page.evaluate(rows + "[1].querySelector('.task-open').click()");
  await page.until("document.querySelector('.task-stack')?.textContent === " + JSON.stringify(TEXT.requests.noPieces));
  await page.evaluate("document.querySelectorAll('[data-testid=request-bar]')[2].click()");
  await page.until(rows + ".length === 1 && location.hash.includes('took=0.1~')");
  await page.evaluate("document.querySelector('[data-testid=view] [data-value=flame]').click()");
  await page.until(shownNumber + " === " + samplesOf([0, 1]));
  await page.evaluate("document.querySelector('[data-testid=view] [data-value=heatmap]').click()");
  await page.until(byId("as-table-heatmap-open") + "?.checkVisibility()");
  await click(page, "as-table-heatmap-open");
  await page.until(byId("as-table-heatmap") + " !== null");
  const heat = await page.evaluate("Array.from(" + byId("as-table-heatmap")
    + ".querySelectorAll('tbody tr'), (row) => Number(row.cells[6].innerText)).reduce((sum, n) => sum + n)");
  assert.equal(heat, samplesOf([0, 1]));
  await page.evaluate("document.querySelector('[data-testid=view] [data-value=requests]').click()");
  await click(page, "requests-compare");
  await page.until("location.hash.includes('view=diff')");
  await page.until(byId("diff") + ".innerText.replaceAll(',', '').includes('" + samplesOf([2])
    + " samples in the baseline " + samplesOf([0, 1]) + " in the current profile')");
  assertQuiet(page);
  await page.close();
});

// The report with a function of the program as native code of a library, whose source file is unknown.
function withLibrary(report, name) {
  const { strings, functions } = report.tree;
  const path = strings.values.push("/usr/lib/libz.so.1") - 1;
  const at = functions.name.findIndex((id) => strings.values[id] === name);
  report.tree.libraries = { first: 0, path: [0, path], build_id: [0, 0], interpreter: [0, 0], kernel: [0, 0] };
  functions.library = functions.name.map((_, id) => Number(id === at));
  functions.file[at] = path;
  return report;
}

test("native frames have their library, a colour, and a choice that is in the address", async () => {
  const program = createProgram({ threads: 8, now: () => 0 });
  program.advance(3);
  const path = join(folder, "native.html");
  writeFileSync(path, reportPage(bundled, withLibrary(program.report({}), "TaxTable.lookup")));
  const page = await browser.open("file://" + path + ALL + "&view=table");
  const pressed = "document.querySelector('[data-testid=native] [aria-pressed=true]')?.dataset.value";
  const libraries =
    "[...document.querySelectorAll('td.row-library')].map((cell) => cell.textContent).filter(Boolean).join()";
  await page.until(pressed + " === 'leaf' && " + libraries + " === 'libz.so.1'");
  await page.evaluate("document.querySelector('[data-testid=native] [data-value=hidden]').click()");
  await page.until(pressed + " === 'hidden' && " + libraries + " === ''");
  assert.match(await page.evaluate("location.hash"), /native=hidden/);
  await page.evaluate("document.querySelector('[data-testid=native] [data-value=library]').click()");
  await page.evaluate("document.querySelector('[data-testid=view] [data-value=flame]').click()");
  await page.until(
    "[...document.querySelectorAll('.frame.native')].some((frame) => frame.textContent.includes('libz.so.1'))",
  );
  assertQuiet(page);
  await page.close();
});

test("a report without native code has no choice of native frames", async () => {
  const program = createProgram({ threads: 2, now: () => 0 });
  program.advance(3);
  const path = join(folder, "python.html");
  writeFileSync(path, reportPage(bundled, program.report({})));
  const page = await browser.open("file://" + path + ALL + "&view=table");
  await page.until("document.querySelectorAll('.row-name').length > 3");
  assert.equal(await page.evaluate("document.querySelector('[data-testid=native]').getBoundingClientRect().width"), 0);
  assert.equal(
    await page.evaluate("document.querySelector('[data-testid=library-head]').getBoundingClientRect().width"),
    0,
  );
  assertQuiet(page);
  await page.close();
});

test("states and filters of a report change the hottest functions, which have the numbers of the table", async () => {
  const program = createProgram({ threads: 8, now: () => 0 });
  program.advance(4);
  const path = join(folder, "hottest.html");
  writeFileSync(path, reportPage(bundled, program.report({})));
  const page = await browser.open("file://" + path + ALL);
  await drawn(page);
  const hottest =
    "Array.from(document.querySelectorAll('.hottest[data-key]'), (row) => row.querySelector('bdi').textContent + ' ' + row.querySelector('.share').textContent)";
  const painted = "new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))";
  const before = await page.evaluate(hottest);
  await page.evaluate(part("running") + ".click()");
  await page.until(hottest + ".join() !== " + JSON.stringify(before.join()));
  await page.evaluate(painted);
  const onCpu = await page.evaluate(hottest);
  await page.evaluate(
    "Array.from(document.querySelectorAll('#applied button')).find((button) => button.textContent === 'Hide libraries').click()",
  );
  await page.until(hottest + ".join() !== " + JSON.stringify(onCpu.join()));
  await page.evaluate(painted);
  const hidden = await page.evaluate(hottest);
  await page.evaluate("document.querySelectorAll('.hottest[data-key]')[0].click()");
  const time =
    "Array.from(document.querySelectorAll('#details .soft'), (text) => text.textContent).find((text) => text.startsWith('≈'))";
  await page.until(time + " !== undefined");
  const seconds = await page.evaluate(time);
  await page.evaluate("document.querySelector('[data-value=table]').click()");
  const rows = "Array.from(" + byId("table")
    + "?.querySelectorAll('tbody tr') ?? [], (row) => row.querySelector('bdi').textContent + ' ' + row.querySelector('.share').textContent)";
  await page.until(rows + ".length > 3");
  const table = await page.evaluate(rows);
  assert.deepEqual(hidden.filter((row) => !table.includes(row)), []);
  const times = "Array.from(" + byId("table")
    + ".querySelectorAll('tbody tr')).find((row) => row.querySelector('bdi').textContent + ' ' + row.querySelector('.share').textContent === "
    + JSON.stringify(hidden[0]) + ").querySelectorAll('.time')";
  assert.ok((await page.evaluate("Array.from(" + times + ", (cell) => '≈ ' + cell.textContent)")).includes(seconds),
    seconds);
  assertQuiet(page);
  await page.close();
});
