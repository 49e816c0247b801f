import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { fileURLToPath } from "node:url";
import { gunzipSync } from "node:zlib";
import { bytesOfBase85 } from "../../../web/source/inflate.js";
import { FORMATS } from "../../../web/source/live.js";

const ROOT = fileURLToPath(new URL("../../..", import.meta.url));
const folder = mkdtempSync(join(tmpdir(), "pyrometer-bundle-"));
after(() => rmSync(folder, { recursive: true }));

function bundle(name) {
  execFileSync(join(ROOT, "scripts/bundle-web"), [join(folder, name + ".html")]);
  const read = (extension) => readFileSync(join(folder, name + extension), "utf8");
  return { page: read(".html"), csp: read(".csp"), meta: read(".meta") };
}

const made = bundle("page");
const elements = (tag) =>
  Array.from(made.page.matchAll(new RegExp("<" + tag + "([^>]*)>(.*?)</" + tag + ">", "gs")),
    ([, attributes, text]) => ({ attributes, text }));
const hashOf = (text) => "'sha256-" + createHash("sha256").update(text).digest("base64") + "'";
const packed = (kind) =>
  gunzipSync(
    bytesOfBase85(elements("script").find((script) => script.attributes.includes('data-packed="' + kind + '"')).text),
  ).toString();
const libraries = () => packed("script");
const runnable = () =>
  elements("script").filter((script) => !script.attributes.includes("text/plain")).map((script) => script.text);

test("the same sources give the same bytes", () => {
  assert.deepEqual(bundle("again"), made);
});

test("base 85 gives back all bytes, whatever their number", () => {
  for (const length of [0, 1, 2, 3, 4, 5, 1000]) {
    const bytes = Buffer.from(Array.from({ length }, (_, i) => (i * 89 + 250) % 256));
    const text = execFileSync("python3", ["-c",
      "import base64, sys; print(base64.b85encode(bytes.fromhex(sys.argv[1])).decode().replace('<', '.'), end='')",
      bytes.toString("hex")], { encoding: "utf8" });
    assert.deepEqual(Buffer.from(bytesOfBase85(text)), bytes);
  }
});

test("the modules are valid scripts that declare no name twice", () => {
  const path = join(folder, "module.mjs");
  const inline = elements("script").find((script) => script.attributes === ' type="module"').text;
  for (const text of [inline, packed("module")]) {
    writeFileSync(path, text);
    const { status, stderr } = spawnSync(process.execPath, ["--check", path], { encoding: "utf8" });
    assert.equal(status, 0, stderr);
  }
});

// A report is at most 300 KB and 20 bytes a node: the page leaves room for what is the same in every one.
test("the page is small", () => {
  assert.ok(made.page.length < 285000, String(made.page.length));
});

test("the libraries are one valid script, patched", () => {
  const text = libraries();
  const path = join(folder, "libraries.cjs");
  writeFileSync(path, text);
  assert.equal(spawnSync(process.execPath, ["--check", path]).status, 0);
  assert.ok(text.includes("n.data.id !== void 0"));
  assert.ok(!text.includes("head.appendChild(__vite_style__)"));
  assert.ok(
    /d3-flame-graph 5\.0\.0, Apache-2\.0, modified/.test(text) && /d3-hierarchy 3\.\d+\.\d+, ISC \*\//.test(text),
  );
});

test("both policies allow exactly the scripts and styles of the page", () => {
  const scripts = [...runnable(), libraries(), packed("module")].map(hashOf).sort();
  const styles = [...elements("style").map(({ text }) => text), packed("style")].map(hashOf).sort();
  for (const policy of [made.csp, made.meta]) {
    assert.deepEqual(/script-src ([^;]*)/.exec(policy)[1].split(" ").sort(), scripts);
    assert.deepEqual(/style-src ([^;]*)/.exec(policy)[1].split(" ").sort(), styles);
    assert.ok(
      policy.includes("default-src 'none'") && policy.includes("base-uri 'none'")
        && policy.includes("form-action 'none'"),
    );
    assert.ok(!policy.includes("unsafe"));
  }
  assert.ok(made.csp.includes("connect-src 'self'") && made.csp.includes("frame-ancestors 'none'"));
  assert.ok(made.meta.includes("connect-src 'none'"));
  assert.equal(made.csp.trim().split("\n").length, 1);
});

test("the places a report fills are there exactly once", () => {
  for (const place of ["<!--report-csp-->", '<script type="text/plain" id="profile-data"></script>'])
    assert.equal(made.page.split(place).length, 2, place);
  assert.ok(made.page.indexOf("<!--report-csp-->") < made.page.indexOf("<style"));
});

test("the page names no other place on the network", () => {
  const ours = packed("module") + packed("style") + elements("style").map(({ text }) => text).join("");
  const addresses =
    (ours + made.page.replace(/<script.*?<\/script>/gs, "")).match(/\b(?:https?:)?\/\/[a-z0-9.-]+\.[a-z]{2,}/gi) ?? [];
  assert.deepEqual(addresses.filter((address) => !address.endsWith("//www.w3.org")), []);
});

test("no HTML is made from strings, no style attributes are written", () => {
  const files = readdirSync(join(ROOT, "web"), { recursive: true }).filter((file) => file.endsWith(".js"));
  assert.ok(files.length > 40);
  for (const file of files) {
    const text = readFileSync(join(ROOT, "web", file), "utf8");
    assert.ok(!/innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function|\.html\(/.test(text),
      file);
    assert.ok(!/style: "|setAttribute\([^)]*"style"/.test(text), file);
  }
});

test("colours live in tokens.css only", () => {
  assert.ok(
    !/#[0-9a-f]{3,8}\b(?!\s*[{,])/i.test(
      ["web/app.css", "web/host/host.css"].map((path) => readFileSync(join(ROOT, path), "utf8")).join("").replace(
        /\/\*.*?\*\//gs,
        "",
      ),
    ),
  );
});

// {name: [light, dark]} of tokens.css, as [r, g, b]
function readTokens() {
  const text = readFileSync(join(ROOT, "web/tokens.css"), "utf8");
  const rgb = (hex) => [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16));
  return new Map(
    Array.from(text.matchAll(/--([\w-]+): light-dark\((#[0-9a-f]{6}), (#[0-9a-f]{6})\)/g),
      ([, name, light, dark]) => [name, [rgb(light), rgb(dark)]]),
  );
}

function contrast(a, b) {
  const linear = (value) => (value / 255 <= 0.04045 ? value / 255 / 12.92 : ((value / 255 + 0.055) / 1.055) ** 2.4);
  const [low, high] = [a, b].map(([red, green, blue]) =>
    0.2126 * linear(red) + 0.7152 * linear(green) + 0.0722 * linear(blue)
  ).sort((x, y) => x - y);
  return (high + 0.05) / (low + 0.05);
}

test("text is readable on everything it stands on, in both themes", () => {
  const tokens = readTokens();
  const pairs = [
    ...Array.from({ length: 8 }, (_, level) => ["heat-ink-" + level, "heat-" + level]),
    ...[0, 1, 2, 3, 4, 5, 6, "library"].map((hue) => ["hue-ink", "hue-" + hue]),
    ...["idle", "lock", "network", "disk", "process"].map((hue) => ["hue-ink", "wait-" + hue]),
    ...["paper", "panel", "raised", "sunken"].flatMap((ground) => [["ink", ground], ["ink-soft", ground]]),
    ["neutral-ink", "neutral"],
    ["match-ink", "match"],
    ["accent", "panel"],
    ["accent", "accent-wash"],
    ["accent", "paper"],
    ["accent", "raised"],
    ["bad", "bad-wash"],
    ["bad", "panel"],
    ["warn", "panel"],
    ["match", "paper"],
  ];
  for (const [text, ground] of pairs) {
    for (const theme of [0, 1]) {
      const ratio = contrast(tokens.get(text)[theme], tokens.get(ground)[theme]);
      assert.ok(ratio >= 4.5, text + " on " + ground + " in theme " + theme + ": " + ratio.toFixed(2));
    }
  }
});

test("heat only ever gets more intense", () => {
  const tokens = readTokens();
  for (const theme of [0, 1]) {
    const paper = tokens.get("panel")[theme];
    const steps = Array.from({ length: 8 }, (_, level) => contrast(tokens.get("heat-" + level)[theme], paper));
    for (let level = 2; level < 8; level += 1)
      assert.ok(steps[level] > steps[level - 1], "theme " + theme + ": " + steps.map((step) => step.toFixed(2)));
  }
});

test("every source of the page is listed for the build", () => {
  const listed = readFileSync(join(ROOT, "web/CMakeLists.txt"), "utf8");
  for (const file of readdirSync(join(ROOT, "web"), { recursive: true })) {
    if (/\.(js|css|html)$/.test(file)) assert.ok(listed.includes(" " + file), file);
  }
});

test("the formats of the menu are the program's", () => {
  const table = readFileSync(join(ROOT, "server/report/report.c"), "utf8");
  const known = Array.from(table.matchAll(/^ {4}\{ "([\w-]+)", (?:MIME_|"\w+\/)/gm), (match) => match[1]);
  const offered = ["flamegraph", "diff-flamegraph", "diff-markdown", ...FORMATS];
  assert.deepEqual(offered.toSorted(), known.toSorted());
});

test("the vendored files are the published ones", () => {
  execFileSync(join(ROOT, "scripts/vendor"), ["--check"]);
});

test("the page stays small enough for a report of 340 KB", () => {
  assert.ok(made.page.length < 340 * 1024, String(made.page.length));
});
