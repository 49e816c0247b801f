// The head of a stack chart, and the words for what is in it.

import { formatCount, formatDuration, formatShare } from "../../model/base/numbers.js";
import { fineTime, isFollowing, wholeSpan } from "../../model/page/stack-span.js";
import { PART_LABELS } from "../../model/threads/activity.js";
import { threadKeyOf, threadPlace } from "../../model/threads/threads.js";
import { runAt, unorderedParts } from "../../model/trees/stacks.js";
import { CHART_TEXT } from "../../text/charts.js";
import { TEXT } from "../../text/session.js";
import { el, icon, placeNear, setText } from "../elements/dom.js";
import { ICONS } from "../elements/icons.js";

const ZOOM_FACTOR = 2;
const TEXT_STEP_S = 0.001;

export const stackSpanText = ({ from, to }) => fineTime(from, TEXT_STEP_S) + " – " + fineTime(to, TEXT_STEP_S);

// The thread, the zoom and what is to be said of the chart: {element, read(text), update(state, span)}.
export function createStackHead(dispatch, changeSpan) {
  const thread = el("select", { "aria-label": CHART_TEXT.stacks.thread, "data-testid": "stacks-thread", on: {
    change: () =>
      dispatch({ type: "address", changes: { threads: [threadKeyOf(listed[thread.selectedIndex])] }, how: "push" }),
  } });
  const button = (testid, mark, text, hint, click) =>
    el("button", { type: "button", class: "quiet", "data-testid": testid, "aria-label": text, "data-hint": hint,
      on: { click } }, mark);
  const closer = button("stacks-in", icon(ICONS.plus), CHART_TEXT.stacks.zoomIn, CHART_TEXT.stacks.zoomInHint,
    () => changeSpan(1 / ZOOM_FACTOR));
  const wider = button("stacks-out", icon(ICONS.minus), CHART_TEXT.stacks.zoomOut, CHART_TEXT.stacks.zoomOutHint,
    () => changeSpan(ZOOM_FACTOR));
  const whole = button("stacks-whole", CHART_TEXT.stacks.whole, CHART_TEXT.stacks.whole, CHART_TEXT.stacks.wholeHint,
    () => changeSpan(null));
  const follow = button("stacks-follow", CHART_TEXT.stacks.follow, CHART_TEXT.stacks.follow,
    CHART_TEXT.stacks.followHint, () => {
    dispatch({ type: "stackSpan", span: null });
    dispatch({ type: "zoomTimeline", range: null });
    dispatch({ type: "address", changes: { range: null }, how: "push" });
  });
  const said = el("span", { class: "stacks-span" });
  const busiest = el("span", { class: "stacks-busiest", "data-testid": "stacks-busiest" }, CHART_TEXT.stacks.busiest);
  const readout = el("span", { class: "strip-read", "data-testid": "stacks-read" });
  const note = el("p", { class: "stacks-note", "data-testid": "stacks-note", role: "status", hidden: true });
  let listed = [];
  let shown = "";
  return {
    element: el("div", { class: "stacks-head" },
      el("div", { class: "stacks-tools" }, thread, busiest, said, closer, wider, whole, follow, readout), note),
    read: (text) => setText(readout, text),
    update(state, span, noteText) {
      const { threads, stackThread, stacks } = state.picture;
      listed = threads.filter((one) => !one.tasks);
      const names = listed.map((one) => threadPlace(one, threads) + "  " + one.tid);
      if (names.join("\n") !== shown) {
        shown = names.join("\n");
        thread.replaceChildren(...names.map((name) => el("option", {}, name)));
      }
      thread.selectedIndex = listed.indexOf(stackThread);
      setText(said, stackSpanText(span) + (isFollowing(state) ? ", " + CHART_TEXT.stacks.following : ""));
      busiest.hidden = !stacks.isBusiest;
      follow.hidden = !state.live || state.session?.state !== "running" || isFollowing(state);
      const all = wholeSpan(state);
      whole.hidden = span.from <= all.from && span.to >= all.to;
      setText(note, noteText);
      note.hidden = noteText === "";
    },
  };
}

// The tip under the pointer: {element, hide(), show(pointer, lines)}.
export function createStackTip() {
  const element = el("div", { class: "tip", hidden: true, "data-testid": "stacks-tip" });
  return {
    element,
    hide() {
      element.hidden = true;
    },
    show(pointer, [name, ...lines]) {
      element.hidden = false;
      element.replaceChildren(el("bdi", { class: "tip-name" }, name),
        ...lines.filter((line) => line !== "").map((line) => el("span", { class: "tip-numbers" }, line)));
      placeNear(element, pointer);
    },
  };
}

// The note above the chart: how far it is in order.
export function stackNote({ live, hasTimes, picture: { stacks } }, span) {
  if (!live && !hasTimes) return CHART_TEXT.stacks.noTimes;
  if (stacks.layout === null) return CHART_TEXT.stacks.loading;
  const parts = unorderedParts(stacks.layout, span);
  if (parts.length === 0) return stacks.layout.shown.length === 0 ? CHART_TEXT.stacks.nothing : "";
  if (!live) return CHART_TEXT.stacks.inReport;
  const known = stacks.layout.shown.reduce(
    (sum, i) =>
      sum
      + Math.max(0, Math.min(span.to, stacks.layout.runs.end[i]) - Math.max(span.from, stacks.layout.runs.start[i])),
    0,
  );
  return CHART_TEXT.stacks.unordered(formatShare(parts.reduce((sum, part) => sum + part.to - part.from, 0) / known));
}

// The lines of the tip for a box, at a time.
export function boxLines({ layout, faceOf }, { level, index }, time) {
  const { start, end, group } = layout.levels[level];
  const run = runAt(layout, time);
  const joined = run >= 0 ? layout.runs.runs[run] : 1;
  return [
    faceOf(group[index]).label,
    formatDuration(end[index] - start[index]) + "  ·  " + stackSpanText({ from: start[index], to: end[index] }),
    run < 0 ? "" : PART_LABELS[layout.runs.part[run]].label,
    joined > 1 ? CHART_TEXT.stacks.joined(formatCount(joined)) : "",
    run >= 0 && !layout.runs.ordered[run] ? CHART_TEXT.stacks.unknownOrder : "",
  ];
}
