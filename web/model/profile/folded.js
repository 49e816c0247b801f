// Stacks as text: one for the clipboard, all as folded lines "tid:7 MainThread;app.py:main:12;… 34".

import { fileText, functionText, isSynthetic } from "./frames.js";
import { stateMatches, stateQuery } from "./states.js";
import { baseName } from "../base/text.js";

function foldedFrame(profile, node) {
  const id = profile.nodeFunction.values[node];
  const name = functionText(profile, id);
  if (isSynthetic(profile, id)) return name;
  return baseName(fileText(profile, id)) + ":" + name + ":" + profile.nodeLine.values[node];
}

function foldedStack(profile, node) {
  const path = [];
  for (let at = node; at !== 0; at = profile.nodeParent.values[at]) path.push(foldedFrame(profile, at));
  return path.reverse().join(";").replace(/\s+/g, " ");
}

function threadText(thread) {
  const name = thread.name.replace(/[;\s]+/g, " ").trim();
  return "tid:" + thread.tid + (name === "" ? "" : " " + name);
}

// `cells` as in a report; thread ids not in `wanted` (when there are any) and other states are left out. Most frequent
// first.
export function foldedStacks(profile, cells, wanted, states) {
  const chosen = new Set(wanted);
  const query = stateQuery(states);
  const counts = new Map();
  for (let i = 0; i < cells.node.length; i += 1) {
    if ((chosen.size > 0 && !chosen.has(cells.thread[i])) || !stateMatches(cells.state[i], query)) continue;
    const line = threadText(profile.threads[cells.thread[i]]) + ";" + foldedStack(profile, cells.node[i]);
    counts.set(line, (counts.get(line) ?? 0) + cells.count[i]);
  }
  const lines = Array.from(counts).sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1));
  return lines.map(([line, count]) => line + " " + count + "\n").join("");
}

// Innermost first, as a traceback read from below.
export function stackText(labels) {
  return labels.map((label) => (label.place === "" ? label.name : label.name + " (" + label.place + ")") + "\n").join("");
}
