// From one person's page to another person's browser.

import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import { after, afterEach, before, test } from "node:test";
import { HOST_TEXT } from "../../web/text/host.js";
import { TEXT } from "../../web/text/session.js";
import { launchChromium } from "../web/support/chromium.mjs";
import { ALL_PARTS, hook, openPage } from "./page.mjs";
import { attach, endAll, startVictim, VICTIM_SECONDS } from "./processes.mjs";

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
  const page = await openPage(browser, profiler.url + "#v=1&view=table&search=spin" + ALL_PARTS);
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
  assert.match(await shown.evaluate(hook("share-dialog") + ".textContent"),
    new RegExp(HOST_TEXT.share.viewer.slice(0, 40)));
  await shown.evaluate(hook("share-dialog") + ".close()");
  // Revoked, the page says whom to ask.
  await page.press("share-revoke");
  await shown.until(hook("status") + ".dataset.status === 'denied'");
  assert.equal(await shown.text("banner-text"), TEXT.banner.denied);
  await page.assertInnocent(profiler.origin);
  await shown.close();
  await page.close();
});

test("a page of another port of this host cannot have the browser sample anything", async (context) => {
  const victim = await startVictim("tests/victims/chain.py", VICTIM_SECONDS);
  const profiler = await attach(victim.pid);
  const wanted = profiler.origin + "/debug/pprof/profile?seconds=1";
  const other = createServer((request, response) => {
    response.setHeader("Content-Type", "text/html");
    response.end(
      "<img src='" + wanted + "&rate_hz=1'><iframe src='" + wanted + "&rate_hz=2'></iframe><link rel=prefetch href='"
        + wanted + "&rate_hz=3'>"
        + "<a href='" + wanted + "&rate_hz=4'>here</a><script>fetch('" + wanted
        + "&rate_hz=5', { mode: 'no-cors', credentials: 'include' }).catch(() => 0)</script>",
    );
  }).listen(0, "127.0.0.1");
  context.after(() => other.close());
  await once(other, "listening");
  const page = await openPage(browser, profiler.url);
  await page.drawn();
  const counts = async () => {
    const text =
      await (await fetch(profiler.origin + "/metrics", { headers: { Authorization: "Bearer " + profiler.token } }))
        .text();
    const found = text.matchAll(/route="\/debug\/pprof\/profile",code="(\d+)"} (\d+)/g);
    return Object.fromEntries(Array.from(found, ([, code, count]) => [code, Number(count)]));
  };
  for (const host of ["127.0.0.1", "localhost"]) {
    const foreign = await browser.open("http://" + host + ":" + other.address().port + "/");
    await foreign.until("document.querySelector('a') !== null");
    await foreign.evaluate("(document.querySelector('a').click(), 0)");
    await foreign.until("location.href.startsWith(" + JSON.stringify(profiler.origin) + ")");
    await foreign.close();
  }
  assert.equal(await page.evaluate("fetch('debug/pprof/profile?seconds=1').then((answer) => answer.status)"), 200);
  // The cookie of 127.0.0.1 is not sent from the pages of localhost.
  const { 200: sampled, 403: refused, 401: unknown, ...rest } = await counts();
  assert.deepEqual([sampled, rest], [1, {}]);
  assert.ok(refused >= 2 && unknown >= 1, "the browser asked " + refused + " times");
  await page.close();
});
