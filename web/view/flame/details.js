// Everything about one frame: the hovered one, else the selected one, else the zoomed one.

import { formatCount, formatInterval, formatShare, ratio } from "../../model/base/numbers.js";
import { visibleText } from "../../model/base/text.js";
import { nativePath } from "../../model/code/lines.js";
import { exactPattern, FILTER_VERBS } from "../../model/filters/filter.js";
import { selectionLabel } from "../../model/filters/selection.js";
import { PANEL_VIEWS } from "../../model/page/address.js";
import { mayOperate } from "../../model/page/state.js";
import { stackText } from "../../model/profile/folded.js";
import { shownParts } from "../../model/profile/parts.js";
import { waitWords } from "../../model/profile/wait-causes.js";
import { notesOf } from "../../model/time/range-notes.js";
import { rangeText } from "../../model/time/timeline.js";
import { TEXT } from "../../text/session.js";
import { el, icon, isolated, pathText } from "../elements/dom.js";
import { ICONS } from "../elements/icons.js";
import { offerMenu } from "../elements/menu.js";
import { createRangeNotes } from "./range-notes.js";
import { summaryParts } from "./summary.js";

const CALLERS_MAX = 200;
const WAITS_MAX = 8;
const CONTEXTS_MAX = 12;

const UNKNOWN_INTERVAL = { low: NaN, high: NaN };

function measure(name, meaning, samples, interval, { sum, countText, timeText }, testid) {
  return el("div", { class: "measure" }, el("dt", { "data-hint": meaning, tabindex: "0" }, name),
    el("dd", {}, el("strong", { "data-testid": testid + "-share" }, formatShare(ratio(samples, sum))),
      el("span", { "data-testid": testid + "-samples" }, countText(samples)),
      el("span", { class: "soft", "data-hint": TEXT.details.timeHint }, timeText(samples)),
      el("span", { class: "soft", "data-hint": TEXT.details.intervalHint }, formatInterval(interval))));
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
  const who = chosen.length === 0
    ? TEXT.details.allThreads
    : chosen.length === 1
    ? TEXT.details.oneThread
    : TEXT.details.someThreads(chosen.length);
  const doing = selectionLabel(shownParts(state), state.address.states);
  const when = state.address.range === null ? "" : rangeText(state.address.range);
  return TEXT.details.scope(state.picture.countText(state.picture.sum), who, doing, when);
}

function callerStep(frame, dispatch, keys) {
  const zoom = () => dispatch({ type: "address", changes: { zoom: keys, frame: keys }, how: "push" });
  return el("li", {},
    el("button", { type: "button", class: "caller", on: { click: zoom } }, isolated(frame.label.name),
      pathText(frame.label.near, { class: "place", title: frame.label.place })));
}

function callersList(path, keys, state, dispatch) {
  const items = path.slice(0, -1).map((frame, i) => callerStep(frame, dispatch, keys.slice(0, i + 1))).reverse();
  const more = items.length - CALLERS_MAX;
  const shown = more > 0
    ? [...items.slice(0, CALLERS_MAX), el("li", { class: "soft" }, TEXT.details.more(formatCount(more)))]
    : items;
  const title = state.address.bottomUp ? TEXT.details.callees : TEXT.details.callers;
  if (items.length === 0) return null;
  return el("section", {}, el("h3", {}, title), el("ol", { class: "callers", "data-testid": "callers" }, ...shown));
}

// The library of native code, and the way to its source, which is searched when somebody asks for it.
function nativeLine(label, live, dispatch) {
  if (label.library === "") return null;
  const open = () =>
    dispatch({ type: "address", changes: { view: "source", file: nativePath(label.file, label.raw), line: 0 },
      how: "push" });
  if (label.hue === "kernel")
    return el("p", { class: "soft", "data-testid": "details-library" }, TEXT.native.inKernel);
  const canOpen = live && !label.hasSource && label.name !== label.library;
  return el("p", { class: "soft", "data-testid": "details-library" }, TEXT.native.in + " ", isolated(label.library),
    label.hasSource || canOpen ? ". " : TEXT.native.noSource, canOpen
    ? el("button", { type: "button", class: "link", "data-testid": "open-native-source", on: { click: open } },
      TEXT.native.source)
    : null);
}

// A stack as text, from the frames of a path.
export function pathStack(path, bottomUp) {
  const labels = path.map((frame) => frame.label);
  return stackText(bottomUp ? labels : labels.reverse());
}

// The filters of frames that this one suggests.
function filterButtons(label, dispatch) {
  const pattern = label.wait === null
    ? "function:" + exactPattern(label.raw)
    : "wait:" + exactPattern(waitWords(label.wait));
  const button = (verb) =>
    el("button", { type: "button", class: "link", "data-hint": TEXT.filters.meanings[verb], on: { click: () =>
      dispatch({ type: "filter", text: verb + " " + pattern }) } }, verb);
  return el("p", { class: "filter-ways" }, el("span", { class: "soft" }, TEXT.details.filter),
    ...FILTER_VERBS.map(button));
}

function wide(testid, mark, text, click) {
  return el("button", { type: "button", class: "quiet wide", "data-testid": testid, on: { click } }, mark,
    el("span", {}, text));
}

// Details of a frame or a function; `total` and `self` are measures.
function aboutCode(frame, total, self, state, dispatch, others) {
  const { label, key } = frame;
  const go = (changes) => () => dispatch({ type: "address", changes, how: "push" });
  return [
    el("h2", { "data-testid": "details-name" }, isolated(label.name)),
    el("p", { class: "place", "data-testid": "details-place" },
      pathText(label.place === "" ? (label.synthetic ? TEXT.details.notPython : TEXT.details.noFile) : label.place)),
    nativeLine(label, state.live, dispatch),
    el("dl", { class: "measures" }, total, self),
    el("p", { class: "soft scope" }, scopeText(state)),
    label.hasSource
      ? wide("open-source", el("span", {}, "≡"), TEXT.details.source,
        go({ view: "source", file: label.path, line: label.line }))
      : null,
    key === ""
      ? null
      : wide("open-sandwich", el("span", {}, "⇅"), TEXT.details.sandwich, go({ view: "sandwich", about: key })),
    ...others,
    filterButtons(label, dispatch),
  ];
}

// The list of what threads wait for, where samples that wait are shown; a click keeps only those.
function waitsList({ picture }, dispatch) {
  const waits = picture.waits;
  if (waits.length === 0) return [];
  const rows = waits.slice(0, WAITS_MAX).map(({ text, name, idle, samples }) => {
    const fill = el("i", {});
    fill.style.width = (100 * samples) / waits[0].samples + "%";
    const keep = () => dispatch({ type: "filter", text: "focus wait:" + exactPattern(text) });
    return el("li", {},
      el("button", { type: "button", class: "hottest", "data-testid": "wait", "data-hint": TEXT.details.keepWait,
        on: { click: keep } },
        el("span", { class: "hottest-name" }, isolated(name),
          idle ? isolated(TEXT.details.idle, { class: "soft" }) : null),
        el("span", { class: "share" }, formatShare(ratio(samples, picture.sum))),
        el("span", { class: "bar", "aria-hidden": "true" }, fill)));
  });
  return [el("h2", { class: "plain" }, TEXT.details.waits),
    el("ol", { class: "hottest-list", "data-testid": "waits" }, ...rows)];
}

// The list of what they work for; a click keeps only that.
function contextsList({ picture }, dispatch) {
  const contexts = picture.contexts;
  if (contexts.length === 0) return [];
  const rows = contexts.slice(0, CONTEXTS_MAX).map(({ text, kind, value, samples }) => {
    const fill = el("i", {});
    fill.style.width = (100 * samples) / contexts[0].samples + "%";
    const keep = () => dispatch({ type: "filter", text: "focus context:" + exactPattern(text) });
    return el("li", {},
      el("button", { type: "button", class: "hottest", title: value, "data-testid": "context",
        "data-hint": TEXT.details.keepContext, on: { click: keep } },
        el("span", { class: "hottest-name" }, kind === "value"
          ? isolated(visibleText(value, TEXT.details.emptyContext))
          : isolated(TEXT.details.contextKinds[kind], { class: "soft" })),
        el("span", { class: "share" }, formatShare(ratio(samples, picture.sum))),
        el("span", { class: "bar", "aria-hidden": "true" }, fill)));
  });
  const more = contexts.length - CONTEXTS_MAX;
  return [el("h2", { class: "plain" }, TEXT.details.contexts, isolated(contexts[0].variable)),
    el("ol", { class: "hottest-list", "data-testid": "contexts" }, ...rows),
    more > 0 ? el("p", { class: "soft", "data-testid": "more-contexts" }, TEXT.details.moreContexts(more)) : null];
}

// Text that the row has no room for.
const hoverText = ({ name, brief, place }) => (brief === name ? "" : name + "\n") + place;

function hottestRow(row, sum, most, about) {
  const fill = el("i", {});
  fill.style.width = (100 * row.self) / most + "%";
  const name = el("span", { class: "hottest-name" }, isolated(row.label.brief),
    isolated(row.label.near || row.label.short, { class: "soft" }));
  return el("li", {},
    el("button", { type: "button", class: "hottest", title: hoverText(row.label), "data-key": row.key,
      on: { click: () => about(row.key) } }, name, el("span", { class: "share" }, formatShare(ratio(row.self, sum))),
      el("span", { class: "bar", "aria-hidden": "true" }, fill)));
}

// The key of all that the panel shows of a subject.
function signatureOf(state, subject) {
  const { address, picture } = state;
  return [subject, subject === null ? state.summaryVersion : 0, state.recordingVersion, address.by, picture.native,
    address.bottomUp, picture.focus.id, picture.sum, shownParts(state), address.states, address.filters.join("\n"),
    address.range?.from, address.range?.to, picture.secondsPerSample, JSON.stringify(notesOf(state.session)),
    mayOperate(state)].join(" ");
}

export function createDetails(root, dispatch) {
  root.dataset.testid = "details";
  let shown = null;
  let shownFrame = null;
  let selecting = false;
  let scrolled = 0;
  const notes = createRangeNotes(dispatch);
  let latest = null;

  // Not asked at each update: the answers take a layout of the page.
  root.addEventListener("scroll", () => (scrolled = root.scrollTop));
  document.addEventListener("selectionchange", () => {
    const selection = document.getSelection();
    selecting = selection !== null && root.contains(selection.anchorNode) && !selection.isCollapsed;
  });

  // Someone reads or copies here, or is about to press: numbers may wait, the text must not change beneath them.
  function isInUse() {
    return selecting || root.contains(document.activeElement) || root.matches(":active");
  }

  offerMenu(root, dispatch, (event) => {
    const row = event.target.closest(".hottest");
    const found = row === null ? undefined : latest.picture.hottest.find(({ key }) => key === row.dataset.key);
    return found === undefined ? null : { label: found.label, key: found.key, stack: "" };
  });

  const about = (key) => dispatch({ type: "address", changes: { about: key, frame: [] }, how: "push" });

  // Nothing chosen: where the program spends its time, and how to go on.
  function overview(state) {
    const hottest = state.picture.hottest;
    if (hottest.length === 0) return notes.parts(state);
    const byLine = state.address.by === "line";
    const rows = hottest.map((row) => hottestRow(row, state.picture.sum, hottest[0].self, about));
    return [
      el("h2", { class: "plain" }, byLine ? TEXT.details.hottestLines : TEXT.details.hottestFunctions),
      el("p", { class: "soft" }, state.picture.measure === null ? TEXT.details.bySelf : TEXT.details.bySelfAmount),
      el("ol", { class: "hottest-list", "data-testid": "hottest" }, ...rows),
      ...summaryParts(state, dispatch),
      ...waitsList(state, dispatch),
      ...contextsList(state, dispatch),
      ...notes.parts(state),
      el("p", { class: "soft hint-text", "data-for": "pointer" }, TEXT.details.howTo),
      el("p", { class: "soft hint-text", "data-for": "touch" }, TEXT.details.howToTouch),
    ];
  }

  function ofFunction(state, found) {
    const { picture } = state;
    const total = measure(TEXT.details.total, TEXT.table.totalHint, found.total,
      picture.intervalOfFunction(found.frame, "total"), picture, "total");
    const self = measure(TEXT.details.self, TEXT.table.selfHint, found.self,
      picture.intervalOfFunction(found.frame, "self"), picture, "self");
    const back = el("button", { type: "button", class: "link", "data-testid": "details-back",
      on: { click: () => about("") } }, TEXT.details.back);
    return [back, ...aboutCode(found, total, self, state, dispatch, [])];
  }

  function ofFrame(state, id) {
    const { picture } = state;
    const frame = picture.describe(id);
    const path = picture.pathTo(id);
    const { bottomUp } = state.address;
    // Bottom-up, a frame is of several stacks.
    const intervalOf = (number) => (bottomUp ? UNKNOWN_INTERVAL : picture.intervalOfGroup(Number(id), number));
    const self = bottomUp
      ? null
      : measure(TEXT.details.self, TEXT.details.selfHint, frame.self, intervalOf("groupSelf"), picture, "self");
    const total = measure(bottomUp ? TEXT.details.via : TEXT.details.total,
      bottomUp ? TEXT.details.viaHint : TEXT.details.totalHint, frame.total, intervalOf("groupTotal"), picture,
      "total");
    const within = picture.focus.id !== 0 && String(picture.focus.id) !== id
      ? el("p", { class: "soft" }, TEXT.details.ofZoomed(formatShare(ratio(frame.total, picture.focusTotal))))
      : null;
    const copy = wide("copy-stack", icon(ICONS.copy), TEXT.details.copy,
      () => dispatch({ type: "copy", text: pathStack(path, bottomUp), note: TEXT.details.copied }));
    return [...aboutCode(frame, total, self, state, dispatch, [copy]), within,
      callersList(path, picture.keysTo(id), state, dispatch)];
  }

  return {
    update(state) {
      latest = state;
      root.hidden = !PANEL_VIEWS.includes(state.address.view);
      const id = shownId(state);
      const found = id === null ? state.picture.about : null;
      const subject = id ?? found?.key ?? null;
      const signature = signatureOf(state, subject);
      if (signature === shown || root.hidden || (shownFrame === subject && isInUse())) return;
      shown = signature;
      shownFrame = subject;
      const parts = id !== null ? ofFrame(state, id) : found !== null ? ofFunction(state, found) : overview(state);
      root.replaceChildren(...parts.filter((part) => part !== null));
      if (scrolled > 0) root.scrollTop = scrolled;
    },
  };
}
