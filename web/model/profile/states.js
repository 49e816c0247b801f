// States of threads, as the server and a report encode them: one bit per fact, and one that says the fact is unknown.
// Filters are words: "has_gil" known to be true, "!has_gil" known to be false, "~has_gil" not known to be true,
// "unknown_has_gil", "!unknown_has_gil"; all of them must hold (server/README.md).

import { PARTS } from "./parts.js";

// Fact number N is bit N, and bit N + 8 when it is unknown.
export const STATE_FACTS = ["on_cpu", "has_gil", "waits_gil", "in_gc", "in_native", "has_exception", "runnable",
  "in_jit"];

const UNKNOWN_SHIFT = 8;
const WORD = /^([!~]?)(unknown_)?([a-z_]+)$/;

function bitsOf(word) {
  const found = WORD.exec(word);
  const fact = found ? STATE_FACTS.indexOf(found[3]) : -1;
  if (found === null || fact < 0) return null;
  const yes = 1 << fact;
  const unknown = yes << UNKNOWN_SHIFT;
  const meant = found[2] ? unknown : yes;
  if (found[1] === "!") return { require: 0, exclude: meant | unknown };
  return found[1] === "~" ? { require: 0, exclude: meant } : { require: meant, exclude: 0 };
}

// Words that are none, and those that contradict the ones before them, are left out; the rest is sorted.
export function cleanWords(words) {
  const kept = new Set();
  let [require, exclude] = [0, 0];
  for (const word of words) {
    const bits = bitsOf(word);
    if (bits === null || (require | bits.require) & (exclude | bits.exclude)) continue;
    require |= bits.require;
    exclude |= bits.exclude;
    kept.add(word);
  }
  return Array.from(kept).sort();
}

// -> {require, exclude}: all bits of the first, none of the second
export function stateQuery(words) {
  const query = { require: 0, exclude: 0 };
  for (const word of words) {
    const bits = bitsOf(word);
    query.require |= bits?.require ?? 0;
    query.exclude |= bits?.exclude ?? 0;
  }
  return query;
}

export function stateMatches(state, query) {
  return (state & query.require) === query.require && (state & query.exclude) === 0;
}

// Samples by fact (so, unknown) and by part; `parts` adds up to `samples` but for waiting tasks, which are in none.
export function createSums() {
  return { samples: 0, yes: STATE_FACTS.map(() => 0), unknown: STATE_FACTS.map(() => 0), parts: PARTS.map(() => 0) };
}

export function addState(sums, state, part, count) {
  sums.samples += count;
  sums.parts[part] += count;
  for (let fact = 0; fact < STATE_FACTS.length; fact += 1) {
    if (state & (1 << (fact + UNKNOWN_SHIFT))) sums.unknown[fact] += count;
    else if (state & (1 << fact)) sums.yes[fact] += count;
  }
}

function addSums(sums, more) {
  sums.samples += more.samples;
  for (const name of ["yes", "unknown", "parts"]) sums[name] = sums[name].map((count, i) => count + more[name][i]);
}

// A row of the columns of /threads.
function rowSums(columns, row) {
  return {
    samples: columns.samples[row],
    yes: STATE_FACTS.map((fact) => columns[fact].yes[row]),
    unknown: STATE_FACTS.map((fact) => columns[fact].unknown[row]),
    parts: PARTS.map((part) => columns.parts[part][row]),
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
  const wanted = ids.length > 0
    ? ids.map((id) => threads.get(id)).filter((found) => found !== undefined)
    : threads.values();
  for (const one of wanted) addSums(sums, one);
  return sums;
}
