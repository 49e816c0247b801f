// The page in a real browser, on a made-up program that moves on request: for the tests of the page. Whoever imports
// this has a browser and a bundled page while its tests run.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before } from "node:test";
import { fileURLToPath } from "node:url";
import { PARTS } from "../../../web/model/profile/parts.js";
import { launchChromium } from "./chromium.mjs";
import { createProgram } from "./made-up-program.mjs";
import { createMockServer } from "./mock-server.mjs";

const ROOT = fileURLToPath(new URL("../../..", import.meta.url));
export const folder = mkdtempSync(join(tmpdir(), "pyrometer-page-test-"));
export const bundled = join(folder, "page.html");
export let browser;
const opened = [];

before(async () => {
  execFileSync(join(ROOT, "scripts/bundle-web"), [bundled]);
  browser = await launchChromium({ width: 1280, height: 800 });
});
after(async () => {
  await browser.close();
  for (const server of opened) server.close();
  rmSync(folder, { recursive: true });
});

// The address of a server for this program.
export async function serve(program) {
  const server = createMockServer(program, bundled);
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  opened.push(server);
  return { server, url: "http://127.0.0.1:" + server.address().port + "/" };
}

// A fragment that shows all states, unless it says which.
const ALL_PARTS = "&parts=" + PARTS.join();
export const inAllParts = (fragment) =>
  [fragment === "" ? "#v=1" : fragment, fragment.includes("parts=") ? "" : ALL_PARTS,
    fragment.includes("open=") ? "" : "&open=all"].join("");

// A page on a program that moves on request. Without `asOpened` it shows all parts of time, and nothing is folded.
export async function live({ seconds = 3, fragment = "", asOpened = false, ...options } = {}) {
  let clock = seconds;
  const program = createProgram({ threads: 8, now: () => 0, ...options });
  program.advance(clock);
  const { server, url } = await serve(program);
  const page = await browser.open(url + (asOpened ? fragment : inAllParts(fragment)));
  return { page, program, server, url, advance: (by) => program.advance(clock += by) };
}

export const byId = (id) => "document.querySelector('[data-testid=\"" + id + "\"]')";
export const part = (key) => "document.querySelector('[data-testid=part][data-value=" + key + "]')";
export const mark = (key) => "document.querySelector('[data-testid=mark][data-value=" + key + "]')";
export const textOf = (page, id) => page.evaluate(byId(id) + ".textContent");
export const click = (page, id) => page.evaluate(byId(id) + ".click()");
export const frames = "Array.from(document.querySelectorAll('g.frame'))";
export const frameNamed = (name) =>
  frames + ".find((g) => g.getAttribute('name').startsWith(" + JSON.stringify(name) + "))";
// With the hottest lines above the flame graph, which move it down.
export const drawn = (page) =>
  page.until(
    frames + ".length > 10 && (" + byId("own") + "?.hidden === false || /view=(?!flame)/.test(location.hash))",
  );
export const widthOf = (page, name) =>
  page.evaluate(frameNamed(name) + ".querySelector('rect').getBoundingClientRect().width");
// The first number of the line over the drawing: samples in view, or under the zoomed frame.
export const shownNumber = "parseInt(" + byId("drawing-note") + ".textContent.replaceAll(',', ''))";
export const samplesShown = (page) => page.evaluate(shownNumber);

// Moves the pointer to the middle of a frame and gives the place. Lines may still come above the frames: once the pointer is on one, they
// stay where they are.
export async function pointAt(page, frame) {
  for (let tries = 0; tries < 100; tries += 1) {
    const [x, y] = await page.evaluate(
      "(() => { const r = " + frame
        + ".querySelector('rect').getBoundingClientRect(); return [r.x + r.width / 2, r.y + r.height / 2]; })()",
    );
    await page.point(x, y);
    if (await page.evaluate("document.elementFromPoint(" + x + ", " + y + ")?.closest('g.frame') === " + frame))
      return [x, y];
  }
  throw new Error("something is above " + frame);
}
export async function clickFrame(page, name) {
  const [x, y] = await pointAt(page, frameNamed(name));
  await page.point(x, y, true);
}

export function assertQuiet(page) {
  assert.deepEqual(page.said, []);
}

// Presses at one share of the strip's width and lets go at another.
export async function dragStrip(page, from, to) {
  const at = await page.evaluate(
    "(() => { const r = " + byId("strip")
      + ".getBoundingClientRect(); return { x: r.x, y: r.y + r.height / 2, width: r.width }; })()",
  );
  const mouse = (type, share, button) =>
    page.call("Input.dispatchMouseEvent", { type, x: at.x + share * at.width, y: at.y, button,
      buttons: button === "left" ? 1 : 0, clickCount: 1 });
  await mouse("mouseMoved", from, "none");
  await mouse("mousePressed", from, "left");
  await mouse("mouseMoved", (from + to) / 2, "left");
  await mouse("mouseMoved", to, "left");
  await mouse("mouseReleased", to, "left");
}
