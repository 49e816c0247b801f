// The append-only tables of one session: strings, libraries, functions, nodes (parents before children), threads, processes.
// Rows are checked here once; all other modules trust them.

import { columnPush, createColumn } from "../base/column.js";
import { createPairs, takePair } from "../base/pairs.js";

/** @returns {Profile} */
export function createProfile() {
  return {
    epoch: null,
    generation: 0,
    packages: Object.create(null),
    ownCode: [{ kind: "files", packages: [] }],
    strings: [],
    functionName: createColumn(),
    functionFile: createColumn(),
    functionLine: createColumn(),
    functionLibrary: createColumn(),
    libraries: [null],
    nodeParent: createColumn(),
    nodeFunction: createColumn(),
    nodeLine: createColumn(),
    threads: [],
    processes: [],
  };
}

/** @param {Profile} profile */
export function functionCount(profile) {
  return profile.functionName.length;
}

/** @param {Profile} profile */
export function nodeCount(profile) {
  return profile.nodeParent.length;
}

// Rows of `table` from `have` on: [from, to) in the table's own arrays.
function newRows(table, length, have, what) {
  if (table.first > have) throw new RangeError(what + ": rows " + have + " to " + table.first + " are missing");
  return { from: have - table.first, to: length };
}

function checkedId(value, limit, what) {
  if (!Number.isInteger(value) || value < 0 || value >= limit)
    throw new RangeError(what + " " + value + " does not exist");
  return value;
}

function checkedLine(value) {
  return Number.isInteger(value) && value > 0 && value <= 0x7fffffff ? value : 0;
}

function appendStrings(profile, table) {
  const rows = newRows(table, table.values.length, profile.strings.length, "strings");
  for (let i = rows.from; i < rows.to; i += 1) profile.strings.push(String(table.values[i]));
}

// Row 0 is none.
function appendLibraries(profile, table) {
  const rows = newRows(table, table.path.length, profile.libraries.length, "libraries");
  const text = (id) => profile.strings[checkedId(id, profile.strings.length, "string")];
  for (let i = Math.max(rows.from, 1 - table.first); i < rows.to; i += 1) {
    profile.libraries.push({ path: text(table.path[i]), buildId: text(table.build_id[i]),
      interpreter: Boolean(table.interpreter[i]), kernel: Boolean(table.kernel[i]) });
  }
}

function appendFunctions(profile, table) {
  const rows = newRows(table, table.name.length, functionCount(profile), "functions");
  const strings = profile.strings.length;
  for (let i = rows.from; i < rows.to; i += 1) {
    checkedId(table.file[i], strings, "string");
    columnPush(profile.functionName, checkedId(table.name[i], strings, "string"));
    columnPush(profile.functionFile, table.file[i]);
    columnPush(profile.functionLine, checkedLine(table.line[i]));
    columnPush(profile.functionLibrary, checkedId(table.library?.[i] ?? 0, profile.libraries.length, "library"));
  }
}

function appendNodes(profile, table) {
  const rows = newRows(table, table.parent.length, nodeCount(profile), "nodes");
  const functions = functionCount(profile);
  for (let i = rows.from; i < rows.to; i += 1) {
    const id = nodeCount(profile);
    checkedId(table.function[i], functions, "function");
    columnPush(profile.nodeParent, checkedId(table.parent[i], Math.max(id, 1), "parent node"));
    columnPush(profile.nodeFunction, table.function[i]);
    columnPush(profile.nodeLine, checkedLine(table.line[i]));
  }
}

function appendThreads(profile, table) {
  const rows = newRows(table, table.tid.length, profile.threads.length, "threads");
  for (let i = rows.from; i < rows.to; i += 1) {
    profile.threads.push({
      id: profile.threads.length,
      process: table.process[i],
      tid: table.tid[i],
      name: profile.strings[checkedId(table.name[i], profile.strings.length, "string")],
      main: Boolean(table.main[i]),
    });
  }
}

function appendProcesses(profile, table) {
  const rows = newRows(table, table.pid.length, profile.processes.length, "processes");
  for (let i = rows.from; i < rows.to; i += 1) {
    profile.processes.push({ pid: table.pid[i],
      name: profile.strings[checkedId(table.name[i], profile.strings.length, "string")] });
  }
}

// Adds what `tree` (an answer of /tree) has and the profile has not. Throws RangeError if it does not fit.
export function applyTree(profile, tree) {
  if (profile.epoch !== null && profile.epoch !== tree.epoch) throw new RangeError("another epoch");
  profile.epoch = tree.epoch;
  Object.assign(profile.packages, tree.packages);
  if (tree.own_code?.length > 0) profile.ownCode = tree.own_code;
  appendStrings(profile, tree.strings);
  if (tree.libraries !== undefined) appendLibraries(profile, tree.libraries);
  appendFunctions(profile, tree.functions);
  appendNodes(profile, tree.nodes);
  appendProcesses(profile, tree.processes);
  appendThreads(profile, tree.threads);
  profile.generation = tree.generation;
}

// The number that distinguishes functions of one name: the file, of native code the library.
function placeNumber(file, library) {
  return library === 0 ? file : -library;
}

/** @param {Profile} profile @param {number} id */
export function functionPlace(profile, id) {
  return placeNumber(profile.functionFile.values[id], profile.functionLibrary.values[id]);
}

// Takes in strings, functions and nodes of another session (an answer of its /tree): functions of one name in one file are
// one, as lines move when a program changes. -> the node of `profile` for a node of `tree`. Throws RangeError as applyTree does.
export function mergeTree(profile, tree) {
  const other = createProfile();
  applyTree(other, tree);
  const stringOf = new Map(profile.strings.map((text, id) => [text, id]));
  const libraryOf = new Map(profile.libraries.map((library, id) => [library?.path, id]));
  const known = createPairs();
  for (let id = 1; id < functionCount(profile); id += 1) {
    const [name, place] = [profile.functionName.values[id], functionPlace(profile, id)];
    takePair(known, name, place, id);
  }
  const merged = (text) => stringOf.get(text) ?? stringOf.set(text, profile.strings.push(text) - 1).get(text);
  const libraries = other.libraries.map((library) =>
    libraryOf.get(library?.path) ?? profile.libraries.push(library) - 1
  );
  const functions = [0];
  for (let id = 1; id < functionCount(other); id += 1) {
    const name = merged(other.strings[other.functionName.values[id]]);
    const file = merged(other.strings[other.functionFile.values[id]]);
    const library = libraries[other.functionLibrary.values[id]];
    const place = placeNumber(file, library);
    const fresh = functionCount(profile);
    const same = takePair(known, name, place, fresh);
    if (same === fresh) {
      columnPush(profile.functionName, name);
      columnPush(profile.functionFile, file);
      columnPush(profile.functionLine, other.functionLine.values[id]);
      columnPush(profile.functionLibrary, library);
    }
    functions.push(same);
  }
  const first = nodeCount(profile) - 1;
  const nodeOf = (node) => (node === 0 ? 0 : first + node);
  for (let node = 1; node < nodeCount(other); node += 1) {
    columnPush(profile.nodeParent, nodeOf(other.nodeParent.values[node]));
    columnPush(profile.nodeFunction, functions[other.nodeFunction.values[node]]);
    columnPush(profile.nodeLine, other.nodeLine.values[node]);
  }
  return nodeOf;
}
