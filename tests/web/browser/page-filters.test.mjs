// Selections that narrow the picture: threads, states, ranges of time, filters of frames.

import assert from "node:assert/strict";
import { test } from "node:test";
import { TEXT } from "../../../web/text/session.js";
import { pause } from "../support/chromium.mjs";
import { assertQuiet, byId, click, dragStrip, drawn, frameNamed, frames, live, mark, part, samplesShown, shownNumber,
  textOf } from "../support/open-page.mjs";

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

test("threads are chosen by process where there are several", async () => {
  const { page, program } = await live({ processes: 2 });
  await drawn(page);
  assert.match(await textOf(page, "facts"), /PID 4711 and 1 other/);
  await click(page, "threads");
  await page.until("document.querySelectorAll('[data-testid=thread-process] .share')[1]?.textContent.endsWith('%')");
  const order =
    "Array.from(document.querySelectorAll('.thread-list [data-testid]'), (row) => row.dataset.pid ?? row.dataset.tid)";
  assert.deepEqual((await page.evaluate(order)).sort(), ["4711", "4711", "4712", "4712", "4713", "4714", "4715", "4716",
    "4717", "4718"]);
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
  const alike = "document.querySelector('[data-testid=thread-alike]')";
  assert.match(await page.evaluate(alike + ".textContent"), /ThreadPoolExecutor × 5/);
  assert.equal(
    await page.evaluate(
      "Array.from(document.querySelectorAll('[data-testid=thread]')).filter((row) => row.checkVisibility()).length",
    ),
    3,
  );
  await page.evaluate(alike + ".querySelector('[data-testid=thread-unfold]').click()");
  await page.until(
    "Array.from(document.querySelectorAll('[data-testid=thread]')).every((row) => row.checkVisibility())",
  );
  const bars = await page.evaluate(
    "Array.from(document.querySelectorAll('[data-testid=thread] .part-bar'), (bar) => [bar.getBoundingClientRect().width, Array.from(bar.children).reduce((sum, part) => sum + part.getBoundingClientRect().width, 0), bar.dataset.hint])",
  );
  for (const [whole, parts, hint] of bars) {
    assert.ok(Math.abs(whole - parts) < 1, whole + " " + parts);
    assert.match(hint, /^\d+ samples: .*%/);
  }
  await page.close();
});

test("marks are chosen live, in the address, with what each would leave", async () => {
  const { page, program, advance } = await live();
  await drawn(page);
  await page.until(mark("has_gil") + "?.textContent.endsWith('%')");
  await page.evaluate(mark("has_gil") + ".click()");
  await page.until(shownNumber + " === " + program.view({ states: ["has_gil"] }).total);
  assert.match(await page.evaluate("location.hash"), /&state=has_gil(&|$)/);
  assert.equal(await page.evaluate(mark("has_gil") + ".getAttribute('aria-pressed')"), "true");
  advance(2);
  await page.until(shownNumber + " === " + program.view({ states: ["has_gil"] }).total);
  assert.match(await page.evaluate(byId("download-report") + ".getAttribute('href')"), /report\.html\?state=has_gil$/);
  await page.evaluate("history.back()");
  await page.until(shownNumber + " === " + program.view({}).total);
  assertQuiet(page);
  await page.close();
});

test("the page opens without what is idle, says how much that is; a click shows one part, with Ctrl or Shift another too", async () => {
  const { page, program } = await live({ asOpened: true });
  await drawn(page);
  const totalOf = (...parts) => program.view({ parts }).total;
  await page.until(shownNumber + " === " + totalOf("running", "needs_gil", "needs_processor", "blocked"));
  assert.deepEqual(
    await page.evaluate(
      "Array.from(document.querySelectorAll('[data-testid=part]'), (one) => one.getAttribute('aria-pressed') + ' ' + one.querySelector('.part-hidden').checkVisibility())",
    ),
    [...Array(4).fill("true false"), "false true"],
  );
  assert.match(await page.evaluate(byId("download-report") + ".getAttribute('href')"), /report\.html$/);
  const press = (key, modifiers = "") =>
    page.evaluate(part(key) + ".dispatchEvent(new MouseEvent('click', { bubbles: true" + modifiers + " }))");
  await press("blocked");
  await page.until(shownNumber + " === " + totalOf("blocked"));
  assert.equal(await page.evaluate("location.hash"), "#v=1&parts=blocked");
  assert.match(await page.evaluate(byId("download-report") + ".getAttribute('href')"), /report\.html\?parts=blocked$/);
  await press("idle", ", ctrlKey: true");
  await page.until(shownNumber + " === " + totalOf("blocked", "idle"));
  await page.evaluate(part("running") + ".focus()");
  await page.call("Input.dispatchKeyEvent", { type: "keyDown", key: "Enter", modifiers: 8, windowsVirtualKeyCode: 13,
    text: "\r" });
  await page.call("Input.dispatchKeyEvent", { type: "keyUp", key: "Enter", modifiers: 8, windowsVirtualKeyCode: 13 });
  // A key acts on the parts that are drawn, which come a moment after the address.
  const pressed = (...keys) =>
    page.until(
      "Array.from(document.querySelectorAll('[data-testid=part][aria-pressed=true]'), (one) => one.dataset.value).join() === '"
        + keys.join() + "'",
    );
  await pressed("running", "blocked", "idle");
  assert.equal(await page.evaluate("location.hash"), "#v=1&parts=running,blocked,idle");
  await page.press("Enter");
  await pressed("running");
  assert.equal(await page.evaluate("location.hash"), "#v=1&parts=running");
  await page.press("Enter");
  await page.until(
    "location.hash === '#v=1' && " + shownNumber + " === "
      + totalOf("running", "needs_gil", "needs_processor", "blocked"),
  );
  assertQuiet(page);
  await page.close();
});

test("a hint of what a click moves beneath the pointer does not show until the pointer comes to it", async () => {
  const { page } = await live();
  await drawn(page);
  const place = () =>
    page.evaluate(
      "(() => { const box = " + part("blocked")
        + ".getBoundingClientRect(); return [box.x + box.width / 2, box.y + box.height / 2]; })()",
    );
  // A page that is still being laid out may move the part away from the pointer.
  const shows = async () => {
    await page.point(0, 0);
    await page.point(...await place());
    return page.evaluate("!document.getElementById('hint').hidden");
  };
  for (let tries = 0; !await shows(); tries++) {
    assert.ok(tries < 20, "no hint at " + await place() + ": "
      + await page.evaluate("document.elementFromPoint(" + await place() + ")?.outerHTML.slice(0, 300)"));
    await pause(100);
  }
  // Parts grow and shrink while the program runs.
  const at = await place();
  await page.point(...at, true);
  await page.until("location.hash.includes('parts=blocked') && document.getElementById('hint').hidden");
  await page.evaluate(
    "(() => { const cover = document.createElement('div'); cover.dataset.hint = 'moved'; cover.style.cssText = 'position:fixed;z-index:50;width:40px;height:40px;left:"
      + (at[0] - 20) + "px;top:" + (at[1] - 20) + "px'; document.body.append(cover); })()",
  );
  // As the browser does when what is under a still pointer changes.
  await page.point(...at);
  assert.equal(await page.evaluate("document.getElementById('hint').hidden"), true);
  await page.point(at[0], at[1] + 300);
  await page.point(...at);
  await page.until(
    "document.getElementById('hint').textContent === 'moved' && !document.getElementById('hint').hidden",
  );
  await page.close();
});

test("a filter that leaves nothing says what there is, and leads back", async () => {
  const { page, program } = await live({ fragment: "#v=1&state=in_gc&thread=4711~MainThread" });
  await page.until(byId("empty") + "?.textContent.includes('“collecting garbage”')");
  await page.evaluate(
    "Array.from(" + byId("empty") + ".querySelectorAll('button')).find((b) => b.textContent === '" + TEXT.empty.allParts
      + "').click()",
  );
  await page.until(shownNumber + " === " + program.view({ threads: [0] }).total);
  assertQuiet(page);
  await page.close();
});

test("a mode says what it left out", async () => {
  const { page } = await live({ mode: "cpu" });
  await drawn(page);
  assert.match(await textOf(page, "recorded-mode"), /--mode cpu: [\d,]+ other samples/);
  await page.close();
});

// Before Python 3.15 nothing shows who waits for the GIL.
test("waits for the GIL that nobody knows are nowhere 0", async () => {
  const { page } = await live({ gilWaits: false, fragment: "#v=1&view=heatmap&tables=strip,heatmap" });
  const measure = "document.querySelector('[data-testid=heat-measure] [data-value=needs_gil]')";
  const columnOf = (table, label) =>
    "(() => { const table = " + byId("as-table-" + table)
    + "?.querySelector('table'); const at = Array.from(table?.tHead?.rows[0]?.cells ?? []).findIndex((cell) => cell.textContent.toLowerCase() === "
    + JSON.stringify(label.toLowerCase())
    + "); return at < 0 ? [] : Array.from(table.tBodies[0].rows, (row) => row.cells[at].textContent); })()";
  await page.until(measure + "?.getAttribute('aria-disabled') === 'true'");
  assert.ok((await page.evaluate(measure + ".dataset.hint")).endsWith(TEXT.states.unavailable));
  await page.until(part("needs_gil") + ".textContent.includes(" + JSON.stringify(TEXT.states.unknown) + ")");
  assert.doesNotMatch(await page.evaluate(part("needs_gil") + ".textContent"), /0 %/);
  for (const [table, label] of [["strip", TEXT.parts.needs_gil[0]], ["heatmap", TEXT.parts.needs_gil[0]]]) {
    await page.until(columnOf(table, label) + ".length > 0");
    assert.deepEqual(new Set(await page.evaluate(columnOf(table, label))), new Set(["—"]), table);
  }
  assertQuiet(page);
  await page.close();
});

const boxes = "document.querySelectorAll('.strip-layer[d]:not([d=\"\"])').length";

test("a range is chosen on the strip, is in the address, narrows everything, and goes with its chip", async () => {
  const { page, program, advance } = await live({ seconds: 8 });
  await drawn(page);
  await page.until(boxes + " >= 3");
  await dragStrip(page, 0.2505, 0.4995);
  await page.until("location.hash.includes('range=2~4')");
  const range = { from: 2, to: 4 };
  await page.until(shownNumber + " === " + program.view(range).total);
  await page.until(
    part("running") + ".dataset.hint.includes('of " + program.view(range).total.toLocaleString("en-US") + " samples')",
  );
  assert.match(await page.evaluate(byId("download-report") + ".getAttribute('href')"), /report\.html\?from=2&to=4$/);
  advance(2);
  await page.until(
    byId("quality-samples") + ".textContent === '" + program.session().quality.samples.toLocaleString("en-US") + "'",
  );
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

test("the lane below the timeline has the memory, and a range of it is one of everything", async () => {
  const { page, program } = await live({ seconds: 8 });
  await drawn(page);
  await page.until(byId("memory-lane") + "?.checkVisibility()");
  await page.until(byId("memory-scale") + ".textContent.endsWith('up to 133 MiB')");
  const [left, width, middle] = await page.evaluate(
    "(({ left, width, top, height }) => [left, width, top + height / 2])(" + byId("memory-lane")
      + ".getBoundingClientRect())",
  );
  await page.point(left + width * 0.5005, middle);
  await page.until(byId("strip-read") + ".textContent.includes('RSS 68 MiB · 256 page faults')");
  const mouse = (type, share) =>
    page.call("Input.dispatchMouseEvent", { type, x: left + width * share, y: middle, button: "left", clickCount: 1 });
  await mouse("mousePressed", 0.2505);
  await mouse("mouseMoved", 0.4);
  await mouse("mouseMoved", 0.4995);
  await mouse("mouseReleased", 0.4995);
  await page.until("location.hash.includes('range=2~4')");
  await page.until(shownNumber + " === " + program.view({ from: 2, to: 4 }).total);
  assert.match(await textOf(page, "memory-scale"), /; in the range RSS \+8\.0 MiB, 2,048 page faults$/);
  assert.match(await page.evaluate(byId("strip") + ".getAttribute('aria-valuetext')"),
    /^0:02 – 0:04 {2}RSS \+8\.0 MiB/);
  await click(page, "as-table-memory-open");
  await page.until(byId("as-table-memory") + "?.querySelectorAll('tbody tr').length === 32");
  assert.match(await page.evaluate(byId("as-table-memory") + ".querySelector('thead').textContent"),
    /RSS of process 4711RSS of process 4712$/);
  await page.evaluate("(location.hash += '&process=4712', 0)");
  await page.until(byId("memory-scale") + ".textContent.startsWith('Memory, up to 20 MiB')");
  assertQuiet(page);
  await page.close();
});

test("frames are filtered by terms, which are chips and in the address", async () => {
  const { page, program } = await live();
  await drawn(page);
  await click(page, "filter");
  await page.evaluate("(" + byId("filter-input") + ".focus(), 0)");
  await page.type("ignore function:price_basket");
  await page.press("Enter");
  await page.until("location.hash.includes('filter=ignore')");
  await page.until(frames + ".length > 10 && !" + frameNamed("price_basket"));
  const rest = await samplesShown(page);
  assert.ok(rest > 0 && rest < program.view({}).total);
  await click(page, "hide-libraries");
  await page.until(frameNamed("Server.handle") + " && !" + frameNamed("Thread.run"));
  assert.equal(await samplesShown(page), rest);
  await page.evaluate("document.querySelector('[data-kind=ignore] button').click()");
  await page.until(shownNumber + " === " + program.view({}).total);
  await page.evaluate("(" + byId("filter-input") + ".focus(), 0)");
  await page.type("nonsense");
  await page.press("Enter");
  await page.until(byId("filter-error") + ".textContent.includes('for example')");
  assertQuiet(page);
  await page.close();
});

test("filters that leave nothing say so, and lead back", async () => {
  const { page, program } = await live({ fragment: "#v=1&filter=focus+nobody+has+this+name" });
  await page.until(byId("empty") + "?.textContent.startsWith('Filters exclude every sample')");
  await page.evaluate(byId("empty") + ".querySelector('button').click()");
  await page.until(shownNumber + " === " + program.view({}).total);
  await page.close();
});

test("a page begins with the filters of the recording, as chips that stay away once removed", async () => {
  const { page } = await live({ filters: [{ filter: "hide", pattern: "libraries" }] });
  await drawn(page);
  await page.until("document.querySelectorAll('[data-testid=applied]').length === 1");
  assert.match(await page.evaluate("document.querySelector('[data-testid=applied]').textContent"), /hide.*libraries/);
  assert.equal(await page.evaluate(frameNamed("Thread._bootstrap") + " === undefined"), true);
  await page.until("location.hash.includes('filter=hide')");
  await page.evaluate("document.querySelector('.applied-remove').click()");
  await page.until(frameNamed("Thread._bootstrap") + " !== undefined");
  await page.until("/&filter(&|$)/.test(location.hash)");
  assertQuiet(page);
  await page.close();
});

test("parts stand in one row, with a range too; marks are among the filters", async () => {
  const { page } = await live({ seconds: 8, asOpened: true, fragment: "#v=1&range=2~6" });
  await drawn(page);
  await page.until(mark("has_gil") + "?.checkVisibility() === false");
  const rows =
    "new Set(Array.from(document.querySelectorAll('.states .chip'), (one) => Math.round(one.getBoundingClientRect().top))).size";
  for (const width of [1280, 1366, 1440, 1920]) {
    await page.resize(width, 800);
    await page.until("innerWidth === " + width);
    assert.equal(await page.evaluate(rows), 1, String(width));
  }
  await click(page, "filter");
  await page.until(mark("has_gil") + ".checkVisibility()");
  assertQuiet(page);
  await page.close();
});

test("the search stays in the row of the views on a screen of 1024", async () => {
  const { page } = await live({ asOpened: true });
  await drawn(page);
  for (const width of [1024, 1280]) {
    await page.resize(width, 800);
    await page.until("innerWidth === " + width);
    assert.equal(
      await page.evaluate(
        "new Set(Array.from(document.querySelectorAll('#toolbar > *'), (one) => { const box = one.getBoundingClientRect(); return Math.round(box.top + box.height / 2); })).size",
      ),
      1,
      String(width),
    );
  }
  await page.close();
});
