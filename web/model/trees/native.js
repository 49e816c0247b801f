// Which native frames of a stack are shown; sampler/profile/views/native_frames.h says what each setting means.
// tests/native-frames.json holds cases for both.

import { isContext } from "../profile/contexts.js";
import { functionText, isSynthetic, libraryName, libraryOf } from "../profile/frames.js";
import { isWait } from "../profile/waits.js";

export const NATIVE_SETTINGS = ["hidden", "leaf", "library", "all", "everything"];

const BARE = 1; // the stack has no Python frame so far
const NAMED = 2; // the frame of this run that "leaf" shows is not plain
const HERE = 4; // the frame stays, for its own samples
const BELOW = 8; // the frame stays, for Python frames below it
const REPLACES = 16; // the frame takes the place of all native ones below the Python frame
const IN_KERNEL = 32; // it is a frame of the kernel

export const NATIVE_ROOT = BARE;

export const isKeptHere = (bits) => (bits & HERE) !== 0;
export const isKeptBelow = (bits) => (bits & BELOW) !== 0;
export const replacesCallers = (bits) => (bits & REPLACES) !== 0;

const GAP = "<gap>"; // stands where native frames are missing

// A name in brackets stands for a function without a symbol; those of Rust go on behind theirs.
const isNameless = (name) => name.startsWith("[") || (name.startsWith("<") && name.indexOf(">") === name.length - 1);

const C_LIBRARY = /^(libc\.so(\.|$)|libc-2\.|libpthread|ld-linux|ld-musl-)/;

// "python", "mark", "wait" (a mark that says why a thread waits), "context" (one that says what it works for), "native", "plain", "gap", "interpreter" or "kernel"; plain: of the C library, or
// without a symbol
export function frameKind(profile, functionId) {
  const library = libraryOf(profile, functionId);
  if (library === null && !isSynthetic(profile, functionId)) return "python";
  if (library === null)
    return isWait(profile, functionId)
      ? "wait"
      : isContext(profile, functionId)
      ? "context"
      : "mark";
  const name = functionText(profile, functionId);
  if (name === GAP) return "gap";
  if (library.interpreter) return "interpreter";
  if (library.kernel) return "kernel";
  return isNameless(name) || C_LIBRARY.test(libraryName(profile, functionId)) ? "plain" : "native";
}

// The part of a number of samples that code of CPython's JIT executed: C code that it calls is none of it.
export function inJitOf(profile, functionId, count) {
  return frameKind(profile, functionId) === "python" ? count : 0;
}

// A leaf of a run shows the innermost frame that is not plain; without any, the innermost plain one.
function stepLeaf(parent, kind) {
  const before = parent & (BARE | NAMED);
  if (parent & BARE) return before | HERE;
  if (kind === "native") return before | HERE | REPLACES | NAMED;
  return kind === "plain" && (parent & NAMED) === 0 ? before | HERE | REPLACES : before;
}

// True if a frame of this kind stays where it is, and native frames below it are those of another call.
export const isMarkKind = (kind) => kind === "mark" || kind === "wait" || kind === "context";

// The bits of a node from those of its parent.
export function stepNative(setting, parent, kind) {
  if (kind === "python" || isMarkKind(kind)) return HERE | BELOW;
  const bare = parent & BARE;
  if (kind === "kernel" && setting !== "hidden")
    return bare | IN_KERNEL | (setting === "leaf" && (parent & IN_KERNEL) !== 0 ? 0 : HERE);
  if (setting === "leaf") return stepLeaf(parent, kind);
  if (setting === "everything") return bare | HERE | BELOW;
  if (setting === "hidden") return bare;
  return bare | (bare || kind !== "interpreter" ? HERE : 0) | (kind === "interpreter" ? 0 : BELOW);
}

// The setting that the page shows: the address's, or the one that the session or the report was made with.
export function nativeSetting(address, session, live) {
  const made = live ? session?.settings?.native_frames : session?.selection?.native;
  if (NATIVE_SETTINGS.includes(address.native)) return address.native;
  return NATIVE_SETTINGS.includes(made) && (live || made !== "everything") ? made : "leaf";
}
