// Your hottest lines: every sample counts at the innermost frame of your code, at the line that runs there, whatever that line has
// called. What is your code says sampler/profile/views/own_code.h, from which the levels come; or the patterns do.
// What runs and what waits are counted apart.

import { createColumn, grownArray } from "../base/column.js";
import { createPairs, takePair } from "../base/pairs.js";
import { visibleText } from "../base/text.js";
import { isCounted } from "../filters/filter.js";
import { parseSearch } from "../filters/search.js";
import { fileText, functionText, originOf } from "../profile/frames.js";
import { functionCount, nodeCount } from "../profile/profile.js";
import { waitOf } from "../profile/waits.js";

const OWN_LENGTH_MAX = 500;
// The least share of the samples of your code: below that a line is no answer.
const LEAST_SHARE = 0.001;
// Code made of text has no file; that of a notebook, of a terminal or of `python -c` is somebody's, and so are functions that cloudpickle sent. And what starts an unpacked pex.
const GENERATED = /^<(?!i?python-input|stdin|command>|dynamic-code>)/;
const STARTS = /\/unzipped_pexes\/[^/]*\/[^/]*\/__main__\.py$/;
const isPexOfVenv = (path) => path.endsWith("/pex") && path.slice(0, -4).includes("/venvs/");
// Programs that pip puts into bin/ to start a program of a package.
const LAUNCHER = /(?:^|\/)bin\/[^./]+$/;

// "src/, /apps\/[ab]/" -> what its paths match: one of the parts. Nothing: null.
function pathMatcher(text) {
  const parts = text.slice(0, OWN_LENGTH_MAX).split(",").map((part) => parseSearch(part.trim())).filter((part) =>
    part.active
  );
  return parts.length === 0 ? null : (path) => parts.some((part) => part.test(path));
}

// The fault of the patterns, or null.
export function ownProblem(text) {
  return text.split(",").map((part) => parseSearch(part.trim()).error).find((error) => error !== null) ?? null;
}

// The level of your code that a function is of: "files", "dynamic", "library", "package NAME", or null. A longer text
// than any path names no file.
function classOf(profile, id, { kind, name }, matches) {
  if (id === 0 || kind === "synthetic" || profile.functionLibrary.values[id] !== 0) return null;
  const path = fileText(profile, id);
  if (matches !== null) return matches(path) ? "files" : null;
  if (path === "" || path.length >= 4096 || STARTS.test(path) || isPexOfVenv(path)
    || (functionText(profile, id) === "<module>" && LAUNCHER.test(path))) return null;
  if (kind === "package") return "package " + name;
  if (kind !== "own") return kind;
  return GENERATED.test(path) ? "dynamic" : "files";
}

// The lines of your code that the nodes of a profile are called from; grows with the profile. `patterns`: a text, "" for the rule.
export function createOwnLines(patterns) {
  return {
    matches: pathMatcher(patterns),
    own: [],
    classes: [],
    waits: [],
    lineOf: createColumn(),
    index: createPairs(),
    line: [0],
    function: [0],
  };
}

function lineAt(lines, file, line, id) {
  const fresh = lines.line.length;
  const known = takePair(lines.index, file, line, fresh);
  if (known !== fresh) return known;
  lines.line.push(line);
  lines.function.push(id);
  return fresh;
}

function extendFunctions(lines, profile) {
  for (let id = lines.classes.length; id < functionCount(profile); id += 1) {
    const origin = originOf(profile, id);
    lines.classes.push(classOf(profile, id, origin, lines.matches));
    lines.waits.push(origin.kind === "synthetic" ? waitOf(profile, id) : null);
  }
}

// level: of profile.ownCode.
export function extendOwnLines(lines, profile, { kind, packages } = profile.ownCode[0]) {
  extendFunctions(lines, profile);
  const [functions, parents, nodeLines] = [profile.nodeFunction.values, profile.nodeParent.values,
    profile.nodeLine.values];
  const [files, firstLines] = [profile.functionFile.values, profile.functionLine.values];
  const nodes = nodeCount(profile);
  const wanted = packages.map((name) => "package " + name);
  if (wanted.length === 0) wanted.push(lines.matches !== null || kind === "cells" ? "files" : kind);
  const own = lines.classes.map((known) => wanted.includes(known));
  const { lineOf } = lines;
  if (lines.own.some((was, id) => was !== own[id])) lineOf.length = 0;
  lines.own = own;
  lineOf.values = grownArray(lineOf.values, nodes);
  for (let node = lineOf.length; node < nodes; node += 1) {
    const id = functions[node];
    lineOf.values[node] = own[id]
      ? lineAt(lines, files[id], nodeLines[node] || firstLines[id], id)
      : lineOf.values[parents[node]];
  }
  lineOf.length = nodes;
}

// The rows of the lines with most samples: [{path, line, function, raw (name), name, samples}]
function hottestRows(lines, profile, sums, samples, most) {
  const hot = [];
  for (let at = 1; at < sums.length; at += 1) {
    if (sums[at] === 0 || (hot.length === most && sums[at] <= sums[hot[most - 1]])) continue;
    if (hot.length < most) hot.push(at);
    else hot[most - 1] = at;
    for (let i = hot.length - 1; i > 0 && sums[hot[i]] > sums[hot[i - 1]]; i -= 1)
      [hot[i], hot[i - 1]] = [hot[i - 1], hot[i]];
  }
  const row = (at) => {
    const id = lines.function[at];
    const raw = functionText(profile, id);
    return { at, path: fileText(profile, id), line: lines.line[at], function: id, raw, name: visibleText(raw),
      samples: sums[at] };
  };
  return hot.filter((at) => sums[at] >= LEAST_SHARE * samples).map(row);
}

// Calls count(node, its line) for every node with samples of the current query that the filters of the grouping keep.
function eachShown(lines, profile, { filter, seen, groupOfNode }, self, count) {
  const isFiltering = filter.terms.length > 0;
  const nodes = Math.min(lines.lineOf.length, self.length, groupOfNode.length);
  for (let node = 1; node < nodes; node += 1) {
    if (self[node] === 0) continue;
    if (isFiltering ? isCounted(seen.values[node], groupOfNode.values[node]) : groupOfNode.values[node] !== 0)
      count(node, lines.lineOf.values[node]);
  }
}

// The hottest lines of what runs: {rows, samples: of your code, all}. counts: of a query; running: what of it runs,
// which may be newer.
export function hottestOwnLines(lines, profile, grouping, counts, running, most) {
  const sums = new Float64Array(lines.line.length);
  let samples = 0;
  eachShown(lines, profile, grouping, running.self, (node, line) => {
    const ran = Math.min(running.self[node], counts.self[node] ?? 0);
    sums[line] += ran;
    if (line > 0) samples += ran;
  });
  return { rows: hottestRows(lines, profile, sums, samples, most), samples, all: samples + sums[0] };
}

// The lines of what waits, without what is idle: {rows, with causes: [{cause (a title, "" where it is unknown),
// samples}], the most first; samples: of your code, all}. counts: of a query; running: what of it runs, null: nothing
// does.
export function waitingOwnLines(lines, profile, grouping, counts, running, most) {
  const sums = new Float64Array(lines.line.length);
  const causes = new Map();
  let samples = 0;
  eachShown(lines, profile, grouping, counts.self, (node, line) => {
    const wait = lines.waits[profile.nodeFunction.values[node]];
    const waited = counts.self[node] - (running?.self[node] ?? 0);
    if (wait?.idle || !(waited > 0)) return;
    sums[line] += waited;
    if (line === 0) return;
    samples += waited;
    if (!causes.has(line)) causes.set(line, new Map());
    const cause = wait?.cause ?? "";
    causes.get(line).set(cause, (causes.get(line).get(cause) ?? 0) + waited);
  });
  const causesOf = (at) =>
    Array.from(causes.get(at), ([cause, count]) => ({ cause, samples: count })).sort((a, b) => b.samples - a.samples);
  return { rows: hottestRows(lines, profile, sums, samples, most).map((row) => ({ ...row, causes: causesOf(row.at) })),
    samples, all: samples + sums[0] };
}
