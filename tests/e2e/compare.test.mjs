// A session compared with what ran before: chosen in the page, kept in its address.

import assert from "node:assert/strict";
import { mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { after, afterEach, before, test } from "node:test";
import { TEXT } from "../../web/text/session.js";
import { launchChromium } from "../web/support/chromium.mjs";
import { ALL_PARTS, hook, openPage } from "./page.mjs";
import { endAll, FOLDER, serve, startVictim, VICTIM_SECONDS } from "./processes.mjs";

const data = join(FOLDER, "e2e-compared");
const ROWS = "document.querySelectorAll('[data-testid=diff-table] tbody tr').length";
let browser;

before(async () => {
  rmSync(data, { recursive: true, force: true });
  mkdirSync(data, { recursive: true });
  browser = await launchChromium({ width: 1280, height: 800 });
});
afterEach(endAll);
after(async () => {
  await endAll();
  await browser.close();
});

test("a session is compared with the run before the last restart, then with a range of a capture", async () => {
  const host = await serve("--data", data);
  const first = await startVictim("tests/victims/threads.py", "2", VICTIM_SECONDS);
  const before = await host.startSession(first.pid);
  const asked = async (id) => (await host.ask("/sessions/" + id)).json();
  // Much longer than the range that is chosen of it below.
  while ((await asked(before)).elapsed_s < 1 || (await asked(before)).quality.samples < 500)
    await new Promise((done) => setTimeout(done, 100));
  await first.end();
  const second = await startVictim("tests/victims/threads.py", "2", VICTIM_SECONDS);
  const now = await host.startSession(second.pid);
  while ((await asked(now)).quality.samples < 500) await new Promise((done) => setTimeout(done, 100));
  const page = await openPage(browser, host.url + "#v=1&session=" + now + "&view=diff" + ALL_PARTS);
  const choice = (key) => "document.querySelector('[data-testid=picker-choice][data-key=\"" + key + "\"]')";
  await page.press("diff-pick-first");
  await page.until(choice("restart session " + before) + "?.checkVisibility()");
  assert.match(await page.evaluate(choice("restart session " + before) + ".textContent"),
    new RegExp(TEXT.picker.suggestions.restart));
  await page.evaluate("(" + choice("session " + before) + ".click(), 0)");
  await page.until(
    "!" + hook("picker") + ".open && location.hash.includes('&against=" + before + "') && " + ROWS + " > 1",
  );
  assert.match(await page.text("diff-baseline"), new RegExp("of process " + first.pid + ":"));
  // The old page has rows too: wait until it is gone.
  await page.evaluate("(globalThis.leaving = true, location.reload(), 0)");
  await page.until("globalThis.leaving === undefined && " + ROWS + " > 1");
  // Only a range of the other session: its samples are fewer.
  const caption = "document.querySelector('[data-testid=diff-table] caption').textContent";
  const counted = "Number(/([\\d,]+) samples in the baseline/.exec(" + caption + ")[1].replaceAll(',', ''))";
  const all = await page.evaluate(counted);
  await page.evaluate("location.hash += '&baseline=0~0.25'");
  await page.until(ROWS + " > 1 && " + counted + " < " + all + " / 1.2");
  assert.match(await page.text("diff-baseline"), /0:00/);
  // A link to a session that is gone says so.
  await page.evaluate("location.hash = '#v=1&session=" + now + "&view=diff" + ALL_PARTS + "&against=99'");
  await page.until(hook("diff-gone") + ".textContent !== ''");
  assert.equal(await page.text("diff-gone"), TEXT.picker.gone);
  await page.press("diff-pick-first");
  await page.until("document.querySelectorAll('[data-testid=picker-choice]').length >= 1");
  await page.evaluate("(" + hook("picker-search") + ".focus(), 0)");
  await page.type("nothing has this name");
  await page.until(hook("picker-status") + ".textContent === " + JSON.stringify(TEXT.picker.noMatch));
  await page.close();
});
