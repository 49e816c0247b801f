// Programs as people run them, of packages that scripts/get-consumers brings: how each is started, and what it says of itself.

import { spawnSync } from "node:child_process";
import { copyFileSync, existsSync, mkdirSync, readFileSync, rmSync } from "node:fs";
import { basename, join } from "node:path";
import { attach, FOLDER, ROOT, start, WAIT_MS } from "./processes.mjs";

const SOURCES = join(ROOT, "tests/e2e/programs");
const COMPILED = join(FOLDER, "e2e-compiled");
const COMPILE_MS = 120000;
const START_MS = 3 * WAIT_MS;
const VENV = join(process.env.PYROMETER_CONSUMERS ?? join(ROOT, ".consumers"), "profiled");
export const PYTHON = join(VENV, "bin/python");
const MYPYC = { source: "modules/mypyc_scores.py", words: ["-m", "mypyc"] };
const CYTHON = { source: "modules/cython_bodies.pyx", words: ["-m", "Cython.Build.Cythonize", "-q", "-i"] };

// file: has the line that is the answer; name: the function that it is in; kind: what is said of it: that the line runs, that a compiled function does, that
// threads or that tasks wait there.
export const PROGRAMS = [
  { title: "threaded WSGI server", script: "flask_queries.py", name: "customer", kind: "running" },
  { title: "aiohttp server", script: "aiohttp_lock.py", name: "handle", kind: "tasks",
    options: ["--async-mode", "all"] },
  { title: "command of Django", script: "django_import.py", name: "save", kind: "waiting" },
  { title: "pool of joblib", script: "joblib_pool.py", name: "score", kind: "running", options: ["--subprocesses"] },
  { title: "mypyc", script: "compiled.py", words: ["mypyc_scores"], file: "modules/mypyc_scores.py", name: "distance",
    kind: "compiled", options: ["--native=full"], module: MYPYC },
  { title: "Cython", script: "compiled.py", words: ["cython_bodies"], file: "modules/cython_bodies.pyx", name: "pull",
    kind: "compiled", options: ["--native=full"], module: CYTHON },
  { title: "kernel of a notebook", script: "jupyter_kernel.py", file: "jupyter_cell.py", name: "totals",
    kind: "running" },
  { title: "threads that need the GIL", script: "gil_threads.py", name: "checksum", kind: "running" },
];

// Why they do not run here, or null.
export function whyNot() {
  return existsSync(join(VENV, "fetched"))
    ? null
    : "needs Flask, aiohttp, Django and others: run scripts/get-consumers";
}

export function answerLine({ script, file = script }) {
  return readFileSync(join(SOURCES, file), "utf8").split("\n").findIndex((text) => text.endsWith("# the answer")) + 1;
}

// Beside its source, as its functions are shown by the lines of that.
function compile({ source, words }) {
  const name = basename(source);
  const [from, to] = [join(SOURCES, source), join(COMPILED, name)];
  if (existsSync(to) && readFileSync(to, "utf8") === readFileSync(from, "utf8")) return;
  mkdirSync(COMPILED, { recursive: true });
  copyFileSync(from, to);
  const { status, stdout, stderr } = spawnSync(PYTHON, [...words, name], { cwd: COMPILED, encoding: "utf8",
    timeout: COMPILE_MS });
  if (status === 0) return;
  rmSync(to);
  throw new Error("cannot compile " + name + ": " + stdout + stderr);
}

// -> {truth, profiler, late: after so many seconds it was there} of a program that was recorded until it ended, into `capture`. No profiler: the program
// ended before.
export async function observe(program, seconds, capture) {
  if (program.module) compile(program.module);
  const env = { ...process.env, PYTHONPATH: COMPILED, PYROMETER_TEST_DIR: FOLDER };
  const victim = start([PYTHON, join(SOURCES, program.script), String(seconds), ...(program.words ?? [])], { env });
  await victim.line(/^READY$/m, START_MS);
  const pid = Number(/^PID (\d+)$/m.exec(victim.out)?.[1] ?? victim.pid);
  const ready = Date.now();
  const profiler = await attach(pid, "--binary=" + capture, ...(program.options ?? [])).catch((problem) => {
    if (!/exit code 4\)/.test(problem.message)) throw problem;
  });
  const late = (Date.now() - ready) / 1000;
  const truth = JSON.parse((await victim.line(/^TRUTH (.*)$/m))[1]);
  while ((await profiler?.session())?.state === "running") await new Promise((done) => setTimeout(done, 50));
  return { truth, profiler, late };
}
