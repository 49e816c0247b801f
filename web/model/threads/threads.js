// Threads as users know them: all rows of one native thread, which may be renamed, are one thread with its last name. Of threads
// whose number is unknown, 0, those of one name are one.

import { TEXT } from "../../text/session.js";
import { memoise } from "../base/memoise.js";
import { visibleText } from "../base/text.js";
import { BLOCKED, IDLE, PARTS } from "../profile/parts.js";
import { sumThreads } from "../profile/states.js";

// Waiting tasks share one pseudo-thread, as the profile calls it: it holds no lock and no CPU, and is none of those that do.
const WAITING_TASKS = "waiting tasks";

// -> [{ids, tid, process, pid, program, name, names, main, tasks}] process by process as they joined, in each the main thread first,
// then by name as people count, then by tid
export function listThreads(profile) {
  const byPlace = new Map();
  for (const row of profile.threads) {
    const tasks = row.tid === 0 && row.name === WAITING_TASKS;
    const place = row.process + "/" + (row.tid === 0 ? "0 " + row.name : row.tid);
    const known = byPlace.get(place);
    if (known === undefined) {
      const { pid, name: program = "" } = profile.processes[row.process] ?? {};
      byPlace.set(place, { ids: [row.id], tid: row.tid, process: row.process, pid, program, name: row.name,
        names: [row.name], main: row.main, tasks });
    } else {
      known.ids.push(row.id);
      known.names.push(row.name);
      known.name = row.name;
      known.main = known.main || row.main;
    }
  }
  const order = new Intl.Collator("en", { numeric: true });
  return Array.from(byPlace.values()).sort(
    (a, b) =>
      a.process - b.process || Number(b.main) - Number(a.main) || order.compare(threadLabel(a), threadLabel(b))
      || a.tid - b.tid,
  );
}

// -> [{pid, program, threads}] of threads in the order of listThreads; what is another program in the same process (exec) is
// another entry
export function groupThreads(threads) {
  const groups = [];
  for (const thread of threads) {
    const last = groups[groups.length - 1];
    if (last !== undefined && last.threads[0].process === thread.process) last.threads.push(thread);
    else groups.push({ pid: thread.pid, program: thread.program, threads: [thread] });
  }
  return groups;
}

export function processLabel(group) {
  const name = group.program.slice(group.program.lastIndexOf("/") + 1);
  return name === "" ? TEXT.threads.process(group.pid) : visibleText(name);
}

// Main threads of several processes all have one name.
export function threadPlace(thread, threads) {
  const several = threads.some((other) => other.process !== thread.process);
  return several ? TEXT.threads.of(threadLabel(thread), thread.pid) : threadLabel(thread);
}

export function threadLabel(thread) {
  return thread.name === ""
    ? (thread.tid === 0 ? TEXT.threads.unknown : TEXT.threads.thread(thread.tid))
    : visibleText(thread.name);
}

// The key of a thread in an address.
export function threadKeyOf(thread) {
  return { tid: thread.tid, name: thread.name };
}

// Threads a link asks for, as [{name, tid}]: the very same thread, or else those of that name (another run). And all threads of
// processes it asks for, by pid.
export function resolveThreads(threads, wanted, pids = []) {
  const chosen = new Set(threads.filter((thread) => pids.includes(thread.pid)));
  let missing = pids.filter((pid) => threads.every((thread) => thread.pid !== pid)).length;
  for (const want of wanted) {
    const same = threads.find((thread) => thread.tid === want.tid && thread.names.includes(want.name));
    const alike = same ? [same] : threads.filter((thread) => want.name !== "" && thread.name === want.name);
    if (alike.length === 0) missing += 1;
    for (const thread of alike) chosen.add(thread);
  }
  return { chosen: threads.filter((thread) => chosen.has(thread)), missing };
}

// -> chosenThreads(state): {threads, of the profile; chosen, what resolveThreads() makes of the address}, the same again until one of them changes.
export function createChosenThreads() {
  const threadsOf = memoise((profile, count) => listThreads(profile));
  const chosenOf = memoise(resolveThreads);
  return ({ recording: { profile }, address }) => {
    const threads = threadsOf(profile, profile.threads.length);
    return { threads, chosen: chosenOf(threads, address.threads, address.processes) };
  };
}

// The threads that were busiest: with the most samples that did not wait, at most `most`, in the order they are listed.
export function busiestThreads(threads, threadStates, most) {
  const busy = new Map(threads.map((thread) => {
    const { parts } = sumThreads(threadStates, thread.ids);
    return [thread, parts.reduce((sum, samples, part) => (part === BLOCKED || part === IDLE ? sum : sum + samples), 0)];
  }));
  const kept = new Set(threads.slice().sort((a, b) => busy.get(b) - busy.get(a)).slice(0, most));
  return threads.filter((thread) => kept.has(thread));
}

// The thread with the most samples of these parts (words); null when there are none.
export function busiestThread(threads, threadStates, shown) {
  const weights = threads.map(({ ids }) =>
    sumThreads(threadStates, ids).parts.reduce(
      (sum, samples, part) => (shown.includes(PARTS[part]) ? sum + samples : sum),
      0,
    )
  );
  return threads[weights.indexOf(Math.max(...weights))] ?? null;
}

// Whose states count: of the threads chosen, or of all of them when there are none, those that are threads.
export function threadsWithStates(chosen, threads) {
  return chosen.length > 0 ? chosen : threads.filter((thread) => !thread.tasks);
}

export function threadIds(threads) {
  return threads.flatMap((thread) => thread.ids).sort((a, b) => a - b);
}
