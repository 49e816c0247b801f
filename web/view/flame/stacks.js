// The stack chart: the stacks of one thread in the order of time, on a canvas.

import { clampSpan, fineMarks, stackSpan, wholeSpan, zoomedSpan } from "../../model/page/stack-span.js";
import { shownParts } from "../../model/profile/parts.js";
import { threadPlace } from "../../model/threads/threads.js";
import { snapRange } from "../../model/time/timeline.js";
import { boxAt, createPale, firstAt } from "../../model/trees/stacks.js";
import { CHART_TEXT } from "../../text/charts.js";
import { el, setAttribute } from "../elements/dom.js";
import { offerMenu } from "../elements/menu.js";
import { watchWidth } from "./chart.js";
import { pathStack } from "./details.js";
import { boxLines, createStackHead, createStackTip, stackNote, stackSpanText } from "./stacks-head.js";
import { listenToStackKeys, listenToStacks } from "./stacks-keys.js";
import { LANE_GAP_PX, LANE_PX, paintStacks, readStackColours } from "./stacks-paint.js";

const STACK_MARK_PX = 90;
const BOX_AROUND = 0.05;
const FRAMES_TOP_PX = LANE_PX + LANE_GAP_PX;

// The axis of time above the frames.
function drawStackAxis(axis, span, width) {
  const marks = fineMarks(span, Math.max(2, Math.floor(width / STACK_MARK_PX)));
  const last = span.to - (STACK_MARK_PX / 2 / width) * (span.to - span.from);
  axis.replaceChildren(...marks.filter(({ at }) => at < last).map(({ at, text }) => {
    const label = el("span", {}, text);
    label.style.left = ((at - span.from) / (span.to - span.from)) * 100 + "%";
    return label;
  }));
}

// The canvas, its axis, and where times and boxes stand in it. stateOf() is the state of the page.
function createSurface(stateOf) {
  const canvas = el("canvas", { class: "stacks-canvas", tabindex: "0", role: "img", "data-testid": "stacks" });
  const axis = el("div", { class: "strip-axis", "aria-hidden": "true" });
  const space = el("div", { class: "stacks-space" }, el("div", { class: "stacks-pin" }, canvas));
  const scroller = el("div", { class: "stacks-scroll" }, space);
  const sheet = el("div", { class: "stacks-sheet" }, axis, scroller);
  const cell = parseInt(getComputedStyle(document.documentElement).getPropertyValue("--cell"), 10) || 20;
  const layout = () => stateOf()?.picture.stacks?.layout ?? null;
  const width = () => space.clientWidth;
  const selected = () => Number(stateOf().picture.selected ?? 0);

  function timeAt(x) {
    const { from, to } = stackSpan(stateOf());
    return from + ((x - canvas.getBoundingClientRect().left) / width()) * (to - from);
  }

  return {
    canvas,
    axis,
    space,
    scroller,
    sheet,
    cell,
    layout,
    width,
    timeAt,
    groupOf: ({ level, index }) => layout().levels[level].group[index],
    timesOf: ({ level, index }) => ({ from: layout().levels[level].start[index],
      to: layout().levels[level].end[index] }),
    // {level, index}, or null.
    boxUnder({ x, y }) {
      const below = y - canvas.getBoundingClientRect().top - FRAMES_TOP_PX;
      const depth = Math.floor((below + scroller.scrollTop) / cell);
      const index = below < 0 || layout()?.levels[depth] === undefined ? -1 : boxAt(layout().levels[depth], timeAt(x));
      return index < 0 ? null : { level: depth, index };
    },
    // The box of the selected frame that is shown first, or the outermost frame that is shown.
    firstBox() {
      const depth = selected() === 0 ? 1 : layout()?.grouping.depth.values[selected()];
      const level = layout()?.levels[depth - 1];
      if (level === undefined) return null;
      const { from } = stackSpan(stateOf());
      const first = firstAt(level.end.length, (i) => level.end[i] > from);
      const index = selected() === 0 ? first : level.group.indexOf(selected(), first);
      return index < 0 || index >= level.end.length ? null : { level: depth - 1, index };
    },
    isSelected: (box) =>
      box !== null && selected() !== 0 && layout()?.levels[box.level]?.group[box.index] === selected(),
    // Scrolls a level on screen.
    show(level) {
      const top = level * cell;
      if (top < scroller.scrollTop) scroller.scrollTop = top;
      else if (top + 2 * cell > scroller.scrollTop + scroller.clientHeight)
        scroller.scrollTop = top + 2 * cell - scroller.clientHeight;
    },
  };
}

// -> draw(state, {range, current}), which draws the chart whether anything is new or not
function createStackDrawing(surface) {
  const { canvas, space, scroller, cell } = surface;
  let colours = null;
  let coloursFor = "";
  return function draw(state, { range, current }) {
    const { picture: { stacks, matched, selected }, address } = state;
    const theme = [state.theme, matchMedia("(prefers-color-scheme: dark)").matches].join();
    if (theme !== coloursFor) [colours, coloursFor] = [readStackColours(canvas.parentElement), theme];
    space.style.height = (stacks.layout?.levels.length ?? 0) * cell + FRAMES_TOP_PX + "px";
    paintStacks(canvas, {
      layout: stacks.layout,
      faceOf: stacks.faceOf,
      isPale: createPale(address.states, shownParts(state)),
      colours,
      colour: address.colour,
      cell,
      markOf: matched === null ? () => "" : (face) => (matched[face.function ?? 0] ? "match" : "other"),
      span: stackSpan(state),
      width: surface.width(),
      height: Math.min(scroller.clientHeight, space.offsetHeight),
      top: scroller.scrollTop,
      range,
      selected: selected === null ? null : Number(selected),
      current,
      hasFocus: document.activeElement === canvas,
    });
    drawStackAxis(surface.axis, stackSpan(state), surface.width());
  };
}

// Moves by pointer and keyboard: {changeSpan, choose, goTo, selectRange, zoomTo, currentBox}.
function createStackMoves(surface, stateOf, dispatch, read) {
  const { groupOf, timesOf } = surface;
  // The box at which the keyboard is; of a selected frame there may be many.
  let current = null;
  const whole = () => wholeSpan(stateOf());
  const changeSpan = (span) => dispatch({ type: "stackSpan", span });

  function choose(box, how) {
    current = box;
    dispatch({ type: "address", changes: { frame: stateOf().picture.keysTo(groupOf(box)) }, how });
  }

  return {
    changeSpan,
    choose,
    currentBox: () => (surface.isSelected(current) ? current : null),
    // The box under the keyboard must be on screen.
    goTo(box) {
      choose(box, "replace");
      surface.show(box.level);
      const [span, { from, to }] = [stackSpan(stateOf()), timesOf(box)];
      const half = (span.to - span.from) / 2;
      if (to < span.from || from > span.to)
        changeSpan(clampSpan({ from: (from + to) / 2 - half, to: (from + to) / 2 + half }, whole()));
      read(boxLines(stateOf().picture.stacks, box, from).filter((line) => line !== "").join("  ·  "));
    },
    // The chosen range is what the other views count: whole windows. The chart stays where it is.
    selectRange({ from, to }) {
      changeSpan(stackSpan(stateOf()));
      dispatch({ type: "address", changes: { range: snapRange(stateOf().timeline, from, to) }, how: "push" });
    },
    zoomTo(box) {
      const { from, to } = timesOf(box);
      const around = (to - from) * BOX_AROUND;
      changeSpan(clampSpan({ from: from - around, to: to + around }, whole()));
    },
  };
}

// The shown span, narrower or wider around its middle; the whole without a factor.
function spanByFactor(state, factor) {
  const { from, to } = stackSpan(state);
  return factor === null ? wholeSpan(state) : zoomedSpan({ from, to }, (from + to) / 2, factor, wholeSpan(state));
}

// The subject of the menu of a group.
function groupSubject(picture, group) {
  const { label, key } = picture.describe(group);
  return { label, key, stack: pathStack(picture.pathTo(group), false) };
}

export function createStacks(root, dispatch) {
  const surface = createSurface(() => state);
  const { canvas, scroller, layout, groupOf, timesOf } = surface;
  const tip = createStackTip();
  const head = createStackHead(dispatch, (factor) => moves.changeSpan(spanByFactor(state, factor)));
  const moves = createStackMoves(surface, () => state, dispatch, head.read);
  const element = el("div", { class: "stacks" }, head.element, surface.sheet, tip.element);
  const drawing = createStackDrawing(surface);
  let state = null;
  let pointer = null;
  let dragged = null;
  let drawnFor = [];
  root.append(element);

  const spanNow = () => stackSpan(state);

  function draw() {
    if (state !== null && !element.hidden)
      drawing(state, { range: dragged ?? state.address.range, current: moves.currentBox() });
  }

  function showTip() {
    const box = pointer === null || pointer.type === "touch" || element.hidden || dragged !== null
      ? null
      : surface.boxUnder(pointer);
    if (box === null) tip.hide();
    else tip.show(pointer, boxLines(state.picture.stacks, box, surface.timeAt(pointer.x)));
  }

  const chart = {
    ...moves,
    canvas,
    timeAt: surface.timeAt,
    boxUnder: surface.boxUnder,
    firstBox: surface.firstBox,
    span: spanNow,
    whole: () => wholeSpan(state),
    levels: () => layout().levels,
    current: () => moves.currentBox() ?? (state.picture.selected === null ? null : surface.firstBox()),
    showAll: () => moves.changeSpan(wholeSpan(state)),
    selectTime: (box) => moves.selectRange(timesOf(box)),
    dragged(range, isDone) {
      dragged = isDone || range === null ? null : snapRange(state.timeline, range.from, range.to);
      if (isDone) moves.selectRange(range);
      else draw();
    },
    pointed(at) {
      pointer = at;
      showTip();
    },
  };
  listenToStacks(chart);
  listenToStackKeys(chart);
  scroller.addEventListener("scroll", () => {
    draw();
    showTip();
  });
  canvas.addEventListener("focus", draw);
  canvas.addEventListener("blur", draw);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
  new ResizeObserver(draw).observe(scroller);
  watchWidth(scroller, scroller, dispatch,
    (width) => state !== null && width !== state.width && state.address.view === "stacks");
  offerMenu(canvas, dispatch, (event) => {
    const box = (event.pointerType === "" ? null : surface.boxUnder({ x: event.clientX, y: event.clientY }))
      ?? chart.current();
    if (box === null) return null;
    return groupSubject(state.picture, groupOf(box));
  });

  // Draws when something is new.
  function drawNews() {
    const { picture: { stacks, matched, selected }, address, theme } = state;
    const { from, to } = spanNow();
    const news = [stacks.layout, stacks.faceOf, matched, selected, address.colour, address.range, address.states, theme,
      from, to, surface.width(), scroller.clientHeight, moves.currentBox()];
    if (news.every((value, i) => value === drawnFor[i])) return;
    drawnFor = news;
    draw();
    showTip();
  }

  return {
    update(next) {
      state = next;
      element.hidden = state.address.view !== "stacks" || state.picture.empty !== null
        || state.picture.stackThread === null;
      if (element.hidden) return tip.hide();
      const span = spanNow();
      head.update(state, span, stackNote(state, span));
      setAttribute(canvas, "aria-label",
        CHART_TEXT.stacks.label(threadPlace(state.picture.stackThread, state.picture.threads), stackSpanText(span)));
      return drawNews();
    },
  };
}
