// The rest of the summary in the panel, where no frame is chosen: what waits, the GIL, garbage collection, native code, data quality.
// The lines and functions of the summary stand above the graph and above this.

import { formatShare } from "../../model/base/numbers.js";
import { baseName, visibleText } from "../../model/base/text.js";
import { TEXT } from "../../text/session.js";
import { el, icon, isolated } from "../elements/dom.js";
import { ICONS } from "../elements/icons.js";

const NAMED_MAX = 3;
// A smaller share of threads without a processor says nothing about the machine.
const RUNNABLE_LEAST = 0.05;
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

function gilText({ gil, hot }) {
  if (gil === null) return [TEXT.summary.noGil];
  const waited = gil.waited_share === null ? TEXT.summary.waitsUnknown : TEXT.summary.waited(formatShare(gil.waited_share));
  const holder = gil.holder === null ? [] : [" ", isolated(gil.holder.name === "" ? TEXT.summary.thread(gil.holder.tid) : visibleText(gil.holder.name)), TEXT.summary.holds(formatShare(gil.holder.share))];
  return [TEXT.summary.held(formatShare(gil.held_share), TEXT.summary.of[hot.of]) + waited, ...holder];
}

// The rows of a summary as GET /summary answers it: [[label, [parts of the value]]].
function rowsOf(summary) {
  const { waiting, native } = summary;
  const rows = [];
  if (waiting.samples > 0) rows.push([TEXT.summary.waits, [TEXT.summary.waitingShare(formatShare(waiting.share)), ...waitParts(waiting), ...(waiting.idle_share === null ? [] : [TEXT.summary.idle(formatShare(waiting.idle_share))]), "."]]);
  if (summary.runnable_share >= RUNNABLE_LEAST) rows.push([TEXT.summary.processors, [TEXT.summary.runnable(formatShare(summary.runnable_share), TEXT.summary.of[summary.hot.of])]]);
  rows.push([TEXT.summary.gil, gilText(summary)]);
  rows.push([TEXT.summary.gc, [TEXT.summary.ofHot(formatShare(summary.gc_share), TEXT.summary.of[summary.hot.of])]]);
  if (native.libraries.length > 0) rows.push([TEXT.summary.native, named(native.libraries, (row) => baseName(row.path))]);
  rows.push([TEXT.summary.quality, [summary.quality.text + "."]]);
  return rows;
}

// -> elements; none before there is a summary with samples.
export function summaryParts(summary, dispatch) {
  if (summary === null || summary.observed.samples === 0) return [];
  const copy = el("button", { type: "button", class: "quiet wide", "data-testid": "copy-summary", on: { click: () => dispatch({ type: "copySummary" }) } }, icon(ICONS.copy), el("span", {}, TEXT.summary.copy));
  // A number and its sign stay on one line.
  const unbroken = (part) => (typeof part === "string" ? part.replace(/(\d) %/g, "$1\u00a0%") : part);
  const rows = rowsOf(summary).flatMap(([label, parts]) => [el("dt", {}, label), el("dd", {}, ...parts.map(unbroken))]);
  const title = summary.ofReport ? TEXT.summary.ofReport : TEXT.summary.title;
  return [el("section", { class: "summary", "data-testid": "summary", "aria-label": title }, el("h2", { class: "plain" }, title), el("dl", {}, ...rows), copy)];
}
