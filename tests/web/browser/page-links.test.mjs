// Links to source code: the menu of a frame, and where its choices are made.

import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { TEXT } from "../../../web/text/session.js";
import { createProgram } from "../support/made-up-program.mjs";
import { reportPage } from "../support/mock-server.mjs";
import { assertQuiet, browser, bundled, byId, click, drawn, folder, frameNamed, inAllParts,
  live } from "../support/open-page.mjs";

const menuOf = (name) =>
  "(() => { const r = " + frameNamed(name) + ".querySelector('rect').getBoundingClientRect(); " + frameNamed(name)
  + ".dispatchEvent(new MouseEvent('contextmenu', { bubbles: true, cancelable: true, clientX: r.x + r.width / 2, clientY: r.y + r.height / 2 })); })()";

async function openMenu(page, name) {
  await page.evaluate(menuOf(name));
  await page.until(byId("context-menu") + ".matches(':popover-open')");
}

test("an editor and a repository are chosen in the page, and kept by the browser", async () => {
  const { page, url } = await live();
  await drawn(page);
  await openMenu(page, "apply_discounts");
  await click(page, "menu-links");
  await page.until(byId("links-dialog") + ".open");
  await page.evaluate("(" + byId("links-editor") + ".value = 'javascript:{path}', " + byId("links-save") + ".click())");
  await page.until(byId("links-error") + ".textContent !== ''");
  assert.equal(await page.evaluate(byId("links-error") + ".textContent"), TEXT.links.scheme);
  assert.equal(await page.evaluate(byId("links-dialog") + ".open"), true);
  await page.evaluate(
    "(" + byId("links-editor") + ".value = 'vscode', " + byId("links-repository")
      + ".value = 'https://git.example/{commit}/{path}#L{line}', " + byId("links-save") + ".click())",
  );
  await page.until("!" + byId("links-dialog") + ".open");
  for (const address of ["", url]) {
    if (address !== "") {
      await page.evaluate("(globalThis.leaving = true, location.reload(), 0)");
      await page.until("globalThis.leaving === undefined");
    }
    await drawn(page);
    await openMenu(page, "apply_discounts");
    assert.match(await page.evaluate(byId("menu-editor") + ".getAttribute('href')"), /^vscode:\/\/file\/.*:\d+$/);
    assert.match(await page.evaluate(byId("menu-repository") + ".getAttribute('href')"),
      /^https:\/\/git\.example\/HEAD\/.*#L\d+$/);
    assert.equal(await page.evaluate(byId("menu-repository") + ".rel"), "noopener noreferrer");
    await page.evaluate(byId("context-menu") + ".hidePopover()");
  }
  assertQuiet(page);
  await page.close();
});

test("a report opens lines where it was made to", async () => {
  const program = createProgram({ threads: 8, now: () => 0 });
  program.advance(3);
  const path = join(folder, "links.html");
  const links = { editor: "cursor", repository: "javascript:alert('{path}')", commit: null,
    maps: ["/srv/shop=/home/me/shop"] };
  writeFileSync(path, reportPage(bundled, { ...program.report({}), links }));
  const page = await browser.open("file://" + path + inAllParts(""));
  await drawn(page);
  await openMenu(page, "apply_discounts");
  assert.match(await page.evaluate(byId("menu-editor") + ".getAttribute('href')"),
    /^cursor:\/\/file\/home\/me\/shop\/[^/]+\.py:\d+$/);
  assert.equal(await page.evaluate(byId("menu-repository")), null);
  assertQuiet(page);
  await page.close();
});
