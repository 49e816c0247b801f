// Threads of a process as a list that can be read: those with alike names as one row, those that were silent lately folded away, by CPU.

import { STATE_FACTS, sumThreads } from "../profile/states.js";

// Fewer are not worth a row of their own.
export const ALIKE_LEAST = 4;
// Generations come four times a second: what has had no sample for ten seconds has ended, or its state is not recorded.
const SILENT_GENERATIONS = 40;

const HEX = /0x[0-9a-f]+|(?<![0-9a-z])(?=[0-9a-f]*[0-9])(?=[0-9a-f]*[a-f])[0-9a-f]{6,}(?![0-9a-z])/gi;

// Numbers and hexadecimal words as "#", without those at the end: "ThreadPoolExecutor-0_12" -> "ThreadPoolExecutor".
export function threadPattern(name) {
  const plain = name.replace(HEX, "#").replace(/\d+/g, "#");
  return plain.replace(/[\s_.:#-]+$/, "") || plain;
}

const ON_CPU = STATE_FACTS.indexOf("on_cpu");

function busyOf(threads, threadStates) {
  const { yes, samples } = sumThreads(threadStates, threads.flatMap((thread) => thread.ids));
  return { cpu: yes[ON_CPU], samples };
}

// Those of which the newest samples of a live session have none.
function silentAmong(threads, threadStates) {
  let newest = 0;
  for (const { generation = 0 } of threadStates.values()) newest = Math.max(newest, generation);
  const last = (thread) => thread.ids.reduce((most, id) => Math.max(most, threadStates.get(id)?.generation ?? 0), 0);
  return new Set(threads.filter((thread) => newest - last(thread) >= SILENT_GENERATIONS));
}

// -> [{threads, pattern, silent}] busiest first, silent ones last; a thread alone has no pattern: it is null.
export function alikeThreads(threads, threadStates) {
  const silent = silentAmong(threads, threadStates);
  const byPattern = new Map();
  for (const thread of threads) {
    if (silent.has(thread)) continue;
    const pattern = thread.main || thread.tasks || thread.name === "" ? null : threadPattern(thread.name);
    const key = pattern ?? thread;
    if (byPattern.has(key)) byPattern.get(key).push(thread);
    else byPattern.set(key, [thread]);
  }
  const rows = Array.from(byPattern, (
    [key, same],
  ) => (same.length >= ALIKE_LEAST
    ? [{ threads: same, pattern: key, silent: false }]
    : same.map((thread) => ({ threads: [thread], pattern: null, silent: false })))).flat();
  const keyed = rows.map((row) => ({ row: { ...row, threads: byCpu(row.threads, threadStates) },
    ...busyOf(row.threads, threadStates) })
  );
  keyed.sort((a, b) => b.cpu - a.cpu || b.samples - a.samples);
  const quiet = silent.size === 0
    ? []
    : [{ threads: byCpu(Array.from(silent), threadStates), pattern: null, silent: true }];
  return [...keyed.map(({ row }) => row), ...quiet];
}

// Threads in the order of their CPU time; a stable sort keeps equal ones in theirs.
export function byCpu(threads, threadStates) {
  const keyed = threads.map((thread) => ({ thread, ...busyOf([thread], threadStates) }));
  return keyed.sort((a, b) => b.cpu - a.cpu || b.samples - a.samples).map(({ thread }) => thread);
}
