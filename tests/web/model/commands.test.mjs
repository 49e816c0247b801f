import assert from "node:assert/strict";
import { test } from "node:test";
import { foundCommands, listedCommands, pageCommands } from "../../../web/model/page/commands.js";
import { createPicture } from "../../../web/model/picture/picture.js";
import { TEXT } from "../../../web/text/session.js";
import { stateOf } from "../support/sample.mjs";

const LINES = ["main;work 3", "main;idle 1"];

function found(text, more = {}) {
  const state = { ...stateOf(LINES), ...more };
  const shown = { ...state, picture: createPicture()(state) };
  return foundCommands(pageCommands(shown), listedCommands(shown), text);
}

test("the palette finds parts of time, formats and themes", () => {
  const [gil] = found("only gil");
  assert.deepEqual(gil.action.changes, { parts: ["needs_gil"] });
  assert.deepEqual(found("leave out")[0].action.changes, { hidesWaits: true });
  assert.deepEqual(found("open folded")[0].action.changes, { open: ["all"] });
  assert.deepEqual(found("theme dark").map(({ action }) => action), [{ type: "theme", theme: "dark" }]);
  const downloads = [{ key: "pprof", label: "pprof", hint: "for go tool pprof", href: "x" }];
  assert.deepEqual(found("download pprof", { downloads })[0].action, { type: "download", key: "pprof" });
});

test("the palette finds threads, files and functions, and shows none of them before something is typed", () => {
  const kinds = (text) => found(text).map(({ label }) => label.split(":")[0]);
  assert.ok(kinds("thread:").includes("Thread"));
  assert.ok(kinds("file:").includes("File"));
  assert.ok(found("work").some(({ isFunction, action }) => isFunction && action.changes.view === "sandwich"));
  assert.ok(
    found("").every(({ isFunction, label }) =>
      !isFunction && !label.startsWith("Thread:") && !label.startsWith("File:")
    ),
  );
});

test("a name that nothing has finds nothing; all words must be there", () => {
  assert.deepEqual(found("no such thing anywhere"), []);
  assert.deepEqual(found("theme nothing"), []);
  assert.match(TEXT.commands.none("x"), /x/);
});
