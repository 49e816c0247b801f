// Another measure than time: the bytes that became resident.

import assert from "node:assert/strict";
import { test } from "node:test";
import { TEXT } from "../../../web/text/session.js";
import { assertQuiet, browser, byId, click, dragStrip, drawn, frames, live, textOf } from "../support/open-page.mjs";

const choice = (value) => "document.querySelector('[data-testid=measure] [data-value=" + value + "]')";
const isHidden = (id) => "(" + byId(id) + "?.closest('[hidden]') ?? null) !== null";
const allText = "document.body.innerText";
// Views beside a chart follow it.
const noSamples = "!/\\d samples/.test(" + allText + ")";
// The bytes that the line over the drawing says, as the page writes them.
const noteIsBytes = "/^[\\d.,]+ (KB|KiB|MB|MiB|B)$/.test(" + byId("drawing-note") + ".textContent.trim())";

test("memory growth is shown in bytes, in every view that can show it, and never beside time", async () => {
  const { page, program, advance } = await live({ seconds: 8, grows: true });
  await drawn(page);
  assert.equal(await page.evaluate(choice("time") + ".getAttribute('aria-pressed')"), "true");
  await page.evaluate(choice("page-faults") + ".click()");
  await page.until(noteIsBytes);
  assert.ok((await page.evaluate("location.hash")).includes("measure=page-faults"));
  assert.ok((await textOf(page, "headline")).includes("memory growth"));
  assert.ok(await page.evaluate(isHidden("parts")));
  await page.until(noSamples);
  const before = await textOf(page, "drawing-note");
  advance(4);
  await page.until(byId("drawing-note") + ".textContent !== " + JSON.stringify(before));
  assert.ok(await page.evaluate(noteIsBytes));
  for (const view of ["table", "source", "sandwich"]) {
    await page.evaluate("document.querySelector('[data-testid=view] [data-value=" + view + "]').click()");
    await page.until("document.querySelector('[data-testid=view] [data-value=" + view + "]').ariaPressed === 'true'");
    await page.until("/\\d(\\.\\d)? (B|KB|KiB|MB|MiB)/.test(" + allText + ")");
    await page.until(noSamples);
  }
  // Views of time are of time, and say so.
  await page.evaluate("document.querySelector('[data-testid=view] [data-value=threads]').click()");
  await page.until("!(" + isHidden("parts") + ")");
  assert.ok(await page.evaluate(isHidden("measure")));
  assert.ok(program.view({ measure: "page-faults" }).total < program.view({}).total);
  assertQuiet(page);
  await page.close();
});

test("one click shows what grew in the range, and the address leads there again", async () => {
  const { page, url } = await live({ seconds: 8, grows: true });
  await drawn(page);
  assert.ok(await page.evaluate(byId("strip-grew") + ".hidden"));
  await dragStrip(page, 0.25, 0.5);
  await page.until("!" + byId("strip-grew") + ".hidden");
  assert.equal(await textOf(page, "strip-grew"), TEXT.memory.grew);
  await click(page, "strip-grew");
  await page.until(noteIsBytes);
  assert.ok(await page.evaluate(byId("strip-grew") + ".hidden"));
  const hash = await page.evaluate("location.hash");
  assert.ok(/measure=page-faults/.test(hash) && /range=/.test(hash), hash);
  const said = await textOf(page, "drawing-note");
  const other = await browser.open(url + hash);
  await other.until(frames + ".length > 3 && " + noteIsBytes);
  assert.equal(await textOf(other, "drawing-note"), said);
  assert.ok((await other.evaluate(byId("download-pprof") + "?.href ?? ''")).includes("measure=page-faults"));
  assert.equal(await other.evaluate(byId("download-gecko")), null);
  assertQuiet(other);
  await other.close();
  await page.close();
});

test("two ranges are compared by what grew in each", async () => {
  const { page } = await live({ seconds: 8, grows: true,
    fragment: "#v=1&view=diff&baseline=0~3&range=3~8&measure=page-faults" });
  await page.until("document.querySelectorAll('[data-testid=diff-table] tbody tr').length > 0");
  await page.until("/\\d(\\.\\d)? (KB|KiB|MB|MiB)/.test(" + byId("diff-table") + ".closest('main, body').innerText)");
  assert.ok(await page.evaluate(noSamples));
  assert.equal(await page.evaluate(choice("page-faults") + ".getAttribute('aria-pressed')"), "true");
  assertQuiet(page);
  await page.close();
});

test("a session of time has no choice, whatever the address says", async () => {
  const { page } = await live({ seconds: 6, fragment: "#v=1&measure=page-faults" });
  await drawn(page);
  assert.ok(await page.evaluate(isHidden("measure")));
  assert.ok(!(await page.evaluate(isHidden("parts"))));
  assert.match(await textOf(page, "drawing-note"), /samples/);
  await dragStrip(page, 0.25, 0.5);
  await page.until("location.hash.includes('range=')");
  assert.ok(await page.evaluate(byId("strip-grew") + ".hidden"));
  assertQuiet(page);
  await page.close();
});
