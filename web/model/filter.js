// Filters of frames, one term each: VERB [WHAT:]PATTERN.
//
//   show PATTERN    only samples with a matching frame on their stack
//   hide PATTERN    only samples without one
//   merge PATTERN   matching frames are left out; their samples count for their callers
//   focus PATTERN   stacks begin at the outermost matching frame; samples without one are left out
//
// PATTERN is text, whatever its case, or /a regular expression/. WHAT says where it is looked for: function:, file:,
// module: (a package, or the name of a file without folders and ending); without it in all that search looks at.
// "merge libraries" merges the standard library and installed packages. Terms are taken in order: what one has merged or
// cut away, those behind it do not see.

import { TEXT } from "../text/session.js";
import { originOf, fileText, functionText } from "./frames.js";
import { functionCount } from "./profile.js";
import { parseSearch, searchedText } from "./search.js";
import { baseName } from "./text.js";

export const FILTERS_MAX = 16;
export const FILTER_VERBS = ["show", "hide", "merge", "focus"];

const TERM_LENGTH_MAX = 500;
const TERM = /^(show|hide|merge|focus)\s+(?:(function|file|module):)?(.*)$/is;
const LIBRARIES = /^librar(?:y|ies)$/i;

function moduleText(profile, id) {
  const origin = originOf(profile, id);
  return origin.kind === "own" ? baseName(origin.name).replace(/\.py$/, "") : origin.name;
}

const TEXTS = { function: functionText, file: fileText, module: moduleText, any: searchedText };

function isLibrary(profile, id) {
  const { kind } = originOf(profile, id);
  return kind === "library" || kind === "package";
}

// {verb, what, pattern, error, matches(profile, functionId)}; `error` is null or a sentence.
export function parseTerm(text) {
  const found = TERM.exec(text.trim());
  if (!found || text.length > TERM_LENGTH_MAX) return { error: TEXT.filters.malformed };
  const verb = found[1].toLowerCase();
  const what = found[2]?.toLowerCase() ?? "any";
  const pattern = found[3].trim();
  if (pattern === "") return { error: TEXT.filters.noPattern(verb) };
  if (what === "any" && LIBRARIES.test(pattern)) return { verb, what: "library", pattern: "", error: null, matches: isLibrary };
  const search = parseSearch(pattern);
  if (search.error !== null) return { error: search.error };
  const textOf = TEXTS[what];
  return { verb, what, pattern, error: null, matches: (profile, id) => search.test(textOf(profile, id)) };
}

function termText({ verb, what, pattern }) {
  if (what === "library") return verb + " libraries";
  return verb + " " + (what === "any" ? "" : what + ":") + pattern;
}

// The term as it stands in an address, or null when it is none.
export function cleanTerm(text) {
  const term = parseTerm(text);
  return term.error === null ? termText(term) : null;
}

// A pattern that matches this text and nothing else.
export function exactPattern(text) {
  return "/^" + text.slice(0, TERM_LENGTH_MAX / 4).replace(/[.*+?^${}()|[\]\\/]/g, "\\$&") + (text.length > TERM_LENGTH_MAX / 4 ? "/" : "$/");
}

// What all terms make of stacks. Per function it is remembered which terms match it, a bit each.
export function createFilter(texts) {
  const terms = texts.map(parseTerm).filter((term) => term.error === null).slice(0, FILTERS_MAX);
  const bitsOf = (verbs) => terms.reduce((bits, term, i) => bits | (verbs.includes(term.verb) ? 1 << i : 0), 0);
  return { terms, required: bitsOf(["show", "focus"]), forbidden: bitsOf(["hide"]), matched: [] };
}

export function extendFilter(filter, profile) {
  for (let id = filter.matched.length; id < functionCount(profile); id += 1) {
    filter.matched.push(id === 0 ? 0 : filter.terms.reduce((bits, term, i) => bits | (term.matches(profile, id) ? 1 << i : 0), 0));
  }
}

// A frame of this function under a stack on which the terms `seen` (bits) have been met: {seen, kept}.
export function stepFilter(filter, seen, functionId) {
  const matched = filter.matched[functionId];
  let now = seen;
  for (let i = 0; i < filter.terms.length; i += 1) {
    const bit = 1 << i;
    const { verb } = filter.terms[i];
    if (verb === "focus" && !(now & bit) && !(matched & bit)) return { seen: now, kept: false };
    if (!(matched & bit)) continue;
    if (verb === "merge") return { seen: now, kept: false };
    now |= bit;
  }
  return { seen: now, kept: true };
}

// Whether samples of a stack count on which these terms were met.
export function isCounted(filter, seen) {
  return (seen & filter.required) === filter.required && (seen & filter.forbidden) === 0;
}
