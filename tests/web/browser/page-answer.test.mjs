// The first screen: the hottest lines of your own code, above the flame graph, without a click.

import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { formatShare } from "../../../web/model/base/numbers.js";
import { TEXT } from "../../../web/text/session.js";
import { createProgram } from "../support/made-up-program.mjs";
import { reportPage, SUMMARY } from "../support/mock-server.mjs";
import { assertQuiet, browser, bundled, byId, click, drawn, folder, live, part, shownNumber,
  textOf } from "../support/open-page.mjs";

const ownLines =
  "Array.from(document.querySelectorAll('[data-testid=own-line]'), (row) => ({ path: row.dataset.path, line: Number(row.dataset.line), share: parseFloat(row.querySelector('.share').textContent), code: row.querySelector('code')?.textContent ?? '' }))";

async function assertAnswered(page) {
  await page.until(ownLines + ".length === 5");
  const rows = await page.evaluate(ownLines);
  assert.ok(rows.every(({ path }) => path.startsWith("/srv/shop/")), JSON.stringify(rows));
  assert.deepEqual(rows.map(({ share }) => share), rows.map(({ share }) => share).sort((a, b) => b - a));
  assert.ok(rows.reduce((sum, { share }) => sum + share, 0) <= 100.5);
  assert.equal(
    await page.evaluate("document.querySelector('.own-list').getBoundingClientRect().bottom < innerHeight / 2"),
    true,
  );
  return rows;
}

test("the first screen has the hottest lines of your own code; each opens Source", async () => {
  const { page } = await live({ asOpened: true });
  await drawn(page);
  const [{ path, line }] = await assertAnswered(page);
  await page.until(ownLines + ".every(({ code }) => code !== '')");
  await click(page, "own-line");
  await page.until("location.hash.includes('view=source')");
  assert.equal(await page.evaluate("decodeURIComponent(location.hash)"),
    "#v=1&view=source&file=" + path + "&line=" + line);
  await page.until("document.querySelector('.line[aria-current]')?.dataset.line === '" + line + "'");
  await page.evaluate("history.back()");
  await page.until("!" + byId("own") + ".hidden");
  assertQuiet(page);
  await page.close();
});

test("below what runs and what waits stands where tasks wait, in shares of them", async () => {
  const { page } = await live({ asOpened: true, waiting: 3 });
  await drawn(page);
  const tasks =
    "Array.from(document.querySelectorAll('[data-testid=own-task]'), (row) => [row.dataset.path, row.dataset.line, row.querySelector('.share').textContent, row.querySelector('.own-name').textContent])";
  await page.until(tasks + ".length > 0");
  assert.deepEqual(await page.evaluate(tasks), [["/srv/shop/pricing.py", "20", "75.0 %", "handle\\u202e"], [
    "/srv/shop/app.py",
    "7",
    "12.5 %",
    "main",
  ]]);
  assert.match(await textOf(page, "own-tasks-note"), /^87\.5 % of 4,000 samples /);
  await assertAnswered(page);
  await click(page, "own-task");
  await page.until("location.hash.includes('view=source') && location.hash.includes('line=20')");
  assertQuiet(page);
  await page.close();
});

test("the first lines are the headline, what is hottest and where it waits; the bar, the lists and the summary have the same numbers", async () => {
  const { page, program } = await live({ asOpened: true });
  await drawn(page);
  await page.until(byId("headline") + ".textContent === " + JSON.stringify(SUMMARY.headline.replaceAll("`", "")));
  const tops = await page.evaluate(
    "['[data-testid=headline]', '[data-testid=parts]', '[data-testid=own-line]', '[data-testid=own-wait]', 'g.frame'].map((one) => document.querySelector(one).getBoundingClientRect().top)",
  );
  assert.deepEqual(tops, tops.toSorted((a, b) => a - b));
  const shares =
    "Array.from(document.querySelectorAll('[data-testid=part]'), (one) => [one.dataset.value, parseFloat(one.querySelector('.chip-share').textContent)])";
  await page.until(shares + ".every(([, share]) => share >= 0)");
  const shown = await page.evaluate(shares);
  assert.ok(Math.abs(shown.reduce((sum, [, share]) => sum + share, 0) - 100) < 0.3, JSON.stringify(shown));
  const all = program.view({}).total;
  for (const [part, share] of shown)
    assert.ok(Math.abs(share - (100 * program.view({ parts: [part] }).total) / all) <= 0.0501, part);
  await page.until(byId("summary") + " !== null");
  const summary = (await page.evaluate(byId("summary") + ".textContent")).replaceAll("\u00a0", " ");
  for (const [part, share] of shown)
    assert.ok(summary.includes(formatShare(share / 100) + " " + TEXT.parts[part][0]), summary);
  assert.equal(await page.evaluate("document.querySelectorAll('[data-testid=own-wait]').length"), 3);
  assert.match(await page.evaluate("document.querySelector('[data-testid=own-wait]').textContent"), /GIL [\d.]+ %/);
  assertQuiet(page);
  await page.close();
});

test("below the headline a click begins with native stacks, if the server agrees", async () => {
  const { page, program } = await live({ asOpened: true, cFunction: "<native> </b>\u202e.step" });
  const agrees = program.change;
  program.change = () => ({ status: 409, value: { detail: "no native stacks here" } });
  await drawn(page);
  await page.until(byId("record-native") + ".checkVisibility()");
  const said = await textOf(page, "native-offer");
  assert.ok(said.startsWith(TEXT.nativeOffer.ends("51.2 %") + "</b>\\u202e.step" + TEXT.nativeOffer.isC), said);
  await click(page, "record-native");
  await page.until(byId("note") + ".textContent === 'no native stacks here'");
  assert.equal(await page.evaluate(byId("record-native") + ".checkVisibility()"), true);
  program.change = agrees;
  await click(page, "record-native");
  await page.until(
    "!" + byId("native-offer") + ".checkVisibility() && " + byId("note") + ".textContent === "
      + JSON.stringify(TEXT.nativeOffer.begun),
  );
  assert.equal(program.session().settings.native, "full");
  assert.deepEqual(page.said.filter((line) => !line.includes("409")), []);
  await page.close();
});

test("the lists are of what the bar shows", async () => {
  const { page, program } = await live({ asOpened: true });
  await drawn(page);
  const listed = (id) =>
    "Array.from(document.querySelectorAll('[data-testid=" + id + "]')).filter((row) => row.checkVisibility()).length";
  await page.until(listed("own-line") + " === 5 && " + listed("own-wait") + " === 3");
  await page.evaluate(part("blocked") + ".click()");
  await page.until(
    shownNumber + " === " + program.view({ parts: ["blocked"] }).total + " && " + listed("own-line") + " === 0 && "
      + listed("own-wait") + " > 0",
  );
  await page.evaluate(part("running") + ".click()");
  await page.until(
    shownNumber + " === " + program.view({ parts: ["running"] }).total + " && " + listed("own-line") + " === 5 && "
      + listed("own-wait") + " === 0",
  );
  await page.evaluate(part("idle") + ".click()");
  await page.until(
    shownNumber + " === " + program.view({ parts: ["idle"] }).total + " && !" + byId("own") + ".checkVisibility()",
  );
  assertQuiet(page);
  await page.close();
});

test("a frame that is chosen inside a folded chain marks the chain", async () => {
  const { page } = await live({ asOpened: true });
  await drawn(page);
  await page.until("document.querySelector('g.frame.folded') !== null");
  assert.equal(await page.evaluate("document.querySelector('g.frame[data-selected]')"), null);
  // The call tree shows every frame.
  await page.evaluate("(location.hash = '#v=1&tables=flame', 0)");
  const inChain =
    "Array.from(document.querySelectorAll('.call-tree tbody tr')).find((row) => row.textContent.includes('Thread._bootstrap_inner'))";
  await page.until(inChain + " !== undefined");
  await page.evaluate("(" + inChain + ".click(), 0)");
  await page.until(
    "location.hash.includes('frame=') && document.querySelector('g.frame.folded[data-selected]') !== null",
  );
  assertQuiet(page);
  await page.close();
});

test("on a phone, the graph comes after the headline and the bar, and the lists after the graph", async () => {
  const { page } = await live({ asOpened: true });
  await page.resize(390, 844);
  await drawn(page);
  await page.until(byId("own-line") + " !== null");
  const tops = await page.evaluate(
    "['[data-testid=headline]', '[data-testid=parts]', 'g.frame', '[data-testid=own-line]', '[data-testid=own-wait]', '[data-testid=hottest]'].map((one) => document.querySelector(one).getBoundingClientRect().top)",
  );
  assert.deepEqual(tops, tops.toSorted((a, b) => a - b));
  assert.ok(tops[2] < 844, String(tops));
  assertQuiet(page);
  await page.close();
});

test("on a phone, what the hottest lines are of is not cut", async () => {
  const { page } = await live({ asOpened: true });
  await page.resize(390, 844);
  await drawn(page);
  assert.equal(await page.evaluate(byId("own-note") + ".scrollWidth <= " + byId("own-note") + ".clientWidth"), true);
  await page.close();
});

test("the panel has the rest of the summary, and copies it as Markdown", async () => {
  const { page } = await live({ asOpened: true });
  await drawn(page);
  await page.until(byId("summary") + " !== null");
  const shown = await page.evaluate(byId("summary") + ".querySelector('dl').textContent");
  assert.doesNotMatch(shown, /\d %/);
  const text = shown.replaceAll("\u00a0", " ");
  assert.doesNotMatch(text, /unknown|epoll/);
  assert.ok(text.includes("libz.so.1") && text.includes("Thread 4713"), text);
  await page.evaluate("navigator.clipboard.writeText = (text) => { window.copied = text; return Promise.resolve(); }");
  await click(page, "copy-summary");
  await page.until("window.copied === '## `made up`\\n'");
  assertQuiet(page);
  await page.close();
});

test("the panel beside other views has the summary too, of what is selected there", async () => {
  const { page } = await live({ asOpened: true, seconds: 4, fragment: "#v=1&view=heatmap" });
  await page.until(byId("summary") + " !== null");
  await page.evaluate(
    "(window.asked = [], window.fetch = ((before) => (url, ...more) => (asked.push(String(url)), before(url, ...more)))(fetch), location.hash = '#v=1&view=stacks&range=1~2', 0)",
  );
  await page.until("asked.some((url) => /summary\\?.*from=1&to=2/.test(url))");
  await page.until(byId("summary") + ".checkVisibility()");
  assertQuiet(page);
  await page.close();
});

test("a report of which a part is selected has no place for a headline, which is of the whole", async () => {
  const program = createProgram({ threads: 8, now: () => 0 });
  program.advance(3);
  const path = join(folder, "headline.html");
  writeFileSync(path, reportPage(bundled, { ...program.report({}), summary: SUMMARY }));
  const page = await browser.open("file://" + path);
  const height = "document.getElementById('headline').offsetHeight";
  await page.until(byId("headline") + "?.textContent.startsWith('41 %') && " + height + " > 20");
  await page.evaluate("(location.hash = '#v=1&range=1~2', 0)");
  await page.until(height + " === 0");
  await page.evaluate("(location.hash = '#v=1', 0)");
  await page.until(height + " > 20");
  assertQuiet(page);
  await page.close();
});

test("a report has them too", async () => {
  const program = createProgram({ threads: 8, now: () => 0 });
  program.advance(3);
  const path = join(folder, "answer.html");
  writeFileSync(path, reportPage(bundled, program.report({})));
  const page = await browser.open("file://" + path);
  await assertAnswered(page);
  assertQuiet(page);
  await page.close();
});

test("the panel stays as it is while text in it is selected", async () => {
  const { page, advance } = await live({ asOpened: true });
  await drawn(page);
  const list = "document.querySelector('[data-testid=hottest]')";
  await page.until(list + " !== null");
  // The list may be replaced right before it is selected.
  await page.until(
    "(" + list + ".dataset.kept = 'yes', getSelection().selectAllChildren(" + list
      + ".firstElementChild), getSelection().toString() !== '')",
  );
  const before = await page.evaluate(byId("drawing-note") + ".textContent");
  advance(2);
  await page.until(byId("drawing-note") + ".textContent !== " + JSON.stringify(before));
  assert.equal(await page.evaluate(list + ".dataset.kept"), "yes");
  await page.evaluate("(getSelection().removeAllRanges(), 0)");
  advance(2);
  await page.until(list + ".dataset.kept === undefined");
  assertQuiet(page);
  await page.close();
});

test("the panel keeps its place when its numbers change", async () => {
  const { page, advance } = await live({ asOpened: true });
  await page.resize(1280, 500);
  await drawn(page);
  const panel = byId("details");
  await page.until(panel + ".scrollHeight > " + panel + ".clientHeight + 60");
  await page.evaluate(
    "(" + panel + ".scrollTop = 50, document.querySelector('[data-testid=hottest]').dataset.kept = 'yes', 0)",
  );
  await page.until(panel + ".scrollTop === 50");
  await page.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))");
  advance(2);
  await page.until("document.querySelector('[data-testid=hottest]').dataset.kept === undefined");
  assert.equal(await page.evaluate(panel + ".scrollTop"), 50);
  assertQuiet(page);
  await page.close();
});
