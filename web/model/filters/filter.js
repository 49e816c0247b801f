// Filters of frames with the meanings of pprof, one term each: VERB [WHAT:]PATTERN.
//
//   focus PATTERN       keep samples with a matching frame on their stack
//   ignore PATTERN      drop samples with a matching frame
//   hide PATTERN        remove matching frames; their samples go to the caller
//   show PATTERN        keep only matching frames
//   show-from PATTERN   start stacks at the outermost matching frame; drop stacks without one
//
// PATTERN is text, ignoring case, or /a regular expression/. WHAT says what to match: function:, file:, library: (the name of the file
// of native code), wait: ("idle CAUSE PEER" or "blocked CAUSE PEER" of the mark that says why a thread waits), context: ("VARIABLE: VALUE" of the mark that says what it works for), module: (a package, or the name of a file without folders and ending); without it, wherever the search matches. "libraries" is the standard library
// and installed packages. The server reads patterns in the same way (sampler/profile/views/pattern.h); tests/filters.json
// holds cases for both. Several terms with one verb match what any of them matches. The order of terms has no effect: focus
// and ignore see whole stacks, then native frames that are not shown are left out, then hide and show remove frames, then show-from sees the rest. A sample without a frame left is dropped.

import { TEXT } from "../../text/session.js";
import { baseName } from "../base/text.js";
import { contextText } from "../profile/contexts.js";
import { fileText, functionText, libraryName, originOf } from "../profile/frames.js";
import { functionCount } from "../profile/profile.js";
import { waitText } from "../profile/waits.js";
import { parseSearch, searchedText } from "./search.js";

export const FILTERS_MAX = 16;
export const FILTER_VERBS = ["focus", "ignore", "hide", "show", "show-from"];

const [FOCUS, IGNORE, HIDE, SHOW, SHOW_FROM] = FILTER_VERBS.map((_, i) => 1 << i);

// Bits of the stack down to a frame; KEPT says that the frame itself is left.
const FOCUSED = 1;
const IGNORED = 2;
const STARTED = 4;
const KEPT = 8;

const TERM_LENGTH_MAX = 500;
const TERM = /^(focus|ignore|hide|show[-_]from|show)\s+(?:(function|file|module|library|wait|context):)?(.*)$/is;
// Escapes that the server's expressions support: no lookaround, no named groups, and these, which stand for whole
// characters.
const ESCAPES = /\\(?:[^a-zA-Z0-9]|[bBdDfnrsStvwW]|0(?!\d)|x[\da-fA-F]{2}|u(?![dD][89a-fA-F])[\da-fA-F]{4})/g;
const LIBRARIES = /^librar(?:y|ies)$/i;

function moduleText(profile, id) {
  const origin = originOf(profile, id);
  return ["own", "system"].includes(origin.kind) ? baseName(origin.name).replace(/\.py$/, "") : origin.name;
}

const TEXTS = { function: functionText, file: fileText, module: moduleText, library: libraryName, wait: waitText,
  context: contextText, any: searchedText };

function isLibrary(profile, id) {
  const { kind } = originOf(profile, id);
  return kind === "library" || kind === "package" || kind === "system";
}

function isSimple(pattern) {
  const rest = pattern.replace(ESCAPES, "");
  return !rest.includes("\\") && !/\(\?[^:]/.test(rest);
}

// {verb, what, pattern, error, matches(profile, functionId)}; `error` is null or a sentence.
export function parseTerm(text) {
  const found = TERM.exec(text.trim());
  if (!found || text.length > TERM_LENGTH_MAX) return { error: TEXT.filters.malformed };
  const verb = found[1].toLowerCase().replace("_", "-");
  const what = found[2]?.toLowerCase() ?? "any";
  const pattern = found[3].trim();
  if (pattern === "") return { error: TEXT.filters.noPattern(verb) };
  if (what === "any" && LIBRARIES.test(pattern))
    return { verb, what: "libraries", pattern: "", error: null, matches: isLibrary };
  const search = parseSearch(pattern);
  if (search.error !== null) return { error: search.error };
  if (search.isExpression && !isSimple(pattern)) return { error: TEXT.filters.notSimple };
  const textOf = TEXTS[what];
  const applies = ["library", "wait", "context"].includes(what)
    ? (profile, id) => textOf(profile, id) !== ""
    : () => true;
  return { verb, what, pattern, error: null,
    matches: (profile, id) => applies(profile, id) && search.test(textOf(profile, id)) };
}

function patternText({ what, pattern }) {
  if (what === "libraries") return "libraries";
  return (what === "any" ? "" : what + ":") + pattern;
}

// The term as it stands in an address, or null when it is none.
export function cleanTerm(text) {
  const term = parseTerm(text);
  return term.error === null ? term.verb + " " + patternText(term) : null;
}

// The terms as query parameters of the server: [[parameter, pattern]].
export function filterParameters(texts) {
  const terms = texts.map(parseTerm).filter((term) => term.error === null);
  return terms.map((term) => [term.verb.replace("-", "_"), patternText(term)]);
}

// The filters that a session was recorded with: {terms, unknown (how many are no terms)}.
export function recordedTerms(session) {
  const texts = session?.settings?.filters ?? [];
  const terms = texts.slice(0, FILTERS_MAX).map(({ filter, pattern }) => cleanTerm(filter + " " + pattern));
  const known = terms.filter((term) => term !== null);
  return { terms: known, unknown: texts.length - known.length };
}

// A pattern that matches this text and nothing else.
export function exactPattern(text) {
  return "/^" + text.slice(0, TERM_LENGTH_MAX / 4).replace(/[.*+?^${}()|[\]\\/]/g, "\\$&")
    + (text.length > TERM_LENGTH_MAX / 4 ? "/" : "$/");
}

// The terms as a filter: {terms, start (the bits before the first frame), showsSome, matched (verbs by function, a bit
// each)}.
export function createFilter(texts) {
  const terms = texts.map(parseTerm).filter((term) => term.error === null).slice(0, FILTERS_MAX);
  const has = (verb) => terms.some((term) => term.verb === verb);
  return { terms, start: (has("focus") ? 0 : FOCUSED) | (has("show-from") ? 0 : STARTED), showsSome: has("show"),
    matched: [] };
}

export function extendFilter(filter, profile) {
  const bits = filter.terms.map(({ verb }) => 1 << FILTER_VERBS.indexOf(verb));
  for (let id = filter.matched.length; id < functionCount(profile); id += 1) {
    filter.matched.push(
      id === 0 ? 0 : filter.terms.reduce((verbs, term, i) => verbs | (term.matches(profile, id) ? bits[i] : 0), 0),
    );
  }
}

// True if frames that no term matches stay, so that only hidden frames are missing.
export function keepsUnmatched({ start, showsSome }) {
  return (start & STARTED) !== 0 && !showsSome;
}

export function isHidden(filter, functionId) {
  return (filter.matched[functionId] & HIDE) !== 0;
}

// The bits of a stack with one more frame, of this function, that is not shown; `seen` is those without it.
export function leaveFilter(filter, seen, functionId) {
  const verbs = filter.matched[functionId] ?? 0;
  let now = seen & ~KEPT;
  if (verbs & FOCUS) now |= FOCUSED;
  if (verbs & IGNORE) now |= IGNORED;
  return now;
}

// The bits of a stack with one more frame that is shown.
export function stepFilter(filter, seen, functionId) {
  const verbs = filter.matched[functionId] ?? 0;
  let now = leaveFilter(filter, seen, functionId);
  if (verbs & HIDE || (filter.showsSome && !(verbs & SHOW))) return now;
  if (verbs & SHOW_FROM) now |= STARTED;
  return now & STARTED ? now | KEPT : now;
}

export function isKept(seen) {
  return (seen & KEPT) !== 0;
}

// True if the samples of a stack count; `group` is where they would count, 0 when no frame is left.
export function isCounted(seen, group) {
  return group !== 0 && (seen & (FOCUSED | IGNORED)) === FOCUSED;
}
