// Everything about one frame: the hovered one, else the selected one, else the zoomed one.

import { FLAME_VIEWS } from "../../model/page/address.js";
import { stateLabel } from "../../model/filters/chips.js";
import { formatCount, formatDuration, formatShare, isKnown, ratio } from "../../model/base/numbers.js";
import { stackText } from "../../model/profile/folded.js";
import { exactPattern, FILTER_VERBS } from "../../model/filters/filter.js";
import { exactSearch } from "../../model/filters/search.js";
import { rangeText } from "../../model/time/timeline.js";
import { TEXT } from "../../text/session.js";
import { el, icon, isolated, pathText } from "../elements/dom.js";
import { ICONS } from "../elements/icons.js";

const CALLERS_MAX = 200;

function shownInterval({ low, high }) {
  return isKnown(low) ? formatShare(low).replace(/ %$/, "") + " – " + formatShare(high) : "";
}

// At R ticks a second a sample stands for 1/R seconds of its thread.
function estimatedTime(samples, session) {
  const rate = session?.quality?.achieved_hz;
  return rate > 0 ? formatDuration(samples / rate) : formatDuration(NaN);
}

function measure(name, meaning, samples, sum, interval, session, testid) {
  return el("div", { class: "measure" },
    el("dt", { "data-hint": meaning, tabindex: "0" }, name),
    el("dd", {},
      el("strong", { "data-testid": testid + "-share" }, formatShare(ratio(samples, sum))),
      el("span", { "data-testid": testid + "-samples" }, TEXT.samples(formatCount(samples))),
      el("span", { class: "soft", "data-hint": TEXT.details.timeHint }, "≈ " + estimatedTime(samples, session)),
      el("span", { class: "soft", "data-hint": TEXT.details.intervalHint }, shownInterval(interval))));
}

function shownId(state) {
  const { drawing, selected, focus } = state.picture;
  const hovered = state.hover === null ? undefined : drawing?.byId.get(state.hover)?.frame;
  if (hovered !== undefined && !hovered.remainder && hovered.id !== "0") return hovered.id;
  if (selected !== null) return selected;
  return focus.id === 0 ? null : String(focus.id);
}

function scopeText(state) {
  const { chosen } = state.picture.chosen;
  const who = chosen.length === 0 ? TEXT.details.allThreads : chosen.length === 1 ? TEXT.details.oneThread : TEXT.details.someThreads(chosen.length);
  const doing = state.address.states.length === 0 ? "" : stateLabel(state.address.states).replace(/^[A-Z](?![A-Z])/, (first) => first.toLowerCase());
  const when = state.address.range === null ? "" : rangeText(state.address.range);
  return TEXT.details.scope(formatCount(state.picture.sum), who, doing, when);
}

function callerStep(frame, dispatch, keys) {
  const zoom = () => dispatch({ type: "address", changes: { zoom: keys, frame: keys }, how: "push" });
  return el("li", {}, el("button", { type: "button", class: "caller", on: { click: zoom } }, isolated(frame.label.name), pathText(frame.label.place, { class: "place" })));
}

function callersList(path, keys, state, dispatch) {
  const items = path.slice(0, -1).map((frame, i) => callerStep(frame, dispatch, keys.slice(0, i + 1))).reverse();
  const more = items.length - CALLERS_MAX;
  const shown = more > 0 ? [...items.slice(0, CALLERS_MAX), el("li", { class: "soft" }, TEXT.details.more(formatCount(more)))] : items;
  const title = state.address.bottomUp ? TEXT.details.callees : TEXT.details.callers;
  if (items.length === 0) return null;
  return el("section", {}, el("h3", {}, title), el("ol", { class: "callers", "data-testid": "callers" }, ...shown));
}

export function createDetails(root, dispatch) {
  root.dataset.testid = "details";
  let shown = null;
  let shownFrame = null;

  // Someone reads or copies here, or is about to press: numbers may wait, the text must not change beneath them.
  function isInUse() {
    const selection = document.getSelection();
    const selecting = selection !== null && !selection.isCollapsed && root.contains(selection.anchorNode);
    return selecting || root.contains(document.activeElement) || root.matches(":active");
  }

  function copyStack(path, bottomUp) {
    const labels = path.map((frame) => frame.label);
    dispatch({ type: "copy", text: stackText(bottomUp ? labels : labels.reverse()), note: TEXT.details.copied });
  }

  function find(label) {
    dispatch({ type: "address", changes: { search: exactSearch(label.raw) }, how: "push" });
  }

  // The filters of frames that this one suggests.
  function filterButtons(label) {
    const pattern = "function:" + exactPattern(label.raw);
    const button = (verb) => el("button", { type: "button", class: "link", "data-hint": TEXT.filters.meanings[verb], on: { click: () => dispatch({ type: "filter", text: verb + " " + pattern }) } }, verb);
    return el("p", { class: "filter-ways" }, el("span", { class: "soft" }, TEXT.details.filter), ...FILTER_VERBS.map(button));
  }

  function hottestRow(row, sum, most, byLine) {
    const fill = el("i", {});
    fill.style.width = (100 * row.self) / most + "%";
    const name = el("span", { class: "hottest-name" }, isolated(byLine ? row.label.label : row.label.name));
    return el("li", {}, el("button", { type: "button", class: "hottest", title: row.label.place, on: { click: () => find(row.label) } },
      name, el("span", { class: "share" }, formatShare(ratio(row.self, sum))), el("span", { class: "bar", "aria-hidden": "true" }, fill)));
  }

  // Nothing chosen: where the program spends its time, and how to go on.
  function overview(state) {
    const hottest = state.picture.hottest();
    if (hottest.length === 0) return [];
    const byLine = state.address.by === "line";
    const rows = hottest.map((row) => hottestRow(row, state.picture.sum, hottest[0].self, byLine));
    return [
      el("h2", { class: "plain" }, byLine ? TEXT.details.hottestLines : TEXT.details.hottestFunctions),
      el("p", { class: "soft" }, TEXT.details.bySelf),
      el("ol", { class: "hottest-list", "data-testid": "hottest" }, ...rows),
      el("p", { class: "soft hint-text" }, TEXT.details.howTo),
    ];
  }

  function content(state, id) {
    const { picture, session } = state;
    const frame = picture.describe(id);
    const path = picture.pathTo(id);
    // Bottom-up, a frame is of several stacks.
    const intervalOf = (number) => (state.address.bottomUp ? { low: NaN, high: NaN } : picture.intervalOf(Number(id), number));
    const self = state.address.bottomUp
      ? null
      : measure(TEXT.details.self, TEXT.details.selfHint, frame.self, picture.sum, intervalOf("groupSelf"), session, "self");
    const total = state.address.bottomUp
      ? measure(TEXT.details.via, TEXT.details.viaHint, frame.total, picture.sum, intervalOf("groupTotal"), session, "total")
      : measure(TEXT.details.total, TEXT.details.totalHint, frame.total, picture.sum, intervalOf("groupTotal"), session, "total");
    const within = picture.focus.id !== 0 && String(picture.focus.id) !== id
      ? el("p", { class: "soft" }, TEXT.details.ofZoomed(formatShare(ratio(frame.total, picture.focusTotal))))
      : null;
    const copy = el("button", { type: "button", class: "quiet wide", "data-testid": "copy-stack", on: { click: () => copyStack(path, state.address.bottomUp) } }, icon(ICONS.copy), el("span", {}, TEXT.details.copy));
    return [
      el("h2", { "data-testid": "details-name" }, isolated(frame.label.name)),
      el("p", { class: "place", "data-testid": "details-place" }, pathText(frame.label.place === "" ? (frame.label.synthetic ? TEXT.details.notPython : TEXT.details.noFile) : frame.label.place)),
      frame.label.library === "" ? null : el("p", { class: "soft", "data-testid": "details-library" }, TEXT.native.in + " ", isolated(frame.label.library), frame.label.hasSource ? "." : TEXT.native.noSource),
      el("dl", { class: "measures" }, total, self),
      el("p", { class: "soft scope" }, scopeText(state)),
      within,
      copy,
      frame.key === "" ? null : el("button", { type: "button", class: "quiet wide", "data-testid": "open-sandwich", on: { click: () => dispatch({ type: "address", changes: { view: "sandwich", about: frame.key }, how: "push" }) } }, el("span", {}, "⇅"), el("span", {}, TEXT.details.sandwich)),
      filterButtons(frame.label),
      callersList(path, picture.keysTo(id), state, dispatch),
    ].filter((part) => part !== null);
  }

  return {
    update(state) {
      root.hidden = !FLAME_VIEWS.includes(state.address.view);
      const id = shownId(state);
      const signature = [id, state.recordingVersion, state.address.by, state.picture.native, state.address.bottomUp, state.picture.focus.id, state.picture.sum, state.address.states, state.address.range?.from, state.address.range?.to, state.session?.quality?.achieved_hz].join(" ");
      if (signature === shown || root.hidden || (isInUse() && shownFrame === id)) return;
      shown = signature;
      shownFrame = id;
      const top = root.scrollTop;
      root.replaceChildren(...(id === null ? overview(state) : content(state, id)));
      root.scrollTop = top;
    },
  };
}
