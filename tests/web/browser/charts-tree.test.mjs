// The call tree below the flame graph: rows that open and close, by pointer and by keyboard.

import assert from "node:assert/strict";
import { test } from "node:test";
import { assertQuiet, byId, click, drawn, live } from "../support/open-page.mjs";

const tree = byId("call-tree");
const rows = "Array.from(" + tree + "?.querySelectorAll('tbody tr') ?? [])";
const nameOf = (row) => row + "?.querySelector('.tree-name').textContent";
const rowNamed = (name) =>
  rows + ".find((row) => row.querySelector('.tree-name').textContent === " + JSON.stringify(name) + ")";
const selected = rows + ".find((row) => row.getAttribute('aria-selected') === 'true')";

async function opened(fragment, options = {}) {
  const made = await live({ fragment: "#v=1&tables=flame" + fragment, ...options });
  if (options.functions === undefined) await drawn(made.page);
  await made.page.until(rows + ".length > 1");
  return made;
}

test("the heaviest way is open; arrow keys move, open and close; Enter zooms", async () => {
  const { page } = await opened("");
  assert.equal(await page.evaluate(tree + ".querySelector('tbody tr').getAttribute('aria-expanded')"), "true");
  await page.evaluate("(" + tree + ".focus(), 0)");
  await page.press("ArrowDown");
  await page.until("location.hash.includes('frame=') && " + selected + " !== undefined");
  const first = await page.evaluate(nameOf(selected));
  await page.press("ArrowLeft");
  await page.until(selected + ".getAttribute('aria-expanded') === 'false'");
  await page.press("ArrowRight");
  await page.until(selected + ".getAttribute('aria-expanded') === 'true'");
  await page.press("ArrowRight");
  await page.until(
    nameOf(selected) + " !== " + JSON.stringify(first) + " && " + selected + ".getAttribute('aria-level') === '2'",
  );
  await page.until(byId("details-name") + "?.textContent === " + nameOf(selected));
  await page.press("ArrowLeft");
  await page.press("ArrowLeft");
  await page.until(selected + ".getAttribute('aria-level') === '1'");
  await page.press("Enter");
  await page.until("location.hash.includes('zoom=')");
  assertQuiet(page);
  await page.close();
});

test("a link opens what leads to its frame", async () => {
  const { page, url } = await opened("");
  await click(page, "tree-open-all");
  await page.until(rowNamed("TaxTable.lookup") + " !== undefined");
  await page.evaluate("(" + rowNamed("TaxTable.lookup") + ".querySelector('.tree-name').click(), 0)");
  await page.until("location.hash.includes('frame=')");
  const hash = await page.evaluate("location.hash");
  await click(page, "tree-close-all");
  await page.until(rowNamed("TaxTable.lookup") + " === undefined");
  const again = "document.body.dataset.again = '1'";
  await page.evaluate("(" + again + ", location.replace(" + JSON.stringify(url) + " + '?again' + location.hash), 0)");
  await page.until(
    "document.body?.dataset.again === undefined && " + tree + " && " + nameOf(selected) + " === 'TaxTable.lookup'",
  );
  assert.match(hash, /tables=flame/);
  await page.close();
});

test("of tens of thousands of rows only those in view exist", async () => {
  const { page } = await opened("", { functions: 50000, threads: 2, seconds: 2 });
  await click(page, "tree-open-all");
  await page.until("Number(" + tree + ".getAttribute('aria-rowcount')) > 45000");
  assert.ok(await page.evaluate(rows + ".length") < 200);
  const region = byId("as-table-flame");
  await page.until(
    "(" + region + ".scrollTop = 1e9) && Number(" + rows + ".at(-1).getAttribute('aria-rowindex')) === Number(" + tree
      + ".getAttribute('aria-rowcount'))",
  );
  assertQuiet(page);
  await page.close();
});

test("bottom-up, filters and the search apply; native code has a badge", async () => {
  const { page } = await opened("&bottom-up");
  const top = await page.evaluate(nameOf(rows + "[0]"));
  await page.until("document.querySelector('g.frame[name]') && " + JSON.stringify(top) + " !== ''");
  await page.until(rowNamed("sorted") + "?.querySelector('.tree-badge').hidden === false");
  assert.equal(await page.evaluate(rowNamed("sorted") + ".querySelector('.place').textContent"), "");
  await page.evaluate("(location.hash += '&filter=ignore+sorted', 0)");
  await page.until(rowNamed("sorted") + " === undefined");
  await page.evaluate("(location.hash += '&search=discount', 0)");
  await page.until(
    rows + ".some((row) => row.dataset.mark === 'match') && " + rows + ".some((row) => row.dataset.mark === 'other')",
  );
  assertQuiet(page);
  await page.close();
});
