// From Help to a chapter of the manual with its picture, without a network.

import assert from "node:assert/strict";
import { mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { after, afterEach, before, test } from "node:test";
import { launchChromium } from "../web/support/chromium.mjs";
import { hook, openPage } from "./page.mjs";
import { attach, endAll, FOLDER, serve, startVictim, VICTIM_SECONDS } from "./processes.mjs";

const OFFLINE = { offline: true, latency: 0, downloadThroughput: -1, uploadThroughput: -1 };
const inView = (selector) =>
  "((place) => place.top >= 0 && place.top < innerHeight)(document.querySelector(" + JSON.stringify(selector)
  + ").getBoundingClientRect())";
const data = join(FOLDER, "e2e-manual");
let browser;

before(async () => {
  rmSync(data, { recursive: true, force: true });
  mkdirSync(data, { recursive: true });
  browser = await launchChromium({ width: 1280, height: 900 });
});
afterEach(endAll);
after(async () => {
  await endAll();
  await browser.close();
});

const PAGES = {
  session: async () => attach((await startVictim("tests/victims/chain.py", VICTIM_SECONDS)).pid),
  host: () => serve("--data", data, "--no-continuous"),
};

for (const [name, start] of Object.entries(PAGES)) {
  test("the manual of a " + name + " is read without a network", async () => {
    const profiler = await start();
    const page = await openPage(browser, profiler.url);
    await page.press("help");
    await page.until(hook("help-dialog") + "?.open && " + hook("manual") + ".checkVisibility()");
    assert.equal(await page.evaluate(hook("manual") + ".target"), "_blank");
    // In this tab instead, which writes down what the page may not do.
    await page.evaluate("(" + hook("manual") + ".target = '', " + hook("manual") + ".click(), 0)");
    await page.until(
      "location.pathname === '/manual' && document.title === 'Pyrometer manual' && document.readyState === 'complete'",
    );
    await page.call("Network.enable");
    await page.call("Network.emulateNetworkConditions", OFFLINE);
    await page.evaluate("(document.querySelector('nav a[href=\"#views\"]').click(), 0)");
    await page.until("location.hash === '#views' && " + inView("#views h2"));
    await page.evaluate("(document.querySelector('#views a[href=\"#views-flame-graph\"]').click(), 0)");
    await page.until(
      "location.hash === '#views-flame-graph' && " + inView("#views-flame-graph") + " && "
        + inView("#views-flame-graph ~ p img"),
    );
    assert.ok(
      await page.evaluate(
        "((image) => image.complete && image.naturalWidth > 600 && image.clientWidth > 300)(document.querySelector('#views-flame-graph ~ p img'))",
      ),
    );
    await page.picture("manual-" + name);
    await page.assertInnocent(profiler.origin);
    await page.close();
  });
}
