// Which native frames of a stack are shown; sampler/profile/views/native_frames.h says what each setting means.
// tests/native-frames.json holds cases for both.

import { functionText, isSynthetic, libraryOf } from "../profile/frames.js";

export const NATIVE_SETTINGS = ["hidden", "leaf", "library", "all", "everything"];

const BARE = 1; // the stack has no Python frame so far
const CHOSEN = 2; // the frame of this run that "leaf" shows was found
const HERE = 4; // the frame stays, for its own samples
const BELOW = 8; // the frame stays, for Python frames below it

export const NATIVE_ROOT = BARE;

export const isKeptHere = (bits) => (bits & HERE) !== 0;
export const isKeptBelow = (bits) => (bits & BELOW) !== 0;

const GAP = "<gap>"; // stands where native frames are missing

// "python", "mark", "native", "gap" or "interpreter"
export function frameKind(profile, functionId) {
  const library = libraryOf(profile, functionId);
  if (library !== null) return functionText(profile, functionId) === GAP ? "gap" : library.interpreter ? "interpreter" : "native";
  return isSynthetic(profile, functionId) ? "mark" : "python";
}

function keptPlaces(setting, parent, kind) {
  const isInterpreter = kind === "interpreter";
  const isBare = (parent & BARE) !== 0;
  if (setting === "everything") return HERE | BELOW;
  if (setting === "hidden") return 0;
  if (setting === "leaf") return isBare || ((parent & CHOSEN) === 0 && kind === "native") ? HERE : 0;
  return (isBare || !isInterpreter ? HERE : 0) | (isInterpreter ? 0 : BELOW);
}

// The bits of a node from those of its parent.
export function stepNative(setting, parent, kind) {
  if (kind === "python" || kind === "mark") return HERE | BELOW;
  const kept = keptPlaces(setting, parent, kind);
  const chosen = kept & HERE && (parent & BARE) === 0 ? CHOSEN : 0;
  return (parent & (BARE | CHOSEN)) | kept | chosen;
}

// What the page shows: what the address says, or what the session or the report was made with.
export function nativeSetting(address, session, live) {
  const made = live ? session?.settings?.native_frames : session?.selection?.native;
  if (NATIVE_SETTINGS.includes(address.native)) return address.native;
  return NATIVE_SETTINGS.includes(made) && (live || made !== "everything") ? made : "leaf";
}
