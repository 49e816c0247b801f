// Everything about one frame: the hovered one, else the selected one, else the zoomed one.

import { FLAME_VIEWS } from "../model/address.js";
import { stateLabel } from "../model/chips.js";
import { formatCount, formatDuration, formatShare, isKnown, ratio, wilsonInterval } from "../model/numbers.js";
import { stackText } from "../model/folded.js";
import { exactPattern } from "../model/filter.js";
import { exactSearch } from "../model/search.js";
import { rangeText } from "../model/timeline.js";
import { el, icon, isolated, pathText } from "./dom.js";
import { ICONS } from "./icons.js";

const CALLERS_MAX = 200;

function intervalText(samples, sum) {
  const { low, high } = wilsonInterval(samples, sum);
  return isKnown(low) ? formatShare(low).replace(/ %$/, "") + " – " + formatShare(high) : "";
}

// One thread looked at R times a second: a sample stands for 1/R seconds of that thread.
function estimatedTime(samples, session) {
  const rate = session?.quality?.rate_hz;
  return rate > 0 ? formatDuration(samples / rate) : formatDuration(NaN);
}

function measure(name, meaning, samples, sum, session, testid) {
  return el("div", { class: "measure" },
    el("dt", { "data-hint": meaning, tabindex: "0" }, name),
    el("dd", {},
      el("strong", { "data-testid": testid + "-share" }, formatShare(ratio(samples, sum))),
      el("span", { "data-testid": testid + "-samples" }, formatCount(samples) + (samples === 1 ? " sample" : " samples")),
      el("span", { class: "soft", "data-hint": "Estimated time of the threads seen there, added up: samples divided by the rate" }, "≈ " + estimatedTime(samples, session)),
      el("span", { class: "soft", "data-hint": "95 % interval of the share, as the samples are only some of all moments" }, intervalText(samples, sum))));
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
  const who = chosen.length === 0 ? "all threads" : chosen.length === 1 ? "the chosen thread" : "the " + chosen.length + " chosen threads";
  const doing = state.address.states.length === 0 ? "" : ", " + stateLabel(state.address.states).replace(/^[A-Z](?![A-Z])/, (first) => first.toLowerCase());
  const when = state.address.range === null ? "" : ", " + rangeText(state.address.range);
  return "of " + formatCount(state.picture.sum) + " samples of " + who + doing + when;
}

function callerStep(frame, dispatch, keys) {
  const zoom = () => dispatch({ type: "address", changes: { zoom: keys, frame: keys }, how: "push" });
  return el("li", {}, el("button", { type: "button", class: "caller", on: { click: zoom } }, isolated(frame.label.name), pathText(frame.label.place, { class: "place" })));
}

function callersList(path, keys, state, dispatch) {
  const items = path.slice(0, -1).map((frame, i) => callerStep(frame, dispatch, keys.slice(0, i + 1))).reverse();
  const more = items.length - CALLERS_MAX;
  const shown = more > 0 ? [...items.slice(0, CALLERS_MAX), el("li", { class: "soft" }, formatCount(more) + " more")] : items;
  const title = state.address.inverted ? "Called by this frame on the way to the running function" : "Called from";
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

  function copyStack(path, inverted) {
    const labels = path.map((frame) => frame.label);
    dispatch({ type: "copy", text: stackText(inverted ? labels : labels.reverse()), note: "Stack copied" });
  }

  function find(label) {
    dispatch({ type: "address", changes: { search: exactSearch(label.raw) }, how: "push" });
  }

  // The filters of frames that this one suggests.
  function filterButtons(label) {
    const pattern = "function:" + exactPattern(label.raw);
    const button = (verb, text) => el("button", { type: "button", class: "link", on: { click: () => dispatch({ type: "filter", text: verb + " " + pattern }) } }, text);
    return el("p", { class: "filter-ways" }, el("span", { class: "soft" }, "Filter: "), button("focus", "focus"), button("show", "show"), button("hide", "hide"), button("merge", "merge"));
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
      el("h2", { class: "plain" }, byLine ? "Hottest lines" : "Hottest functions"),
      el("p", { class: "soft" }, "by samples of their own"),
      el("ol", { class: "hottest-list", "data-testid": "hottest" }, ...rows),
      el("p", { class: "soft hint-text" }, "Point at a frame to see what it is; click to zoom into it."),
    ];
  }

  function content(state, id) {
    const { picture, session } = state;
    const frame = picture.describe(id);
    const path = picture.pathTo(id);
    const own = state.address.inverted
      ? null
      : measure("Own", "Samples in which this frame itself was running, not something it called", frame.self, picture.sum, session, "self");
    const total = state.address.inverted
      ? measure("Through here", "Samples of the running function that came through these callers", frame.total, picture.sum, session, "total")
      : measure("Total", "Samples with this frame on the stack at this place", frame.total, picture.sum, session, "total");
    const within = picture.focus.id !== 0 && String(picture.focus.id) !== id
      ? el("p", { class: "soft" }, formatShare(ratio(frame.total, picture.focusTotal)) + " of the zoomed frame")
      : null;
    const copy = el("button", { type: "button", class: "quiet wide", "data-testid": "copy-stack", on: { click: () => copyStack(path, state.address.inverted) } }, icon(ICONS.copy), el("span", {}, "Copy stack"));
    return [
      el("h2", { "data-testid": "details-name" }, isolated(frame.label.name)),
      el("p", { class: "place", "data-testid": "details-place" }, pathText(frame.label.place === "" ? (frame.label.synthetic ? "not Python code" : "unknown file") : frame.label.place)),
      el("dl", { class: "measures" }, total, own),
      el("p", { class: "soft scope" }, scopeText(state)),
      within,
      copy,
      frame.key === "" ? null : el("button", { type: "button", class: "quiet wide", "data-testid": "open-sandwich", on: { click: () => dispatch({ type: "address", changes: { view: "sandwich", about: frame.key }, how: "push" }) } }, el("span", {}, "⇅"), el("span", {}, "Callers and callees")),
      filterButtons(frame.label),
      callersList(path, picture.keysTo(id), state, dispatch),
    ].filter((part) => part !== null);
  }

  return {
    update(state) {
      root.hidden = !FLAME_VIEWS.includes(state.address.view);
      const id = shownId(state);
      const signature = [id, state.recordingVersion, state.address.by, state.address.inverted, state.picture.focus.id, state.picture.sum, state.address.states, state.address.range?.from, state.address.range?.to, state.session?.quality?.rate_hz].join(" ");
      if (signature === shown || root.hidden || (isInUse() && shownFrame === id)) return;
      shown = signature;
      shownFrame = id;
      const top = root.scrollTop;
      root.replaceChildren(...(id === null ? overview(state) : content(state, id)));
      root.scrollTop = top;
    },
  };
}
