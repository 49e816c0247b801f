// Every chart as a table, that of the flame graph as a call tree, on demand: a button for each, and the open tables beneath the charts.

import { formatDuration } from "../../model/base/numbers.js";
import { isWaitUnknown } from "../../model/filters/selection.js";
import { FLAME_VIEWS } from "../../model/page/address.js";
import { diffRows, gilRows, heatRows, laneRows, memoryRows, sandwichRows, stackRows,
  stripRows } from "../../model/page/rows.js";
import { stackSpan } from "../../model/page/stack-span.js";
import { threadPlace } from "../../model/threads/threads.js";
import { foundMatches } from "../../model/time/matches.js";
import { chosenMemory } from "../../model/time/memory.js";
import { timelineSpan } from "../../model/time/timeline.js";
import { TEXT } from "../../text/session.js";
import { el, icon, isInUse, isolated, setAttribute, setText } from "../elements/dom.js";
import { ICONS } from "../elements/icons.js";
import { createCallTree } from "../flame/call-tree.js";
import { zoomOfDiff } from "../flame/diff.js";
import { laneThreads } from "../threads/lanes.js";

const INDENT_MAX = 24;

const spanOf = (state) => state.timelineZoom ?? timelineSpan(state.timeline, null);

function lanesOf(state) {
  return laneThreads(state).map((thread) => ({ name: threadPlace(thread, state.picture.threads),
    timeline: state.lanes.get(thread.ids.join()) })
  ).filter((lane) => lane.timeline !== undefined);
}

let heatFound = { heat: null, matches: null };

// One object for as long as neither cells nor matches change.
function heatOf({ heat, matches, address }) {
  const found = foundMatches(matches, address.search);
  if (heatFound.heat !== heat || heatFound.matches !== found) heatFound = { heat, matches: found };
  return heatFound;
}

// Which charts there are: their data (null when there is nothing), and what choosing a row does, if anything.
const CHARTS = [
  { key: "strip", of: (state) => (state.hasTimes ? state.timeline : null),
    read: (state) => stripRows(state.timeline, spanOf(state), isWaitUnknown(state.picture.sums)) },
  { key: "memory", of: (state) => (state.hasTimes && state.memory.slots.length > 0 ? chosenMemory(state) : null),
    read: (state) => memoryRows(chosenMemory(state), spanOf(state)) },
  { key: "heatmap",
    of: (state) => (state.address.view === "heatmap" && state.heat.columns.size > 0 ? heatOf(state) : null),
    read: (state) => heatRows(state.heat, heatOf(state).matches, isWaitUnknown(state.picture.sums)) },
  {
    key: "flame",
    of: (state) => (FLAME_VIEWS.includes(state.address.view) ? state.picture.drawing?.root : null),
    create: createCallTree,
  },
  {
    key: "stacks",
    of: (state) => (state.picture.empty === null ? state.picture.stacks?.layout : null),
    read: (state) => stackRows(state.picture.stacks, stackSpan(state)),
    choose: (state, { id }) => ({ frame: state.picture.keysTo(id) }),
  },
  {
    key: "sandwich",
    of: (state) => state.picture.sandwich?.callees?.root,
    read: (state) => sandwichRows(state.picture),
    choose: (state, { side, id }) => ({ about: state.picture.sandwich.keyOf(side, id) }),
  },
  { key: "threads", of: (
    state,
  ) => (state.address.view === "threads" && state.picture.empty === null && state.lanes.size > 0
    ? state.lanes
    : null), read: (state) => laneRows(lanesOf(state), spanOf(state)) },
  {
    key: "gil",
    of: (state) => (state.picture.gil?.reason === null ? state.picture.gil.drawing?.root : null),
    read: (state) =>
      gilRows(state.picture.gil.drawing, state.picture.gil.caused, (samples) =>
        formatDuration(samples * state.picture.secondsPerSample)),
    choose: (state, { id }) => {
      const about = state.picture.gil.keyOf(id);
      return about === "" ? {} : { view: "sandwich", about };
    },
  },
  {
    key: "diff",
    of: (state) => state.picture.diff?.drawing?.root,
    read: (state) => diffRows(state.picture.diff),
    choose: (state, { id }) => zoomOfDiff(state, id),
  },
];

function cellOf(text, column) {
  return el("td", { class: column.number ? "number" : null }, text);
}

function rowOf(row, columns, choose) {
  const name = choose === null
    ? isolated(row.name)
    : el("button", { type: "button", class: "row-name", on: { click: () => choose(row) } }, isolated(row.name));
  const head = el("th", { scope: "row" }, name);
  head.style.paddingInlineStart = Math.min(row.level, INDENT_MAX) * 0.6 + "em";
  const leveled = columns[0].label === TEXT.asTable.level;
  const rest = columns.slice(leveled ? 2 : 1);
  return el("tr", {}, leveled ? el("td", { class: "number" }, String(row.level)) : null, head,
    ...row.cells.map((text, i) => cellOf(text, rest[i])));
}

function createOne(chart, dispatch) {
  const caption = el("caption", {});
  const head = el("tr", {});
  const body = el("tbody", {});
  const id = "as-table-" + chart.key;
  const region = el("div", { class: "as-table", id, hidden: true, tabindex: "0", role: "region",
    "aria-label": TEXT.asTable[chart.key], "data-testid": id });
  const tree = chart.create?.(region, dispatch);
  region.append(tree?.element ?? el("table", {}, caption, el("thead", {}, head), body));
  const button = el("button", { type: "button", class: "quiet wide", "aria-expanded": "false", "aria-controls": id,
    "data-testid": id + "-open", on: { click: toggle } }, icon(ICONS.table), el("span", {}, TEXT.asTable[chart.key]));
  let state = null;
  let shown = null;
  let shownFor = "";

  function toggle() {
    const { tables } = state.address;
    dispatch({ type: "address", changes: {
      tables: tables.includes(chart.key) ? tables.filter((key) => key !== chart.key) : [...tables, chart.key],
    }, how: "push" });
  }

  function choose(row) {
    dispatch({ type: "address", changes: chart.choose(state, row), how: "push" });
  }

  // Whoever reads or is about to press keeps what is there, until something else is asked for.
  function isHeld(question) {
    return shown !== null && question === shownFor && isInUse(region);
  }

  function fill(data, question) {
    const table = chart.read(state);
    const focused = body.contains(document.activeElement);
    setText(caption, table.caption);
    head.replaceChildren(
      ...table.columns.map((column) =>
        el("th", { scope: "col", class: column.number ? "number" : null }, column.label ?? column)
      ),
    );
    body.replaceChildren(
      ...table.rows.map((row) => rowOf(row, table.columns, chart.choose === undefined ? null : choose)),
    );
    if (focused) region.focus({ preventScroll: true });
    shown = data;
    shownFor = question;
  }

  return {
    region,
    button,
    update(next) {
      state = next;
      const data = chart.of(state) ?? null;
      const open = data !== null && state.address.tables.includes(chart.key);
      button.hidden = data === null;
      region.hidden = !open;
      setAttribute(button, "aria-expanded", String(open));
      if (tree !== undefined) return open ? tree.update(state) : undefined;
      const question = JSON.stringify([{ ...state.address, tables: null }, state.timelineZoom]);
      return open && (data !== shown || question !== shownFor) && !isHeld(question) ? fill(data, question) : undefined;
    },
  };
}

// The tables of the strip and of the memory stand below the strip, those of the others beneath the charts: above `foot`, which has their buttons.
export function createAsTables(strip, foot, dispatch) {
  const tables = CHARTS.map((chart) => ({ key: chart.key, ...createOne(chart, dispatch) }));
  for (const { key, region, button } of tables) {
    if (key === "strip" || key === "memory") {
      strip.querySelector(".strip-tools").prepend(button);
      strip.append(region);
      continue;
    }
    foot.before(region);
    foot.append(button);
  }
  return {
    update(state) {
      for (const table of tables) table.update(state);
    },
  };
}
