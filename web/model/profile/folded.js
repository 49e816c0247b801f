// Stacks as text: one for the clipboard, all as folded lines "tid:7 MainThread;app.py:main:12;… 34".

import { baseName } from "../base/text.js";
import { fileText, functionText, isSynthetic } from "./frames.js";

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

// `cells` as in a report, those for which isAsked(number). Most frequent first.
export function foldedStacks(profile, cells, isAsked) {
  const counts = new Map();
  for (let i = 0; i < cells.node.length; i += 1) {
    if (!isAsked(i)) continue;
    const line = threadText(profile.threads[cells.thread[i]]) + ";" + foldedStack(profile, cells.node[i]);
    counts.set(line, (counts.get(line) ?? 0) + cells.count[i]);
  }
  const lines = Array.from(counts).sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1));
  return lines.map(([line, count]) => line + " " + count + "\n").join("");
}

// Innermost first, as a traceback read from below.
export function stackText(labels) {
  return labels.map((label) => (label.place === "" ? label.name : label.name + " (" + label.place + ")") + "\n").join(
    "",
  );
}
