// Findings of axe-core in every view: nothing serious. Every other view is dark on a desktop, and light on a phone.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";
import { findAxe, launchChromium } from "../support/chromium.mjs";
import { createProgram } from "../support/made-up-program.mjs";
import { createMockServer, reportPage } from "../support/mock-server.mjs";

const VIEWS = [
  ["flame graph", "", "document.querySelectorAll('g.frame').length > 10"],
  ["bottom-up and searched", "&bottom-up&search=price", "document.querySelectorAll('g.frame.match').length > 0"],
  ["stack chart", "&view=stacks", "document.querySelector('[data-testid=stacks]')?.height > 60"],
  ["call tree", "&tables=flame", "document.querySelectorAll('[data-testid=call-tree] tbody tr').length > 2"],
  ["sandwich", "&view=sandwich", "document.querySelectorAll('.sandwich-side g.frame').length > 3"],
  ["sandwich searched", "&view=sandwich&search=price",
    "document.querySelectorAll('.sandwich-side g.frame.match').length > 0"],
  ["functions", "&view=table", "document.querySelectorAll('tbody tr').length > 10"],
  ["source", "&view=source&file=%2Fsrv%2Fshop%2Fpricing.py", "document.querySelectorAll('.line').length > 10"],
  ["source with a line open", "&view=source&file=%2Fsrv%2Fshop%2Fpricing.py",
    "(document.querySelector('.line-open') ?? (document.querySelector('.line .line-self:not(:empty)')?.closest('li').click(), null)) !== null && document.querySelectorAll('.instruction').length === 3"],
  ["heat map searched", "&view=heatmap&search=price",
    "document.querySelector('[data-testid=heat-found]')?.textContent.includes('samples match')"],
  ["heat map with a range and a filter", "&view=heatmap&range=1~3&filter=hide+x",
    "document.querySelector('.heat-canvas')?.width > 10"],
  ["threads", "&view=threads", "document.querySelectorAll('[data-testid=lane]').length > 3"],
  ["GIL", "&view=gil", "document.querySelectorAll('[data-testid=gil-flame] g.frame').length > 3"],
  ["locks", "&view=locks", "document.querySelectorAll('[data-testid=lock]').length === 4"],
  ["requests", "&view=requests",
    "(document.querySelector('.task-open[aria-expanded=true]') ?? document.querySelector('.task-open')?.click(), document.querySelectorAll('.waterfall li').length === 3)"],
  ["tasks", "&view=tasks",
    "(document.querySelector('.task-open[aria-expanded=false]')?.click(), document.querySelectorAll('.task-stack').length > 0)"],
  ["comparison", "&view=diff&baseline=0~2&range=2~4",
    "document.querySelectorAll('[data-testid=diff-table] tbody tr').length > 10"],
];
// Every chart has a table that says the same.
const CHARTS = [["flame graph", "strip,flame"], ["sandwich", "sandwich"], ["heat map with a range and a filter",
  "heatmap,flame"], ["threads", "threads"], ["GIL", "gil"], ["comparison", "diff"]];
const DIALOGS = ["help", "quality-open", "threads", "download", "share"];
// Opened by name from the palette.
const FROM_PALETTE = [["editor and repository", "links-dialog"], ["compare with another", "picker"]];
const PHONE = { width: 390, height: 844, mobile: true };
const ROOT = fileURLToPath(new URL("../../..", import.meta.url));
const folder = mkdtempSync(join(tmpdir(), "pyrometer-access-"));
let browser;
let server;
let reportUrl;

before(async () => {
  browser = await launchChromium({ width: 1280, height: 800 });
  const program = createProgram({ threads: 8, waiting: 20, locks: true, sourceLines: 150, now: () => 0 });
  program.advance(4);
  const bundled = join(folder, "page.html");
  execFileSync(join(ROOT, "scripts/bundle-web"), [bundled]);
  const path = join(folder, "report.html");
  writeFileSync(path,
    reportPage(bundled, { ...program.report({}),
      sources: [{ path: "/srv/shop/pricing.py", changed: false, whole: true,
        text: "def price():\n    return 1\n".repeat(20) }] }));
  reportUrl = "file://" + path;
  server = createMockServer(program, bundled);
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
});
after(async () => {
  await browser.close();
  server.closeAllConnections();
  server.close();
  rmSync(folder, { recursive: true });
});

const FAULTS =
  "axe.run(document, { resultTypes: ['violations'] }).then(({ violations }) => violations.filter(({ impact }) => impact === 'serious' || impact === 'critical')"
  + ".map(({ id, nodes }) => id + ': ' + nodes.slice(0, 3).map((node) => node.html.slice(0, 150)).join(' | ')))";

async function open(fragment, dark, size = {}) {
  const page = await browser.open("http://127.0.0.1:" + server.address().port + "/#v=1" + fragment, { dark, ...size });
  await page.until("document.querySelector('[data-testid=status]')?.dataset.status === 'running'");
  return page;
}

test("views of a report", async () => {
  // Locks and tasks were asked for as they were seen; a report has none.
  for (const [name, fragment, ready] of VIEWS.filter(([name], i) =>
    i % 2 === 1 && !["locks", "requests", "tasks"].includes(name)
  )) {
    const page = await browser.open(reportUrl + "#v=1" + fragment);
    await page.until(ready);
    await page.evaluate(readFileSync(findAxe(), "utf8") + "; 0");
    assert.deepEqual(await page.evaluate(FAULTS), [], name);
    await page.close();
  }
});

test("charts as tables, live and in a report", async () => {
  for (const [i, [name, tables]] of CHARTS.entries()) {
    const [, fragment, ready] = VIEWS.find(([view]) => view === name);
    const page = i % 2 === 0
      ? await open(fragment + "&tables=" + tables, i % 4 === 0)
      : await browser.open(reportUrl + "#v=1" + fragment + "&tables=" + tables);
    await page.until(ready);
    for (const key of tables.split(","))
      await page.until(
        "document.querySelectorAll('#as-table-" + key + ":not([hidden]) tbody th[scope=row]').length > 2",
      );
    await page.evaluate(readFileSync(findAxe(), "utf8") + "; 0");
    assert.deepEqual(await page.evaluate(FAULTS), [], name);
    await page.close();
  }
});

for (const [where, size, darkens] of [["on a desktop", {}, 0], ["on a phone", PHONE, 1]]) {
  test("views, " + where, async () => {
    for (const [i, [name, fragment, ready]] of VIEWS.entries()) {
      const page = await open(fragment, i % 2 === darkens, size);
      await page.until(ready);
      await page.evaluate(readFileSync(findAxe(), "utf8") + "; 0");
      assert.deepEqual(await page.evaluate(FAULTS), [], name);
      await page.close();
    }
  });

  test("what opens over the page, " + where, async () => {
    const page = await open("", darkens === 1, size);
    await page.until(VIEWS[0][2]);
    await page.evaluate(readFileSync(findAxe(), "utf8") + "; 0");
    for (const id of DIALOGS) {
      await page.evaluate("(document.querySelector('[data-testid=" + id + "]').click(), 0)");
      await page.until("document.querySelector('dialog[open], :popover-open') !== null");
      assert.deepEqual(await page.evaluate(FAULTS), [], id);
      await page.press("Escape");
      await page.until("document.querySelector('dialog[open], :popover-open') === null");
    }
    await page.press("k");
    await page.until("document.querySelector('[data-testid=palette]').open");
    assert.deepEqual(await page.evaluate(FAULTS), [], "palette");
    for (const [name, id] of FROM_PALETTE) {
      await page.evaluate("document.querySelector('[data-testid=palette]').open || (document.activeElement.blur(), 0)");
      if (!(await page.evaluate("document.querySelector('[data-testid=palette]').open"))) await page.press("k");
      await page.until("document.querySelector('[data-testid=palette]').open");
      await page.type(name);
      await page.until("document.querySelectorAll('.palette-list li').length === 1");
      await page.press("Enter");
      await page.until("document.querySelector('[data-testid=" + id + "]').open");
      assert.deepEqual(await page.evaluate(FAULTS), [], id);
      await page.press("Escape");
      await page.until("document.querySelector('dialog[open]') === null");
    }
    await page.evaluate(
      "(() => { const frame = document.querySelectorAll('g.frame')[2]; frame.scrollIntoView({ block: 'center' }); const at = frame.querySelector('rect').getBoundingClientRect();"
        + " frame.dispatchEvent(new PointerEvent('contextmenu', { bubbles: true, cancelable: true, pointerType: 'mouse', clientX: at.x + 2, clientY: at.y + 2 })); })()",
    );
    await page.until("document.querySelector('[data-testid=context-menu]:popover-open') !== null");
    assert.deepEqual(await page.evaluate(FAULTS), [], "context menu");
    await page.close();
  });
}
