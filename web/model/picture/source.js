// Samples by file and line.

import { distinctNames } from "../base/text.js";
import { memoise } from "../base/memoise.js";
import { lineNeighbours, sourceLines, sourcePaths } from "../code/lines.js";
import { frameLabel } from "../profile/frames.js";
import { groupTotals } from "../trees/grouping.js";
import { functionKey } from "./functions.js";

const TOP_LINES = 20;

// Files and lines: {files, others, top (lines), names (Map of path -> short name), nameOf(line), describe(frame), neighbours(line or function)}.
function makeSource(recording, version, grouping) {
  const totals = groupTotals(grouping, recording.counts);
  const labelOf = (frame) => frameLabel(grouping.frames, recording.profile, frame);
  const { files, others, top } = totals.sum === 0 ? { files: [], others: [], top: () => [] } : sourceLines(grouping, recording.profile, totals, groupTotals(grouping, recording.inJit));
  return {
    files,
    others,
    top: top(TOP_LINES),
    names: distinctNames(files.map((file) => file.path)),
    nameOf: (line) => (line === undefined ? "" : labelOf(line.frames[0]).name),
    describe: (frame) => ({ label: labelOf(frame), key: functionKey(recording, grouping, frame) }),
    neighbours: ({ frames }) => lineNeighbours(grouping, totals, frames),
  };
}

export function sourceSelectors() {
  const sourceOf = memoise(makeSource);
  const pathsOf = memoise((profile, count) => sourcePaths(profile));
  return {
    source: ({ recording, version, address, groupingBy }) => (address.view === "source" ? sourceOf(recording, version, groupingBy("line")) : null),
    // The files of all functions.
    paths: ({ profile }) => pathsOf(profile, profile.functionName.length),
  };
}
