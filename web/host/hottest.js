// Above the processes: the hottest functions of the whole host, or why nothing is known of them.

import { formatCount, formatDuration, formatShare, ratio } from "../model/base/numbers.js";
import { visibleText } from "../model/base/text.js";
import { activityLink, activityPlace, sampledRange } from "../model/host/activity.js";
import { programName } from "../model/host/processes.js";
import { HOST_TEXT } from "../text/host.js";
import { el, isInUse, isolated, setAttribute, setText } from "../view/elements/dom.js";

const SHOWN = 6;

function createEntry() {
  const fill = el("i", {});
  const share = el("span", { class: "share" });
  const name = isolated("", { class: "hot-name" });
  const place = isolated("", { class: "hot-place" });
  const process = isolated("", { class: "hot-process" });
  const link = el("a", { class: "hot-function", "data-testid": "hot-function" }, share,
    el("span", { class: "bar", "aria-hidden": "true" }, fill), el("span", { class: "hot-words" }, name, " ", place),
    process);
  return { element: el("li", {}, link), link, fill, share, name, place, process };
}

function fillEntry(entry, found, activity, named) {
  const { name, place } = activityPlace(found);
  const share = ratio(found.seconds, activity.running_s);
  const one = named.get(found.pid) ?? HOST_TEXT.activity.process(found.pid);
  const where = found.processes > 1 ? HOST_TEXT.activity.inSome(one, formatCount(found.processes)) : one;
  entry.fill.style.width = 100 * ratio(found.seconds, activity.functions[0].seconds) + "%";
  setText(entry.share, formatShare(share));
  setText(entry.name, visibleText(name));
  setText(entry.place, visibleText(place, ""));
  setText(entry.process, visibleText(where));
  setAttribute(entry.link, "href", activityLink(activity, found.processes > 1 ? null : found.pid, found));
  setAttribute(entry.link, "title",
    HOST_TEXT.activity.functionTitle(visibleText(name), visibleText(found.file + ":" + found.line),
      formatDuration(found.seconds)));
}

function rangeWords(seconds) {
  return seconds >= 60 && seconds % 60 === 0
    ? HOST_TEXT.activity.minutes(String(seconds / 60))
    : formatDuration(seconds);
}

// A reason as the server words it for a terminal.
const sentence = (text) => text.charAt(0).toUpperCase() + text.slice(1).replace(/\.?$/, ".");

export function createHottest(root) {
  const note = el("span", { class: "soft" });
  const entries = Array.from({ length: SHOWN }, createEntry);
  const list = el("ol", { class: "hot-list" }, ...entries.map((entry) => entry.element));
  const off = el("p", { class: "soft", role: "status", "data-testid": "activity-off" });
  const element = el("section", { class: "hottest-functions", "data-testid": "hottest-functions",
    "aria-label": HOST_TEXT.activity.functions },
    el("div", { class: "hot-head" }, el("h2", {}, HOST_TEXT.activity.functions), note), list, off);
  root.append(element);

  return {
    update(state) {
      const { activity } = state;
      element.hidden = state.tab !== "processes" || activity === null || state.processes === null;
      if (element.hidden) return;
      const isOn = activity.session !== null;
      const found = activity.functions.slice(0, SHOWN);
      list.hidden = found.length === 0;
      setText(off, isOn
        ? (found.length === 0 ? HOST_TEXT.activity.idle : "")
        : visibleText(activity.reason ? sentence(activity.reason) : HOST_TEXT.activity.beginning));
      setText(note, isOn
        ? HOST_TEXT.activity.note(rangeWords(sampledRange(activity)), formatCount(activity.processes.length))
          + (activity.left_out > 0 ? HOST_TEXT.activity.leftOut(formatCount(activity.left_out)) : "")
        : "");
      if (isInUse(list)) return;
      const named = new Map(state.processes.map((process) => [process.pid, programName(process.command).name]));
      entries.forEach((entry, i) => {
        entry.element.hidden = i >= found.length;
        if (i < found.length) fillEntry(entry, found[i], activity, named);
      });
    },
  };
}
