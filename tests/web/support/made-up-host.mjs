// A made-up host for the tests of its page: processes that work and wait, sessions on them, captures that are kept. It
// answers as server/openapi.json says, and moves on request.

export const HOSTILE_COMMAND = ["python3", "</script><img src=x onerror=alert(1)>", "--name=\u202egnp.exe",
  "x".repeat(4000)];

const SCRIPTS = ["/srv/shop/app.py --workers 16", "-m celery -A feeds worker --concurrency 4", "/opt/report/nightly.py",
  "-m gunicorn shop.wsgi", "/usr/bin/ansible-playbook site.yml", "manage.py runserver", "-m http.server",
  "/srv/ml/train.py --epochs 90", "/srv/queue/consume.py"];
const PLACES = [["Cart.total", "/srv/shop/app.py", 214], ["parse_feed", "/srv/feeds/parse.py", 88], ["render_row",
  "/opt/report/nightly.py", 41], ["TreeBuilder.fit.<locals>.split_node",
  "/srv/ml/a_rather_long_module_name_of_training.py", 1207], ["consume", "/srv/queue/consume.py", 19]];
const USERS = ["www", "ann", "batch", "root"];
const VERSIONS = ["3.13.1", "3.12.7", "3.11.2", "3.9.18", "3.15.0"];
const START = Date.parse("2026-01-31T10:00:00Z");
const MIB = 1048576;

function randomFrom(seed) {
  let state = seed >>> 0;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 4294967296;
  };
}

const at = (seconds) => new Date(START + seconds * 1000).toISOString().replace(/\.\d+Z/, "Z");

function createProcess(i, random) {
  const script = SCRIPTS[i % SCRIPTS.length].split(" ");
  const denied = i % 7 === 5;
  const contained = i % 4 === 3;
  const age = Math.floor(60 + random() ** 3 * 2e6);
  return {
    pid: 1000 + i * 37,
    parent: 1,
    command: ["python3", ...script],
    executable: denied ? null : "/usr/bin/python3",
    python: denied ? null : VERSIONS[i % VERSIONS.length],
    uid: i % 4,
    user: USERS[i % 4],
    container: contained ? { id: (0x3f1c0e9a5b * (i + 1)).toString(16).padStart(24, "7"), name: "docker" } : null,
    threads: 1 + (i * 5) % 40,
    cpu_percent: i % 3 === 0 ? Math.round(random() ** 2 * 1400) / 10 : 0.1,
    rss_bytes: Math.floor((12 + random() ** 2 * 900) * MIB),
    started_at: at(-age),
    uptime_s: age,
    sessions: [],
    headline: null,
    can_attach: !denied,
    reason: denied
      ? "it runs as another user (root), and this program lacks CAP_SYS_PTRACE: run it as root, or give it the capability with setcap cap_sys_ptrace+ep"
      : null,
  };
}

function createSession(id, process, body = {}) {
  const target = { pid: process.pid, command: process.command, executable: process.executable, python: process.python,
    validated: true, host: "build7" };
  return {
    id,
    state: "running",
    reason: null,
    target,
    targets: [{ ...target, parent: null, from_s: 0, to_s: null, reason: null }],
    processes: { attached: 1, running: 1, over_limit: 0, denied: 0 },
    settings: {
      rate_hz: body.rate_hz ?? 1000,
      duration_s: body.duration_s ?? null,
      threads: "all",
      subprocesses: false,
      mode: "wall",
      native: "off",
      kernel: body.kernel ?? false,
      kernel_reason: null,
      gc: true,
      opcodes: false,
      engine: body.engine ?? "remote",
      engine_reason: null,
      async: "off",
      stop: body.stop ?? "auto",
      max_stop_percent: 1,
      max_cpu_percent: null,
      filters: [],
    },
    started_at: at(0),
    ended_at: null,
    elapsed_s: 0,
    epoch: "e" + id,
    generation: 1,
    quality: { samples: 0 },
    name: body.name ?? "",
    note: body.note ?? "",
    source: "live",
    capture: "20260131-100000Z-" + process.pid + "-" + id,
    pyrometer: "0.1.0",
  };
}

function createCapture(i, process) {
  const started = -i * 7777 - 300;
  return {
    name: "2026" + String(1000000 - i) + "-" + process.pid,
    title: i % 3 === 0 ? "nightly " + (40 - i) : "",
    note: i % 5 === 0 ? "after the new parser" : "",
    labels: i % 4 === 0 ? ["web", "before"] : [],
    bytes: (i + 1) * 345678,
    target: { pid: process.pid, command: process.command, executable: process.executable, python: process.python,
      host: i % 2 === 0 ? "build7" : "web3", user: process.user },
    started_at: at(started),
    ended_at: at(started + 60),
    elapsed_s: i === 2 ? null : 60 + i * 31,
    rate_hz: 1000,
    state: i === 2 ? "incomplete" : "complete",
    reason: null,
    continuous: false,
    sessions: [],
  };
}

class Problem extends Error {
  constructor(status, detail) {
    super(detail);
    this.status = status;
  }
}

// Threads of the process in each slot, and where they are; not of all processes that can be read: one has just begun.
function activityOf(process, slots, i) {
  const load = Math.max(0, process.cpu_percent) / 100;
  const active = Array.from({ length: slots },
    (_, slot) => (load < 0.01 ? 0 : Math.round(100 * load * (0.6 + 0.4 * Math.sin(slot / (3 + (i % 5)) + i))) / 100));
  const sum = Math.round(500 * active.reduce((all, value) => all + value, 0)) / 100;
  const [name, file, line] = PLACES[i % PLACES.length];
  const waiting = Math.round(100 * (5 * slots * process.threads - sum)) / 100;
  const waits = [
    { name: "fetch", file: "/srv/shop/client.py", line: 41, own: true, cause: "network_read", idle: false,
      peer: "10.0.0.5:5432" },
    { name: "<native> select.epoll.poll", file: "~", line: 0, own: false, cause: null, idle: null, peer: null },
    { name: "serve", file: "/srv/shop/app.py", line: 7, own: true, cause: "event_loop", idle: true, peer: null },
  ][i % 3];
  return {
    pid: process.pid,
    parts: { running: sum, needs_gil: i % 6 === 4 ? waiting * 2 : 0, needs_processor: 0,
      blocked: waits.idle ? 0 : waiting, idle: waits.idle ? waiting : 0 },
    running: active,
    hottest: sum > 0 ? { name, file, line, own: true, seconds: Math.round(60 * sum) / 100 } : null,
    waits: { ...waits, seconds: Math.round(80 * waiting) / 100 },
  };
}

// -> {advance(seconds), answer(method, path, query, body) -> {status, value}, processes, sessions, captures, shares}
export function createHost(
  { processes: count = 24, captures: kept = 9, sessions: begun = 0, hostile = false, scope = "operator", folder = true,
    canShare = true, continuous = false, files = 0 } = {},
) {
  const random = randomFrom(7);
  const processes = Array.from({ length: count }, (_, i) => createProcess(i, random));
  if (hostile) Object.assign(processes[0], { command: HOSTILE_COMMAND, user: "<b>root</b>", cpu_percent: 99 });
  const captures = count === 0 ? [] : Array.from({ length: kept }, (_, i) => createCapture(i, processes[i % count]));
  const sessions = [];
  const shares = [];
  let now = 0;
  let next = 1;

  function start(body) {
    const first = processes.find((process) => body.pids?.includes(process.pid));
    if (first === undefined) throw new Problem(400, '"pids": no process ' + body.pids);
    if (!first.can_attach) throw new Problem(403, first.reason);
    if (!(body.rate_hz <= 5000)) throw new Problem(400, '"rate_hz" must be at most 5000 (--max-rate)');
    const session = createSession(String(next++), first, body);
    for (const pid of body.pids) processes.find((process) => process.pid === pid)?.sessions.push(session.id);
    session.processes.attached = body.pids.length;
    sessions.push(session);
    return session;
  }

  if (continuous) {
    const session = { ...createSession(String(next++), processes[0] ?? createProcess(0, random), { rate_hz: 19 }),
      source: "continuous", name: "all processes" };
    for (const process of processes) if (process.can_attach) process.sessions.push(session.id);
    sessions.push(session);
  }
  for (let i = 0; i < begun; i += 1)
    start({ pids: [processes.filter((process) => process.can_attach)[i].pid], rate_hz: 1000,
      name: i === 0 ? "nightly" : "" });
  for (let i = 0; i < files; i += 1)
    sessions.push({ ...createSession(String(next++), processes[i], {}), state: "ended", reason: null, ended_at: at(0),
      source: "capture", capture: null });
  if (begun > 2) Object.assign(sessions[1], { state: "ended", reason: "target exited", ended_at: at(0) });

  function advance(seconds) {
    now += seconds;
    for (const process of processes) {
      if (process.cpu_percent > 0.5)
        process.cpu_percent = Math.max(1, Math.round((process.cpu_percent + (random() - 0.5) * 30) * 10) / 10);
      process.uptime_s += seconds;
    }
    for (const session of sessions) {
      if (session.state !== "running") continue;
      session.elapsed_s += seconds;
      session.quality.samples += Math.round(seconds * session.settings.rate_hz);
      session.generation += 1;
    }
  }

  function timeline(session, from) {
    const slot = [];
    for (let second = Math.floor(from / 2); second < session.elapsed_s / 2; second += 1) slot.push(second);
    const wave = (n, phase, size) => Math.max(0, size * (0.55 + 0.45 * Math.sin(n / 3 + phase)));
    const column = (phase, size) => slot.map((n) => wave(n, phase + Number(session.id), size));
    return {
      epoch: session.epoch,
      generation: session.generation,
      since: 0,
      from,
      to: session.elapsed_s,
      width: 2,
      slot,
      start: slot.map((n) => n * 2),
      end: slot.map((n) => n * 2 + 2),
      samples: {},
      seconds: { running: column(0, 1.6), needs_gil: column(4, 0.9), needs_processor: column(2, 0.6) },
    };
  }

  function activity() {
    const session = sessions.find((one) => one.source === "continuous");
    if (session === undefined)
      return { session: null,
        reason:
          "continuous sampling is off without the kernel engine (it needs CAP_BPF and CAP_PERFMON: run as root); --continuous turns it on, for 1 % of a core",
        from_s: 0, to_s: 0, slot_s: 0, running_s: 0, left_out: 0, functions: [], processes: [], total: 0 };
    const to = session.elapsed_s;
    const slots = Math.min(60, Math.floor(to / 5) + 1);
    const sampled = processes.map((process, i) => [process, i]).filter(([process, i]) =>
      process.can_attach && i % 11 !== 6
    );
    const rows = sampled.map(([process, i]) => activityOf(process, slots, i)).sort((a, b) =>
      b.parts.running - a.parts.running
    );
    const byName = new Map();
    for (const { pid, hottest } of rows) {
      if (hottest === null) continue;
      const found = byName.get(hottest.name) ?? { ...hottest, seconds: 0, pid, processes: 0 };
      byName.set(hottest.name, { ...found, seconds: found.seconds + hottest.seconds, processes: found.processes + 1 });
    }
    return {
      session: session.id,
      reason: null,
      from_s: Math.max(0, 5 * (Math.floor(to / 5) + 1 - slots)),
      to_s: to,
      slot_s: 5,
      running_s: rows.reduce((sum, row) => sum + row.parts.running, 0),
      left_out: 0,
      functions: Array.from(byName.values()).sort((a, b) => b.seconds - a.seconds),
      processes: rows,
      total: rows.length,
    };
  }

  const sessionOf = (id) =>
    sessions.find((session) => session.id === id) ?? (() => {
      throw new Problem(404, "no session " + id);
    })();
  const captureOf = (name) =>
    captures.find((capture) => capture.name === name) ?? (() => {
      throw new Problem(404, "no capture " + name);
    })();

  function listCaptures(query) {
    if (!folder) throw new Problem(404, "this server has no folder of captures");
    const text = (query.get("search") ?? "").toLowerCase();
    const found = captures.filter((capture) =>
      JSON.stringify([capture.title, capture.note, capture.labels, capture.target.command, capture.target.host,
        capture.name]).toLowerCase().includes(text)
      && (!query.has("host") || capture.target.host === query.get("host"))
      && (!query.has("label") || capture.labels.includes(query.get("label")))
      && (!query.has("from") || Date.parse(capture.started_at) / 1000 >= Number(query.get("from")))
    );
    return { folder: "/home/me/.local/state/pyrometer",
      bytes: captures.reduce((sum, capture) => sum + capture.bytes, 0), retention: { days: 30, bytes: 10737418240 },
      total: found.length, offset: 0, captures: found.slice(0, Number(query.get("limit") ?? 100)) };
  }

  function openCapture({ name }) {
    const capture = captureOf(name);
    if (capture.sessions.length > 0) return { status: 200, value: sessionOf(capture.sessions[0]) };
    const session = { ...createSession(String(next++), { ...capture.target }), state: "ended", reason: null,
      source: "capture", capture: name, elapsed_s: capture.elapsed_s ?? 0 };
    sessions.push(session);
    capture.sessions.push(session.id);
    return { status: 202, value: session };
  }

  function takeUpload(query, body) {
    if (!String(body).startsWith("PYRO"))
      throw new Problem(422, "cannot read the upload: not a Pyrometer capture (.pyro)");
    const capture = { ...createCapture(0, processes[0]), name: "uploaded-" + captures.length,
      title: query.get("title") ?? "", labels: [], note: "" };
    captures.unshift(capture);
    return { status: 201, value: capture };
  }

  function makeShare({ name, expires_in: life, session }) {
    const share = { id: shares.length + 1, name: name ?? "", scope: "viewer", session: session ?? null,
      created_at: at(now), expires_at: life === "never" ? null : at(7 * 86400), last_used_at: null };
    shares.push(share);
    return { status: 201,
      value: { ...share, token: "0".repeat(43), url: "http://127.0.0.1/?token=" + "0".repeat(43) } };
  }

  function remove(list, item) {
    list.splice(list.indexOf(item), 1);
    return { status: 204 };
  }

  function change(session, body) {
    session.settings.rate_hz = body.rate_hz ?? session.settings.rate_hz;
    Object.assign(session, { name: body.name ?? session.name, note: body.note ?? session.note,
      state: body.state ?? session.state });
    if (session.state === "ended") {
      for (const process of processes) process.sessions = process.sessions.filter((id) => id !== session.id);
    }
    return { value: session };
  }

  // Processes that are sampled have a headline.
  function listProcesses() {
    const headlineOf = ({ sessions: { length } }, i) => (length === 0
      ? null
      : (31 + i) + " % of the time that is not idle it runs `" + PLACES[i % PLACES.length][0]
        + "` (shop/app.py:50); 20 % it waits to read from the network (10.0.0.5:5432) in `recv`, called by shop/client.py:41; 9 of 12 threads are idle");
    return processes.map((process, i) => ({ ...process, headline: headlineOf(process, i) }));
  }

  // Two workers that wait for a lock of the main thread, and a thread with a hostile name.
  function dumpOf(pid) {
    if (!processes.some((process) => process.pid === pid)) throw new Problem(404, "no process " + pid);
    const lock = "threading.Lock at 0x7f3c2a10b4c0";
    const place = "refresh (/srv/shop/cache.py:90)";
    const worker = (i) => ["  thread " + (pid + i) + " worker-" + i + ": blocked: lock", "    waits for " + lock
      + ", held by MainThread at " + place, "    handle (/srv/shop/app.py:10)", "    run (/srv/shop/app.py:11)"];
    return ["process " + pid + ", Python 3.13.1", "  thread " + pid + " MainThread: running, holds the GIL",
      "    holds " + lock + ": " + place, "    " + place, "    main (/srv/shop/app.py:11)", ...worker(1), ...worker(2),
      "  thread " + (pid + 4) + " <img src=x onerror=alert(1)>: idle", "    </pre><b>loop</b> (/srv/shop/app.py:10)",
      ""]
      .join("\n");
  }

  function answerOne(method, [resource, name, part], query, body) {
    if (resource === "access")
      return {
        value: { scope, share: null, session: null, expires_at: null, events: ["time"],
          can_share: canShare && scope === "operator", host: true },
      };
    if (method !== "GET" && scope !== "operator") throw new Problem(403, "this link may read, and change nothing");
    if (resource === "processes" && part === "dump") return { text: dumpOf(Number(name)) };
    if (resource === "sessions" && part === "dump") return { text: dumpOf(processes[0].pid) };
    if (resource === "processes")
      return {
        value: { host: "build7", cpus: 4, scanned_at: at(now), examining: 0, not_permitted: 0, total: processes.length,
          offset: 0, processes: listProcesses() },
      };
    if (resource === "activity") return { value: activity() };
    if (resource === "shares")
      return method === "POST"
        ? makeShare(body)
        : method === "DELETE"
        ? remove(shares, shares.find((share) => String(share.id) === name))
        : { value: { shares } };
    if (resource === "captures" && name === undefined)
      return method === "POST"
        ? openCapture(body)
        : method === "PUT"
        ? takeUpload(query, body)
        : { value: listCaptures(query) };
    if (resource === "captures") {
      if (method === "PATCH") return { value: Object.assign(captureOf(name), body) };
      return method === "DELETE" ? remove(captures, captureOf(name)) : { value: captureOf(name) };
    }
    if (resource !== "sessions") throw new Problem(404, "nothing there");
    if (name === undefined) return method === "POST" ? { status: 202, value: start(body) } : { value: { sessions } };
    if (part === "timeline") return { value: timeline(sessionOf(name), Number(query.get("from") ?? 0)) };
    if (part !== undefined) return null;
    if (method === "PATCH") return change(sessionOf(name), body);
    return method === "DELETE" ? remove(sessions, sessionOf(name)) : { value: sessionOf(name) };
  }

  // null: not of the host, but of what a session holds.
  function answer(method, path, query, body) {
    try {
      return answerOne(method, path.split("/").map(decodeURIComponent), query, body);
    } catch (problem) {
      if (!(problem instanceof Problem)) throw problem;
      return { status: problem.status,
        value: { type: "about:blank", title: "Problem", status: problem.status, detail: problem.message } };
    }
  }

  return { advance, answer, processes, sessions, captures, shares };
}
