// States of threads, as the server and a report encode them: one bit per fact, and one that says the fact is unknown.
// Filters are words: "on_cpu" known to be true, "!on_cpu" known to be false, "~on_cpu" not known to be true,
// "unknown_on_cpu", "!unknown_on_cpu"; all of them must hold (server/README.md). "active" is whatever is not known to wait.

// Fact number N is bit N, and bit N + 8 when it is unknown.
export const STATE_FACTS = ["on_cpu", "has_gil", "waits_gil", "in_gc", "in_native", "has_exception", "runnable", "in_jit"];
export const STATE_DOINGS = ["holds_gil", "waits_gil", "on_cpu", "runnable", "waits", "unknown"];

const UNKNOWN_SHIFT = 8;
const ACTIVE = "active";
// On a CPU, holding or waiting for the GIL, runnable, or not known to be on a CPU.
const ACTIVE_BITS = 1 | 2 | 4 | 64 | (1 << UNKNOWN_SHIFT);

// The words in force: those of the address, else what waits is hidden, and in a comparison what waits for a processor too:
// that is of the machine, not of the program. A report may have been made of some states only.
export function shownStates({ address, session }) {
  const first = address.view === "diff" ? [ACTIVE, "~runnable"] : [ACTIVE];
  return address.states ?? ((session?.selection?.state ?? "") === "" ? first : []);
}
const WORD = /^([!~]?)(unknown_)?([a-z_]+)$/;

function bitsOf(word) {
  if (word === ACTIVE) return { require: 0, exclude: 0, any: ACTIVE_BITS };
  const found = WORD.exec(word);
  const fact = found ? STATE_FACTS.indexOf(found[3]) : -1;
  if (fact < 0) return null;
  const yes = 1 << fact;
  const unknown = yes << UNKNOWN_SHIFT;
  const meant = found[2] ? unknown : yes;
  if (found[1] === "!") return { require: 0, exclude: meant | unknown };
  return found[1] === "~" ? { require: 0, exclude: meant } : { require: meant, exclude: 0 };
}

// Words that are none, and those that contradict the ones before them, are left out; the rest is sorted.
export function cleanWords(words) {
  const kept = new Set();
  let [require, exclude, any] = [0, 0, 0];
  for (const word of words) {
    const bits = bitsOf(word);
    if (bits === null || (require | bits.require) & (exclude | bits.exclude)) continue;
    const someOf = any | (bits.any ?? 0);
    if (someOf !== 0 && (someOf & ~(exclude | bits.exclude)) === 0) continue;
    require |= bits.require;
    exclude |= bits.exclude;
    any = someOf;
    kept.add(word);
  }
  return Array.from(kept).sort();
}

// -> {require, exclude, any}: all bits of the first, none of the second, one of the third unless it is 0
export function stateQuery(words) {
  const query = { require: 0, exclude: 0, any: 0 };
  for (const word of words) {
    const bits = bitsOf(word);
    query.require |= bits?.require ?? 0;
    query.exclude |= bits?.exclude ?? 0;
    query.any |= bits?.any ?? 0;
  }
  return query;
}

export function stateMatches(state, query) {
  return (state & query.require) === query.require && (state & query.exclude) === 0 && (query.any === 0 || (state & query.any) !== 0);
}

// Which of STATE_DOINGS a thread in that state is counted as.
export function doingOf(state) {
  if (state & 2) return 0;
  if (state & 4) return 1;
  if (state & 1) return 2;
  if (state & 64) return 3;
  return state & (1 << UNKNOWN_SHIFT) ? 5 : 4;
}

// Samples by fact (so, unknown) and by what was done; `doing` adds up to `samples`.
export function createSums() {
  return { samples: 0, yes: STATE_FACTS.map(() => 0), unknown: STATE_FACTS.map(() => 0), doing: STATE_DOINGS.map(() => 0) };
}

export function addState(sums, state, count) {
  sums.samples += count;
  sums.doing[doingOf(state)] += count;
  for (let fact = 0; fact < STATE_FACTS.length; fact += 1) {
    if (state & (1 << (fact + UNKNOWN_SHIFT))) sums.unknown[fact] += count;
    else if (state & (1 << fact)) sums.yes[fact] += count;
  }
}

function addSums(sums, more) {
  sums.samples += more.samples;
  for (const name of ["yes", "unknown", "doing"]) sums[name] = sums[name].map((count, i) => count + more[name][i]);
}

// A row of the columns of /threads.
function rowSums(columns, row) {
  return {
    samples: columns.samples[row],
    yes: STATE_FACTS.map((fact) => columns[fact].yes[row]),
    unknown: STATE_FACTS.map((fact) => columns[fact].unknown[row]),
    doing: STATE_DOINGS.map((doing) => columns.activity[doing][row]),
  };
}

// `threads` (Map of thread id -> sums, with the generation of its last samples) with an answer of /threads added; a new Map.
export function addThreads(threads, answer) {
  const added = new Map(answer.since === 0 ? [] : threads);
  answer.threads.thread.forEach((id, row) => {
    const sums = createSums();
    addSums(sums, added.get(id) ?? createSums());
    addSums(sums, rowSums(answer.threads, row));
    sums.generation = answer.generation ?? 0;
    added.set(id, sums);
  });
  return added;
}

// The sums of these threads (ids), of all of them when there are none.
export function sumThreads(threads, ids) {
  const sums = createSums();
  const wanted = ids.length > 0 ? ids.map((id) => threads.get(id)).filter((found) => found !== undefined) : threads.values();
  for (const one of wanted) addSums(sums, one);
  return sums;
}
