// Victims and profilers for the end-to-end tests. Each is ended by its process id, at the latest when the tests end.

import { spawn, spawnSync } from "node:child_process";
import { existsSync, mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

export const ROOT = fileURLToPath(new URL("../..", import.meta.url));
export const PROGRAM = resolve(process.env.PYROMETER ?? join(ROOT, "build/debug/pyrometer"));
export const FOLDER = process.env.PYROMETER_TEST_DIR ?? mkdtempSync(join(tmpdir(), "pyrometer-e2e-"));
export const SLOWNESS = Number(process.env.PYROMETER_SLOWNESS ?? 1);
// How long anything may take that takes a moment on a quiet machine.
export const WAIT_MS = 20000 * SLOWNESS;
// A victim that outlives its test, however that ended, ends by itself.
export const VICTIM_SECONDS = "200";
const MINORS = [11, 15];
// They die with us, where that can be had.
const TIE = existsSync("/usr/bin/setpriv") ? ["/usr/bin/setpriv", "--pdeathsig", "KILL"] : [];

const running = new Set();
const profilers = new Set();

// The newest interpreter that can be sampled, or null.
export function findPython() {
  if (process.env.PYTHON) return process.env.PYTHON;
  const { stdout } = spawnSync(join(ROOT, "scripts/get-pythons"), ["--list"], { encoding: "utf8", timeout: 120000 });
  const found = (stdout ?? "").trim().split("\n").map((line) => line.split("\t")).filter(([version]) => {
    const minor = Number(version.split(".")[1]);
    return minor >= MINORS[0] && minor <= MINORS[1];
  });
  return found.length === 0 ? null : found[found.length - 1][1];
}

// A started program: what it wrote, its exit, and `line(pattern)`, which waits for a line of stdout.
export function start(command, options = {}) {
  const [file, ...words] = [...TIE, ...command];
  const child = spawn(file, words, { stdio: ["ignore", "pipe", "pipe"], ...options });
  const self = { pid: child.pid, out: "", err: "", code: undefined };
  const waiting = new Set();
  const wake = () => {
    for (const check of waiting) check();
  };
  child.stdout.setEncoding("utf8").on("data", (text) => {
    self.out += text;
    wake();
  });
  child.stderr.setEncoding("utf8").on("data", (text) => {
    self.err += text;
    wake();
  });
  running.add(self);
  self.ended = new Promise((done) =>
    child.once("close", (code, signal) => {
      self.code = code ?? signal;
      running.delete(self);
      wake();
      done(self.code);
    })
  );
  self.kill = (signal = "SIGKILL") => child.kill(signal);
  self.end = async (signal = "SIGKILL") => {
    child.kill(signal);
    const timer = setTimeout(() => child.kill("SIGKILL"), WAIT_MS);
    await self.ended;
    clearTimeout(timer);
    return self.code;
  };
  self.line = (pattern, ms = WAIT_MS) =>
    new Promise((found, failed) => {
      const finish = (how, value) => {
        waiting.delete(check);
        clearTimeout(timer);
        how(value);
      };
      const output = () => command.join(" ") + " (exit code " + self.code + ")\n" + self.out + "\n" + self.err;
      function check() {
        const match = pattern.exec(self.out);
        if (match) finish(found, match);
        else if (self.code !== undefined) finish(failed, new Error("ended without " + pattern + ": " + output()));
      }
      const timer = setTimeout(() => finish(failed, new Error("no " + pattern + " in time: " + output())), ms);
      waiting.add(check);
      check();
    });
  return self;
}

export async function startVictim(path, ...words) {
  const victim = start([findPython(), join(ROOT, path), ...words]);
  await victim.line(/^READY$/m);
  return victim;
}

// One of ours on a free port: its `url` carries the token.
async function startServer(...words) {
  const profiler = start([PROGRAM, ...words]);
  profilers.add(profiler);
  const [, url, origin, token] = await profiler.line(/^((http:\/\/[^/]+)\/\?token=(\S+))$/m);
  const ask = async (path) => {
    const answer = await fetch(origin + "/api/v1" + path, { headers: { Authorization: "Bearer " + token } });
    if (!answer.ok) throw new Error(path + ": " + answer.status);
    return answer;
  };
  // The id of a session that `serve` has started.
  const startSession = async (pid, settings = {}) => {
    const headers = { Authorization: "Bearer " + token, "X-Pyrometer": "1", "Content-Type": "application/json" };
    const answer = await fetch(origin + "/api/v1/sessions", { method: "POST", headers,
      body: JSON.stringify({ pids: [pid], threads: "all", ...settings }) });
    if (answer.status !== 202) throw new Error("POST /sessions: " + answer.status);
    return (await answer.json()).id;
  };
  return Object.assign(profiler, { url, origin, token, ask, startSession,
    session: async () => (await ask("/sessions/1")).json() });
}

export const attach = (pid, ...options) => startServer("attach", "--listen", "127.0.0.1:0", ...options, String(pid));
export const serve = (...options) => startServer("serve", "--listen", "127.0.0.1:0", ...options);

// Profilers end as a user would end them, so that sanitizers say what they have to say.
export async function endAll() {
  await Promise.all(Array.from(running, (process) => process.end(profilers.has(process) ? "SIGINT" : "SIGKILL")));
  const complaints = Array.from(profilers, (profiler) => profiler.err).filter((text) =>
    /Sanitizer|runtime error:/.test(text)
  );
  profilers.clear();
  if (complaints.length > 0) throw new Error("a sanitizer complains: " + complaints.join("\n"));
}
