// Panels beside the charts: the hottest functions, what threads waited and worked for, one function.

import { memoise } from "../base/memoise.js";
import { isCounted } from "../filters/filter.js";
import { contextShares } from "../profile/contexts.js";
import { frameLabel } from "../profile/frames.js";
import { WAIT_HUES } from "../profile/wait-causes.js";
import { waitShares } from "../profile/waits.js";
import { frameOfKey, functionKey, hottestFunctions } from "./functions.js";

// Shares of what threads waited for, or worked for, of the samples that the filters keep.
function makeShares(shares, recording, { filter, seen, groupOfNode }) {
  const counted = (node) => filter.terms.length === 0 || isCounted(seen.values[node], groupOfNode.values[node]);
  return shares(recording.profile, recording.counts, counted);
}

// The description of a function, wherever it is called: null when it has no samples.
function describeFunction(recording, functions, { self, total }, key) {
  const frame = frameOfKey(functions.frames, recording.profile, key);
  return frame === 0 || !(total[frame] > 0)
    ? null
    : { label: frameLabel(functions.frames, recording.profile, frame), key, frame, self: self[frame],
      total: total[frame] };
}

export function overviewSelectors() {
  const hottestOf = memoise(hottestFunctions);
  const waitsOf = memoise((recording, version, grouping) => makeShares(waitShares, recording, grouping));
  const contextsOf = memoise((recording, version, grouping) => makeShares(contextShares, recording, grouping));
  return {
    hottest: ({ recording, grouping, counts }) => hottestOf(recording, grouping, counts),
    waits: ({ recording, version, grouping }) => waitsOf(recording, version, grouping),
    contexts: ({ recording, version, grouping }) => contextsOf(recording, version, grouping),
    // Hues of wait-causes.js that are drawn.
    waitHues: (
      picture,
    ) => (picture.grouping.waits ? WAIT_HUES.filter((hue) => picture.waits.some((wait) => wait.hue === hue)) : []),
    // The function that the address is about.
    about: (
      picture,
    ) => (picture.address.about === ""
      ? null
      : describeFunction(picture.recording, picture.functionGrouping, picture.functionCounts, picture.address.about)),
    // All with samples, most total samples first: [{label, key}].
    functions: ({ recording, grouping, rows }) =>
      rows.slice().sort((a, b) => b.total - a.total).map(({ frame }) => ({
        label: frameLabel(grouping.frames, recording.profile, frame),
        key: functionKey(recording, grouping, frame),
      })),
  };
}
