// The flame graph as a call tree whose rows open and close. Only the rows in view, and some around them, exist.

import { formatCount, formatShare, ratio } from "../../model/base/numbers.js";
import { openAbove, openBelow, openChain, openRows } from "../../model/trees/call-tree.js";
import { CHART_TEXT } from "../../text/charts.js";
import { TEXT } from "../../text/session.js";
import { el, isInUse, isolated, setAttribute, setText } from "../elements/dom.js";
import { offerMenu } from "../elements/menu.js";
import { pathStack } from "./details.js";

const TREE_ROW_PX = 24;
const TREE_AROUND = 20;
const TREE_INDENT_MAX = 40;
const PAGE_ROWS = 10;

function createTreeCell() {
  const fill = el("i", {});
  const share = el("span", { class: "share" });
  const samples = el("span", { class: "samples" });
  return { fill, share, samples,
    element: el("td", { role: "gridcell" },
      el("div", { class: "measured" }, el("span", { class: "bar", "aria-hidden": "true" }, fill), share, samples)) };
}

function fillTreeCell(cell, samples, { sum, amountText }) {
  const share = ratio(samples, sum);
  cell.fill.style.width = (share || 0) * 100 + "%";
  setText(cell.share, formatShare(share));
  setText(cell.samples, amountText(samples));
}

function createTreeRow(index) {
  const toggle = el("span", { class: "tree-toggle", "aria-hidden": "true" });
  const name = isolated("", { class: "tree-name" });
  const badge = el("span", { class: "tree-badge" }, "");
  const place = isolated("", { class: "place" });
  const head = el("div", { class: "tree-head" }, toggle, name, badge, place);
  const [total, self] = [createTreeCell(), createTreeCell()];
  const element = el("tr", { role: "row", id: "call-tree-row-" + index },
    el("th", { scope: "row", role: "rowheader" }, head), total.element, self.element);
  return { element, toggle, name, badge, place, head, total, self, shown: null };
}

// Rows that are open, until something else is shown: the way to where most samples are, and what was opened by hand.
function createOpened() {
  let question = "";
  let open = new Set();
  return {
    // The open rows of this state's tree.
    of({ picture, address: { by, bottomUp, filters, native }, recording }) {
      const asked = JSON.stringify([by, bottomUp, filters, native, recording.profile.epoch, picture.focus.id]);
      if (asked !== question && picture.sum > 0) {
        question = asked;
        open = openChain(picture.tree, picture.focus.id);
        if (picture.focus.id !== 0) open.add(picture.focus.id);
      }
      return open;
    },
  };
}

// The grid and its rows in view: {element, body, scrollTo(index), fill(rows, state, current), rowAt(target)}.
function createTreeGrid() {
  const units = CHART_TEXT.tree.columns.slice(1).map((label) =>
    el("th", { scope: "col", role: "columnheader" }, label)
  );
  const body = el("tbody", { role: "rowgroup" });
  const table = el("table", { class: "call-tree", role: "treegrid", tabindex: "0", "aria-label": CHART_TEXT.tree.label,
    "data-testid": "call-tree" },
    el("thead", { role: "rowgroup" },
      el("tr", { role: "row" }, el("th", { scope: "col", role: "columnheader" }, CHART_TEXT.tree.columns[0]),
        ...units)), body);
  const made = [];

  function fillRow(row, shown, index, { picture }, current, markOf) {
    row.shown = shown;
    const { label, total, self } = picture.describe(shown.id);
    setText(row.name, label.name);
    row.badge.hidden = label.badge === "";
    setText(row.badge, label.badge);
    setAttribute(row.badge, "data-kernel", label.hue === "kernel" ? "" : null);
    setText(row.place, label.near);
    setAttribute(row.place, "title", label.place);
    row.head.style.paddingInlineStart = Math.min(shown.level, TREE_INDENT_MAX) * 0.9 + "em";
    setText(row.toggle, shown.hasChildren ? (shown.isOpen ? "▾" : "▸") : "");
    const attributes = { "aria-level": shown.level + 1,
      "aria-expanded": shown.hasChildren ? String(shown.isOpen) : null, "aria-rowindex": index + 2,
      "aria-selected": String(shown.id === current), "data-mark": markOf(shown.id) };
    for (const [name, value] of Object.entries(attributes)) setAttribute(row.element, name, value);
    fillTreeCell(row.total, total, picture);
    fillTreeCell(row.self, self, picture);
  }

  return {
    table,
    body,
    rowAt: (target) => made.find((row) => row.element.contains(target)) ?? null,
    // `scroller` has the table in it.
    fill(rows, state, current, scroller, markOf) {
      const height = made[0]?.element.offsetHeight || TREE_ROW_PX;
      const wanted = Math.ceil(scroller.clientHeight / height) + 2 * TREE_AROUND;
      const first = Math.max(0, Math.min(Math.floor(scroller.scrollTop / height) - TREE_AROUND, rows.length - wanted));
      const last = Math.min(rows.length, first + wanted);
      while (made.length < last - first) {
        made.push(createTreeRow(made.length));
        body.append(made[made.length - 1].element);
      }
      while (made.length > last - first) made.pop().element.remove();
      made.forEach((row, i) => fillRow(row, rows[first + i], first + i, state, current, markOf));
      body.style.setProperty("--rows-above", first * height + "px");
      body.style.setProperty("--rows-below", (rows.length - last) * height + "px");
      setAttribute(table, "aria-rowcount", rows.length + 1);
      const item = made.find((row) => row.shown.id === current);
      setAttribute(table, "aria-activedescendant", item?.element.id);
    },
    scrollTo(index, scroller) {
      const height = made[0]?.element.offsetHeight || TREE_ROW_PX;
      const head = table.tHead.offsetHeight;
      if (index * height < scroller.scrollTop) scroller.scrollTop = index * height;
      else if (head + (index + 1) * height > scroller.scrollTop + scroller.clientHeight)
        scroller.scrollTop = head + (index + 1) * height - scroller.clientHeight;
    },
  };
}

// Which row a key leads to: its index, or -1. rows and at: where the keyboard is.
function rowOfKey(key, rows, at) {
  const steps = { ArrowDown: 1, ArrowUp: -1, PageDown: PAGE_ROWS, PageUp: -PAGE_ROWS, Home: -rows.length,
    End: rows.length };
  return steps[key] === undefined ? -1 : Math.max(0, Math.min(rows.length - 1, at + steps[key]));
}

// tree: {rows(), index() of the row where the keyboard is or -1, choose(row, zooms), change(make), toggle(row), goTo(index)}
function listenToTreeKeys(table, tree) {
  table.addEventListener("keydown", (event) => {
    const rows = tree.rows();
    if (event.ctrlKey || event.metaKey || event.altKey || rows.length === 0) return;
    const at = Math.max(0, tree.index());
    const row = rows[at];
    if (event.key === "Enter") tree.choose(row, true);
    else if (event.key === "*") tree.change((open, all) => openBelow(all, open, row.id));
    else if (event.key === "ArrowRight" && !row.hasChildren) return;
    else if (event.key === "ArrowRight" && row.isOpen) tree.goTo(at + 1);
    else if (event.key === "ArrowRight" || (event.key === "ArrowLeft" && row.isOpen)) tree.toggle(row);
    else if (event.key === "ArrowLeft") tree.goTo(rows.findLastIndex((other, i) => i < at && other.level < row.level));
    else if (event.key === "ArrowDown" && tree.index() < 0) tree.goTo(at);
    else if (rowOfKey(event.key, rows, at) >= 0) tree.goTo(rowOfKey(event.key, rows, at));
    else return;
    event.preventDefault();
    event.stopPropagation();
  });
}

// change(make): has make(open, tree) change what is open.
function treeTools(change, count) {
  const button = (testid, text, make) =>
    el("button", { type: "button", class: "quiet", "data-testid": testid, on: { click: () => change(make) } }, text);
  return el("div", { class: "tree-tools" },
    button("tree-open-all", CHART_TEXT.tree.openAll, (open, tree) => openBelow(tree, open, 0)),
    button("tree-close-all", CHART_TEXT.tree.closeAll, (open) => open.clear()), count);
}

// `scroller`: the region that the tree stands in. -> {element, update(state)}
export function createCallTree(scroller, dispatch) {
  const grid = createTreeGrid();
  const opened = createOpened();
  const count = el("span", { class: "soft" });
  const element = el("div", {}, treeTools((make) => change(make), count), grid.table);
  let state = null;
  let rows = [];
  let shownTree = null;
  let shownOpen = null;
  let revealed = "";

  const currentId = () => Number(state.picture.selected ?? 0);
  const markOf = (id) => (state.picture.matched === null ? null : state.picture.isMatch(id) ? "match" : "other");
  const indexOf = (id) => rows.findIndex((row) => row.id === id);

  function arrange() {
    shownTree = state.picture.tree;
    shownOpen = opened.of(state);
    rows = openRows(shownTree, shownOpen, state.picture.focus.id);
  }

  function fill() {
    setText(count, CHART_TEXT.tree.caption(formatCount(rows.length), state.picture.amountText(state.picture.sum)));
    grid.fill(rows, state, currentId(), scroller, markOf);
  }

  // Changes what is open: change(open, tree).
  function change(make) {
    make(opened.of(state), state.picture.tree);
    arrange();
    fill();
  }

  function toggle({ id, isOpen }) {
    change((open) => (isOpen ? open.delete(id) : open.add(id)));
  }

  function choose({ id }, zooms) {
    const keys = state.picture.keysTo(id);
    revealed = keys.join(".");
    dispatch({ type: "address", changes: zooms ? { zoom: keys, frame: keys } : { frame: keys },
      how: zooms ? "push" : "replace" });
  }

  function goTo(index) {
    if (index < 0) return;
    choose(rows[index], false);
    grid.scrollTo(index, scroller);
  }

  // A frame that a link or another chart selects is shown, whatever was closed.
  function reveal() {
    const keys = state.address.frame.join(".");
    if (keys === revealed) return;
    revealed = keys;
    if (currentId() === 0) return;
    openAbove(state.picture.tree, opened.of(state), currentId());
    arrange();
    fill();
    grid.scrollTo(indexOf(currentId()), scroller);
  }

  listenToTreeKeys(grid.table, { rows: () => rows, index: () => indexOf(currentId()), choose, change, toggle, goTo });
  grid.body.addEventListener("click", (event) => {
    const row = grid.rowAt(event.target);
    if (row === null) return;
    if (row.toggle.contains(event.target) && row.shown.hasChildren) toggle(row.shown);
    else choose(row.shown, false);
  });
  grid.body.addEventListener("dblclick", (event) => {
    const row = grid.rowAt(event.target);
    if (row !== null && row.shown.hasChildren && !row.toggle.contains(event.target))
      toggle(rows[indexOf(row.shown.id)]);
  });
  scroller.addEventListener("scroll", () => {
    if (state !== null && !scroller.hidden) fill();
  });
  offerMenu(grid.table, dispatch, (event) => {
    const shown = grid.rowAt(event.target)?.shown ?? rows[indexOf(currentId())];
    if (shown === undefined) return null;
    const { label, key } = state.picture.describe(shown.id);
    return { label, key, stack: pathStack(state.picture.pathTo(shown.id), state.address.bottomUp) };
  });

  return {
    element,
    // While pointer or keyboard are in it, rows stay where they are; their numbers do not change either.
    update(next) {
      const before = state;
      state = next;
      const isSame = before !== null && opened.of(state) === shownOpen;
      const isHeld = isSame && isInUse(scroller);
      if (!isHeld && (shownTree !== state.picture.tree || !isSame)) arrange();
      if (!isHeld || before.address !== state.address || before.picture.matched !== state.picture.matched) fill();
      reveal();
    },
  };
}
