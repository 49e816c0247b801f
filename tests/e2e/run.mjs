// Runs the end-to-end tests: node tests/e2e/run.mjs [page|answers|truth|links]. Exits 77, with the reason, when they cannot run here.

import { spawnSync } from "node:child_process";
import { readdirSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { findChromium } from "../web/support/chromium.mjs";
import { endAll, findPython, PROGRAM, start, startVictim } from "./processes.mjs";
import { whyNot } from "./programs.mjs";

const GROUPS = { page: ["page", "host"], answers: ["answers"], truth: ["truth"],
  links: ["share", "compare", "manual"] };
const FOLDER = fileURLToPath(new URL(".", import.meta.url));

function skip(reason) {
  console.log("skipped: " + reason);
  process.exit(77);
}

if (Number(process.versions.node.split(".")[0]) < 18)
  skip("node " + process.versions.node + " is too old, 18 is needed");
if (findChromium() === null) skip("no Chromium is installed");
const python = findPython();
if (python === null) skip("no interpreter of a supported version is on this machine");
if (process.argv[2] === "truth" && whyNot() !== null) skip(whyNot());
const victim = await startVictim("tests/victims/chain.py", "60");
const attempt = start([PROGRAM, "record", "-d", "100ms", "--collapsed", "-o", "-", String(victim.pid)]);
const code = await attempt.ended;
await endAll();
if (code === 3) skip(attempt.err.trim());
console.log("sampling " + python);
const wanted = GROUPS[process.argv[2]] ?? null;
const files = readdirSync(FOLDER).filter((file) =>
  file.endsWith(".test.mjs") && (wanted === null || wanted.includes(file.split(".")[0]))
);
const result = spawnSync(process.execPath, ["--test", ...files.map((file) => FOLDER + file)], { stdio: "inherit",
  env: { ...process.env, PYTHON: python } });
process.exit(result.status ?? 1);
