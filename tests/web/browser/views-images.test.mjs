// Charts saved as pictures: what the files are called, and what is in them.

import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { assertQuiet, byId, click, drawn, live } from "../support/open-page.mjs";

const KEEP =
  "globalThis.saved = []; URL.createObjectURL = (blob) => { saved.push({ blob }); return 'data:,'; }; HTMLAnchorElement.prototype.click = function click() { saved.at(-1).name = this.download; }; 0";
const PICTURES = process.env.PYROMETER_TEST_DIR;

// Saves a chart and answers {name, text or colours (how many different ones), width, height}.
async function save(page, chart, format) {
  const before = await page.evaluate("saved.length");
  await click(page, "download");
  await page.until(byId("save-" + chart + "-" + format) + "?.checkVisibility()");
  await click(page, "save-" + chart + "-" + format);
  await page.until("saved.length === " + (before + 1) + " && saved.at(-1).name !== undefined");
  const name = await page.evaluate("saved.at(-1).name");
  if (format === "svg") {
    const text = await page.evaluate("saved.at(-1).blob.text()");
    const [fault, texts, width] = await page.evaluate(
      "(() => { const parsed = new DOMParser().parseFromString(" + JSON.stringify(text) + ", 'image/svg+xml');"
        + " return [parsed.querySelector('parsererror')?.textContent ?? '', Array.from(parsed.querySelectorAll('text'), (one) => one.textContent), Number(parsed.documentElement.getAttribute('width'))]; })()",
    );
    assert.equal(fault, "");
    if (PICTURES) writeFileSync(join(PICTURES, "image-" + chart + ".svg"), text);
    return { name, text, texts, width };
  }
  const drawnAs = await page.evaluate(
    "createImageBitmap(saved.at(-1).blob).then((image) => { const canvas = new OffscreenCanvas(image.width, image.height); const context = canvas.getContext('2d'); context.drawImage(image, 0, 0);"
      + " const data = new Uint32Array(context.getImageData(0, 0, image.width, image.height).data.buffer); return { colours: new Set(data).size, corner: data[0], width: image.width, height: image.height }; })",
  );
  if (PICTURES) {
    const bytes = await page.evaluate(
      "saved.at(-1).blob.arrayBuffer().then((bytes) => Array.from(new Uint8Array(bytes)))",
    );
    writeFileSync(join(PICTURES, "image-" + chart + "-" + drawnAs.corner + ".png"), Buffer.from(bytes));
  }
  return { name, ...drawnAs };
}

test("the flame graph is saved as SVG and PNG, light and dark", async () => {
  const { page } = await live({ fragment: "#v=1&search=price" });
  await drawn(page);
  await page.evaluate(KEEP);
  const svg = await save(page, "flame", "svg");
  assert.match(svg.name, /^[A-Za-z0-9._]+-4711-flame-graph-\d{8}-\d{6}Z\.svg$/);
  const frames = await page.evaluate(
    "Array.from(document.querySelectorAll('.flame g.frame'), (g) => { const at = g.querySelector('rect').getBoundingClientRect(); return [g.getAttribute('name'), at.width]; })",
  );
  for (const [name, width] of frames.filter(([, width]) => width > 250))
    assert.ok(svg.texts.some((text) => text.startsWith(name.slice(0, 4))), name + " " + width);
  assert.ok(!/class=|data-heat|<foreignObject|<script|href="(?!data:image\/png)/.test(svg.text));
  const light = await save(page, "flame", "png");
  assert.match(light.name, /\.png$/);
  assert.ok(light.colours > 50, String(light.colours));
  assert.equal(light.width, 2 * svg.width);
  await page.dark(true);
  const dark = await save(page, "flame", "png");
  assert.ok(dark.colours > 50 && dark.corner !== light.corner);
  assertQuiet(page);
  await page.close();
});

for (const [view, fragment, ready] of [
  ["heatmap", "", byId("heatmap") + "?.width > 10"],
  ["threads", "", "document.querySelectorAll('.lane-plot path[d*=M]').length > 3"],
  ["gil", "", "document.querySelectorAll('[data-testid=gil-flame] g.frame').length > 3"],
  ["diff", "&baseline=0~2&range=2~4", "document.querySelectorAll('[data-testid=diff-table] tbody tr').length > 5"],
]) {
  test("the chart of the view " + view + " and the timeline are saved", async () => {
    const { page } = await live({ seconds: 4, fragment: "#v=1&view=" + view + fragment });
    await page.until(ready);
    await page.evaluate(KEEP);
    for (const chart of [view, "strip"]) {
      const svg = await save(page, chart, "svg");
      assert.ok(svg.texts.length > 1, chart);
      const png = await save(page, chart, "png");
      assert.ok(png.colours > 20, chart + " " + png.colours);
    }
    assertQuiet(page);
    await page.close();
  });
}

test("a name of the target is text in a picture, whatever it is", async () => {
  const { page, program } = await live();
  await drawn(page);
  await page.evaluate(KEEP);
  const command = "</text><script>alert(1)</script>&amp;\u0001\ud800";
  program.session().target.command[0] = command;
  await page.evaluate(
    "document.querySelector('.flame .d3-flame-graph-label').textContent = " + JSON.stringify(command),
  );
  const svg = await save(page, "flame", "svg");
  assert.ok(svg.texts.some((text) => text.startsWith("</text><script>alert(1)</script>&amp;\ufffd\ufffd")));
  assert.ok(!svg.text.includes("<script>"));
  await page.close();
});
