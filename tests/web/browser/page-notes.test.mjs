// Notes that people pin to ranges of time.

import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { reportPage } from "../support/mock-server.mjs";
import { assertQuiet, browser, bundled, byId, click, dragStrip, drawn, folder, inAllParts, live, shownNumber,
  textOf } from "../support/open-page.mjs";

const HOSTILE = "</script><img src=x onerror=document.title=1> \u202egnp";
const rows = "Array.from(document.querySelectorAll('[data-testid=range-note]'))";
const pins = "Array.from(document.querySelectorAll('[data-testid=strip-note]'))";
const field = byId("range-note-text");

async function write(page, text) {
  await page.until(field + " !== null && " + field + ".isConnected");
  await page.evaluate("(" + field + ".focus(), " + field + ".select(), 0)");
  await page.type(text);
  await page.press("Enter");
}

test("a note is pinned to the selected range, leads back to it, and is removed", async () => {
  const { page, program } = await live({ seconds: 8 });
  await drawn(page);
  assert.equal(await page.evaluate(field), null);
  await page.until(shownNumber + " === " + program.view({}).total);
  await dragStrip(page, 0.25, 0.5);
  await page.until("location.hash.includes('range=')");
  const hash = await page.evaluate("location.hash");
  await write(page, "   ");
  await write(page, "slow here");
  await page.until(rows + ".length === 1 && " + pins + ".length === 1");
  const [note] = program.session().notes;
  assert.equal(note.text, "slow here");
  assert.equal(await page.evaluate(field + ".value"), "");
  assert.ok((await page.evaluate(rows + "[0].textContent")).startsWith("slow here"));
  const [pin, strip] = await page.evaluate(
    "[" + pins + "[0], " + byId("strip")
      + "].map((e) => { const r = e.getBoundingClientRect(); return [r.left, r.width]; })",
  );
  assert.ok(Math.abs((pin[0] - strip[0]) / strip[1] - note.from_s / 8) < 0.02, JSON.stringify([pin, strip, note]));
  // The link of the range is the link of the note.
  await page.evaluate("(document.activeElement.blur(), " + byId("strip") + ".focus(), 0)");
  await page.press("Escape");
  await page.until("!location.hash.includes('range=')");
  await page.evaluate("(" + rows + "[0].click(), document.activeElement.blur(), 0)");
  await page.until(
    "location.hash === " + JSON.stringify(hash) + " && " + rows + "[0]?.getAttribute('aria-current') === 'true'",
  );
  await write(page, HOSTILE);
  await page.until(rows + ".length === 2");
  const shown = await page.evaluate(rows + ".map((row) => row.textContent).join()");
  assert.ok(shown.includes("<img src=x onerror") && shown.includes("\\u202e"), shown);
  assert.equal(await page.evaluate("document.querySelector('img')"), null);
  await click(page, "range-note-remove");
  await page.until(rows + ".length === 1");
  assert.equal(program.session().notes.length, 1);
  assertQuiet(page);
  await page.close();
});

test("a note that is too long is kept in the field and refused", async () => {
  const { page, program } = await live({ seconds: 4 });
  await drawn(page);
  await dragStrip(page, 0.25, 0.5);
  await page.until(field + " !== null && " + field + ".isConnected");
  await page.evaluate("(" + field + ".value = 'ä'.repeat(121), " + field + ".form.requestSubmit(), 0)");
  await page.until("document.querySelector('.range-note-form .form-error').textContent.includes('240 bytes')");
  assert.equal(await page.evaluate(field + ".value.length"), 121);
  assert.deepEqual(program.session().notes, []);
  assertQuiet(page);
  await page.close();
});

test("a report shows its notes, and changes none", async () => {
  const { program, page: other } = await live({ seconds: 4 });
  await other.close();
  program.changeNotes("POST", { from_s: 1, to_s: 2, text: HOSTILE });
  const path = join(folder, "notes.html");
  writeFileSync(path, reportPage(bundled, program.report({})));
  const page = await browser.open("file://" + path + inAllParts("#v=1&range=1~2"));
  await drawn(page);
  await page.until(
    rows + ".length === 1 && " + pins + ".length === 1 && " + rows + "[0].getAttribute('aria-current') === 'true'",
  );
  assert.deepEqual(
    await page.evaluate("[" + field + ", " + byId("range-note-remove") + ", document.querySelector('img')]"),
    [null, null, null],
  );
  assert.ok((await textOf(page, "range-note")).includes("onerror"));
  assertQuiet(page);
  await page.close();
});
