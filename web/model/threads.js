// Threads as people know them: rows of one native thread (it may be renamed) are one, named as it was last.

import { visibleText } from "./text.js";

// -> [{ids, tid, pid, name, names, main}] main thread first, then by name as people count, then by tid
export function listThreads(profile) {
  const byPlace = new Map();
  for (const row of profile.threads) {
    const place = row.process + "/" + row.tid;
    const known = byPlace.get(place);
    if (known === undefined) {
      const pid = profile.processes[row.process]?.pid;
      byPlace.set(place, { ids: [row.id], tid: row.tid, pid, name: row.name, names: [row.name], main: row.main });
    } else {
      known.ids.push(row.id);
      known.names.push(row.name);
      known.name = row.name;
      known.main = known.main || row.main;
    }
  }
  const order = new Intl.Collator("en", { numeric: true });
  return Array.from(byPlace.values()).sort(
    (a, b) => Number(b.main) - Number(a.main) || order.compare(threadLabel(a), threadLabel(b)) || a.tid - b.tid,
  );
}

export function threadLabel(thread) {
  return thread.name === "" ? "Thread " + thread.tid : visibleText(thread.name);
}

// Threads a link asks for, as [{name, tid}]: the very same thread, or else those of that name (another run).
export function resolveThreads(threads, wanted) {
  const chosen = new Set();
  let missing = 0;
  for (const want of wanted) {
    const same = threads.find((thread) => thread.tid === want.tid && thread.names.includes(want.name));
    const alike = same ? [same] : threads.filter((thread) => want.name !== "" && thread.name === want.name);
    if (alike.length === 0) missing += 1;
    for (const thread of alike) chosen.add(thread);
  }
  return { chosen: threads.filter((thread) => chosen.has(thread)), missing };
}

export function threadIds(threads) {
  return threads.flatMap((thread) => thread.ids).sort((a, b) => a - b);
}
