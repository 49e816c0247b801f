// The manual as one document: nothing to load, nothing that is not text, and a place for whatever the page leads to.

import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { cpSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { fileURLToPath } from "node:url";
import { TEXT } from "../../../web/text/session.js";
import { VIEWS } from "../../../web/model/page/address.js";

const ROOT = fileURLToPath(new URL("../../..", import.meta.url));
const folder = mkdtempSync(join(tmpdir(), "pyrometer-manual-"));
after(() => rmSync(folder, { recursive: true }));

function bundle(name) {
  execFileSync(join(ROOT, "scripts/bundle-manual"), [join(folder, name + ".html")]);
  return { page: readFileSync(join(folder, name + ".html"), "utf8"), csp: readFileSync(join(folder, name + ".csp"), "utf8") };
}

const made = bundle("manual");
const ids = new Set(Array.from(made.page.matchAll(/ id="([^"]+)"/g), ([, id]) => id));
const hashOf = (text) => "'sha256-" + createHash("sha256").update(text).digest("base64") + "'";

// The output of scripts/bundle-manual for a manual whose only chapter is `text`.
function bundleOf(text) {
  const root = mkdtempSync(join(folder, "copy-"));
  for (const path of ["scripts/bundle-manual", "server/openapi.json", "web/tokens.css", "web/manual.css", "web/early.js", "web/index.html"]) {
    cpSync(join(ROOT, path), join(root, path), { recursive: true });
  }
  mkdirSync(join(root, "web/docs"));
  writeFileSync(join(root, "web/docs/README.md"), "# Manual\n\n| page | what |\n| --- | --- |\n| [One](one.md) | it |\n");
  writeFileSync(join(root, "web/docs/one.md"), text);
  const { status, stderr } = spawnSync(join(root, "scripts/bundle-manual"), [join(root, "out.html")], { encoding: "utf8" });
  return status === 0 ? readFileSync(join(root, "out.html"), "utf8") : stderr;
}

test("the same sources give the same bytes", () => {
  assert.deepEqual(bundle("again"), made);
});

test("every chapter is in it, and every link leads to a place", () => {
  for (const file of readdirSync(join(ROOT, "web/docs"))) assert.ok(ids.has(file === "README.md" ? "manual" : file.replace(/\.md$/, "")), file);
  for (const [, id] of made.page.matchAll(/ href="#([^"]+)"/g)) assert.ok(ids.has(id), id);
});

test("every view of the page has its part", () => {
  for (const view of VIEWS) assert.ok(ids.has("views-" + TEXT.view[view][0].toLowerCase().replaceAll(" ", "-")), view);
});

test("it loads nothing, and runs nothing but what its policy names", () => {
  for (const [, address] of made.page.matchAll(/ (?:src|srcset)="([^"]*)"/g)) assert.match(address, /^data:image\/webp;base64,/);
  assert.equal(made.page.match(/<script/g).length, 1);
  assert.equal(made.page.match(/<style/g).length, 1);
  for (const element of ["script", "style"]) {
    const [, text] = new RegExp("<" + element + ">(.*?)</" + element + ">", "s").exec(made.page);
    assert.ok(made.csp.includes(hashOf(text)), element);
  }
  assert.ok(made.csp.startsWith("default-src 'none'; ") && !/unsafe|https?:|\*/.test(made.csp), made.csp);
});

test("it names every request of the API", () => {
  const { paths } = JSON.parse(readFileSync(join(ROOT, "server/openapi.json"), "utf8"));
  for (const [path, operations] of Object.entries(paths)) {
    for (const method of Object.keys(operations).filter((name) => name !== "parameters")) assert.ok(made.page.includes("<code>" + method.toUpperCase() + " " + path + "</code>"), method + " " + path);
  }
});

test("text is escaped wherever it stands", () => {
  const page = bundleOf("# <One>\n\na <b> & `<i>` **<u>** [<s>](https://x/?a=1&b=2)\n\n- <li>\n\n```sh\nx </code><script> # no\n```\n\n| <th> |\n| --- |\n| <td> |\n");
  for (const name of ["One", "b", "i", "u", "s", "li", "th", "td", "script"]) assert.ok(page.includes("&lt;" + name + "&gt;"), name + page.slice(-900));
  assert.equal(page.match(/<script/g).length, 1);
});

test("what it does not know, and what leads nowhere, is named with its line", () => {
  const rows = [
    ["# One\n\n<b>x</b>\n", /one\.md:3: this Markdown is unknown/],
    ["# One\n\n    code\n", /one\.md:3: this Markdown is unknown/],
    ["# One\n\n[x](two.md)\n", /one\.md:3: two\.md does not exist/],
    ["# One\n\n[x](#nowhere)\n", /no place is named #one-nowhere/],
    ["# One\n\n## A\n\n## A\n", /one\.md:5: a second heading A/],
    ["# One\n\n| a | b |\n| --- | --- |\n| c |\n", /one\.md:5: a row of 1 cells/],
    ["# One\n\n```sh\nx\n", /one\.md:3: this code does not end/],
    ["x\n", /no title/],
  ];
  for (const [text, expected] of rows) assert.match(bundleOf(text), expected);
});
