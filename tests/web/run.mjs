// Runs the tests of one group: node tests/web/run.mjs model|bundle|page|views|charts|host|access. Exits 77 when they cannot run here.

import { spawnSync } from "node:child_process";
import { readdirSync } from "node:fs";
import { basename, join } from "node:path";
import { fileURLToPath } from "node:url";
import { findAxe, findChromium } from "./support/chromium.mjs";

const HERE = fileURLToPath(new URL(".", import.meta.url));
const BROWSER_GROUPS = ["page", "views", "charts", "host", "access"];
const FOLDERS = { model: ["model", "source"], bundle: ["bundle"] };

function skip(reason) {
  console.log("skipped: " + reason);
  process.exit(77);
}

const filesIn = (folder) =>
  readdirSync(join(HERE, folder)).filter((file) => file.endsWith(".test.mjs")).map((file) => join(HERE, folder, file));

// A group of browser tests is one file or several, as page.test.mjs and page-views.test.mjs.
function filesOf(group) {
  if (BROWSER_GROUPS.includes(group))
    return filesIn("browser").filter((path) => basename(path).split(/[-.]/)[0] === group);
  return (FOLDERS[group] ?? []).flatMap(filesIn);
}

const group = process.argv[2];
const files = filesOf(group);
if (files.length === 0) {
  console.error("usage: node tests/web/run.mjs " + [...Object.keys(FOLDERS), ...BROWSER_GROUPS].join("|"));
  process.exit(2);
}
if (Number(process.versions.node.split(".")[0]) < 18)
  skip("node " + process.versions.node + " is too old, 18 is needed");
if (BROWSER_GROUPS.includes(group) && findChromium() === null) skip("no Chromium is installed");
if (group === "access" && findAxe() === null) skip("axe-core is not there: run scripts/get-consumers");
const result = spawnSync(process.execPath, ["--test", ...files], { stdio: "inherit" });
process.exit(result.status ?? 1);
