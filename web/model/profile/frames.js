// Frames as people see them: a function, or one line of a function. Frame 0 is the root.

import { TEXT } from "../../text/session.js";
import { createColumn } from "../base/column.js";
import { createPairs, findPair, takePair } from "../base/pairs.js";
import { baseName, hashText, shortPath, visibleText } from "../base/text.js";
import { nativeName } from "./brief.js";
import { readWait } from "./wait-causes.js";

export const HUES = 7;
// The innermost folder of packages, or of what unpacks and starts a pex or a shiv.
const PACKAGE =
  /^(?:[^]*\/)?(?:(?:site|dist)-packages|[^/]*\.(?:whl|egg|bootstrap)|_bootstrap(?=\/(?:__init__|environment|filelock|interpreter)\.py$))\/([^/]+)/;
const SYSTEM_LIBRARY = /^(?:(?:\/usr(?:\/local)?)?\/lib(?:64)?\/|\[kernel\]$)/;
const STANDARD_LIBRARY = /(?:^|\/)lib(?:64)?\/python\d[^/]*\/|^<frozen /;

// foldsLibraries: a native function stands for its library. ofNode: what frame a stored node shows, 0 where that is not known yet;
// firstOfLibrary and named: the functions that stand for others (grouping.js).
/** @param {boolean} byLine @param {boolean} foldsLibraries @returns {Frames} */
export function createFrames(byLine, foldsLibraries = false) {
  return { byLine, foldsLibraries, function: [0], line: [0], index: createPairs(), ofNode: createColumn(),
    firstOfLibrary: new Map(), named: createPairs(), keys: [], labels: [], origins: [] };
}

// The frame of (function, line): the line counts only when frames are lines, and not of a library.
/** @param {Frames} frames @param {number} functionId @param {number} line @param {boolean} isLibrary */
export function frameOf(frames, functionId, line, isLibrary = false) {
  const shown = frames.byLine && !isLibrary ? line : 0;
  if (functionId === 0 && shown === 0) return 0;
  const fresh = frames.function.length;
  const frame = takePair(frames.index, functionId, shown, fresh);
  if (frame !== fresh) return frame;
  frames.function.push(functionId);
  frames.line.push(shown);
  return frame;
}

// The frame of a function where frames are functions, or 0.
/** @param {Frames} frames @param {number} functionId */
export function frameOfFunction(frames, functionId) {
  return findPair(frames.index, functionId, 0);
}

/** @param {Profile} profile @param {number} functionId */
export function functionText(profile, functionId) {
  return profile.strings[profile.functionName.values[functionId]];
}

/** @param {Profile} profile @param {number} functionId */
export function fileText(profile, functionId) {
  return profile.strings[profile.functionFile.values[functionId]];
}

// The name of this frame in a link: the same in every session that runs the same source.
/** @param {Frames} frames @param {Profile} profile @param {number} frame */
export function frameKey(frames, profile, frame) {
  let key = frames.keys[frame];
  if (key === undefined) {
    const id = frames.function[frame];
    const place = profile.functionLine.values[id] + ":" + frames.line[frame];
    key = hashText(place, hashText(fileText(profile, id), hashText(functionText(profile, id)))).toString(36);
    frames.keys[frame] = key;
  }
  return key;
}

// {path, buildId, interpreter, kernel} of native code, or null
/** @param {Profile} profile @param {number} functionId */
export function libraryOf(profile, functionId) {
  return profile.libraries[profile.functionLibrary.values[functionId]] ?? null;
}

// The name of its file, "" of what is not native code.
/** @param {Profile} profile @param {number} functionId */
export function libraryName(profile, functionId) {
  const library = libraryOf(profile, functionId);
  return library === null ? "" : baseName(library.path);
}

// Native code whose source file is unknown has the path of its library.
/** @param {Profile} profile @param {number} functionId */
export function hasSource(profile, functionId) {
  const library = libraryOf(profile, functionId);
  return !isSynthetic(profile, functionId) && (library === null || library.path !== fileText(profile, functionId));
}

/** @param {Profile} profile @param {number} functionId */
export function isSynthetic(profile, functionId) {
  return fileText(profile, functionId) === "~" && functionText(profile, functionId).startsWith("<");
}

export function isLibraryPath(path) {
  return PACKAGE.test(path) || STANDARD_LIBRARY.test(path);
}

// The origin of code: {kind: "synthetic" | "library" | "package" | "system" | "own", name}; native code from where its library is
/** @param {Profile} profile @param {number} functionId @returns {Origin} */
export function originOf(profile, functionId) {
  if (isSynthetic(profile, functionId)) return { kind: "synthetic", name: "" };
  const library = libraryOf(profile, functionId);
  const file = library?.path ?? fileText(profile, functionId);
  const known = profile.packages[file] ?? profile.packages[file.replace(/\/[^/]*$/, "")];
  const packaged = known ?? PACKAGE.exec(file)?.[1].replace(/\.py$/, "");
  if (packaged) return { kind: "package", name: packaged };
  if (known !== "" && STANDARD_LIBRARY.test(file)) return { kind: "library", name: "Python" };
  if (library !== null && SYSTEM_LIBRARY.test(file)) return { kind: "system", name: file };
  return { kind: "own", name: file };
}

// Code that runs in C is as hot as anything; what merely stands for something else is not.
const RUNS = /^<(?:native|GC)>/;
// C code that a Python frame calls, where its name is known.
export const NATIVE_MARK = /^<native> (?=.)/;

function hueOf(origin, isNative, isKernel, wait) {
  if (isKernel) return "kernel";
  if (isNative) return "native";
  if (wait !== null) return "wait-" + wait.hue;
  if (origin.kind === "synthetic") return "none";
  if (origin.kind === "library") return "library";
  return String(hashText(origin.name) % HUES);
}

// Everything the page says about a frame, made once: {raw, name, brief (the name in a chart), short (the file, in a chart), place, near (the place with the short form of its path), path, file, label, synthetic, runs, hue, wait (of wait-causes.js, or null), library, badge (of native code, or ""), hasSource}.
/** @param {Frames} frames @param {Profile} profile @param {number} frame @returns {Label} */
export function frameLabel(frames, profile, frame) {
  let label = frames.labels[frame];
  if (label === undefined) {
    const id = frames.function[frame];
    const origin = originOf(profile, id);
    const synthetic = origin.kind === "synthetic";
    const library = visibleText(libraryName(profile, id), "");
    const folded = frames.foldsLibraries && library !== "";
    const line = folded ? 0 : frames.line[frame] || profile.functionLine.values[id];
    const file = visibleText(folded ? libraryOf(profile, id)?.path ?? "" : fileText(profile, id), "");
    const raw = folded ? libraryName(profile, id) : functionText(profile, id);
    const isNative = synthetic && NATIVE_MARK.test(raw);
    const isKernel = libraryOf(profile, id)?.kernel === true;
    const wait = synthetic ? readWait(raw) : null;
    const base = folded ? "" : library || shortPath(file);
    const at = frames.byLine && line > 0 ? base + ":" + line : base;
    const short = isKernel
      ? TEXT.native.kernelBadge
      : isNative
      ? TEXT.native.badge
      : synthetic || base === ""
      ? ""
      : at;
    const name = visibleText(isNative ? raw.replace(NATIVE_MARK, "") : wait !== null ? raw.slice(1, -1) : raw);
    const brief = library === "" ? name : nativeName(name, library);
    label = {
      raw,
      name,
      brief,
      short,
      path: fileText(profile, id),
      file: synthetic ? "" : file,
      line,
      place: synthetic || file === "" ? "" : file + (line > 0 ? ":" + line : ""),
      near: synthetic || file === "" ? "" : shortPath(file) + (line > 0 ? ":" + line : ""),
      label: short === "" ? brief : brief + "  " + short,
      synthetic,
      runs: !synthetic || RUNS.test(raw),
      hue: hueOf(origin, library !== "" || isNative, isKernel, wait),
      wait,
      library,
      badge: isKernel ? TEXT.native.kernelBadge : library !== "" || isNative ? TEXT.native.badge : "",
      hasSource: !folded && hasSource(profile, id),
    };
    frames.labels[frame] = label;
  }
  return label;
}
