// The rest of the summary in the panel, where no frame is chosen: the parts of time, the GIL, garbage collection, native code.
// The lines and functions of the summary stand above the graph and above this.

import { formatShare } from "../../model/base/numbers.js";
import { baseName, visibleText } from "../../model/base/text.js";
import { isOfMore } from "../../model/page/state.js";
import { partShares } from "../../model/threads/activity.js";
import { TEXT } from "../../text/session.js";
import { el, icon, isolated } from "../elements/dom.js";
import { ICONS } from "../elements/icons.js";

const NAMED_MAX = 3;
// A smaller share of garbage collection is no answer.
const GC_LEAST = 0.01;

// "time.sleep 51 %, Queue.get 12 %": names stay apart from what is around them.
function named(rows, nameOf) {
  return rows.slice(0, NAMED_MAX).flatMap((row,
    i) => [i === 0 ? "" : ", ", isolated(visibleText(nameOf(row))), " " + formatShare(row.share)]
  );
}

// Who held the GIL; how much it was needed, the bar says.
function gilParts({ gil }) {
  if (gil === null) return [TEXT.summary.noGil];
  if (gil.holder === null) return [];
  const { name, tid, share } = gil.holder;
  return [isolated(name === "" ? TEXT.summary.thread(tid) : visibleText(name)), TEXT.summary.holds(formatShare(share))];
}

// The rows of a summary as GET /summary answers it, and of the parts of time (null: of something else), as the bar has them: [[label, [parts of the value]]].
function rowsOf(summary, sums) {
  const { native } = summary;
  const rows = sums === null
    ? []
    : [[TEXT.summary.time, [
      partShares(sums).map(({ label, share }) => formatShare(share) + " " + label).join(", ") + ".",
    ]]];
  if (gilParts(summary).length > 0) rows.push([TEXT.summary.gil, gilParts(summary)]);
  if (summary.gc_share >= GC_LEAST) rows.push([TEXT.summary.gc, [TEXT.summary.ofHot(formatShare(summary.gc_share))]]);
  if (native.libraries.length > 0)
    rows.push([TEXT.summary.native, named(native.libraries, (row) => baseName(row.path))]);
  return rows;
}

// Whoever opens it finds it open when its numbers change.
let isOpen = false;

// -> elements; none before there is a summary with samples.
export function summaryParts(state, dispatch) {
  const { summary } = state;
  if (summary === null || summary.observed.samples === 0) return [];
  const sums = isOfMore(state) ? null : state.picture.sums;
  const copy = el("button", { type: "button", class: "quiet wide", "data-testid": "copy-summary",
    on: { click: () => dispatch({ type: "copySummary" }) } }, icon(ICONS.copy), el("span", {}, TEXT.summary.copy));
  // A number and its sign stay on one line.
  const unbroken = (part) => (typeof part === "string" ? part.replace(/(\d) %/g, "$1\u00a0%") : part);
  const rows = rowsOf(summary, sums).flatMap((
    [label, parts],
  ) => [el("dt", {}, label), el("dd", {}, ...parts.map(unbroken))]);
  const title = summary.ofReport ? TEXT.summary.ofReport : TEXT.summary.title;
  return [
    el("details", { class: "summary", "data-testid": "summary", open: isOpen,
      on: { toggle: (event) => (isOpen = event.target.open) } }, el("summary", {}, title), el("dl", {}, ...rows), copy),
  ];
}
