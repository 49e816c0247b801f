import assert from "node:assert/strict";
import { test } from "node:test";
import { dumpText } from "../../../web/model/host/dump.js";
import { createHost } from "../support/made-up-host.mjs";

function dumpOfHost() {
  const host = createHost({ processes: 4 });
  const [{ pid }] = host.processes;
  return host.answer("GET", "processes/" + pid + "/dump", new URLSearchParams()).value;
}

test("equal stacks are shown once with the threads that have them, those of few threads first", () => {
  const dump = dumpOfHost();
  const [main, worker] = dump.threads;
  const [head, ...groups] = dumpText([dump]).trimEnd().split("\n\n");
  assert.equal(head, "process " + dump.pid + ", Python 3.13.1");
  assert.deepEqual(groups.map((group) => group.split("\n")[0]), [
    "thread MainThread " + main.tid + ": on a processor, holds the GIL",
    "thread <img src=x onerror=alert(1)>\\u202e " + dump.threads[4].tid,
    "3 threads: worker-1 " + worker.tid + ", worker-2 " + (worker.tid + 1) + ", worker-3 " + (worker.tid + 2),
  ]);
  assert.equal(groups[2].split("\n").slice(1).join("\n"),
    "  waits for threading.Lock at 0x7f3c2a10b4c0, held by MainThread at refresh (/srv/shop/cache.py:90)\n"
      + "  handle (/srv/shop/app.py:10)\n  run (/srv/shop/app.py:11)");
  assert.match(groups[0], /\n {2}holds threading\.Lock at 0x7f3c2a10b4c0: refresh \(\/srv\/shop\/cache\.py:90\)\n/);
});

test("threads of several processes say of which they are, and what is not read is counted", () => {
  const one = dumpOfHost();
  const text = dumpText([one, { ...one, pid: 9999 }], 3);
  assert.match(text, /^process \d+, Python 3\.13\.1\nprocess 9999, Python 3\.13\.1\nand 3 more processes\n\n/);
  assert.match(text, /6 threads: \d+: worker-1 \d+, .*9999: worker-3 \d+\n/);
});

test("a deadlock comes first, and ten thousand threads of one stack are a line", () => {
  const dump = dumpOfHost();
  const [main, worker] = dump.threads;
  const wait = { ...worker.waits_for, holder: { tid: worker.tid, function: "", file: "", line: 0 } };
  const threads = [{ ...main, waits_for: wait },
    ...Array.from({ length: 10000 }, (_, i) => ({ ...worker, tid: worker.tid + i }))];
  const lines = dumpText([{ ...dump, deadlocks: [[main.tid, worker.tid]], threads }]).split("\n");
  assert.match(lines[1],
    /^deadlock: MainThread waits for threading\.Lock at 0x\w+, held by worker-1, worker-1 waits for threading\.Lock at 0x\w+, held by MainThread at refresh /);
  assert.ok(lines.length < 20 && lines.some((line) => line.endsWith(" and 9,992 more")));
});

test("hostile names are one line of visible text each", () => {
  const dump = dumpOfHost();
  const evil = "a\nthread MainThread\u202e";
  const threads = [{ ...dump.threads[4], tid: 0, name: evil, frames: [{ function: evil, file: evil, line: 0 }] }];
  const lines = dumpText([{ ...dump, python: evil, threads }]).trimEnd().split("\n");
  assert.deepEqual(lines.slice(2), ["thread a\\u000athread MainThread\\u202e of unknown number",
    "  a\\u000athread MainThread\\u202e (a\\u000athread MainThread\\u202e)"]);
});
