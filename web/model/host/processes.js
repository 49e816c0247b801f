// The processes of a host as rows: their names, the search, and an order that can be frozen.

import { baseName } from "../base/text.js";

const INTERPRETER = /^(python|pypy)[\d.]*(t|d)?$/;

// The word that names the code of an interpreter, and its option: as sampler/base/python_command.c finds it.
function codeWord(words) {
  for (let at = 1; at < words.length && words[at] !== "-"; at++) {
    const [, option, value] = words[at].match(/^-(?!-)[^WXcm]*([WXcm])(.*)/s) ?? [];
    if (option === "c" || option === "m") return { option, word: value || words[at + 1] };
    if (/^[^-]/.test(words[at])) return { word: words[at] };
    if (value === "" || words[at] === "--check-hash-based-pycs") at++;
  }
  return {};
}

// -> {name, rest}: what a person calls the program (its script or module), and the words of its command line as one text,
// without the folder of the interpreter.
export function programName(command) {
  const words = command ?? [];
  if (words.length === 0) return { name: "(no command line)", rest: "" };
  const first = baseName(words[0]);
  const line = [INTERPRETER.test(first) ? first : words[0], ...words.slice(1)].join(" ");
  if (words.length === 1 || !INTERPRETER.test(first)) return { name: first || words[0], rest: line };
  const { option, word } = codeWord(words);
  if (!word || option) return { name: option === "c" ? first + " -c" : word || first, rest: line };
  return { name: baseName(word) || word, rest: line };
}

export function containerName(container) {
  if (!container) return "";
  return [container.name, container.id.slice(0, 12)].filter(Boolean).join(" ");
}

// The place of the process: its pod, else its container.
export const placeName = (process) => process.pod || containerName(process.container);

function haystack(process) {
  return [process.pid, ...(process.command ?? []), process.python ?? "", process.user ?? "", process.pod ?? "",
    containerName(process.container)].join(" ").toLowerCase();
}

// Every word must be somewhere in the process.
export function matchesProcess(process, search) {
  if (search === "") return true;
  const hay = haystack(process);
  return search.toLowerCase().split(/\s+/).every((word) => hay.includes(word));
}

// "3.9.1" before "3.12.0"
function versionNumber(text) {
  const [major = 0, minor = 0, patch = 0] = (text ?? "").split(".").map((part) => parseInt(part, 10) || 0);
  return (major * 1000 + minor) * 1000 + patch;
}

const PROCESS_KEYS = {
  cpu: (process) => process.cpu_percent ?? -1,
  memory: (process) => process.rss_bytes ?? -1,
  threads: (process) => process.threads ?? -1,
  pid: (process) => process.pid,
  command: (process) => programName(process.command).name.toLowerCase(),
  python: (process) => versionNumber(process.python),
  user: (process) => process.user ?? "",
  container: placeName,
  uptime: (process) => process.uptime_s ?? -1,
};

export function sortProcesses(processes, { sort, up }) {
  const key = PROCESS_KEYS[sort];
  const sign = up ? 1 : -1;
  const keyed = processes.map((process) => ({ process, key: key(process) }));
  keyed.sort((a, b) => (a.key < b.key ? -sign : a.key > b.key ? sign : a.process.pid - b.process.pid));
  return keyed.map(({ process }) => process);
}

// The rows to show. With `held` (the rows shown before) nothing moves: what is gone stays, said to be, and what is new
// comes last. A process is known by pid and start, as pids are used again.
export function arrangeProcesses(processes, address, held) {
  const wanted = processes.filter((process) =>
    (!address.only || process.can_attach) && matchesProcess(process, address.search)
  );
  const sorted = sortProcesses(wanted, address);
  if (held === null) return sorted.map((process) => ({ process, gone: false }));
  const here = new Map(sorted.map((process) => [processKey(process), process]));
  const rows = held.map((row) => {
    const key = processKey(row.process);
    const process = here.get(key);
    here.delete(key);
    return process === undefined ? { process: row.process, gone: true } : { process, gone: false };
  });
  return [...rows, ...Array.from(here.values(), (process) => ({ process, gone: false }))];
}

export function processKey(process) {
  return process.pid + " " + process.started_at;
}

// Numbers of processes above the table.
export function countProcesses(processes) {
  const attachable = processes.filter((process) => process.can_attach).length;
  return { all: processes.length, attachable, refused: processes.length - attachable };
}

// The reason that most of those have which cannot be attached, when none can: {reason, count} or null.
export function commonRefusal(processes) {
  if (processes.length === 0 || processes.some((process) => process.can_attach)) return null;
  const counts = new Map();
  for (const { reason } of processes) counts.set(reason, (counts.get(reason) ?? 0) + 1);
  const [reason, count] = Array.from(counts).sort((a, b) => b[1] - a[1])[0];
  return { reason: reason ?? "", count };
}
