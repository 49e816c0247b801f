// The memory and page faults of processes over time, as in /memory: slots, each with its true start and end, of all processes or of those chosen.

import { TEXT } from "../../text/session.js";
import { memoise } from "../base/memoise.js";
import { formatBytes, formatCount } from "../base/numbers.js";

// A limit that is further away would flatten the memory.
const LIMIT_FAR = 3;
const FAULTS_HEIGHT = 0.25;
// Fewer page faults a second than 8 MB make are not drawn as if they were many.
const FAULTS_LEAST = 2000;
const LINE_HEIGHT = 0.04;
const PROCESSES_SAID = 3;
export const MEMORY_LAYERS = ["peak", "rss", "swap", "faults", "limit"];

export function emptyMemory() {
  return { slots: [], processes: [], others: 0 };
}

const slotAmounts = (columns, i) => ({ rss: columns.rss[i], swap: columns.swap[i], minor: columns.minor_faults[i],
  major: columns.major_faults[i] });

export function memoryOfAnswer(answer) {
  return {
    slots: answer.start.map((start, i) => ({ start, end: answer.end[i], peak: answer.peak[i], limit: answer.limit[i],
      ...slotAmounts(answer, i) })
    ),
    processes: answer.processes,
    others: answer.others,
  };
}

// The memory of the processes with these pids, if all of them have rows; else that of all.
export const memoryOf = memoise((memory, pids) => {
  const wanted = new Set(pids.map(Number));
  const processes = memory.processes.filter(({ pid }) => wanted.has(pid));
  if (wanted.size === 0 || new Set(processes.map(({ pid }) => pid)).size < wanted.size) return memory;
  const slots = memory.slots.map(({ start, end, limit }, i) => {
    const sum = { start, end, limit, rss: 0, swap: 0, minor: 0, major: 0 };
    for (const process of processes)
      for (const [key, amount] of Object.entries(slotAmounts(process, i))) sum[key] += amount;
    return { ...sum, peak: sum.rss };
  });
  return { slots, processes, others: 0 };
});

export const chosenMemory = ({ memory, address }) => memoryOf(memory, address.processes);

const memorySlotsWithin = ({ slots }, { from, to }) => slots.filter(({ start, end }) => end > from && start < to);

// The memory at the upper edge of the lane, or 0 when there is none to show.
export function memoryTop(memory, span) {
  const shown = memorySlotsWithin(memory, span);
  const most = shown.reduce((all, { peak, swap }) => Math.max(all, peak + swap), 0);
  const limit = shown.reduce((all, slot) => Math.max(all, slot.limit ?? 0), 0);
  return limit < most * LIMIT_FAR ? Math.max(most, limit * (1 + LINE_HEIGHT)) : most;
}

// For each of MEMORY_LAYERS, boxes {x0, x1, y0, y1} as shares of the span and of the top.
export function memoryBoxes(memory, span) {
  const top = Math.max(1, memoryTop(memory, span));
  const shown = memorySlotsWithin(memory, span);
  const rate = ({ minor, major, start, end }) => (minor + major) / Math.max(end - start, 1e-9);
  const mostFaults = shown.reduce((all, slot) => Math.max(all, rate(slot)), FAULTS_LEAST);
  const length = span.to - span.from;
  /** @type {{ x0: number, x1: number, y0: number, y1: number }[][]} */
  const layers = MEMORY_LAYERS.map(() => []);
  for (const slot of shown) {
    const [x0, x1] = [slot.start, slot.end].map((at) => Math.min(1, Math.max(0, (at - span.from) / length)));
    const [rss, limit] = [slot.rss / top, (slot.limit ?? 0) / top];
    const heights = [[0, slot.peak / top], [0, rss], [rss, rss + slot.swap / top], [0,
      FAULTS_HEIGHT * rate(slot) / mostFaults], limit > 0 && limit <= 1 ? [limit - LINE_HEIGHT, limit] : [0, 0]];
    heights.forEach(([y0, y1], layer) => layers[layer].push({ x0, x1, y0, y1 }));
  }
  return layers;
}

// The growth from the start of a range to its end, and the page faults in it; null where no memory was read.
export function memoryGrowth({ slots }, { from, to }) {
  const within = slots.filter(({ start, end }) => (start + end) / 2 >= from && (start + end) / 2 < to);
  if (within.length === 0) return null;
  const before = slots[slots.indexOf(within[0]) - 1] ?? within[0];
  return { bytes: within[within.length - 1].rss - before.rss,
    faults: within.reduce((all, { minor, major }) => all + minor + major, 0) };
}

export function growthText(memory, range) {
  const growth = memoryGrowth(memory, range);
  if (growth === null) return "";
  const sign = growth.bytes > 0 ? "+" : growth.bytes < 0 ? "−" : "±";
  return TEXT.memory.growth(sign + formatBytes(Math.abs(growth.bytes)), formatCount(growth.faults));
}

// The memory at a time, in words: of all, and of the processes with the most where there are several.
export function memoryText({ slots, processes, others }, time) {
  const at = slots.findIndex(({ start, end }) => start <= time && time < end);
  if (at < 0) return TEXT.memory.none;
  const { rss, swap, minor, major, limit } = slots[at];
  const running = processes.filter((process) => process.rss[at] > 0).sort((a, b) => b.rss[at] - a.rss[at]);
  const more = Math.max(0, running.length - PROCESSES_SAID) + others;
  const each = processes.length < 2 ? [] : [
    ...running.slice(0, PROCESSES_SAID).map((process) => TEXT.memory.of(process.pid, formatBytes(process.rss[at]))),
    ...(more > 0 ? [TEXT.memory.others(formatCount(more))] : []),
  ];
  return [TEXT.memory.rss(formatBytes(rss)), ...(swap > 0 ? [TEXT.memory.swap(formatBytes(swap))] : []),
    TEXT.memory.faults(formatCount(minor + major)), ...(major > 0 ? [TEXT.memory.major(formatCount(major))] : []),
    ...(limit ? [TEXT.memory.limit(formatBytes(limit))] : []), ...each].join(" · ");
}
