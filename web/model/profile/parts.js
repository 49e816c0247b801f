// The five parts of time: every sample is in exactly one. sampler/profile/part.h has the same rule; tests/parts.json has cases for both.

import { waitOf } from "./waits.js";

export const PARTS = ["running", "needs_gil", "needs_processor", "blocked", "idle"];
export const RUNNING = 0;
export const NEEDS_GIL = 1;
export const NEEDS_PROCESSOR = 2;
export const BLOCKED = 3;
export const IDLE = 4;

const BIT_WAITS_GIL = 4;
const BIT_RUNNABLE = 64;
const BITS_ON_CPU = 1 | 256;

// How long threads wait for work or for a processor is a matter of the load and of the machine, not of the program.
const COMPARED = [RUNNING, NEEDS_GIL, BLOCKED].map((part) => PARTS[part]);
const USUAL = PARTS.filter((_, part) => part !== IDLE);

// wait: what the sample's mark says (readWait()), or null.
export function partOf(state, wait) {
  if (state & BIT_WAITS_GIL || wait?.cause === "GIL") return NEEDS_GIL;
  if (state & BIT_RUNNABLE) return NEEDS_PROCESSOR;
  // On a processor, or not known not to be.
  if (state & BITS_ON_CPU) return RUNNING;
  return wait?.idle ? IDLE : BLOCKED;
}

// -> partAt(state, node) of a profile; the marks are read once.
export function createPartAt(profile) {
  const waits = [];
  return (state, node) => {
    const id = profile.nodeFunction.values[node];
    return partOf(state, (waits[id] ??= { wait: waitOf(profile, id) }).wait);
  };
}

// Words of PARTS, in their order; null when none is one. Those of the command line have hyphens.
export function readParts(words) {
  const given = words.map((word) => word.replaceAll("-", "_"));
  const parts = PARTS.filter((part) => given.includes(part));
  return parts.length > 0 ? parts : null;
}

// The parts shown when nothing is chosen: all but idle ones. A report may have been made of some parts only.
export function usualParts({ address, session }) {
  const usual = address.view === "diff" ? COMPARED : USUAL;
  const recorded = readParts((session?.selection?.parts ?? "").split(","));
  const both = recorded === null ? usual : usual.filter((part) => recorded.includes(part));
  return both.length > 0 ? both : recorded;
}

export function shownParts(state) {
  // A request that waits is not idle.
  return state.address.parts ?? (state.address.took !== null ? PARTS : usualParts(state));
}

// True if other parts are shown beside what runs.
export function isRunningAPart(state) {
  const shown = shownParts(state);
  return shown.length > 1 && shown[0] === PARTS[RUNNING];
}

// For every part whether it is among these words; null: all are.
export function partSet(words) {
  return words.length === 0 || words.length === PARTS.length ? null : PARTS.map((part) => words.includes(part));
}
