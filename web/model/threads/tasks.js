// Asyncio tasks, as in /tasks. Tasks that wait at the same place for the same reason are one row.

import { TEXT } from "../../text/session.js";
import { createFrames, fileText, frameLabel, frameOf } from "../profile/frames.js";
import { memoise } from "../base/memoise.js";
import { formatCount, formatDuration } from "../base/numbers.js";
import { functionCount, nodeCount } from "../profile/profile.js";
import { visibleText } from "../base/text.js";

// The name that asyncio gives says nothing.
const NUMBERED = /^Task-\d+$/;
const MARK = /^<task(?: .*)?>$/s;
const ORDER = ["running", "moving", "waiting"];
export const TASK_ROWS_MAX = 500;

export function emptyTasks() {
  return { sampled_s: 0, limit_reached: false, process: [], thread: [], name: [], state: [], node: [], first_seen_s: [], unchanged_since_s: [], awaited_by: [] };
}

function nameOf(tasks, i) {
  return NUMBERED.test(tasks.name[i]) ? "" : tasks.name[i];
}

// Names of those who await it, each once.
function awaitersOf(tasks, i) {
  return Array.from(new Set(tasks.awaited_by[i].map((by) => tasks.name[by] ?? ""))).sort();
}

// Labels from the outermost frame in; what the page has not heard of yet is left out.
function stackOf(profile, frames, node) {
  const labels = [];
  for (let at = node < nodeCount(profile) ? node : 0; at !== 0; at = profile.nodeParent.values[at]) {
    const functionId = profile.nodeFunction.values[at];
    labels.push({ functionId, ...frameLabel(frames, profile, frameOf(frames, functionId, profile.nodeLine.values[at])) });
  }
  return labels.reverse();
}

function createTaskRow(tasks, i, key, stack) {
  const last = stack.findLastIndex((label) => MARK.test(label.raw));
  const own = stack.slice(last + 1);
  const given = nameOf(tasks, i);
  return {
    key, stack, state: tasks.state[i], count: 0, process: tasks.process[i], threads: new Set(), longest: 0, age: 0, examples: [],
    name: given === "" ? "" : visibleText(given),
    coroutine: own[0] ?? null,
    at: own.at(-1) ?? null,
    awaiters: awaitersOf(tasks, i).map((name) => visibleText(name)),
  };
}

// -> {rows, count, running, waiting, longest, left}: running ones first, then the most, then those that wait longest
export function taskRows(tasks, profile) {
  const frames = createFrames(true);
  const stacks = new Map();
  const rows = new Map();
  for (let i = 0; i < tasks.name.length; i += 1) {
    const key = [tasks.process[i], tasks.state[i], tasks.node[i], nameOf(tasks, i), ...awaitersOf(tasks, i)].join("\n");
    if (!stacks.has(tasks.node[i])) stacks.set(tasks.node[i], stackOf(profile, frames, tasks.node[i]));
    if (!rows.has(key)) rows.set(key, createTaskRow(tasks, i, key, stacks.get(tasks.node[i])));
    const row = rows.get(key);
    row.count += 1;
    row.threads.add(tasks.thread[i]);
    row.longest = Math.max(row.longest, tasks.sampled_s - tasks.unchanged_since_s[i]);
    row.age = Math.max(row.age, tasks.sampled_s - tasks.first_seen_s[i]);
    if (row.name === "" && row.examples.length < 3 && tasks.name[i] !== "") row.examples.push(visibleText(tasks.name[i]));
  }
  const sorted = Array.from(rows.values()).sort((a, b) => ORDER.indexOf(a.state) - ORDER.indexOf(b.state) || b.count - a.count || b.longest - a.longest || (a.key < b.key ? -1 : 1));
  const countOf = (state) => tasks.state.filter((one) => one === state).length;
  return {
    rows: sorted.slice(0, TASK_ROWS_MAX),
    left: sorted.slice(TASK_ROWS_MAX).reduce((sum, row) => sum + row.count, 0),
    count: tasks.name.length,
    running: countOf("running"),
    waiting: countOf("waiting"),
    longest: Math.max(0, ...sorted.filter((row) => row.state === "waiting").map((row) => row.longest)),
    cut: tasks.cut,
  };
}

const GREENLETS = /\/(?:gevent|eventlet)\//;
const ASYNCIO = /\/asyncio\/(?:base_events|runners)\.py$/;

function hasFile(profile, pattern) {
  for (let id = 1; id < functionCount(profile); id += 1) if (pattern.test(fileText(profile, id))) return true;
  return false;
}

const usesAsyncio = (profile) => hasFile(profile, ASYNCIO);

const areOff = (session) => (session?.settings?.async ?? "off") === "off";

// Whether the view of tasks has something to show, or says how to get it: {live, session, recording} -> bool
export function createTasksOffer() {
  const asyncioOf = memoise((profile, count) => usesAsyncio(profile));
  return ({ live, session, recording: { profile } }) => !areOff(session) || (live && asyncioOf(profile, functionCount(profile)));
}

// The body of POST /sessions that samples the same processes with their tasks; null where this page cannot start a session.
export function tasksRequest({ live, access, session }) {
  if (!live || access?.host !== true || access.scope !== "operator" || session === null || !areOff(session)) return null;
  const pids = (session.targets ?? []).filter((target) => target.parent === null && target.to_s === null).map((target) => target.pid);
  if (pids.length === 0 || session.source === "capture") return null;
  const { rate_hz, threads, subprocesses, mode, native, gc, opcodes, engine, stop, max_stop_percent, filters = [] } = session.settings;
  const kept = Object.fromEntries(filters.map(({ filter }) => [filter, filters.filter((other) => other.filter === filter).map((other) => other.pattern)]));
  return { pids, rate_hz, duration_s: null, threads, subprocesses, mode, native, gc, opcodes, engine, stop, max_stop_percent, ...kept, name: session.name ?? "", async: "all" };
}

// Why there are no tasks to show, or null.
export function tasksReason(tasks, session, live, profile) {
  if (session === null) return "";
  if (!live) return TEXT.tasks.inReport;
  if (!areOff(session) && tasks.name.length > 0) return null;
  if (hasFile(profile, GREENLETS)) return TEXT.tasks.greenlets;
  if (areOff(session)) return TEXT.tasks.off;
  return session.source === "capture" ? TEXT.tasks.inCapture : TEXT.tasks.none;
}

export function tasksText({ count, running, waiting, longest, cut }) {
  return TEXT.tasks.summary(formatCount(count), cut, formatCount(running), formatCount(waiting), waiting > 0 ? formatDuration(longest) : null);
}
