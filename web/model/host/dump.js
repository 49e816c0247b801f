// The stacks of processes as text, from what /processes/{pid}/dump answers, as `pyrometer dump` prints them: equal stacks once, those that few threads
// have first.

import { CONTROL_TEXT } from "../../text/controls.js";
import { HOST_TEXT } from "../../text/host.js";
import { formatCount } from "../base/numbers.js";
import { visibleText } from "../base/text.js";

// Processes of one session that are read.
export const DUMPED_MAX = 16;
const THREADS_NAMED = 8;
const STATE_NAMES = new Map(Object.entries(CONTROL_TEXT.states.facts));

/** @param {DumpPlace} place */
function dumpPlaceText({ function: name, file, line }) {
  const at = ["", "~"].includes(file) ? "" : " (" + visibleText(file) + (line > 0 ? ":" + line : "") + ")";
  return visibleText(name) + at;
}

/** @param {Dump} dump @param {number} tid */
function dumpThreadText({ threads }, tid) {
  return visibleText(threads.find((thread) => thread.tid === tid)?.name ?? "", HOST_TEXT.dump.thread(tid));
}

/** @param {Dump} dump @param {DumpWait} wait */
function dumpWaitText(dump, { type, object, holder }) {
  const lock = HOST_TEXT.dump.lock(visibleText(type), visibleText(object));
  if (!holder) return lock;
  return lock + HOST_TEXT.dump.heldBy(dumpThreadText(dump, holder.tid), holder.function ? dumpPlaceText(holder) : "");
}

/** @param {Dump} dump @returns {string[]} */
function dumpDeadlockLines(dump) {
  const waits = new Map(dump.threads.map(({ tid, waits_for: wait }) => [tid, wait]));
  return dump.deadlocks.map((cycle) =>
    HOST_TEXT.dump.deadlock(cycle.map((tid) => {
      const wait = waits.get(tid);
      return HOST_TEXT.dump.waits(dumpThreadText(dump, tid), wait ? dumpWaitText(dump, wait) : HOST_TEXT.dump.unknown);
    }))
  );
}

// Lines that stand below the name of a thread.
/** @param {Dump} dump @param {DumpThread} thread */
function dumpStackLines(dump, thread) {
  return [
    ...(thread.waits_for ? [HOST_TEXT.dump.waitsFor(dumpWaitText(dump, thread.waits_for))] : []),
    ...thread.holds.map((use) =>
      HOST_TEXT.dump.holds(HOST_TEXT.dump.lock(visibleText(use.type), visibleText(use.object)), dumpPlaceText(use))
    ),
    ...(thread.frames.length === 0 ? [HOST_TEXT.dump.noStack] : thread.frames.map(dumpPlaceText)),
  ];
}

const dumpStatesText = (/** @type {DumpThread} */ { states }) =>
  states.map((state) => STATE_NAMES.get(state) ?? visibleText(state)).join(", ");

/** @param {string[]} names @param {string} states */
function dumpHeadLine(names, states) {
  const more = names.length - THREADS_NAMED;
  return HOST_TEXT.dump.threads(formatCount(names.length), names.slice(0, THREADS_NAMED).join(", "),
    more > 0 ? formatCount(more) : "", states);
}

// dumps: of the processes of one row, of which `left` more are not read.
/** @param {Dump[]} dumps @param {number} left */
export function dumpText(dumps, left = 0) {
  /** @type {Map<string, {names: string[], states: string, lines: string[]}>} */
  const groups = new Map();
  for (const dump of dumps) {
    for (const thread of dump.threads) {
      const [states, lines] = [dumpStatesText(thread), dumpStackLines(dump, thread)];
      const key = [states, ...lines].join("\n");
      const group = groups.get(key) ?? { names: [], states, lines };
      const name = visibleText(thread.name) + " " + (thread.tid || HOST_TEXT.dump.unknownTid);
      group.names.push(dumps.length > 1 ? dump.pid + ": " + name : name);
      groups.set(key, group);
    }
  }
  const rare = Array.from(groups.values()).sort((a, b) => a.names.length - b.names.length);
  const heads = dumps.flatMap((
    dump,
  ) => [HOST_TEXT.dump.process(dump.pid, visibleText(dump.python)), ...dumpDeadlockLines(dump)]);
  return [
    [...heads, ...(left > 0 ? [HOST_TEXT.dump.left(formatCount(left))] : [])].join("\n"),
    ...rare.map(({ names, states, lines }) =>
      [dumpHeadLine(names, states), ...lines.map((line) => "  " + line)].join("\n")
    ),
  ].join("\n\n") + "\n";
}
