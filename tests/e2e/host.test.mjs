// From the page of a host to a profile that is kept, and opened again.

import assert from "node:assert/strict";
import { mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { after, afterEach, before, test } from "node:test";
import { launchChromium } from "../web/support/chromium.mjs";
import { FRAMES, hook, openPage, SHOWN } from "./page.mjs";
import { endAll, FOLDER, serve, startVictim, VICTIM_SECONDS } from "./processes.mjs";

const data = join(FOLDER, "e2e-captures");
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

test("a process is found, profiled, stopped, and its capture opened again", async () => {
  const victim = await startVictim("tests/victims/threads.py", "4", VICTIM_SECONDS);
  const host = await serve("--data", data, "--no-continuous");
  const page = await openPage(browser, host.url);
  const row = "document.querySelector('[data-testid=process][data-pid=\"" + victim.pid + "\"]')";
  const here = (id) => hook(id) + "?.checkVisibility() === true";
  await page.until(row + "?.querySelector('[data-testid=profile]').checkVisibility()");
  assert.match(await page.evaluate(row + ".textContent"), /threads\.py/);
  await page.until("/^3[.][0-9]+/.test(" + row + ".querySelector('.col-python').textContent)");
  await page.evaluate("(" + row + ".querySelector('[data-testid=profile]').click(), 0)");
  await page.until(row + ".querySelector('[data-testid=process-open]').checkVisibility()");
  await page.until("document.querySelector('[data-testid=running] [data-testid=session]')?.dataset.state === 'running'");
  await page.until("/[1-9]/.test(document.querySelector('[data-testid=session] .samples').textContent)");
  await page.picture("host-light");
  await page.press("session-open");
  await page.drawn();
  await page.until(page.frame("spin") + " !== undefined && " + here("home"));
  await page.press("home");
  await page.until(here("session-stop"));
  await page.press("session-stop");
  await page.press("confirm");
  await page.until("document.querySelector('[data-testid=over] [data-testid=session]')?.dataset.state === 'ended'");
  const [{ id, quality }] = (await (await host.ask("/sessions")).json()).sessions;
  assert.ok(quality.samples > 0);
  await page.choose("tabs", "captures");
  await page.until("document.querySelector('[data-testid=capture] .mark-word')?.textContent === ''");
  await page.evaluate("(document.querySelector('[data-testid=over] [data-testid=session-more]').click(), 0)");
  await page.press("session-delete");
  await page.until(here("toast-action"));
  await page.evaluate("(document.querySelector('.toast .close').click(), 0)");
  await page.until("document.querySelector('[data-testid=session]') === null");
  await page.press("capture-open");
  await page.until("location.hash.includes('session=') && !location.hash.endsWith('session=" + id + "') && " + FRAMES + ".length > 2");
  await page.until(page.frame("spin") + " !== undefined");
  await page.press("waiting-hidden");
  await page.until(SHOWN + " === " + quality.samples);
  await page.assertInnocent(host.origin);
  await page.close();
});

test("a program that runs asyncio is sampled again with its tasks", async () => {
  const victim = await startVictim("tests/victims/asyncio_server.py", VICTIM_SECONDS);
  const host = await serve("--no-continuous");
  const id = await host.startSession(victim.pid, { rate_hz: 200 });
  const page = await openPage(browser, host.url + "#v=1&session=" + id);
  const tasks = "document.querySelector('[data-testid=view] [data-value=tasks]')";
  await page.until(tasks + "?.checkVisibility()");
  await page.choose("view", "tasks");
  await page.press("tasks-again");
  await page.until("location.hash.includes('view=tasks') && !location.hash.includes('session=" + id + "') && document.querySelectorAll('[data-testid=task]').length > 0");
  await page.picture("tasks-again");
  await page.assertInnocent(host.origin);
  await page.close();
});
