import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { baseName, commandText, distinctNames, hashText, shortCommand, shortenText, shortPath,
  visibleText } from "../../../web/model/base/text.js";

test("text that is text is shown as it is", () => {
  assert.equal(visibleText("名前_日本語 😀 é"), "名前_日本語 😀 é");
  assert.equal(visibleText("</script><img src=x onerror=alert(1)>"), "</script><img src=x onerror=alert(1)>");
});

test("an empty name is said to be one", () => {
  assert.equal(visibleText(""), "(unnamed)");
  assert.equal(visibleText("", ""), "");
});

test("what cannot be seen is written out", () => {
  assert.equal(visibleText("a\u0000b\nc"), "a\\u0000b\\u000ac");
  assert.equal(visibleText("invoice_\u202egnp.exe"), "invoice_\\u202egnp.exe");
  assert.equal(visibleText("zero\u200bwidth"), "zero\\u200bwidth");
});

test("halves of a surrogate pair are written out, whole pairs are not", () => {
  assert.equal(visibleText("\ud800x"), "\\ud800x");
  assert.equal(visibleText("x\udfff"), "x\\udfff");
  assert.equal(visibleText("\ud83d\ude00"), "😀");
});

test("a name of 100 kB is shortened and keeps both ends", () => {
  const shown = visibleText("start" + "x".repeat(100000) + "end");
  assert.ok(shown.length < 250);
  assert.ok(shown.startsWith("startxxx") && shown.endsWith("xxxend") && shown.includes("…"));
});

test("cutting through a surrogate pair leaves no half of it", () => {
  const shown = visibleText("x".repeat(159) + "😀".repeat(200));
  assert.ok(encodeURIComponent(shown));
});

test("short text is not shortened", () => {
  assert.equal(shortenText("abc"), "abc");
});

test("base names are what follows the last slash", () => {
  assert.equal(baseName("/a/b/c.py"), "c.py");
  assert.equal(baseName("c.py"), "c.py");
});

test("files of one name are distinguished by the folders they are in", () => {
  const names = distinctNames(["/a/db/base.py", "/a/core/base.py", "/b/core/base.py", "/a/app.py", "app.py"]);
  assert.deepEqual(Array.from(names.values()), ["db/base.py", "a/core/base.py", "b/core/base.py", "a/app.py",
    "app.py"]);
  assert.equal(distinctNames(["/x/__proto__"]).get("/x/__proto__"), "x/__proto__");
});

test("a path has one short form: of a library from its package on, of all else the file with its folder", () => {
  // tests/unit/server/report/test_names.c runs them through the server.
  const forms = JSON.parse(readFileSync(new URL("../../short-paths.json", import.meta.url), "utf8"));
  for (const [path, short] of Object.entries(forms)) assert.equal(shortPath(path), short, path);
});

test("hashes differ where texts do, and seeds continue them", () => {
  assert.notEqual(hashText("a"), hashText("b"));
  assert.notEqual(hashText("a", hashText("b")), hashText("b", hashText("a")));
  assert.ok(Number.isInteger(hashText("x".repeat(100000))) && hashText("") >= 0);
});

test("a command line quotes words with spaces, and its short form has short paths, and the interpreter without its folder", () => {
  const target = { command: ["/usr/bin/python3", "/srv/shop/web/my app.py", "--root=/srv", ""] };
  assert.equal(commandText(target), '/usr/bin/python3 "/srv/shop/web/my app.py" --root=/srv ""');
  assert.equal(shortCommand(target), 'python3 "web/my app.py" --root=/srv ""');
  for (const unknown of [null, {}, { command: [] }]) assert.equal(shortCommand(unknown), "");
});
