// From one person's page to another person's browser.

import assert from "node:assert/strict";
import { after, afterEach, before, test } from "node:test";
import { launchChromium } from "../web/support/chromium.mjs";
import { hook, openPage } from "./page.mjs";
import { attach, endAll, startVictim, VICTIM_SECONDS } from "./processes.mjs";
import { HOST_TEXT } from "../../web/text/host.js";
import { TEXT } from "../../web/text/session.js";

let browser;

before(async () => {
  browser = await launchChromium({ width: 1280, height: 800 });
});
afterEach(endAll);
after(async () => {
  await endAll();
  await browser.close();
});

test("a copied address says what to do in another browser; a shared link shows the same view there", async () => {
  const victim = await startVictim("tests/victims/threads.py", "4", VICTIM_SECONDS);
  const profiler = await attach(victim.pid, "-a");
  const page = await openPage(browser, profiler.url + "#v=1&view=table&search=spin&state=all");
  await page.until("document.querySelector('tbody tr') !== null && " + hook("share") + "?.checkVisibility()");
  const address = await page.evaluate("location.href");
  const copied = await browser.open(address, { stranger: true });
  await copied.until("document.querySelector('h1') !== null");
  assert.match(await copied.evaluate("document.body.textContent"), /press Share.*open the URL that it printed/s);
  await copied.close();
  await page.press("share");
  await page.press("share-make");
  await page.until(hook("share-url") + "?.value.includes('token=')");
  const link = await page.evaluate(hook("share-url") + ".value");
  assert.ok(!link.includes(profiler.token) && link.endsWith(new URL(address).hash), link);
  const shown = await openPage(browser, link, { stranger: true });
  await shown.until("document.querySelector('tbody tr') !== null");
  assert.equal(await shown.evaluate("location.hash"), new URL(address).hash);
  assert.equal(await shown.evaluate(hook("search") + ".value"), "spin");
  // A viewer cannot make links, and reads who can.
  await shown.until(hook("share") + "?.checkVisibility()");
  await shown.until("fetch('api/v1/access').then((answer) => answer.json()).then(({ scope }) => scope === 'viewer')");
  await shown.press("share");
  await shown.until(hook("share-copy") + " !== null");
  assert.match(await shown.evaluate(hook("share-dialog") + ".textContent"), new RegExp(HOST_TEXT.share.viewer.slice(0, 40)));
  await shown.evaluate(hook("share-dialog") + ".close()");
  // Revoked, the page says whom to ask.
  await page.press("share-revoke");
  await shown.until(hook("status") + ".dataset.status === 'denied'");
  assert.equal(await shown.text("banner-text"), TEXT.banner.denied);
  await page.assertInnocent(profiler.origin);
  await shown.close();
  await page.close();
});
