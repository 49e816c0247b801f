// The page as its user sees it: what is drawn, what it says, and everything it should not have done.

import assert from "node:assert/strict";
import { join } from "node:path";
import { PARTS } from "../../web/model/profile/parts.js";
import { FOLDER, WAIT_MS } from "./processes.mjs";

export const hook = (id) => "document.querySelector('[data-testid=\"" + id + "\"]')";
export const FRAMES = "Array.from(document.querySelectorAll('g.frame'))";
const number = (text) => "Number((/[\\d,]+/.exec(" + text + ") ?? ['NaN'])[0].replaceAll(',', ''))";
// Samples received, samples in the picture.
export const SAMPLES = number(hook("quality-samples") + ".textContent");
export const SHOWN = number(hook("drawing-note") + ".textContent");

// Shows all parts of time, and nothing folded.
export const ALL_PARTS = "&parts=" + PARTS.join() + "&open=all";

// Messages of Chromium for a source file that is not there, that the server may not read, or that it reads later.
const MISSING_SOURCE = /status of (4\d\d|503) .*\/source\?function=\d+$/;

// Runs before anything of the page does: what the page may not do is written down.
const WATCH = `
  globalThis.misdeeds = [];
  document.addEventListener("securitypolicyviolation", (event) => misdeeds.push("policy: " + event.violatedDirective + " " + event.blockedURI));
  addEventListener("error", (event) => misdeeds.push("error: " + event.message), true);
  addEventListener("unhandledrejection", (event) => misdeeds.push("rejection: " + event.reason));
  for (const name of ["alert", "confirm", "prompt", "open"]) globalThis[name] = () => misdeeds.push(name);
  performance.setResourceTimingBufferSize(1000000);
`;

// Opens `url` in a page of its own, with the helpers of the tests.
export async function openPage(browser, url, options = {}) {
  const page = await browser.open("about:blank", options);
  await page.call("Page.addScriptToEvaluateOnNewDocument", { source: WATCH });
  await page.call("Page.navigate", { url });
  await page.until("document.readyState === 'complete' && globalThis.misdeeds !== undefined && location.href !== 'about:blank'", WAIT_MS);
  const until = (source, ms = WAIT_MS) => page.until(source, ms);
  const text = (id) => page.evaluate(hook(id) + ".textContent");
  const frame = (name) => FRAMES + ".find((g) => g.getAttribute('name').startsWith(" + JSON.stringify(name) + "))";
  return {
    ...page,
    until,
    text,
    frame,
    drawn: () => until(FRAMES + ".length > 2"),
    samples: () => page.evaluate(SAMPLES),
    press: async (id) => {
      await until(hook(id) + "?.checkVisibility()");
      await page.evaluate("(" + hook(id) + ".click(), 0)");
    },
    choose: (group, value) => page.evaluate("(" + hook(group) + ".querySelector('[data-value=" + value + "]').click(), 0)"),
    names: () => page.evaluate(FRAMES + ".map((g) => g.getAttribute('name'))"),
    has: async (name) => (await page.evaluate(frame(name) + " !== undefined")),
    width: (name) => page.evaluate(frame(name) + ".querySelector('rect').getBoundingClientRect().width"),
    async clickFrame(name) {
      const middle = "(() => { const g = " + frame(name) + "; if (g === undefined) return null; g.scrollIntoView({ block: 'nearest' });"
        + " const r = g.querySelector('rect').getBoundingClientRect(); return [r.x + r.width / 2, r.y + r.height / 2]; })()";
      // A live picture may move until the pointer is on it.
      for (let tries = 0; tries < 100; tries += 1) {
        const [x, y] = await until(middle);
        await page.point(x, y);
        if (await page.evaluate("document.elementFromPoint(" + x + ", " + y + ")?.closest('g.frame')?.getAttribute('name').startsWith(" + JSON.stringify(name) + ") === true")) return page.point(x, y, true);
      }
      throw new Error("something is above " + name);
    },
    async search(words) {
      await page.evaluate("(" + hook("search") + ".focus(), " + hook("search") + ".select(), 0)");
      await page.type(words);
      await until(hook("matched") + ".textContent.endsWith('%')");
    },
    // Waits until more samples have come, so many times, and calls `check` after each.
    async updates(times, check) {
      for (let i = 0; i < times; i += 1) {
        const before = await page.evaluate(SAMPLES);
        await until(SAMPLES + " > " + before);
        await check();
      }
    },
    picture: (name) => page.shot(join(FOLDER, "e2e-" + name + ".png")),
    // No complaint, no request but to `origin` (none at all for a file).
    async assertInnocent(origin) {
      assert.deepEqual(page.said.filter((line) => !MISSING_SOURCE.test(line)), []);
      assert.deepEqual(await page.evaluate("misdeeds"), []);
      const asked = await page.evaluate("performance.getEntriesByType('resource').map((entry) => entry.name)");
      const foreign = asked.filter((name) => !/^(data|blob):/.test(name) && !(origin !== null && name.startsWith(origin + "/")));
      assert.deepEqual(foreign, []);
      assert.ok(!(await page.evaluate("location.href")).includes("token="));
    },
  };
}
