// Names of native code as charts show them: short enough to tell one from another. The whole name is in the details.

// Shorter names stay as they are; of longer ones that is left, of both ends about as much.
const LONG_NAME = 48;
const LONGEST_BRIEF = 100;
const BRIEF_HEAD = 58;
// A shorter argument says something and takes little room.
const SHORT_ARGUMENTS = 4;
const WHOLE_ARGUMENTS = new Set(["anonymous namespace"]);
const OPERATOR_NAME = /operator(?:\(\)|\[\]|[-+*/%^&|~!=<>,]+)/y;

// Template arguments and parameters as "…". A `<` in front is of Rust: <Type as Trait>::function.
function withoutArguments(name) {
  let shown = "";
  let depth = 0;
  let opened = 0;
  for (let at = 0; at < name.length; at++) {
    OPERATOR_NAME.lastIndex = at;
    const operator = depth === 0 ? OPERATOR_NAME.exec(name) : null;
    if (operator !== null) {
      shown += operator[0];
      at += operator[0].length - 1;
      continue;
    }
    const character = name[at];
    const opens = character === "(" || (character === "<" && (depth > 0 || !/^<*$/.test(shown)));
    const closes = character === ")" || (character === ">" && name[at - 1] !== "-");
    if (opens && depth++ === 0) opened = at;
    if (depth === 0) shown += character;
    if (closes && depth > 0 && --depth === 0) {
      const content = name.slice(opened + 1, at);
      shown += name[opened] + (content.length < SHORT_ARGUMENTS || WHOLE_ARGUMENTS.has(content) ? content : "…")
        + character;
    }
  }
  return depth === 0 ? shown : shown + name.slice(opened);
}

export function briefName(name) {
  if (name.length <= LONG_NAME) return name;
  const shown = Array.from(withoutArguments(name));
  if (shown.length <= LONGEST_BRIEF) return shown.join("");
  return shown.slice(0, BRIEF_HEAD).join("") + "…" + shown.slice(BRIEF_HEAD - LONGEST_BRIEF + 1).join("");
}

// The name of a native function; without a symbol, its offset, as its library stands beside it.
export function nativeName(name, library) {
  const start = "<" + library + "+";
  return library !== "" && name.startsWith(start) && name.endsWith(">")
    ? name.slice(start.length - 1, -1)
    : briefName(name);
}
