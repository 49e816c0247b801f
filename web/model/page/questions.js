// The questions to the source that follow from the state: only the source knows threads, states and times apart.

import { chosenFile } from "../code/lines.js";
import { shownParts } from "../profile/parts.js";
import { chosenMeasure } from "./measures.js";

// threads: ids; none is all. `until` is the moment at which the page was paused.
export function questionOf({ address, paused, session, live }, threads) {
  const { range, took, baseline, view } = address;
  const measure = chosenMeasure({ address, session, live });
  // Parts and marks are of time.
  const parts = measure === null ? shownParts({ address, session }) : [];
  const states = measure === null ? address.states : [];
  const until = paused ? session?.elapsed_s ?? null : null;
  return { measure, threads, states, parts, from: range?.from ?? null, to: range?.to ?? null, took, until,
    baseline: view === "diff" ? baseline : null, against: view === "diff" ? address.against : null };
}

// The baseline that came with the report, or another session, unless a range of this session is the baseline: {session, selection, by (samples or time)}, or null.
export function otherBaseline({ session, address }) {
  return address.baseline === null || address.against !== null ? session?.baseline ?? null : null;
}

// The address names a baseline whose samples have not come yet.
export function isBaselineComing({ address, missing, recording }) {
  const isNamed = address.baseline !== null || (address.against !== null && address.against !== missing);
  return isNamed && recording.baseline.generation === 0 && recording.baseline.total === 0;
}

// True if both have one answer; a pause alone asks nothing.
export function isSameQuestion(a, b) {
  return ["measure", "threads", "states", "parts", "from", "to", "took", "baseline", "against"].every((part) =>
    JSON.stringify(a[part]) === JSON.stringify(b[part])
  );
}

// Functions that the heat map highlights: those that the search matches. Null: nothing.
export function searchedFor({ address: { view, search } }, picture) {
  return view === "heatmap" && search.trim() !== "" && picture.matched !== null
    ? { term: search, matched: picture.matched }
    : null;
}

// Whose instructions are shown: those of the file of the chosen line. Null: none.
export function openedFile({ address: { view, line, file } }, picture) {
  return view === "source" && line > 0 ? chosenFile(picture.source, file) ?? null : null;
}
