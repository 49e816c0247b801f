// Views in a real browser that need a server, or a report, of their own: instructions of lines, matches in the heat map.

import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { createProgram } from "../support/made-up-program.mjs";
import { reportPage } from "../support/mock-server.mjs";
import { browser, bundled, byId, folder, inAllParts, serve } from "../support/open-page.mjs";
import { TEXT } from "../../../web/text/session.js";

function madeUp() {
  const program = createProgram({ threads: 8, now: () => 0 });
  program.advance(6);
  return program;
}

async function live(program, fragment) {
  const { url } = await serve(program);
  return browser.open(url + inAllParts(fragment));
}

async function report(name, data, fragment) {
  const path = join(folder, name + ".html");
  writeFileSync(path, reportPage(bundled, data));
  return browser.open("file://" + path + inAllParts(fragment));
}

const textOf = (page, id) => page.evaluate(byId(id) + "?.textContent ?? ''");

async function leave(page) {
  assert.deepEqual(page.said, []);
  await page.close();
}

const FILE = "#v=1&view=source&file=/srv/shop/pricing.py";

// A line of that file that has samples.
async function hotLine(page) {
  await page.until("document.querySelector('.line .line-self:not(:empty)') !== null");
  return page.evaluate("Number(document.querySelector('.line .line-self:not(:empty)').parentElement.dataset.line)");
}

test("a line opens to its instructions, and closes again", async () => {
  const program = madeUp();
  const page = await live(program, FILE);
  const line = await hotLine(page);
  await page.evaluate("document.querySelector('.line[data-line=\"" + line + "\"]').click()");
  await page.until(byId("source-instructions") + "?.querySelectorAll('.instruction').length === 3");
  const said = await textOf(page, "source-instructions");
  assert.match(said, /<\/script><b>CALL/);
  assert.match(said, /specialized from CALL/);
  assert.match(said, /unknown instruction/);
  assert.match(said, new RegExp("3 instructions, " + TEXT.source.fewestLeftOut));
  assert.equal(await page.evaluate("document.querySelectorAll('.line[data-open] .hot-piece').length"), 2);
  await page.evaluate(byId("source-lines") + ".focus()");
  await page.press("Enter");
  await page.until(byId("source-instructions") + " === null");
  assert.equal(await page.evaluate("document.querySelectorAll('.hot-piece').length"), 0);
  await page.press("Enter");
  await page.until(byId("source-instructions") + " !== null");
  await leave(page);
});

test("a report has the instructions of its hottest files, and says what gives them", async () => {
  const program = madeUp();
  const page = await report("none", program.report({}), FILE);
  const line = await hotLine(page);
  await page.evaluate("document.querySelector('.line[data-line=\"" + line + "\"]').click()");
  await page.until(byId("source-instructions") + "?.textContent.includes('--opcodes')");
  await leave(page);
  const rows = { samples: 50, path: "/srv/shop/pricing.py", names: ["CALL"], line: [line], end_line: [line], column: [0], end_column: [4], opcode: [0], base_opcode: [0], self: [20], total: [20], omitted: 0 };
  const filled = await report("some", { ...program.report({}), instructions: [rows] }, FILE + "&line=" + line);
  await filled.until(byId("source-instructions") + "?.querySelectorAll('.instruction').length === 1");
  assert.match(await textOf(filled, "source-instructions"), /^40.0 %40.0 %CALLcolumns 1 to 41 instruction$/);
  await leave(filled);
});

// How many pixels of the heat map have the colour of a match.
const PAINTED = "(() => { const canvas = " + byId("heatmap") + "; const probe = document.createElement('i'); probe.style.color = 'var(--match)'; document.body.append(probe);" +
  "const [r, g, b] = getComputedStyle(probe).color.match(/[\\d.]+/g).map(Number); probe.remove(); const copy = document.createElement('canvas'); copy.width = canvas.width; copy.height = canvas.height;" +
  "const context = copy.getContext('2d', { willReadFrequently: true }); context.drawImage(canvas, 0, 0); const { data } = context.getImageData(0, 0, canvas.width, canvas.height);" +
  "let count = 0; for (let i = 0; i < data.length; i += 4) if (Math.abs(data[i] - r) + Math.abs(data[i + 1] - g) + Math.abs(data[i + 2] - b) < 6) count += 1; return count; })()";

async function checkSearch(page, length) {
  await page.until(byId("heat-found") + "?.textContent.includes('Matches are known per " + length + "')");
  assert.match(await textOf(page, "heat-found"), /^[\d,]+ of [\d,]+ samples match \([\d.]+ %\)/);
  await page.until(PAINTED + " > 200");
  await page.evaluate("(() => { const r = " + byId("heatmap") + ".getBoundingClientRect(); " + byId("heatmap") + ".dispatchEvent(new PointerEvent('pointermove', { clientX: r.left + 5, clientY: r.top + 5 })); })()");
  await page.until(byId("heat-read") + ".textContent.includes('matches: ')");
  await page.evaluate("(() => { const input = " + byId("search") + "; input.value = 'no such thing'; input.dispatchEvent(new Event('input')); })()");
  await page.until(byId("heat-found") + ".textContent.startsWith('0 of')");
  await page.until(PAINTED + " === 0");
  await page.evaluate("(() => { const input = " + byId("search") + "; input.value = '/(/'; input.dispatchEvent(new Event('input')); })()");
  await page.until(byId("heat-found") + ".textContent === '" + TEXT.heat.invalid + "'");
  await page.evaluate("(() => { const input = " + byId("search") + "; input.value = ''; input.dispatchEvent(new Event('input')); })()");
  await page.until(byId("heat-found") + ".hidden");
}

test("a search highlights when it was on stacks, live and in a report", async () => {
  const program = madeUp();
  const page = await live(program, "#v=1&view=heatmap&search=pricing");
  await checkSearch(page, "250 ms");
  await leave(page);
  const filed = await report("heat", program.report({}), "#v=1&view=heatmap&search=pricing");
  await checkSearch(filed, "250 ms");
  await leave(filed);
});

test("the download menu has what people read, and the rest for other tools", async () => {
  const page = await live(madeUp(), "");
  await page.until(byId("download-report") + " !== null");
  await page.evaluate(byId("download") + ".click()");
  const visible = "Array.from(document.querySelectorAll('[data-testid^=download-], [data-testid^=save-]')).filter((one) => one.checkVisibility()).map((one) => one.dataset.testid)";
  assert.deepEqual(await page.evaluate(visible), ["download-report", "download-summary", "save-flame-png", "save-flame-svg", "save-strip-png", "save-strip-svg", "download-others"]);
  await page.evaluate(byId("download-others") + ".open = true");
  await page.until(byId("download-pprof") + ".checkVisibility()");
  await leave(page);
});

test("the download menu can anonymize, and an anonymized report says what it is", async () => {
  const program = madeUp();
  const page = await live(program, "#v=1&filter=hide+module:json");
  await page.until(byId("download-report") + " !== null");
  await page.evaluate(byId("download") + ".click()");
  const links = "Array.from(document.querySelectorAll('a[data-testid^=download-]'))";
  assert.ok(await page.evaluate(links + ".length > 5 && " + links + ".every((link) => !link.href.includes('anonymize'))"));
  await page.evaluate(byId("anonymize") + ".click()");
  await page.until(links + ".length > 5 && " + links + ".every((link) => new URL(link.href).searchParams.get('anonymize') === '1')");
  const menu = "document.querySelector('.menu-note').textContent";
  assert.ok(await page.evaluate(links + ".every((link) => new URL(link.href).searchParams.get('hide') === 'module:json')"));
  await page.evaluate("location.hash = '#v=1&filter=show-from+function:main&filter=hide+libraries'");
  await page.until(links + ".every((link) => { const sent = new URL(link.href).searchParams; return sent.get('show_from') === 'function:main' && sent.getAll('hide').join() === 'libraries'; })");
  assert.equal(await page.evaluate(menu), "");
  await leave(page);
  const made = program.report({});
  const filed = await report("anonymized", { ...made, session: { ...made.session, anonymized: true } }, FILE);
  await filed.until(byId("facts") + "?.textContent.includes('" + TEXT.header.anonymized + "')");
  await filed.until(byId("source-note") + "?.textContent.includes('" + TEXT.source.reportAnonymized + "')");
  await filed.evaluate(byId("download") + ".click()");
  assert.equal(await filed.evaluate(byId("anonymize") + ".checkVisibility()"), false);
  await filed.evaluate("location.hash = '#v=1&filter=hide+module:json'");
  await filed.until("/Not applied: hide module:json\\.$/.test(" + menu + ")");
  await leave(filed);
});

// Text that a target can put into a file and its line table.
const HOSTILE_LINES = [
  "</script><img src=x onerror=\"document.title='PWNED'\">", "\u202egnp.exe = 1 \u2066# \u200f", "half\ud800 = '\udc00'", "nul\u0000 \u0007\u001b[31m", "x = '" + "y".repeat(100000) + "'",
  "\t\tif 名前 == \"𝒳\":", "", "a\u2028b\u2029c\u0085d",
];

// A file whose lines all have samples, in a function with a hostile name.
function hostileReport(lines) {
  const made = madeUp().report({});
  const { tree, cells } = made;
  const string = (text) => tree.strings.values.push(text) - 1;
  const path = "/srv/</style>\u202e" + "d".repeat(5000) + ".py";
  const fn = tree.functions.name.push(string("</script><b>\ud800" + "n".repeat(100000))) - 1;
  tree.functions.file.push(string(path));
  tree.functions.line.push(1);
  for (let line = 1; line <= lines; line += 1) {
    tree.nodes.parent.push(0);
    tree.nodes.function.push(fn);
    const node = tree.nodes.line.push(line) - 1;
    for (const [column, value] of Object.entries({ thread: 0, state: 0, node, slot: 0, count: line < 10 ? 900 : 1 })) cells[column].push(value);
  }
  return { made, path };
}

async function assertHarmless(page) {
  assert.equal(await page.evaluate("document.querySelectorAll('main b, main img, main script').length"), 0);
  assert.doesNotMatch(await page.evaluate("document.title"), /PWNED/);
  assert.ok(await page.evaluate("document.documentElement.scrollWidth <= window.innerWidth"));
}

test("50,000 lines of hostile text with instructions that make no sense", async () => {
  const { made, path } = hostileReport(50000);
  const text = Array.from({ length: 49000 }, (_, i) => (i < HOSTILE_LINES.length ? HOSTILE_LINES[i] : HOSTILE_LINES[i % 4])).join("\n");
  const odd = [[0, 4, 1], [3, 1, 1], [2 ** 31 - 1, 2 ** 31 - 1, 1], [-1, -1, 1], [0, 2 ** 31 - 1, 99], [5, 2, -7]];
  const rows = [1, 2, 3, 4, 5, 6].flatMap((line) => odd.map(([column, end, endLine]) => ({ line, column, end, endLine })));
  const column = (read) => rows.map(read);
  const instructions = [{
    samples: 60000, path, names: ["", "</script><img src=x>\u202e\ud800", "z".repeat(5000)], omitted: 0,
    line: column((row) => row.line), end_line: column((row) => row.endLine), column: column((row) => row.column), end_column: column((row) => row.end),
    opcode: column((row, i) => [0, 1, 2, -1, 7][i % 5]), base_opcode: column((row, i) => [1, 0, 9][i % 3]), self: column((row, i) => i), total: column((row, i) => 2 * i),
  }];
  const page = await report("hostile", { ...made, sources: [{ path, changed: true, whole: true, text }], instructions }, "#v=1&view=source");
  await page.until("document.querySelectorAll('.line').length > 100 && document.querySelectorAll('.line').length < 20000");
  assert.match(await textOf(page, "source-note"), /Of 50,000 lines with samples, the 5,000 hottest are shown/);
  for (const line of [1, 2, 3, 4, 5, 6]) {
    await page.evaluate("document.querySelector('.line[data-line=\"" + line + "\"]').click()");
    await page.until(byId("source-instructions") + "?.querySelectorAll('.instruction').length === " + odd.length + " && document.querySelector('.line[data-line=\"" + line + "\"]').dataset.open === 'yes'");
    await assertHarmless(page);
  }
  await leave(page);
});

test("of a capture the lines that it has are shown, and the page says why others are not there", async () => {
  const program = madeUp();
  const { source } = program;
  program.source = (id) => {
    const found = source(id);
    return found === null ? null : { ...found, whole: false, text: found.text.split("\n").map((line, i) => (i >= 20 ? "" : line)).join("\n") };
  };
  const page = await live(program, FILE);
  await page.until(byId("source-note") + "?.textContent.startsWith(" + JSON.stringify(TEXT.source.part) + ")");
  const lines = await page.evaluate("Array.from(document.querySelectorAll('.line'), (line) => [Number(line.dataset.line), line.querySelector('.line-code').textContent])");
  const texts = new Map(lines);
  assert.deepEqual([...texts.keys()].filter((line) => line <= 20), Array.from({ length: 20 }, (_, i) => i + 1));
  assert.ok(texts.size < 200, "lines that were left out are not shown: " + texts.size);
  const left = lines.filter(([line, text]) => line > 22 && text !== "");
  assert.ok(left.length > 0 && left.every(([, text]) => !text.includes(" of /srv")), "what has samples has the name of its function");
  await leave(page);
});

test("a file that got shorter, or is gone, keeps its lines with samples", async () => {
  const { made, path } = hostileReport(40);
  const shorter = await report("shorter", { ...made, sources: [{ path, changed: true, whole: true, text: "one\ntwo" }] }, "#v=1&view=source");
  await shorter.until("document.querySelector('.line[data-line=\"40\"]') !== null");
  assert.equal(await shorter.evaluate("document.querySelectorAll('.line').length"), 40);
  await leave(shorter);
  const gone = await report("gone", made, "#v=1&view=source");
  await gone.until("document.querySelectorAll('.line').length === 40");
  await gone.until(byId("source-note") + "?.textContent.startsWith('Source not available')");
  await assertHarmless(gone);
  await leave(gone);
});

test("hostile names in the comparison, the details and the heat map's search", async () => {
  const { made } = hostileReport(3);
  const page = await report("names", made, "#v=1&view=diff&baseline=0~2&range=2~4");
  await page.until(byId("diff-table") + "?.querySelectorAll('[data-verdict]').length > 3");
  await assertHarmless(page);
  await page.evaluate("location.hash = '#v=1&view=heatmap&search=' + encodeURIComponent('</script><b>')");
  await page.until(byId("heat-found") + "?.textContent.includes('samples match')");
  await page.until("Array.from(document.querySelectorAll('g.frame')).some((frame) => frame.getAttribute('name').startsWith('</script><b>'))");
  await page.evaluate("Array.from(document.querySelectorAll('g.frame')).find((frame) => frame.getAttribute('name').startsWith('</script><b>')).dispatchEvent(new MouseEvent('click', { bubbles: true }))");
  await page.until(byId("details-name") + "?.textContent.startsWith('</script><b>\\\\ud800')");
  assert.ok((await textOf(page, "details-name")).length < 1000);
  await assertHarmless(page);
  await leave(page);
});
