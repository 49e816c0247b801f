// Runs the tests of one group: node tests/web/run.mjs model|bundle|page|views|host|access. Exits 77 when they cannot run here.

import { spawnSync } from "node:child_process";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { findAxe, findChromium } from "./chromium.mjs";

const FOLDER = fileURLToPath(new URL(".", import.meta.url));
const group = process.argv[2];
const files = readdirSync(FOLDER).filter((file) => file.endsWith(".test.mjs"));
// A group is one file or several, as page.test.mjs and page-views.test.mjs; the pure half is all that is of no other.
const groupOf = (file) => /^(bundle|page|views|host|access)(?:-\w+)?\.test/.exec(file)?.[1] ?? "model";
const chosen = files.filter((file) => groupOf(file) === group);

function skip(reason) {
  console.log("skipped: " + reason);
  process.exit(77);
}

if (Number(process.versions.node.split(".")[0]) < 18) skip("node " + process.versions.node + " is too old, 18 is needed");
if (["page", "views", "host", "access"].includes(group) && findChromium() === null) skip("no Chromium is installed");
if (group === "access" && findAxe() === null) skip("axe-core is not there: run scripts/get-consumers");
const result = spawnSync(process.execPath, ["--test", ...chosen.map((file) => join(FOLDER, file))], { stdio: "inherit" });
process.exit(result.status ?? 1);
