// A program that does not exist, sampled: threads that do three kinds of work, grow new stacks as time passes, and have
// functions with hostile names. Deterministic apart from the clock it is advanced by.

import { addCellFacts, slotsInRange } from "../../../web/model/profile/cells.js";
import { partOf, PARTS, partSet } from "../../../web/model/profile/parts.js";
import { addState, createSums, STATE_FACTS, stateMatches, stateQuery } from "../../../web/model/profile/states.js";
import { readWait } from "../../../web/model/profile/wait-causes.js";
import { gilOfCells } from "../../../web/model/threads/gil.js";
import { matchesOfCells } from "../../../web/model/time/matches.js";
import { FEED, FUNCTIONS, HOSTILE_NAMES, madeUpState, MAIN, ON_CPU, UNKNOWN_ON_CPU, waitMark,
  WEB } from "./made-up-stacks.mjs";

const SECONDS_PER_TICK = 0.001;
const WINDOW_SECONDS = 0.25;

function createRandom(seed) {
  let state = seed >>> 0;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
}

function createTables() {
  const tables = {
    strings: [""],
    stringIds: new Map([["", 0]]),
    functions: [{ name: 0, file: 0, line: 0 }],
    functionIds: new Map(),
    nodes: [{ parent: 0, function: 0, line: 0 }],
    nodeIds: new Map(),
    threads: [],
    processes: [],
  };
  return tables;
}

function stringId(tables, text) {
  if (!tables.stringIds.has(text)) tables.stringIds.set(text, tables.strings.push(text) - 1);
  return tables.stringIds.get(text);
}

function functionId(tables, [name, file, line]) {
  const key = JSON.stringify([name, file, line]);
  if (!tables.functionIds.has(key))
    tables.functionIds.set(key,
      tables.functions.push({ name: stringId(tables, name), file: stringId(tables, file), line }) - 1);
  return tables.functionIds.get(key);
}

function nodeId(tables, parent, fn, line) {
  const key = parent + " " + fn + " " + line;
  if (!tables.nodeIds.has(key)) tables.nodeIds.set(key, tables.nodes.push({ parent, function: fn, line }) - 1);
  return tables.nodeIds.get(key);
}

// Adds a stack of [function, line] and gives its node.
function stackNode(tables, stack) {
  return stack.reduce((node, [fn, line]) => nodeId(tables, node, functionId(tables, fn), line), 0);
}

function columns(rows, first, names) {
  const table = { first };
  for (const name of names) table[name] = rows.slice(first).map((row) => row[name]);
  return table;
}

export function createProgram(
  { threads = 20, processes = 1, endsAfter = 0, deep = 0, functions = 0, quietFor = 0, locks: hasLocks = false,
    deadlocked = false, exceptions = true, gilWaits = true, mode = "wall", filters = [], waiting = 0, orderedFrom = 0,
    failing = 0.0002, cFunction = null, grows = false, sourceLines = 500, seed = 7, now = () => Date.now() / 1000 } =
      {},
) {
  const tables = createTables();
  const random = createRandom(seed);
  const stateRandom = createRandom(seed + 1);
  const begun = now();
  const startedAt = new Date(begun * 1000).toISOString().replace(/\.\d+Z/, "Z");
  const epoch = "9f3c2a11d4e5b607";
  const sizes = [{ strings: 0, functions: 0, nodes: 0, threads: 0, processes: 0 }];
  const log = [];
  const quality = { samples: 0, ticks: 0, requested_hz: 1000, achieved_hz: 0, missed_ticks: 0, exact: 0, retried: 0,
    truncated: 0, filtered: 0, failed: { gone: 0, fault: 0, perm: 0, corrupt: 0 }, duration_s: 0, moving: 0, stopped: 0,
    stops_refused: 0, stopped_s: 0 };
  let generation = 0;
  let elapsed = 0;
  let ended = null;
  const people = [];

  function addThread(name, work, main) {
    people.push({ id: tables.threads.length, work });
    tables.threads.push({ process: tables.threads.length % processes, tid: 4711 + tables.threads.length,
      name: stringId(tables, name), main: main ? 1 : 0 });
  }

  for (let i = 0; i < processes; i += 1)
    tables.processes.push({ pid: 4711 + i, name: stringId(tables, i === 0 ? "app.py" : "/srv/worker.py") });
  addThread("MainThread", MAIN, true);
  for (let i = 1; i < threads; i += 1) {
    if (i % 6 === 5) addThread(i % 12 === 5 ? "feed <b>" + i + "</b>" : "feed-" + i, FEED, false);
    else if (i === threads - 1) addThread("", [[1, 0, ["idle"]]], false);
    else addThread("ThreadPoolExecutor-0_" + i, WEB, false);
  }

  function lineOf(name, isLeaf) {
    const first = FUNCTIONS[name][2];
    return first === 0 ? 0 : first + 1 + Math.floor(random() * (isLeaf ? 4 : 2));
  }

  // Many functions with a sample each.
  for (let i = 0; i < functions; i += 1) {
    const node = stackNode(tables, [[FUNCTIONS.module, 3], [["generated_" + i,
      "/srv/shop/generated/part_" + (i % 97) + ".py", 1 + i], 2 + i]]);
    countSample(0, node, ON_CPU, 0);
  }

  const deepStack = () => Array.from({ length: deep }, () => [FUNCTIONS.fib, 9]);

  function madeUpStack(person) {
    if (deep > 0 && person.id === 0 && random() < 0.5) return { names: ["fib"], stack: deepStack() };
    if (random() < 0.03) {
      const name = HOSTILE_NAMES[Math.floor(random() * HOSTILE_NAMES.length)];
      return { names: ["hostile"],
        stack: [[FUNCTIONS.module, 3], [["hostile", "/srv/shop/<b>evil</b>.py", 1], 2], [[name,
          name === "" ? "" : "/tmp/</style>" + name.slice(0, 20) + ".py", 6], 6]] };
    }
    const usable = person.work.filter(([, from]) => from <= elapsed);
    let left = random() * usable.reduce((sum, [weight]) => sum + weight, 0);
    const [, , names] = usable.find(([weight]) => (left -= weight) < 0) ?? usable[0];
    const stack = names.map((name, i) => [FUNCTIONS[name], lineOf(name, i === names.length - 1)]);
    if (names.at(-1) === "fib") {
      for (let depth = Math.floor(random() * 24); depth > 0; depth -= 1) stack.push([FUNCTIONS.fib, 9]);
    }
    if (names.at(-1) === "match") {
      for (let rule = Math.floor(random() * 3); rule > 0; rule -= 1)
        stack.push([["rule_" + Math.floor(random() ** 3 * 400), "/srv/shop/feed/rules.py", 10], 12]);
    }
    return { names, stack };
  }

  function countSample(thread, node, state, at, part = partOf(state, null)) {
    log.push({ generation: generation + 1, thread, state, part, node, at,
      window: Math.floor(at / WINDOW_SECONDS) * WINDOW_SECONDS });
    quality.samples += 1;
    const luck = random();
    quality[luck < 0.9975 ? "exact" : luck < 0.9999 ? "retried" : "truncated"] += 1;
  }

  function tick(at) {
    quality.ticks += 1;
    if (random() < 0.0004) quality.missed_ticks += 1;
    if (random() < failing) quality.failed.gone += 1;
    for (const person of people) {
      const { names, stack } = madeUpStack(person);
      const state = madeUpState(names, stateRandom, { exceptions, waits: gilWaits });
      if (mode === "cpu" && !(state & (ON_CPU | UNKNOWN_ON_CPU))) quality.filtered += 1;
      else {
        const waits = waitMark(names, state);
        if (waits !== null) stack.push([["<waits: " + waits + ">", "~", 0], 0]);
        countSample(person.id, stackNode(tables, stack), state, at,
          partOf(state, waits === null ? null : readWait("<waits: " + waits + ">")));
      }
    }
  }

  // Takes the ticks that are due; every hundredth one is made, so that this costs little.
  function advance(seconds) {
    if (ended !== null) return;
    const until = seconds ?? now() - begun;
    const begins = Math.max(elapsed, quietFor);
    const due = Math.max(0, Math.floor((until - begins) / (SECONDS_PER_TICK * 20)));
    elapsed = until;
    for (let i = 0; i < due; i += 1) tick(begins + i * SECONDS_PER_TICK * 20);
    quality.achieved_hz = elapsed > quietFor ? quality.ticks / (elapsed - quietFor) : 0;
    quality.requested_hz = 50;
    quality.duration_s = elapsed;
    quality.stopped = Math.floor(quality.samples * 0.62);
    quality.stopped_s = elapsed * 0.0087;
    quality.moving = Math.floor(quality.samples * 0.3);
    generation += 1;
    sizes[generation] = { strings: tables.strings.length, functions: tables.functions.length,
      nodes: tables.nodes.length, threads: tables.threads.length, processes: 1 };
    if (endsAfter > 0 && elapsed >= endsAfter)
      ended = new Date((begun + elapsed) * 1000).toISOString().replace(/\.\d+Z/, "Z");
  }

  let notes = [];
  let lastNote = 0;
  let native = "off";

  // Page faults: of every third node, as many as it has samples.
  const measured = (total) => ({ name: "page-faults", title: "memory growth", unit: "bytes", value: total * 4096 });

  function session() {
    return {
      id: "1",
      state: ended === null ? (elapsed < quietFor ? "starting" : "running") : "ended",
      reason: ended === null ? null : "target exited",
      target: { pid: 4711, command: ["python3", "/srv/shop/app.py", "--workers", "16"],
        executable: "/usr/bin/python3.13", python: "3.13.1", validated: true, host: "build7" },
      processes: { attached: processes, running: processes, over_limit: 0, denied: 0 },
      settings: { rate_hz: 50, duration_s: null, threads: "all", mode, native, engine: "kernel", engine_reason: null,
        async: waiting > 0 ? "all" : "off", filters },
      started_at: startedAt,
      ended_at: ended,
      elapsed_s: elapsed,
      epoch,
      generation,
      measures: [{ name: "time", title: "time", unit: "seconds", value: log.length / 50 },
        ...(grows ? [measured(view({ measure: "page-faults" }).total)] : [])],
      quality: structuredClone(quality),
      notes: structuredClone(notes),
      pyrometer: "0.1.0",
    };
  }

  function tree(since) {
    const from = sizes[Math.min(since, generation)];
    return {
      epoch,
      generation,
      since,
      strings: { first: from.strings, values: tables.strings.slice(from.strings) },
      functions: columns(tables.functions, from.functions, ["name", "file", "line"]),
      nodes: columns(tables.nodes, from.nodes, ["parent", "function", "line"]),
      threads: columns(tables.threads, from.threads, ["process", "tid", "name", "main"]),
      processes: columns(tables.processes, from.processes, ["pid", "name"]),
    };
  }

  const isAsked = (sample, since, from, to, query, within = null) =>
    sample.generation > since && sample.window >= (from ?? 0) && (to === null || sample.window < to)
    && stateMatches(sample.state, query) && (within === null || within[sample.part]);

  // Slices of time, as /view answers with `blocks`.
  function blocksOf(query) {
    const windows = Array.from(
      new Set(
        log.filter((sample) => isAsked(sample, 0, query.from ?? null, query.to ?? null, stateQuery([]))).map((sample) =>
          sample.window
        ),
      ),
    ).sort((a, b) => a - b);
    const each = Math.ceil(windows.length / 24) || 1;
    const starts = windows.filter((_, i) => i % each === 0);
    const views = starts.map((from, i) =>
      view({ ...query, blocks: false, since: 0, from, to: starts[i + 1] ?? query.to })
    );
    return { rows: views.map(({ node }) => node.length),
      seconds: starts.map((from, i) => (starts[i + 1] ?? windows.at(-1) + 0.25) - from),
      node: views.flatMap(({ node }) => node), self: views.flatMap(({ self }) => self) };
  }

  function view(
    { since = 0, measure = null, threads: wanted = [], states = [], parts = [], from = null, to = null,
      blocks = false },
  ) {
    const ofPages = measure === "page-faults";
    const chosen = new Set(wanted);
    const query = stateQuery(states);
    const within = partSet(parts);
    const perNode = new Map();
    let total = 0;
    for (const sample of log) {
      if (!isAsked(sample, since, from, to, query, within) || (chosen.size > 0 && !chosen.has(sample.thread))) continue;
      if (ofPages && sample.node % 3 !== 0) continue;
      perNode.set(sample.node, (perNode.get(sample.node) ?? 0) + 1);
      total += 1;
    }
    const node = Array.from(perNode.keys()).sort((a, b) => a - b);
    const answer = { epoch, generation, since, total, node, self: node.map((id) => perNode.get(id)),
      ...(ofPages ? { measure: measured(total), period: 4096 } : {}) };
    return blocks ? { ...answer, blocks: blocksOf({ measure, threads: wanted, states, parts, from, to }) } : answer;
  }

  // Numbers of one sums, or of many as columns.
  function sumColumns(read) {
    const facts = STATE_FACTS.map((fact,
      i) => [fact, { yes: read((sums) => sums.yes[i]), unknown: read((sums) => sums.unknown[i]) }]
    );
    const parts = Object.fromEntries(PARTS.map((name, i) => [name, read((sums) => sums.parts[i])]));
    return { samples: read((sums) => sums.samples), ...Object.fromEntries(facts), parts };
  }

  function sumsSince(since, states, from = null, to = null) {
    const query = stateQuery(states);
    const all = createSums();
    const byThread = new Map();
    for (const sample of log) {
      if (!isAsked(sample, since, from, to, query)) continue;
      if (!byThread.has(sample.thread)) byThread.set(sample.thread, createSums());
      addState(byThread.get(sample.thread), sample.state, sample.part, 1);
      addState(all, sample.state, sample.part, 1);
    }
    return { all, ids: Array.from(byThread.keys()).sort((a, b) => a - b), byThread };
  }

  // Slots as long as the windows.
  function timeline({ since = 0, threads: wanted = [], from = null, to = null }) {
    const chosen = new Set(wanted);
    const slots = new Map();
    const fresh = new Set();
    for (const sample of log) {
      if (!isAsked(sample, 0, from, to, stateQuery([])) || (chosen.size > 0 && !chosen.has(sample.thread))) continue;
      if (!slots.has(sample.window)) slots.set(sample.window, createSums());
      addState(slots.get(sample.window), sample.state, sample.part, 1);
      if (sample.generation > since) fresh.add(sample.window);
    }
    const starts = Array.from(fresh).sort((a, b) => a - b);
    const column = (read) => starts.map((start) => read(slots.get(start)));
    const samples = { all: column((sums) => sums.samples), in_gc: column((sums) => sums.yes[3]) };
    PARTS.forEach((part, i) => (samples[part] = column((sums) => sums.parts[i])));
    return {
      epoch,
      generation,
      since,
      from: from ?? 0,
      to: to ?? elapsed,
      width: WINDOW_SECONDS,
      slot: starts.map((start) => start / WINDOW_SECONDS),
      start: starts,
      end: starts.map((start) => start + WINDOW_SECONDS),
      samples,
      seconds: {},
    };
  }

  // Two processes: one grows by a MiB a slot and gives back 8 MiB every 16 slots, the other stays. `limit`: of their control group.
  function memory({ from = null, to = null }) {
    const MIB = 1 << 20;
    const starts = Array.from({ length: Math.floor(elapsed / WINDOW_SECONDS) }, (_, i) => i * WINDOW_SECONDS).filter((
      start,
    ) => start >= (from ?? 0) && (to === null || start < to));
    const slots = starts.map((start) => Math.round(start / WINDOW_SECONDS));
    const grown = slots.map((slot) => (40 + slot - 8 * Math.floor(slot / 16)) * MIB);
    const zeros = slots.map(() => 0);
    const row = (pid, rss, minor) => ({ pid, peak: Math.max(0, ...rss), rss, swap: zeros, minor_faults: minor,
      major_faults: zeros });
    const faults = slots.map(() => 256);
    return { epoch, generation, from: from ?? 0, to: to ?? elapsed, width: WINDOW_SECONDS, start: starts,
      end: starts.map((start) => start + WINDOW_SECONDS), rss: grown.map((bytes) => bytes + 20 * MIB), swap: zeros,
      minor_faults: faults, major_faults: zeros, peak: grown.map((bytes) => bytes + 21 * MIB),
      limit: slots.map(() => 128 * MIB),
      processes: [row(4711, grown, faults), row(4712, slots.map(() => 20 * MIB), zeros)], others: 0 };
  }

  // Each sample stands for the 20 ms before it; before `orderedFrom` the order is forgotten.
  function runs({ threads: wanted = [], from = null, to = null }) {
    const chosen = new Set(wanted);
    const rows = [];
    for (const { thread, state, node, at } of log) {
      if (!chosen.has(thread) || at <= (from ?? 0) || (to !== null && at - SECONDS_PER_TICK * 20 >= to)) continue;
      const last = rows[rows.length - 1];
      const start = Math.max(at - SECONDS_PER_TICK * 20, last?.end ?? 0);
      const ordered = at >= orderedFrom ? 1 : 0;
      if (last !== undefined && last.node === node && last.state === state && last.ordered === ordered
        && start - last.end < 1e-6) last.end = at;
      else rows.push({ start, end: at, node, state, ordered, runs: 1 });
    }
    return { epoch, generation, from: from ?? 0, to: Math.min(to ?? elapsed, elapsed), ...Object.fromEntries(
      ["start", "end", "node", "state", "ordered", "runs"].map((name) => [name, rows.map((row) => row[name])]),
    ) };
  }

  // Bins of 20 ms of the whole seconds there are.
  function heatmap({ since = 0, from = null, to = null }) {
    const range = { from: Math.floor(from ?? 0), to: Math.ceil(to ?? elapsed) };
    const rows = new Map();
    const fresh = new Set();
    for (const sample of log) {
      const second = Math.floor(sample.at);
      if (second < range.from || second >= range.to) continue;
      if (!rows.has(second)) rows.set(second, PARTS.map(() => new Array(50).fill(0)));
      rows.get(second)[sample.part][Math.min(49, Math.floor((sample.at - second) * 50))] += 1;
      if (sample.generation > since) fresh.add(second);
    }
    const seconds = Array.from(fresh).sort((a, b) => a - b);
    const columns = Object.fromEntries(
      PARTS.map((part, i) => [part, seconds.flatMap((second) => rows.get(second)[i])]),
    );
    return { epoch, generation, since, ...range, fine_from: 0, bins: 50, second: seconds, ...columns,
      steps: { width: 1, first: 0 }, lost: 0 };
  }

  // A file in which every line says where it is.
  function source(id) {
    const fn = tables.functions[id];
    if (fn === undefined || fn.line === 0) return null;
    const path = tables.strings[fn.file];
    return { path, changed: false,
      text: Array.from({ length: sourceLines },
        (_, i) => (i % 7 === 0 ? "</script><b>" : "") + "line " + (i + 1) + " of " + path).join("\n") };
  }

  // Every line of the file executed the same three instructions, one of which nobody knows.
  function lines(id) {
    const file = tables.functions[id].file;
    const seen = Array.from(
      new Set(tables.nodes.filter((node) => tables.functions[node.function].file === file).map((node) => node.line)),
    ).sort((a, b) => a - b);
    const column = (...three) => seen.flatMap(() => three);
    return {
      epoch,
      generation,
      samples: log.length,
      path: tables.strings[file],
      names: ["", "</script><b>CALL\u202e", "CALL"],
      line: seen.flatMap((line) => [line, line, line]),
      end_line: seen.flatMap((line) => [line, line, line]),
      column: column(0, 5, -1),
      end_column: column(4, 7, -1),
      opcode: column(1, 2, 0),
      base_opcode: column(2, 2, 0),
      self: column(9, 2, 1),
      total: column(9, 30, 1),
      omitted: 4,
    };
  }

  function threadStates({ since = 0, states = [], from = null, to = null }) {
    const { all, ids, byThread } = sumsSince(since, states, from, to);
    return { epoch, generation, since, all: sumColumns((pick) => pick(all)),
      threads: { thread: ids, ...sumColumns((pick) => ids.map((id) => pick(byThread.get(id)))) } };
  }

  function fullQuality() {
    const { all } = sumsSince(0, []);
    const states = STATE_FACTS.map((fact,
      i) => [fact, { yes: all.yes[i], unknown: all.unknown[i], at_least: all.yes[i] / all.samples,
      at_most: (all.yes[i] + all.unknown[i]) / all.samples }]
    );
    const numbers = {
      ...structuredClone(quality),
      extrapolated: 0,
      control: 412,
      current_hz: 50,
      cpu_user_s: elapsed / 200,
      cpu_sys_s: elapsed / 150,
      rss_bytes: 7340032,
      rss_peak_bytes: 8126464,
      reads: quality.samples * 1.02,
      read_bytes: quality.samples * 2310,
      code_hits: quality.samples * 9,
      code_misses: 61,
      code_stale: 0,
    };
    const meaning = Object.fromEntries(
      [...Object.keys(numbers), "failed_gone", "failed_fault", "failed_perm", "failed_corrupt"].map((
        key,
      ) => [key, "what " + key + " means, in a sentence of the server"]),
    );
    return { ...numbers, states: Object.fromEntries(states), meaning };
  }

  // Without what the profiler itself cost.
  function reportQuality() {
    const { cpu_user_s: user, cpu_sys_s: sys, rss_bytes: rss, rss_peak_bytes: peak, ...rest } = fullQuality();
    return rest;
  }

  function report({ threads: wanted = [], states = [], parts = [] }) {
    const chosen = new Set(wanted);
    const query = stateQuery(states);
    const within = partSet(parts);
    const starts = Array.from(new Set(log.map((sample) => sample.window))).sort((x, y) => x - y);
    const slotOf = new Map(starts.map((start, slot) => [start, slot]));
    const cells = new Map();
    for (const { thread, state, part, node, window } of log) {
      if ((chosen.size > 0 && !chosen.has(thread)) || !stateMatches(state, query) || (within !== null && !within[part]))
        continue;
      const key = [thread, state, node, slotOf.get(window)].join(" ");
      cells.set(key, (cells.get(key) ?? 0) + 1);
    }
    const kept = Array.from(cells, ([key, count]) => [...key.split(" ").map(Number), count]);
    return {
      version: 1,
      session: session(),
      quality: reportQuality(),
      tree: tree(0),
      cells: { thread: kept.map((cell) => cell[0]), state: kept.map((cell) => cell[1]),
        node: kept.map((cell) => cell[2]), slot: kept.map((cell) => cell[3]), count: kept.map((cell) => cell[4]) },
      slots: { width: WINDOW_SECONDS, start: starts, end: starts.map((start) => start + WINDOW_SECONDS) },
      heat: heatmap({}),
      memory: memory({}),
    };
  }

  // Matches in the whole session, whatever range is asked for.
  function matches(runs) {
    const matched = tables.functions.map((fn, id) =>
      runs.some((first, i) => i % 2 === 0 && id >= first && id <= runs[i + 1])
    );
    const made = report({});
    addCellFacts(made);
    return { epoch, generation, ...matchesOfCells(made, matched) };
  }

  function gil({ threads: wanted = [], from = null, to = null }) {
    const made = report({});
    addCellFacts(made);
    return { epoch, generation, ...gilOfCells(made, { threads: wanted }, slotsInRange(made, { from, to })) };
  }

  // So many asyncio tasks at the innermost places there are: one runs, some have names, the last awaits all others.
  function tasks() {
    const nodes = tables.nodes.map((_, id) => id).filter((id) => !tables.nodes.some((node) => node.parent === id));
    const column = (of) => Array.from({ length: waiting }, (_, i) => of(i));
    const isLast = (i) => i === waiting - 1;
    return {
      epoch,
      generation,
      sampled_s: elapsed,
      limit_reached: false,
      process: column(() => 4711),
      thread: column(() => 4711),
      name: column((
        i,
      ) => (isLast(i) ? "everyone's" : i % 3 === 0 ? HOSTILE_NAMES[i % HOSTILE_NAMES.length] : "Task-" + i)),
      state: column((i) => (i === 0 ? "running" : i === 1 ? "moving" : "waiting")),
      node: column((i) => nodes[(i % 3) % nodes.length]),
      first_seen_s: column(() => 0.5),
      unchanged_since_s: column((i) => (elapsed * i) / waiting),
      awaited_by: column((i) => (isLast(i) ? [] : [waiting - 1])),
    };
  }

  // Locks of the shop, one with hostile names, and a queue that workers wait at without work. Threads that are deadlocked are two.
  function locks() {
    const place = (of, line, waited, expression = null) => ({ function: of[0], file: of[1], line, expression,
      waited_s: waited });
    const evil = HOSTILE_NAMES[0];
    const lock = (type, object, waited, held, waiters, holders, more = {}) => ({ process: 4711, type, object,
      waited_s: waited, held_s: held, longest_s: waited / 9, waits: 87, waiting: 3, first_s: 0.4, last_s: elapsed,
      waiters, other_waiters_s: 0, holders, other_holders_s: 0, ...more });
    const { price, tax, query, fetch, get, discount } = FUNCTIONS;
    const all = [
      lock("threading.Lock", "0x7f3c2a10b4c0", 12.4, 11.9, [place(price, 20, 9, "self._price_lock"),
        place(discount, 60, 3.4)], [
        place(tax, 131, 11.9),
      ]),
      lock("threading.RLock", "0x7f3c2a10c2d0", 4.2, 4.2, [place(query, 2110, 1), place(fetch, 1190, 0.9),
        place(fetch, 1191, 0.8), place(query, 2112, 0.7), place(query, 2120, 0.5)], [place(fetch, 1192, 3),
        place(["", "", 0], 0, 1.2)], { other_waiters_s: 0.3 }),
      lock(evil, "0x7f3c2a10d3e0", 0.8, 0.2, [place([evil, "/tmp/" + evil + ".py", 1], 6, 0.8, evil)], [
        place(["invoice_\u202egnp.exe", "/srv/shop/<b>evil</b>.py", 1], 2, 0.2),
      ]),
      lock("queue.Queue", "0x7f3c2a10e4f0", 60, 0, [place(get, 171, 60)], []),
    ];
    const wait = (tid, thread, object, line, holder) => ({ process: 4711, tid, thread, task: null, event_loop: false,
      expression: null, type: "threading.Lock", object, function: "move", file: "/srv/shop/bank.py", line,
      holder: { task: null, function: "move", file: "/srv/shop/bank.py", ...holder } });
    return {
      epoch,
      generation,
      available: true,
      sampled_s: elapsed,
      measured_s: elapsed,
      limit_reached: false,
      dropped: hasLocks ? 2 : 0,
      dropped_s: hasLocks ? 0.3 : 0,
      deadlocks: deadlocked
        ? [[wait(4713, evil, "0x7f3c2a10b4c0", 12, { tid: 4714, thread: "mover-2", line: 7 }),
          wait(4714, "mover-2", "0x7f3c2a10b500", 9, { tid: 4713, thread: evil, line: 11 })]]
        : [],
      locks: hasLocks ? all : [],
    };
  }

  // `native.wanted_for` of /summary
  const wantedFor = () => (cFunction === null ? null : { name: cFunction, share: 0.5123 });

  // PATCH of the session, of which only `native` is known. -> {status, value}
  function change(wanted) {
    native = wanted.native;
    return { status: 200, value: session() };
  }

  // Notes on ranges of time: POST adds one, DELETE removes that with the id `what`. -> {status, value}
  function changeNotes(method, what) {
    if (method === "DELETE") {
      notes = notes.filter(({ id }) => id !== what);
      return { status: 204 };
    }
    const note = { id: lastNote += 1, ...what };
    notes = [...notes, note].sort((a, b) => a.from_s - b.from_s);
    return { status: 201, value: note };
  }

  return { advance, change, changeNotes, wantedFor, session, tasks, locks, tree, view, timeline, memory, heatmap, gil,
    runs, source, lines, matches, threadStates, fullQuality, report };
}
