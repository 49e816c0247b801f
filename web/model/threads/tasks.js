// Asyncio tasks, as in /tasks, by coroutine. Tasks of one that wait at the same place for the same reason are one row.

import { TEXT } from "../../text/session.js";
import { memoise } from "../base/memoise.js";
import { formatCount, formatDuration } from "../base/numbers.js";
import { visibleText } from "../base/text.js";
import { createFrames, fileText, frameLabel, frameOf } from "../profile/frames.js";
import { functionCount, nodeCount } from "../profile/profile.js";

// The name that asyncio gives says nothing.
const NUMBERED = /^Task-\d+$/;
const MARK = /^<task(?: .*)?>$/s;
const ORDER = ["running", "moving", "waiting"];
export const TASK_ROWS_MAX = 500;

export function emptyTasks() {
  return { sampled_s: 0, limit_reached: false, process: [], thread: [], name: [], state: [], node: [], first_seen_s: [],
    unchanged_since_s: [], awaited_by: [] };
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
    labels.push({ functionId,
      ...frameLabel(frames, profile, frameOf(frames, functionId, profile.nodeLine.values[at])) });
  }
  return labels.reverse();
}

// The functions below nodes, which are marks of tasks: one for each, 0 where there are more.
function functionsBelow(profile, nodes) {
  const { nodeParent, nodeFunction } = profile;
  const found = new Map();
  for (let at = nodes.size > 0 ? 1 : nodeCount(profile); at < nodeCount(profile); at += 1) {
    const parent = nodeParent.values[at];
    if (nodes.has(parent))
      found.set(parent, [undefined, nodeFunction.values[at]].includes(found.get(parent)) ? nodeFunction.values[at] : 0);
  }
  return found;
}

function createTaskRow(tasks, i, key, stack, awaiters, below) {
  const own = stack.slice(stack.findLastIndex((label) => MARK.test(label.raw)) + 1);
  return {
    key,
    stack,
    state: tasks.state[i],
    count: 0,
    longest: 0,
    examples: [],
    name: visibleText(nameOf(tasks, i), ""),
    coroutine: own[0]?.functionId ?? below.get(tasks.node[i]) ?? 0,
    at: own.at(-1) ?? null,
    awaiters: awaiters.map((name) => visibleText(name)),
  };
}

// Tasks that wait at the same place for the same reason.
function placeRows(tasks, profile, frames) {
  const stacks = new Map();
  const rows = new Map();
  const below = functionsBelow(profile, new Set(tasks.node.filter((node, i) => tasks.state[i] !== "waiting")));
  for (let i = 0; i < tasks.name.length; i += 1) {
    const awaiters = awaitersOf(tasks, i);
    const key = [tasks.process[i], tasks.state[i], tasks.node[i], nameOf(tasks, i), ...awaiters].join("\n");
    if (!stacks.has(tasks.node[i])) stacks.set(tasks.node[i], stackOf(profile, frames, tasks.node[i]));
    if (!rows.has(key)) rows.set(key, createTaskRow(tasks, i, key, stacks.get(tasks.node[i]), awaiters, below));
    const row = rows.get(key);
    row.count += 1;
    row.longest = Math.max(row.longest, tasks.sampled_s - tasks.unchanged_since_s[i]);
    if (row.name === "" && row.examples.length < 3 && tasks.name[i] !== "")
      row.examples.push(visibleText(tasks.name[i]));
  }
  return Array.from(rows.values()).sort(byUrgency);
}

// Running ones first, then the most, then those that wait longest.
function byUrgency(a, b) {
  return ORDER.indexOf(a.state) - ORDER.indexOf(b.state) || b.count - a.count || b.longest - a.longest
    || (a.key < b.key ? -1 : 1);
}

const countOf = (rows) => rows.reduce((sum, row) => sum + row.count, 0);
const longestOf = (rows) => Math.max(0, ...rows.map((row) => (row.state === "waiting" ? row.longest : 0)));
const shownOf = (rows) => ({ rows: rows.slice(0, TASK_ROWS_MAX), left: countOf(rows.slice(TASK_ROWS_MAX)) });

// The rows of one coroutine: where most of them wait, and what they do, the first of ORDER first.
function createGroup(profile, frames, id, rows) {
  const waiting = rows.filter((row) => row.state === "waiting");
  return {
    key: String(id),
    ...shownOf(rows),
    coroutine: id === 0 ? null : frameLabel(frames, profile, frameOf(frames, id, 0)),
    state: rows[0].state,
    states: ORDER.map((state) => [state, countOf(rows.filter((row) => row.state === state))]).filter(([, count]) =>
      count > 0
    ),
    count: countOf(rows),
    longest: longestOf(rows),
    at: waiting[0]?.at ?? null,
    places: new Set(waiting.map((row) => row.at?.place)).size,
  };
}

// -> {groups: [one for each coroutine], left, count, running, waiting, longest, cut}
export function taskGroups(tasks, profile) {
  const frames = createFrames(true);
  const rows = placeRows(tasks, profile, frames);
  /** @type {Map<number, object[]>} */
  const byCoroutine = new Map(rows.map((row) => [row.coroutine, []]));
  for (const row of rows) byCoroutine.get(row.coroutine)?.push(row);
  const { rows: groups, left } = shownOf(
    Array.from(byCoroutine, ([id, ofOne]) => createGroup(profile, frames, id, ofOne)).sort(byUrgency),
  );
  const inState = (state) => countOf(rows.filter((row) => row.state === state));
  return { groups, left, count: tasks.name.length, running: inState("running"), waiting: inState("waiting"),
    longest: longestOf(rows), cut: tasks.limit_reached };
}

const GREENLETS = /\/(?:gevent|eventlet)\//;
const ASYNCIO = /\/asyncio\/(?:base_events|runners)\.py$/;

function hasFile(profile, pattern) {
  for (let id = 1; id < functionCount(profile); id += 1) if (pattern.test(fileText(profile, id))) return true;
  return false;
}

const usesAsyncio = (profile) => hasFile(profile, ASYNCIO);

const areOff = (session) => (session?.settings?.async ?? "off") === "off";

// True if the view of tasks has something to show, or says how to get it: {live, session, recording} -> bool
export function createTasksOffer() {
  const asyncioOf = memoise((profile, count) => usesAsyncio(profile));
  return ({ live, session, recording: { profile } }) =>
    !areOff(session) || (live && asyncioOf(profile, functionCount(profile)));
}

// The body of POST /sessions that samples the same processes with their tasks; null where this page cannot start a session.
export function tasksRequest({ live, access, session }) {
  if (!live || access?.host !== true || access.scope !== "operator" || session === null || !areOff(session))
    return null;
  const pids = (session.targets ?? []).filter((target) => target.parent === null && target.to_s === null).map((
    target,
  ) => target.pid);
  if (pids.length === 0 || session.source === "capture") return null;
  const { rate_hz, threads, subprocesses, mode, native, kernel, gc, opcodes, engine, stop, max_stop_percent,
    filters = [] } = session.settings;
  const kept = Object.fromEntries(
    filters.map((
      { filter },
    ) => [filter, filters.filter((other) => other.filter === filter).map((other) => other.pattern)]),
  );
  return { pids, rate_hz, duration_s: null, threads, subprocesses, mode, native, kernel, gc, opcodes, engine, stop,
    max_stop_percent, ...kept, name: session.name ?? "", async: "all" };
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
  return TEXT.tasks.summary(formatCount(count), cut, formatCount(running), formatCount(waiting),
    waiting > 0 ? formatDuration(longest) : null);
}
