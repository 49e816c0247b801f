// No function of the page is longer than a screen or two: a long closure is a module that has not been written yet.

import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

const WEB = fileURLToPath(new URL("../../../web/", import.meta.url));
const LINES_MAX = 100;

// The first lines of functions: `function f() {`, `(x) => {` and methods. Each ends at the brace that stands as far in as its line.
const BEGINS = /(?:\bfunction\b.*|=>\s*|^\s+(?:async )?\w+\(.*\)\s*)\{$/;
const NO_FUNCTION = /^\s*(?:if|for|while|switch)\b/;

function longFunctions(path) {
  const lines = readFileSync(WEB + path, "utf8").split("\n");
  return lines.flatMap((line, at) => {
    if (!BEGINS.test(line) || NO_FUNCTION.test(line)) return [];
    const margin = /^\s*/.exec(line)[0];
    const length = lines.slice(at).findIndex((other, i) => i > 0 && other.startsWith(margin + "}")) + 1;
    return length === 0 || length > LINES_MAX ? [path + ":" + (at + 1) + ": " + length + " lines"] : [];
  });
}

test("no function of the page has more than " + LINES_MAX + " lines", () => {
  const files = readdirSync(WEB, { recursive: true }).filter((file) => file.endsWith(".js"));
  assert.ok(files.length > 80);
  assert.deepEqual(files.flatMap(longFunctions), []);
});
