// The rest of the summary in the panel, where no frame is chosen: the parts of time, what waits, the GIL, garbage collection, native code, data quality.
// The lines and functions of the summary stand above the graph and above this.

import { formatShare, ratio } from "../../model/base/numbers.js";
import { baseName, visibleText } from "../../model/base/text.js";
import { PART_LABELS } from "../../model/threads/activity.js";
import { TEXT } from "../../text/session.js";
import { el, icon, isolated } from "../elements/dom.js";
import { ICONS } from "../elements/icons.js";

const NAMED_MAX = 3;
// A smaller share of garbage collection is no answer.
const GC_LEAST = 0.01;
const C_FUNCTION = /^<native> (?=.)/;

// "time.sleep 51 %, Queue.get 12 %": names stay apart from what is around them.
function named(rows, nameOf) {
  return rows.slice(0, NAMED_MAX).flatMap((row, i) => [i === 0 ? "" : ", ", isolated(visibleText(nameOf(row))), " " + formatShare(row.share)]);
}

// What threads wait for, with the peer if there is one; without causes, the functions that wait.
function waitParts({ causes, functions }) {
  const known = causes.filter(({ cause }) => cause !== "unknown");
  if (known.length === 0) return named(functions, (row) => row.name.replace(C_FUNCTION, ""));
  return named(known, (row) => [row.title, ...row.peers.slice(0, 1).map(({ peer }) => peer)].join(" "));
}

// Who held the GIL; how much it was needed, the bar says.
function gilParts({ gil }) {
  if (gil === null) return [TEXT.summary.noGil];
  if (gil.holder === null) return [];
  const { name, tid, share } = gil.holder;
  return [isolated(name === "" ? TEXT.summary.thread(tid) : visibleText(name)), TEXT.summary.holds(formatShare(share))];
}

// The rows of a summary as GET /summary answers it, and of the parts of time: [[label, [parts of the value]]]. The parts are those of the bar.
function rowsOf(summary, sums) {
  const { waiting, native } = summary;
  const parts = sums.parts.map((samples, part) => ratio(samples, sums.parts.reduce((all, one) => all + one, 0)));
  const rows = [[TEXT.summary.time, [PART_LABELS.map(({ label }, part) => formatShare(parts[part]) + " " + label).join(", ") + "."]]];
  if (waiting.samples > 0) rows.push([TEXT.summary.waits, [...waitParts(waiting), "."]]);
  if (gilParts(summary).length > 0) rows.push([TEXT.summary.gil, gilParts(summary)]);
  if (summary.gc_share >= GC_LEAST) rows.push([TEXT.summary.gc, [TEXT.summary.ofHot(formatShare(summary.gc_share))]]);
  if (native.libraries.length > 0) rows.push([TEXT.summary.native, named(native.libraries, (row) => baseName(row.path))]);
  rows.push([TEXT.summary.quality, [summary.quality.text + "."]]);
  return rows;
}

// -> elements; none before there is a summary with samples.
export function summaryParts(summary, sums, dispatch) {
  if (summary === null || summary.observed.samples === 0) return [];
  const copy = el("button", { type: "button", class: "quiet wide", "data-testid": "copy-summary", on: { click: () => dispatch({ type: "copySummary" }) } }, icon(ICONS.copy), el("span", {}, TEXT.summary.copy));
  // A number and its sign stay on one line.
  const unbroken = (part) => (typeof part === "string" ? part.replace(/(\d) %/g, "$1\u00a0%") : part);
  const rows = rowsOf(summary, sums).flatMap(([label, parts]) => [el("dt", {}, label), el("dd", {}, ...parts.map(unbroken))]);
  const title = summary.ofReport ? TEXT.summary.ofReport : TEXT.summary.title;
  return [el("section", { class: "summary", "data-testid": "summary", "aria-label": title }, el("h2", { class: "plain" }, title), el("dl", {}, ...rows), copy)];
}
