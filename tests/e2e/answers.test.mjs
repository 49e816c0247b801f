// The first screen answers what is slow, without a click: for each kind of program, its slowest line is the first of the hottest lines
// of its own code, and what waits is said where it waits.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { after, afterEach, before, test } from "node:test";
import { BLOCKED, IDLE } from "../../web/model/profile/parts.js";
import { launchChromium } from "../web/support/chromium.mjs";
import { hook, openPage, SAMPLES } from "./page.mjs";
import { attach, endAll, ROOT, startVictim, VICTIM_SECONDS } from "./processes.mjs";

const FOLDER = "tests/e2e/programs/";
const SAMPLES_LEAST = 1000;
const LINES =
  "Array.from(document.querySelectorAll('[data-testid=own-line]'), (row) => ({ path: row.dataset.path, line: Number(row.dataset.line), bottom: row.getBoundingClientRect().bottom }))";
// The shares of the five parts, null where there is none yet; unknown is 0 here.
const SHARES =
  "Array.from(document.querySelectorAll('[data-testid=part] .chip-share'), ({ textContent: text }) => (text === '' ? null : parseFloat(text) || 0))";
let browser;

before(async () => {
  browser = await launchChromium({ width: 1440, height: 900 });
});
afterEach(endAll);
after(async () => {
  await endAll();
  await browser.close();
});

// [name, options of attach, the least share that waits (in percent)]
const PROGRAMS = [
  ["training.py", [], 30],
  ["etl.py", [], 0],
  ["asyncio_client.py", [], 30],
  ["process_pool.py", ["--subprocesses"], 20],
];

for (const [name, options, waiting] of PROGRAMS) {
  test("the first screen answers: " + name, async () => {
    const line = readFileSync(join(ROOT, FOLDER, name), "utf8").split("\n").findIndex((text) =>
      text.endsWith("# the answer")
    ) + 1;
    const victim = await startVictim(FOLDER + name, VICTIM_SECONDS);
    const profiler = await attach(victim.pid, ...options);
    const page = await openPage(browser, profiler.url);
    await page.until(
      hook("quality-samples") + " !== null && " + SAMPLES + " > " + SAMPLES_LEAST + " && " + LINES + ".length > 0",
    );
    await page.until(LINES + "[0].line === " + line);
    const [first] = await page.evaluate(LINES);
    assert.ok(first.path.endsWith("/" + name) && first.bottom <= 900, JSON.stringify(first));
    await page.until(SHARES + ".every((share) => share !== null)");
    const shares = await page.evaluate(SHARES);
    assert.ok(Math.abs(shares.reduce((sum, share) => sum + share, 0) - 100) < 0.5, shares.join());
    assert.ok(shares[BLOCKED] + shares[IDLE] >= waiting, shares.join());
    await page.until(hook("headline") + ".textContent !== ''");
    await page.until(hook("summary") + " !== null");
    const summary = (await page.text("summary")).replaceAll("\u00a0", " ");
    assert.ok(/[\d.]+ % running, [\d.]+ % needs the GIL/.test(summary), summary);
    await page.assertInnocent(profiler.origin);
    await page.close();
  });
}
