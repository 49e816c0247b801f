// Text from the target is hostile: it may be empty, huge, reorder what stands beside it or not be text at all.
// What people see is made here; what is searched and hashed is the text itself.

import { TEXT } from "../../text/session.js";

const SHOWN_LENGTH_MAX = 240;
const SENTENCE_LENGTH_MAX = 400;
const SHOWN_HEAD = 160;
const SHOWN_TAIL = 60;
const NAME_PARTS_MAX = 6;

// Controls, bidirectional controls, invisible separators, byte order mark; lone surrogates follow.
const INVISIBLE = /[\u0000-\u001f\u007f-\u009f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g;
const LONE_SURROGATE = /[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g;

/** @param {string} unit */
function escapedUnit(unit) {
  return "\\u" + unit.charCodeAt(0).toString(16).padStart(4, "0");
}

/** @param {string} text */
export function escapeInvisible(text) {
  return text.replace(INVISIBLE, escapedUnit).replace(LONE_SURROGATE, escapedUnit);
}

// Shortened in the middle: both ends of a qualified name or a path say something.
/** @param {string} text */
export function shortenText(text, max = SHOWN_LENGTH_MAX, head = SHOWN_HEAD, tail = SHOWN_TAIL) {
  if (text.length <= max) return text;
  return text.slice(0, head) + "…" + text.slice(text.length - tail);
}

/** @param {string} text */
export function visibleText(text, ifEmpty = TEXT.unnamed) {
  return text === "" ? ifEmpty : escapeInvisible(shortenText(text));
}

// Last component of a path.
/** @param {string} path */
export function baseName(path) {
  return path.slice(path.lastIndexOf("/") + 1);
}

// A sentence with several names is longer than a name may be.
export const sentenceText = (/** @type {string} */ text) =>
  escapeInvisible(shortenText(text, SENTENCE_LENGTH_MAX, SENTENCE_LENGTH_MAX, 0));

/** @param {string} word */
function quotedWord(word) {
  return /[\s"']/.test(word) || word === "" ? JSON.stringify(word) : word;
}

const ROOT_OF_LIBRARY = /^(?:[^]*\/)?(?:(?:site|dist)-packages|lib(?:64)?\/python\d[^/]*)\//;

// The one short form of a path: of libraries from the package on, of all else the file with its folder.
/** @param {string} path */
export function shortPath(path) {
  const root = ROOT_OF_LIBRARY.exec(path);
  return root === null ? path.split("/").slice(-2).join("/").replace(/^\//, "") : path.slice(root[0].length);
}

// The command line of a target as a person would type it.
/** @param {{command?: string[]} | null | undefined} target */
export function commandText(target) {
  return (target?.command ?? []).map(quotedWord).join(" ");
}

// The command with short paths, and the interpreter as its mere name: its folder would leave no room for what it runs.
/** @param {{command?: string[]} | null | undefined} target */
export function shortCommand(target) {
  const [program, ...words] = target?.command ?? [];
  return program === undefined
    ? ""
    : commandText({
      command: [baseName(program), ...words.map((word) => (word.startsWith("/") ? shortPath(word) : word))],
    });
}

// The short forms of different paths, with as many more parts as tell them apart.
/** @param {string[]} paths */
export function distinctNames(paths) {
  const tail = (/** @type {string} */ path, /** @type {number} */ parts) => path.split("/").slice(-parts).join("/");
  const names = new Map(paths.map((path) => [path, shortPath(path)]));
  for (let parts = 3; parts <= NAME_PARTS_MAX; parts += 1) {
    const uses = new Map();
    for (const name of names.values()) uses.set(name, (uses.get(name) ?? 0) + 1);
    if (uses.size === names.size) break;
    for (const [path, name] of names) if (uses.get(name) > 1) names.set(path, tail(path, parts));
  }
  return names;
}

// 32 bits of `text` (FNV-1a over code units, then mixed), continued from `seed`.
/** @param {string} text */
export function hashText(text, seed = 0x811c9dc5) {
  let hash = seed | 0;
  for (let i = 0; i < text.length; i += 1) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193);
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}
