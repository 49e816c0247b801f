// Frames as people see them: a function, or one line of a function. Frame 0 is the root.

import { addPair, createPairs, findPair } from "../base/pairs.js";
import { baseName, hashText, visibleText } from "../base/text.js";

const HUES = 7;
const PACKAGE = /(?:^|\/)(?:site|dist)-packages\/([^/]+)/;
const STANDARD_LIBRARY = /(?:^|\/)lib(?:64)?\/python\d[^/]*\/|^<frozen /;

export function createFrames(byLine) {
  return { byLine, function: [0], line: [0], index: createPairs(), keys: [], labels: [] };
}

// The frame of (function, line): the line counts only when frames are lines.
export function frameOf(frames, functionId, line) {
  const shown = frames.byLine ? line : 0;
  const known = findPair(frames.index, functionId, shown);
  if (known !== 0 || (functionId === 0 && shown === 0)) return known;
  const frame = frames.function.push(functionId) - 1;
  frames.line.push(shown);
  addPair(frames.index, functionId, shown, frame);
  return frame;
}

// The frame of a function where frames are functions, or 0.
export function frameOfFunction(frames, functionId) {
  return findPair(frames.index, functionId, 0);
}

export function functionText(profile, functionId) {
  return profile.strings[profile.functionName.values[functionId]];
}

export function fileText(profile, functionId) {
  return profile.strings[profile.functionFile.values[functionId]];
}

// What a link calls this frame: the same in every session that runs the same source.
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

export function isSynthetic(profile, functionId) {
  return fileText(profile, functionId) === "~" && functionText(profile, functionId).startsWith("<");
}

// Where code comes from: {kind: "synthetic" | "library" | "package" | "own", name}
export function originOf(profile, functionId) {
  if (isSynthetic(profile, functionId)) return { kind: "synthetic", name: "" };
  const file = fileText(profile, functionId);
  const packaged = PACKAGE.exec(file);
  if (packaged) return { kind: "package", name: packaged[1].replace(/\.py$/, "") };
  if (STANDARD_LIBRARY.test(file)) return { kind: "library", name: "Python" };
  return { kind: "own", name: file };
}

// What runs in C is as hot as anything; what merely stands for something else is not.
const RUNS = /^<(?:native|GC)>/;

function hueOf(origin) {
  if (origin.kind === "synthetic") return "none";
  if (origin.kind === "library") return "library";
  return String(hashText(origin.name) % HUES);
}

// Everything the page says about a frame, made once: {raw, name, place, file, label, synthetic, runs, hue}.
export function frameLabel(frames, profile, frame) {
  let label = frames.labels[frame];
  if (label === undefined) {
    const id = frames.function[frame];
    const origin = originOf(profile, id);
    const synthetic = origin.kind === "synthetic";
    const line = frames.line[frame] || profile.functionLine.values[id];
    const file = visibleText(fileText(profile, id), "");
    const short = baseName(file);
    const at = frames.byLine && line > 0 ? short + ":" + line : short;
    const name = visibleText(functionText(profile, id));
    label = {
      raw: functionText(profile, id),
      name,
      file: synthetic ? "" : file,
      line,
      place: synthetic || file === "" ? "" : file + (line > 0 ? ":" + line : ""),
      label: synthetic || short === "" ? name : name + "  " + at,
      synthetic,
      runs: !synthetic || RUNS.test(name),
      hue: hueOf(origin),
    };
    frames.labels[frame] = label;
  }
  return label;
}
