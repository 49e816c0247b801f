// Filters of frames as query parameters of the server, so that files hold what the page shows. Not all can be translated:
// verbs without a parameter, modules, regular expressions, and patterns that match marks such as <native>.

import { FILTER_VERBS, parseTerm } from "./filter.js";
import { isSynthetic } from "./frames.js";
import { functionCount } from "./profile.js";

// The parameters with the meaning of a verb. A pattern is the end of a file's path, "function:" and the end of a qualified name, or either as a
// shell pattern; a parameter may be repeated, and matches what any of its patterns matches.
const PARAMETERS = new Map([["hide", "hide"], ["show-from", "at"]]);
const PATTERNS_MAX = 16;

const PLAIN = /^[\w.<>/-]{1,100}$/;
const LIBRARY_PATTERNS = [
  "*/site-packages/?*", "site-packages/?*", "*/dist-packages/?*", "dist-packages/?*",
  "*/lib/python[0-9]*/*", "lib/python[0-9]*/*", "*/lib64/python[0-9]*/*", "lib64/python[0-9]*/*", "<frozen *",
];

// A shell pattern that finds the text anywhere, ignoring case.
function anywhere(text) {
  return "*" + text.replace(/[a-z]/gi, (letter) => "[" + letter.toLowerCase() + letter.toUpperCase() + "]") + "*";
}

function namesMarks(term, profile) {
  for (let id = 1; id < functionCount(profile); id += 1) if (isSynthetic(profile, id) && term.matches(profile, id)) return true;
  return false;
}

// The patterns of a term, or null when it cannot be translated.
function patternsOf(term, profile) {
  const { what, pattern } = term;
  if (namesMarks(term, profile)) return null;
  if (what === "library") return LIBRARY_PATTERNS;
  if (!PLAIN.test(pattern) || pattern.startsWith("/")) return null;
  if (what === "function") return ["function:" + anywhere(pattern)];
  if (what === "file") return [anywhere(pattern)];
  // Digits alone may be a line, which the page looks at and the server does not.
  return what === "any" && !/^\d+$/.test(pattern) ? ["function:" + anywhere(pattern), anywhere(pattern)] : null;
}

// The server begins stacks before it hides frames, the page after that: it matters where a frame that begins stacks is hidden.
function beginsHidden(terms, profile) {
  const [hides, begins] = ["hide", "show-from"].map((verb) => terms.filter(({ term }) => term.verb === verb));
  if (hides.length === 0 || begins.length === 0) return false;
  const matchesAny = (some, id) => some.some(({ term }) => term.matches(profile, id));
  for (let id = 1; id < functionCount(profile); id += 1) if (matchesAny(begins, id) && matchesAny(hides, id)) return true;
  return false;
}

// The terms of one verb: {patterns, left: those that are not among them}.
function translated(verb, terms, profile) {
  const patterns = [];
  const left = [];
  for (const { text, term } of terms) {
    const found = patternsOf(term, profile);
    if (found === null || patterns.length + found.length > PATTERNS_MAX) left.push(text);
    else patterns.push(...found);
  }
  // Stacks that begin at a part of the patterns only would be fewer than those of the page.
  return left.length > 0 && verb === "show-from" ? untranslated(terms) : { patterns, left };
}

function untranslated(terms) {
  return { patterns: [], left: terms.map(({ text }) => text) };
}

// -> {rules: [[parameter, pattern]], left: terms that are not applied by the server}
export function serverFilters(filters, profile) {
  const terms = filters.map((text) => ({ text, term: parseTerm(text) })).filter(({ term }) => term.error === null);
  const late = beginsHidden(terms, profile);
  const made = FILTER_VERBS.map((verb) => {
    const some = terms.filter(({ term }) => term.verb === verb);
    const isSent = PARAMETERS.has(verb) && !(late && verb === "show-from");
    return { verb, ...(isSent ? translated(verb, some, profile) : untranslated(some)) };
  });
  return { rules: made.flatMap(({ verb, patterns }) => patterns.map((pattern) => [PARAMETERS.get(verb), pattern])), left: made.flatMap(({ left }) => left) };
}
