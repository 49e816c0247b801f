// The whole page in a real browser, against a made-up program: what only a browser can say.

import assert from "node:assert/strict";
import { test } from "node:test";
import { QUALITY_TEXT } from "../../../web/text/quality.js";
import { TEXT } from "../../../web/text/session.js";
import { HOSTILE_NAMES } from "../support/made-up-stacks.mjs";
import { assertQuiet, browser, byId, click, clickFrame, drawn, frameNamed, frames, live, samplesShown, shownNumber,
  textOf, widthOf } from "../support/open-page.mjs";

test("a live page draws, keeps up, and its policy stops nothing it needs", async () => {
  const { page, program, advance } = await live();
  await drawn(page);
  const before = await samplesShown(page);
  assert.equal(before, program.view({}).total);
  advance(2);
  await page.until(shownNumber + " === " + program.view({}).total);
  assert.match(await textOf(page, "command"), /^python3 shop\/app.py/);
  assert.equal(await textOf(page, "status"), TEXT.status.running);
  assert.equal(await textOf(page, "quality-samples"), program.session().quality.samples.toLocaleString("en-US"));
  assert.equal(await textOf(page, "quality-engine"), QUALITY_TEXT.engines.kernel[0]);
  // It is of the other engine, but was there before the session was known.
  assert.equal(
    await page.evaluate("document.querySelector('[data-testid=quality-stopped]')?.checkVisibility() ?? false"),
    false,
  );
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
    assert.equal(await page.evaluate(frames + ".filter((g) => g.classList.contains('match')).length > 0"), true);
    assert.equal(
      await page.evaluate(
        frames
          + ".every((g) => (g.querySelector('.d3-flame-graph-label')?.textContent ?? '') === (g.querySelector('rect').width.baseVal.value < 35 ? '' : g.getAttribute('name')))",
      ),
      true,
    );
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
  await second.page.until(byId("breadcrumb") + ".textContent.includes('Server.handle')");
  // A page behind another one may draw nothing.
  await first.page.call("Page.bringToFront");
  await first.page.evaluate("history.back()");
  await first.page.until(
    "!location.hash.includes('zoom=') && !" + byId("breadcrumb") + ".textContent.includes('Server')",
  );
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
  await page.until("location.hash.includes('bottom-up')");
  await page.press("p");
  await page.until(byId("status") + ".textContent.startsWith('" + TEXT.status["view paused"] + "')");
  await page.press("t");
  await page.until("document.documentElement.dataset.theme === 'light'");
  await page.press("t");
  await page.until("getComputedStyle(document.body.parentElement).backgroundColor === 'rgb(19, 20, 23)'");
  await page.press("?");
  await page.until(byId("help-dialog") + ".open");
  assert.deepEqual(
    await page.evaluate(
      "[" + byId("manual") + ".getAttribute('href'), " + byId("manual-view") + ".getAttribute('href')]",
    ),
    ["manual", "manual#views-flame-graph"],
  );
  await page.press("Escape");
  await page.until("!" + byId("help-dialog") + ".open");
  await page.press("/");
  await page.type("/(/");
  await page.until(byId("search-error") + ".textContent.startsWith('Invalid')");
  assertQuiet(page);
  await page.close();
});

test("while paused the picture stands still and what came since is counted", async () => {
  const { page, program, advance } = await live();
  await drawn(page);
  await click(page, "pause");
  const shown = await samplesShown(page);
  advance(2);
  await page.until(byId("status") + ".textContent.includes(' new ')");
  assert.equal(await samplesShown(page), shown);
  await click(page, "pause");
  await page.until(shownNumber + " === " + program.view({}).total);
  await page.close();
});

test("hostile names are text wherever they are shown", async () => {
  const { page } = await live({ seconds: 20 });
  await drawn(page);
  await page.evaluate("document.querySelector('[data-value=table]').click()");
  await page.until("document.querySelectorAll('tbody tr').length > 20");
  const names = await page.evaluate(
    "Array.from(document.querySelectorAll('.row-name')).map((button) => button.textContent)",
  );
  for (const name of [HOSTILE_NAMES[0], "__proto__", "constructor", "<lambda>", "(unnamed)", "invoice_\\u202egnp.exe",
    "half\\ud800surrogate", "nul\\u0000inside"]) assert.ok(names.includes(name), name);
  assert.ok(names.every((name) => name.length < 400));
  await page.evaluate(
    "Array.from(document.querySelectorAll('.row-name')).find((button) => button.textContent.startsWith('</script>')).click()",
  );
  await page.until(byId("details-name") + "?.textContent.startsWith('</script>')");
  await clickFrame(page, "</script>");
  await page.until(byId("details-name") + ".textContent.startsWith('</script>')");
  assert.equal(await page.evaluate("document.querySelectorAll('img').length"), 0);
  assert.doesNotMatch(await page.evaluate("document.title"), /PWNED/);
  assertQuiet(page);
  await page.close();
});

test("every number of quality is one key away, and goes on while it is shown", async () => {
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
  // The browser reports the closing a moment later.
  await page.evaluate("new Promise((resolve) => setTimeout(resolve, 100))");
  await click(page, "quality-open");
  await page.until(byId("quality-dialog") + ".open");
  assertQuiet(page);
  await page.close();
});

test("pointing holds the picture, if asked to", async () => {
  const { page } = await live();
  await drawn(page);
  await page.press("h");
  await page.until(byId("hold") + ".getAttribute('aria-pressed') === 'true'");
  await page.point(400, 600);
  await page.until(byId("status") + ".textContent.startsWith('" + TEXT.status["view paused"] + "')");
  await page.point(400, 10);
  await page.until(byId("status") + ".textContent === '" + TEXT.status.running + "'");
  await page.press("h");
  await page.until(byId("hold") + ".getAttribute('aria-pressed') === 'false'");
  await page.close();
});

test("the palette finds what the page can do, and functions", async () => {
  const { page } = await live();
  await drawn(page);
  await page.press("k");
  await page.until(byId("palette") + ".open");
  await page.type("view: compare");
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
  await page.until(byId("status") + ".textContent === " + JSON.stringify(TEXT.status.ended("target exited")));
  assert.equal(await page.evaluate(byId("banner") + ".hidden"), true);
  server.close();
  server.closeAllConnections();
  await page.until(byId("banner-text") + ".textContent.includes('does not answer')", 15000);
  assert.equal(await page.evaluate(byId("pause") + ".hidden"), true);
  assert.ok(await page.evaluate(frames + ".length > 10"));
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

test("the search box and its result cover nothing, however wide the window", async () => {
  const { page } = await live({ waiting: 10, fragment: "#v=1&search=pric" });
  await drawn(page);
  await page.until(byId("matched") + ".textContent.endsWith('%')");
  const box = (element) =>
    "(({ left, right, top, bottom }) => ({ left, right, top, bottom }))(" + element + ".getBoundingClientRect())";
  for (const width of [1100, 1280, 1440, 1700]) {
    await page.resize(width, 800);
    const [search, threads] = [await page.evaluate(box("document.querySelector('.search .field')")),
      await page.evaluate(box(byId("threads")))];
    assert.ok(search.left >= threads.right || search.top >= threads.bottom,
      width + ": " + JSON.stringify([search, threads]));
    assert.ok(await page.evaluate(box("document.querySelector('.search .result')") + ".right") <= width, String(width));
  }
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
