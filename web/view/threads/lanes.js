// Threads below each other over time: their states as a chart and as numbers.

import { formatCount, formatShare, ratio } from "../../model/base/numbers.js";
import { PARTS } from "../../model/profile/parts.js";
import { sumThreads } from "../../model/profile/states.js";
import { factText, isWithoutGil, partsText } from "../../model/threads/activity.js";
import { busiestThreads, threadKeyOf, threadLabel } from "../../model/threads/threads.js";
import { stackedLayers, timelineSpan } from "../../model/time/timeline.js";
import { TEXT } from "../../text/session.js";
import { el, isInUse, isolated, setAttribute, setText } from "../elements/dom.js";
import { createPlot } from "../time/strip.js";

export const LANES_MAX = 64;

// The threads that have a lane: those chosen, else the busiest.
export function laneThreads(state) {
  const { chosen } = state.picture.chosen;
  return busiestThreads(chosen.length > 0 ? chosen : state.picture.threads, state.threadStates, LANES_MAX);
}

function createLane(thread, choose) {
  const plot = createPlot();
  const name = el("button", { type: "button", class: "row-name", "data-hint": TEXT.threads.only,
    on: { click: () => choose(thread) } }, isolated(threadLabel(thread)));
  const number = () => el("td", { class: "number" });
  const numbers = { share: number(), parts: PARTS.map(number), gil: number() };
  const picture = el("div", { class: "lane-plot", role: "img" }, plot.root);
  const row = el("tr", { "data-testid": "lane", "data-tid": thread.tid },
    el("th", { scope: "row" }, name, el("span", { class: "tid" }, String(thread.tid))),
    el("td", { class: "lane-cell" }, picture), numbers.share, ...numbers.parts, numbers.gil);
  return { row, plot, picture, numbers, thread, shown: null, span: "" };
}

export function createLanes(root, dispatch) {
  const body = el("tbody", {});
  const caption = el("caption", {});
  const heads = TEXT.threads.lanes.map((text) => el("th", { scope: "col" }, text));
  const element = el("div", { class: "table", tabindex: "0", role: "region", "aria-label": TEXT.threads.label },
    el("table", { class: "lanes", "data-testid": "lanes" }, caption, el("thead", {}, el("tr", {}, ...heads)), body));
  root.append(element);
  let lanes = [];
  let arrangedFor = "";
  const keyOf = (thread) => thread.ids.join() + thread.name;
  const choose = (thread) =>
    dispatch({ type: "address", changes: { threads: [threadKeyOf(thread)], view: "flame" }, how: "push" });

  function fill(lane, state, span, samples) {
    const sums = sumThreads(state.threadStates, lane.thread.ids);
    const said = partsText(sums);
    setText(lane.numbers.share, formatShare(ratio(sums.samples, samples)));
    const withoutGil = isWithoutGil(state.session, sums);
    sums.parts.forEach((samples, part) =>
      setText(lane.numbers.parts[part],
        lane.thread.tasks ? TEXT.doing.notApplicable : formatShare(ratio(samples, sums.samples)))
    );
    setText(lane.numbers.gil, lane.thread.tasks ? TEXT.doing.notApplicable : factText(sums, "has_gil", withoutGil));
    setAttribute(lane.picture, "aria-label", said);
    setAttribute(lane.picture, "data-hint", said);
    const timeline = state.lanes.get(lane.thread.ids.join());
    const signature = span.from + " " + span.to;
    if (timeline === undefined || (timeline === lane.shown && signature === lane.span)) return;
    lane.shown = timeline;
    lane.span = signature;
    lane.plot.draw(stackedLayers(timeline, span));
  }

  // Lanes stay with their threads, and where they are for as long as somebody is among them and asks nothing else.
  function arrange(threads, question) {
    const known = new Map(lanes.map((lane) => [keyOf(lane.thread), lane]));
    const wanted = new Set(threads.map(keyOf));
    const held = question === arrangedFor && isInUse(body)
      ? lanes.filter((lane) => wanted.has(keyOf(lane.thread))).map((lane) => lane.thread)
      : [];
    const order = [...held, ...threads.filter((thread) => !held.some((other) => keyOf(other) === keyOf(thread)))];
    arrangedFor = question;
    lanes = order.map((thread) => known.get(keyOf(thread)) ?? createLane(thread, choose));
    if (lanes.length !== body.children.length || lanes.some((lane, i) => body.children[i] !== lane.row))
      body.replaceChildren(...lanes.map((lane) => lane.row));
  }

  return {
    update(state) {
      element.hidden = state.address.view !== "threads" || state.picture.threads.length === 0
        || state.picture.empty !== null;
      if (element.hidden) return;
      const threads = laneThreads(state);
      arrange(threads, JSON.stringify(state.address));
      const all = sumThreads(state.threadStates, []);
      setText(caption,
        TEXT.threads.lanesCaption(formatCount(threads.length), formatCount(state.picture.threads.length)));
      const span = state.timelineZoom ?? timelineSpan(state.timeline, null);
      for (const lane of lanes) fill(lane, state, span, all.samples);
    },
  };
}
