// Filters of frames as the rules of the server (at=, hide=), so that files hold what the picture shows. Not all can be said
// there: samples with or without a frame anywhere, modules, expressions, and what names marks such as <native>.

import { parseTerm } from "./filter.js";
import { isSynthetic } from "./frames.js";
import { functionCount } from "./profile.js";

const RULES_MAX = 16;
const PLAIN = /^[\w.<>/-]{1,100}$/;
const LIBRARY_PATTERNS = [
  "*/site-packages/?*", "site-packages/?*", "*/dist-packages/?*", "dist-packages/?*",
  "*/lib/python[0-9]*/*", "lib/python[0-9]*/*", "*/lib64/python[0-9]*/*", "lib64/python[0-9]*/*", "<frozen *",
];

// A shell pattern that finds the text anywhere, whatever its case.
function anywhere(text) {
  return "*" + text.replace(/[a-z]/gi, (letter) => "[" + letter.toLowerCase() + letter.toUpperCase() + "]") + "*";
}

function patternsOf({ what, pattern }) {
  if (what === "library") return LIBRARY_PATTERNS;
  if (!PLAIN.test(pattern) || pattern.startsWith("/")) return null;
  if (what === "function") return ["function:" + anywhere(pattern)];
  if (what === "file") return [anywhere(pattern)];
  // Digits alone may be a line, which is looked at here and not there.
  return what === "any" && !/^\d+$/.test(pattern) ? ["function:" + anywhere(pattern), anywhere(pattern)] : null;
}

function namesMarks(term, profile) {
  for (let id = 1; id < functionCount(profile); id += 1) if (isSynthetic(profile, id) && term.matches(profile, id)) return true;
  return false;
}

// The server begins stacks before it takes frames out, and it begins them once.
function ruleOf(term, said) {
  if (term.verb === "merge") return "hide";
  return term.verb === "focus" && said.length === 0 ? "at" : null;
}

// -> {rules: [[parameter, pattern]], left: terms that the server cannot be told}
export function serverRules(filters, profile) {
  const rules = [];
  const left = [];
  for (const text of filters) {
    const term = parseTerm(text);
    if (term.error !== null) continue;
    const rule = ruleOf(term, rules);
    const patterns = rule === null || namesMarks(term, profile) ? null : patternsOf(term);
    const count = rules.filter(([name]) => name === rule).length;
    if (patterns === null || count + patterns.length > RULES_MAX) left.push(text);
    else for (const pattern of patterns) rules.push([rule, pattern]);
  }
  return { rules, left };
}
