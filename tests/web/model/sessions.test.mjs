import assert from "node:assert/strict";
import { test } from "node:test";
import { formatWhen } from "../../../web/model/base/instants.js";
import { formatBytes } from "../../../web/model/base/numbers.js";
import { captureQuery, defaultHostAddress, formatHostAddress, parseHostAddress, sessionOf,
  sortedBy } from "../../../web/model/host/address.js";
import { arrangeProcesses, commonRefusal, countProcesses, matchesProcess, programName,
  sortProcesses } from "../../../web/model/host/processes.js";
import { captureTitle, defaultProfile, formatAge, openedFiles, orderSessions, parseDuration, parseLabels, parseRate,
  profileRequest, rateRequest, sessionTitle, sparkSlots, sparkThreads,
  wordsRequest } from "../../../web/model/host/sessions.js";

const process = (pid, more = {}) => ({ pid, command: ["python3", "app" + pid + ".py"], python: "3.12.1", user: "ann",
  container: null, threads: 1, cpu_percent: 0, rss_bytes: 1, started_at: "2026-01-01T00:00:0" + (pid % 10) + "Z",
  uptime_s: 5, sessions: [], can_attach: true, reason: null, ...more });
const pids = (rows) => rows.map((row) => (row.process ?? row).pid);

test("the address of the host page comes back as it was, and whatever is wrong is left out", () => {
  const address = { host: "captures", search: "a b&c", sort: "memory", up: true, only: true, find: "ä=1", label: "x",
    on: "web3", age: "week" };
  assert.deepEqual(parseHostAddress("#" + formatHostAddress(address)), address);
  assert.equal(formatHostAddress(defaultHostAddress()), "v=1");
  assert.deepEqual(parseHostAddress("#v=1&host=attic&sort=__proto__&age=ever"), defaultHostAddress());
  assert.equal(parseHostAddress("#search=" + "x".repeat(9999)).search.length, 200);
  assert.equal(sessionOf("#v=1&session=12&view=table"), "12");
  assert.equal(sessionOf("#v=1&host=captures"), null);
});

test("another press on a head turns the order; words begin at A and numbers at the most", () => {
  assert.deepEqual(sortedBy(defaultHostAddress(), "cpu"), { sort: "cpu", up: true });
  assert.deepEqual(sortedBy(defaultHostAddress(), "user"), { sort: "user", up: true });
  assert.deepEqual(sortedBy(defaultHostAddress(), "memory"), { sort: "memory", up: false });
});

test("a program is called by its script or module", () => {
  for (const [command, name] of [
    [["python3", "/srv/app.py", "-v"], "app.py"],
    [["/usr/bin/python3.11", "-m", "http.server"], "http.server"],
    [["python3", "-c", "x"], "python3 -c"],
    [["python3"], "python3"],
    [["/opt/uwsgi", "--ini"], "uwsgi"],
    [["python3", "-X", "dev"], "python3"],
    [["python3", "-X", "dev", "-Wignore", "a.py"], "a.py"],
    [["python3", "manage.py", "serve", "-c", "own.cfg"], "manage.py"],
    [["python3", "/srv/app.py", "-m", "x"], "app.py"],
    [["python3", "-Im", "app"], "app"],
    [["python3", "-mapp", "x"], "app"],
    [["python3", "-Ic", "import app"], "python3 -c"],
    [["python3", "--check-hash-based-pycs", "never", "a.py"], "a.py"],
    [["python3", "-", "a"], "python3"],
    [["python3", "-m"], "python3"],
    [[], "(no command line)"],
    [["/"], "/"],
    [["python3", "dir/"], "dir/"],
    [["pypy3", "-u", "a.py"], "a.py"],
  ]) assert.equal(programName(command).name, name, command.join(" "));
});

test("the folder of an interpreter is left out of what is shown, that of anything else is not", () => {
  assert.equal(programName(["/opt/python/bin/python3.11", "/srv/app.py"]).rest, "python3.11 /srv/app.py");
  assert.equal(programName(["/opt/uwsgi", "--ini"]).rest, "/opt/uwsgi --ini");
});

test("processes are found by every word, wherever it is", () => {
  const one = process(7, { user: "www", container: { id: "3f1c0e9a5b7d11", name: "docker" } });
  for (const search of ["", "app7", "WWW docker", "3f1c 3.12", "7"]) assert.ok(matchesProcess(one, search), search);
  for (const search of ["app8", "www ann"]) assert.ok(!matchesProcess(one, search), search);
});

test("processes sort by what they are, versions as numbers, the unknown last", () => {
  const all = [process(1, { python: "3.9.1", cpu_percent: 5 }), process(2, { python: "3.12.0", cpu_percent: null }),
    process(3, { python: null, cpu_percent: 50 })];
  assert.deepEqual(pids(sortProcesses(all, { sort: "cpu", up: false })), [3, 1, 2]);
  assert.deepEqual(pids(sortProcesses(all, { sort: "python", up: false })), [2, 1, 3]);
  assert.deepEqual(pids(sortProcesses(all, { sort: "pid", up: true })), [1, 2, 3]);
  assert.deepEqual(pids(sortProcesses(all, { sort: "user", up: true })), [1, 2, 3]);
});

test("files that the server was started with are captures, found as these are", () => {
  const session = (id, more = {}) => ({ id, source: "capture", name: "", note: "", capture: null,
    started_at: "2026-01-31T10:00:00Z", target: { host: "web3", command: ["python3", "app.py"] }, ...more });
  const all = [session("1"), session("2", { source: "live" }), session("3", { capture: "20260131" })];
  const found = (address) =>
    openedFiles(all, { ...defaultHostAddress(), ...address }, Date.parse("2026-01-31T10:30:00Z")).map((
      { name, sessions },
    ) => [name, sessions]);
  assert.deepEqual(found({}), [["session 1", ["1"]]]);
  for (const address of [{ find: "APP web" }, { on: "web3" }, { age: "hour" }])
    assert.equal(found(address).length, 1, JSON.stringify(address));
  for (const address of [{ find: "app other" }, { on: "web4" }, { label: "x" }])
    assert.equal(found(address).length, 0, JSON.stringify(address));
  assert.equal(openedFiles(all, { ...defaultHostAddress(), age: "hour" }, Date.parse("2026-01-31T12:00:00Z")).length,
    0);
});

test("held rows keep their places: what is gone is said to be, what is new comes last, a pid used again is another process", () => {
  const address = { ...defaultHostAddress() };
  const before = arrangeProcesses([process(1, { cpu_percent: 9 }), process(2, { cpu_percent: 5 }), process(3)], address,
    null);
  assert.deepEqual(pids(before), [1, 2, 3]);
  const now = [process(1), process(3, { cpu_percent: 99 }), process(2, { started_at: "2026-02-02T00:00:00Z" }),
    process(4, { cpu_percent: 70 })];
  const held = arrangeProcesses(now, address, before);
  assert.deepEqual(held.map((row) => [row.process.pid, row.gone]), [[1, false], [2, true], [3, false], [4, false], [2,
    false]]);
  assert.equal(held[2].process.cpu_percent, 99);
  assert.deepEqual(pids(arrangeProcesses(now, address, null)), [3, 4, 1, 2]);
  assert.deepEqual(
    pids(arrangeProcesses([process(1, { can_attach: false }), process(2)], { ...address, only: true }, null)),
    [2],
  );
});

test("what cannot be attached is counted, and its reason said when it is all there is", () => {
  const denied = (pid, reason) => process(pid, { can_attach: false, reason });
  assert.deepEqual(countProcesses([process(1), denied(2, "x")]), { all: 2, attachable: 1, refused: 1 });
  assert.equal(commonRefusal([process(1), denied(2, "x")]), null);
  assert.equal(commonRefusal([]), null);
  assert.deepEqual(commonRefusal([denied(1, "x"), denied(2, "y"), denied(3, "y")]), { reason: "y", count: 2 });
});

test("a form becomes a request, or says which field is wrong", () => {
  const form = { ...defaultProfile(), rate: "2.5 kHz", duration: "5 min", name: "n" };
  assert.deepEqual(profileRequest([4], form).body, { pids: [4], rate_hz: 2500, duration_s: 300, threads: "all",
    mode: "wall", async: "off", engine: "auto", native: "off", gc: true, opcodes: false, kernel: false,
    events: ["time"], subprocesses: false, stop: "auto", name: "n", note: "" });
  assert.equal(profileRequest([4], defaultProfile()).body.duration_s, null);
  assert.deepEqual(profileRequest([4], defaultProfile(["page-faults"])).body.events, ["page-faults"]);
  assert.equal(profileRequest([4], { ...form, events: [] }).field, "events");
  assert.equal(profileRequest([4], { ...form, engine: "remote" }).field, undefined);
  assert.equal(profileRequest([4], { ...form, engine: "remote", events: ["time", "returned"] }).field, "events");
  for (const [changes, field] of [[{ rate: "0" }, "rate"], [{ rate: "20khz" }, "rate"], [{ rate: "fast" }, "rate"], [{
    duration: "8d",
  }, "duration"], [{ duration: "soon" }, "duration"], [{ duration: "0" }, "duration"], [{ name: "ä".repeat(61) },
    "name"], [{ note: "n".repeat(1001) }, "note"]])
  {
    assert.equal(profileRequest([4], { ...form, ...changes }).field, field, JSON.stringify(changes));
  }
  assert.match(profileRequest([], form).problem, /No process/);
  assert.match(profileRequest(Array.from({ length: 257 }, (_, i) => i), form).problem, /256/);
  assert.deepEqual(["90", "1.5h", "200ms", "", "x"].map(parseDuration), [90, 5400, 0.2, null, NaN]);
  assert.deepEqual(["10khz", "1000 Hz", "1e3"].map(parseRate), [10000, 1000, NaN]);
});

test("a rate is changed within the same limits", () => {
  assert.deepEqual(rateRequest("2k"), { body: { rate_hz: 2000 } });
  for (const text of ["0.5", "10001", ""]) assert.equal(rateRequest(text).field, "rate", text);
});

test("names, notes and labels have their limits", () => {
  assert.deepEqual(wordsRequest({ title: " a ", note: "b", labels: "web, before,,web" }, "title"), {
    body: { title: "a", note: "b", labels: ["web", "before"] },
  });
  assert.deepEqual(wordsRequest({ title: "a", note: "" }, "name"), { body: { name: "a", note: "" } });
  assert.equal(wordsRequest({ title: "x".repeat(121), note: "" }, "name").field, "title");
  assert.equal(wordsRequest({ title: "", note: "x".repeat(1001) }, "name").field, "note");
  assert.equal(
    wordsRequest({ title: "", note: "", labels: Array.from({ length: 17 }, (_, i) => i).join() }, "title").field,
    "labels",
  );
  assert.equal(parseLabels("x".repeat(61)), null);
});

test("captures are asked for by what was chosen; a minute asks the same question", () => {
  const now = 1770000000000;
  assert.equal(captureQuery(defaultHostAddress(), now).toString(), "");
  const address = { ...defaultHostAddress(), find: "a&b", on: "web3", label: "x", age: "hour" };
  assert.equal(captureQuery(address, now).toString(),
    "search=a%26b&host=web3&label=x&from=" + (Math.floor(now / 60000) * 60 - 3600));
  assert.equal(captureQuery(address, now + 1000).toString(), captureQuery(address, now).toString());
});

test("sessions and captures have names; those that run come first", () => {
  const session = (id, state, more = {}) => ({ id, state, name: "", target: { command: ["python3", "a.py"] },
    targets: [{}], ...more });
  const groups = orderSessions([session("2", "ended"), session("9", "running"), session("10", "paused"),
    session("3", "failed"), session("4", "ended", { source: "capture" })]);
  assert.deepEqual(Object.fromEntries(Object.entries(groups).map(([name, group]) => [name, group.map(({ id }) => id)])),
    { running: ["10", "9"], over: ["3", "2"], opened: ["4"] });
  assert.equal(sessionTitle(session("1", "running", { targets: [{}, {}, {}] })), "a.py and 2 more");
  assert.equal(sessionTitle(session("1", "running", { name: "n" })), "n");
  assert.equal(sessionTitle({ id: "1", state: "starting", name: "", target: { pid: 7, command: [] }, targets: [] }),
    "process 7");
  assert.equal(captureTitle({ title: "", target: { command: ["x"] } }), "x");
  assert.equal(captureTitle({ title: "" }), "(no command line)");
});

test("bytes, ages and instants are as people say them", () => {
  assert.deepEqual([0, 1023, 1024, 10240, 1047552, 5e9, null].map(formatBytes), ["0 B", "1023 B", "1.0 KiB", "10 KiB",
    "1023 KiB", "4.7 GiB", "—"]);
  assert.deepEqual([0.5, 59, 61, 7300, 90000, NaN].map(formatAge), ["0 s", "59 s", "1 min", "2 h", "1 d", "—"]);
  const now = new Date(2026, 5, 4, 12, 0).getTime();
  const zone = (month, year = 2026) =>
    new Date(year, month, 4, 9, 5).toLocaleTimeString("en", { timeZoneName: "short" }).split(" ").at(-1);
  assert.match(zone(4), /^[A-Z]+([+-][0-9:]+)?$/);
  assert.equal(formatWhen(new Date(2026, 5, 4, 9, 5).toISOString(), now), "today 09:05 " + zone(5));
  assert.equal(formatWhen(new Date(2026, 4, 4, 9, 5).toISOString(), now), "4 May, 09:05 " + zone(4));
  assert.equal(formatWhen(new Date(2025, 4, 4, 9, 5).toISOString(), now), "4 May 2025, 09:05 " + zone(4, 2025));
  assert.equal(formatWhen("never", now), "—");
  assert.equal(formatWhen(null, now), "—");
});

test("a spark line is what the threads did on average, cut to its range", () => {
  const timeline = { start: [0, 2, 4], end: [2, 4, 6],
    seconds: { running: [2, 2, 0], needs_gil: [0, 4, 0], needs_processor: [0, 2, 0] } };
  const slots = sparkSlots(timeline, 2, 6);
  assert.deepEqual(slots.map(({ x, width }) => [x, width]), [[0, 0.5], [0.5, 0.5]]);
  assert.deepEqual(slots[0].heights, [0.25, 0.5, 0.25]);
  assert.deepEqual(sparkThreads(timeline), [4 / 6, 4 / 6, 2 / 6]);
  assert.equal(sparkThreads({ start: [], end: [], seconds: {} }), null);
  // At 1 Hz, slots of a quarter of a second: most have no sample, and each sample stands for a second.
  assert.deepEqual(
    sparkThreads({ start: [0, 1, 2, 3], end: [0.25, 1.25, 2.25, 4], seconds: { running: [1, 1, 1, 1] } }),
    [1, 0, 0],
  );
  assert.deepEqual(sparkSlots(timeline, 5, 5), []);
});
