// Search: text, ignoring case, or /a regular expression/, matched against "name file:line", of native code "name file:line library".

import { TEXT } from "../../text/session.js";
import { fileText, functionText, libraryName } from "../profile/frames.js";
import { functionCount } from "../profile/profile.js";

const SEARCHED_LENGTH_MAX = 10000;

// With the flag u, letters and characters are those of Unicode, as on the server. The stricter syntax that comes with it is not required.
function compile(source, flags) {
  new RegExp("", flags); // throws where a flag is given twice
  const others = flags.replace("u", "");
  try {
    return new RegExp(source, others + "u");
  } catch {
    return new RegExp(source, others);
  }
}

const escaped = (text) => text.replace(/[.*+?^${}()|[\]\\/]/g, "\\$&");

// {active, isExpression, error, test(text)}; an expression that is not valid matches nothing and says why.
export function parseSearch(term) {
  const none = { active: false, isExpression: false, error: null, test: () => false };
  if (term.trim() === "") return none;
  const expression = /^\/(.+)\/([imsu]*)$/.exec(term);
  if (expression) {
    try {
      const compiled = compile(expression[1], expression[2]);
      return { active: true, isExpression: true, error: null, test: (text) => compiled.test(text) };
    } catch (problem) {
      const said = String(problem instanceof Error ? problem.message : problem).replace(/^Invalid regular expression: /,
        "");
      return { ...none, error: TEXT.search.invalid(said) };
    }
  }
  const wanted = compile(escaped(term), "i");
  return { active: true, isExpression: false, error: null, test: (text) => wanted.test(text) };
}

export function searchedText(profile, functionId) {
  const library = libraryName(profile, functionId);
  const text = functionText(profile, functionId) + " " + fileText(profile, functionId) + ":"
    + profile.functionLine.values[functionId] + (library === "" ? "" : " " + library);
  return text.length > SEARCHED_LENGTH_MAX ? text.slice(0, SEARCHED_LENGTH_MAX) : text;
}

// Remembers per function whether it matches; functions that appear later are tested when they do.
export function createMatcher(term) {
  return { term, search: parseSearch(term), matched: [] };
}

export function extendMatcher(matcher, profile) {
  for (let id = matcher.matched.length; id < functionCount(profile); id += 1) {
    matcher.matched.push(id !== 0 && matcher.search.active && matcher.search.test(searchedText(profile, id)));
  }
}
