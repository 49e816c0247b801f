// Which native frames of a stack are shown; sampler/profile/views/native_frames.h says what each setting means.
// tests/native-frames.json holds cases for both.

import { functionText, isSynthetic, libraryOf } from "../profile/frames.js";

export const NATIVE_SETTINGS = ["hidden", "leaf", "library", "all", "everything"];

const BARE = 1; // the stack has no Python frame so far
const NAMED = 2; // the frame of this run that "leaf" shows has a name
const HERE = 4; // the frame stays, for its own samples
const BELOW = 8; // the frame stays, for Python frames below it
const REPLACES = 16; // the frame takes the place of all native ones below the Python frame

export const NATIVE_ROOT = BARE;

export const isKeptHere = (bits) => (bits & HERE) !== 0;
export const isKeptBelow = (bits) => (bits & BELOW) !== 0;
export const replacesCallers = (bits) => (bits & REPLACES) !== 0;

const GAP = "<gap>"; // stands where native frames are missing

// A name in brackets stands for a function without a symbol; those of Rust go on behind theirs.
const isNameless = (name) => name.startsWith("[") || (name.startsWith("<") && name.indexOf(">") === name.length - 1);

// "python", "mark", "native", "nameless", "gap" or "interpreter"
export function frameKind(profile, functionId) {
  const library = libraryOf(profile, functionId);
  if (library === null) return isSynthetic(profile, functionId) ? "mark" : "python";
  const name = functionText(profile, functionId);
  if (name === GAP) return "gap";
  return library.interpreter ? "interpreter" : isNameless(name) ? "nameless" : "native";
}

// Of a run, leaf shows the innermost frame with a name; without any, the innermost one without.
function stepLeaf(parent, kind) {
  const before = parent & (BARE | NAMED);
  if (parent & BARE) return before | HERE;
  if (kind === "native") return before | HERE | REPLACES | NAMED;
  return kind === "nameless" && (parent & NAMED) === 0 ? before | HERE | REPLACES : before;
}

// The bits of a node from those of its parent.
export function stepNative(setting, parent, kind) {
  if (kind === "python" || kind === "mark") return HERE | BELOW;
  const bare = parent & BARE;
  if (setting === "leaf") return stepLeaf(parent, kind);
  if (setting === "everything") return bare | HERE | BELOW;
  if (setting === "hidden") return bare;
  return bare | (bare || kind !== "interpreter" ? HERE : 0) | (kind === "interpreter" ? 0 : BELOW);
}

// What the page shows: what the address says, or what the session or the report was made with.
export function nativeSetting(address, session, live) {
  const made = live ? session?.settings?.native_frames : session?.selection?.native;
  if (NATIVE_SETTINGS.includes(address.native)) return address.native;
  return NATIVE_SETTINGS.includes(made) && (live || made !== "everything") ? made : "leaf";
}
