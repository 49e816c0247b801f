// Contexts that threads work for, such as requests: marks at the end of stacks, above those of waits.
// sampler/profile/context.h has the same names.

import { functionText, isSynthetic } from "./frames.js";
import { functionCount, nodeCount } from "./profile.js";
import { waitOf } from "./waits.js";

const CONTEXT_MARK = /^<context ([^: >]+)(?:: (.*)| (unset|other))>$/s;

// The parts of a mark's name, "<context request_id: 4711>": {variable, kind ("value", "unset" or "other"), value}, or
// null if it is no such name.
export function readContext(name) {
  const found = CONTEXT_MARK.exec(name);
  return found === null ? null : { variable: found[1], kind: found[3] ?? "value", value: found[2] ?? "" };
}

export function contextOf(profile, functionId) {
  return isSynthetic(profile, functionId) ? readContext(functionText(profile, functionId)) : null;
}

export const isContext = (profile, functionId) => contextOf(profile, functionId) !== null;

// The text that filters match: "request_id: 4711"; "" of every other function.
export function contextText(profile, functionId) {
  return isContext(profile, functionId) ? functionText(profile, functionId).slice("<context ".length, -1) : "";
}

// Threads wait like this between requests: a variable often keeps its value when the request is over.
const BETWEEN_REQUESTS = ["event loop", "idle worker", "threads", "terminal"];

// Is this duration, in seconds, one of the band?
/** @param {TimeRange | null} band @param {number} seconds */
export function isInBand(band, seconds) {
  return band !== null && seconds >= band.from - 1e-9 && (band.to === null || seconds < band.to - 1e-9);
}

// -> durationAt(node): how many seconds the request took that samples of the node are of; NaN: they are of none.
// durations: {function, ns}, columns. sampler/profile/views/requests.h has the same rule.
/** @param {Profile} profile @param {{function: number[], ns: number[]}} durations */
export function createDurationAt(profile, durations) {
  const seconds = new Map(durations.function.map((id, row) => [id, durations.ns[row] / 1e9]));
  const functions = profile.nodeFunction.values;
  const waits = new Map();
  return (node) => {
    const id = functions[node];
    if (!waits.has(id)) waits.set(id, waitOf(profile, id));
    const wait = waits.get(id);
    if (wait === null) return seconds.get(id) ?? NaN;
    return BETWEEN_REQUESTS.includes(wait.cause) ? NaN : seconds.get(functions[profile.nodeParent.values[node]]) ?? NaN;
  };
}

// Samples by what their threads worked for, the most first: [{text (of filters), variable, kind, value, samples}]. counted(node): its samples count.
export function contextShares(profile, counts, counted) {
  const contexts = Array.from({ length: functionCount(profile) }, (_, id) => contextOf(profile, id));
  if (contexts.every((context) => context === null)) return [];
  const rows = new Map();
  const nodes = Math.min(nodeCount(profile), counts.self.length);
  const functions = profile.nodeFunction.values;
  for (let node = 1; node < nodes; node += 1) {
    if (!(counts.self[node] > 0) || !counted(node)) continue;
    const parent = functions[profile.nodeParent.values[node]];
    const id = contexts[functions[node]] === null ? parent : functions[node];
    if (contexts[id] === null) continue;
    if (!rows.has(id)) rows.set(id, { text: contextText(profile, id), ...contexts[id], samples: 0 });
    rows.get(id).samples += counts.self[node];
  }
  return Array.from(rows.values()).sort((a, b) => b.samples - a.samples || (a.text < b.text ? -1 : 1));
}
