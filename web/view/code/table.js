// The functions as a table. Only the rows in view, and some
// around them, exist; the others are empty space.

import { formatCount, formatDuration, formatInterval, formatShare, ratio } from "../../model/base/numbers.js";
import { heldRows } from "../../model/code/table.js";
import { TEXT } from "../../text/session.js";
import { afterPaint, el, isInUse, isolated, setAttribute, setText } from "../elements/dom.js";
import { offerMenu } from "../elements/menu.js";

const COLUMNS = [
  { key: "self", label: TEXT.table.self, meaning: TEXT.table.selfHint },
  { key: "total", label: TEXT.table.total, meaning: TEXT.table.totalHint },
];
// Rows around those in view, and before the first painting, which a person waits for.
const AROUND = 40;
const AROUND_FIRST = 4;
const ROW_PX = 27;

function createCell() {
  const fill = el("i", {});
  const share = el("span", { class: "share" });
  const samples = el("span", { class: "samples" });
  const time = el("span", { class: "time" });
  const interval = el("span", { class: "interval" });
  const parts = el("div", { class: "measured" }, el("span", { class: "bar", "aria-hidden": "true" }, fill), share,
    samples, time, interval);
  return { fill, share, samples, time, interval, element: el("td", {}, parts) };
}

function createTableRow(find, about) {
  const name = isolated("");
  const place = isolated("", { class: "place" });
  const library = isolated("");
  const button = el("button", { type: "button", class: "row-name", "data-hint": TEXT.table.find }, name);
  const sandwich = el("button", { type: "button", class: "quiet row-about", "data-hint": TEXT.table.sandwich,
    "aria-label": TEXT.table.sandwich }, "⇅");
  const self = createCell();
  const total = createCell();
  const element = el("tr", {}, el("th", { scope: "row" }, el("div", { class: "row-head" }, button, place, sandwich)),
    self.element, total.element, el("td", { class: "row-library" }, library));
  const row = { element, button, name, place, library, self, total, label: null };
  button.addEventListener("click", () => find(row.shown));
  sandwich.addEventListener("click", () => about(row.shown));
  return row;
}

function fillCell(cell, samples, interval, { sum, measure, amountText, secondsPerSample }) {
  const share = ratio(samples, sum);
  cell.fill.style.width = (share || 0) * 100 + "%";
  setText(cell.share, formatShare(share));
  setText(cell.samples, amountText(samples));
  setText(cell.time, measure === null ? formatDuration(samples * secondsPerSample) : "");
  setText(cell.interval, formatInterval(interval));
}

// The heads of the columns: {heads: [{key, element}], setMeasure(of another measure than time?)}.
function createTableHeads(dispatch) {
  const counted = [];
  const sortBy = (key) => () => dispatch({ type: "sort", sort: key });
  const units = () => {
    const samples = el("span", { class: "samples" });
    const time = el("span", { class: "time" });
    counted.push({ samples, time });
    return el("span", { class: "measured units", "aria-hidden": "true" }, el("span", {}),
      el("span", { class: "share" }, TEXT.table.units.share), samples, time,
      el("span", { class: "interval" }, TEXT.table.units.interval));
  };
  const heads = [{ key: "name",
    element: el("th", { scope: "col" },
      el("button", { type: "button", "data-testid": "sort-name", on: { click: sortBy("name") } },
        TEXT.table.function)) }];
  heads.push(...COLUMNS.map((column) => ({
    key: column.key,
    element: el("th", { scope: "col" },
      el("button", { type: "button", "data-hint": column.meaning, "data-testid": "sort-" + column.key,
        on: { click: sortBy(column.key) } }, column.label), units()),
  })));
  heads.push({ key: "library",
    element: el("th", { scope: "col", class: "row-library", "data-testid": "library-head" }, TEXT.table.library) });
  return {
    heads,
    setMeasure(isOther) {
      for (const { samples, time } of counted) {
        setText(samples, isOther ? TEXT.table.units.amount : TEXT.table.units.samples);
        setText(time, isOther ? "" : TEXT.table.units.time);
      }
    },
  };
}

// The part of the rows in view, as last laid out: asking before a change would have them laid out twice.
// -> {measure(a row), rowsOf(count, around): {from, last, height}, the rows that there have to be}
function createScroll(element) {
  let place = { height: ROW_PX, above: 0, room: window.innerHeight };
  return {
    measure(row) {
      const isScroller = element.scrollHeight > element.clientHeight + 1;
      const above = isScroller ? element.scrollTop : Math.max(0, -element.getBoundingClientRect().top);
      place = { height: Math.max(1, row?.offsetHeight ?? ROW_PX), above,
        room: isScroller ? element.clientHeight : window.innerHeight };
    },
    rowsOf(count, around) {
      const { height, above, room } = place;
      const wanted = Math.ceil(room / height) + 2 * around;
      const from = Math.max(0, Math.min(Math.floor(above / height) - around, count - wanted));
      return { from, last: Math.min(count, from + wanted), height };
    },
  };
}

// The rows that `body` has; those it had before are used again: {items, resize(count)}
function createRowPool(body, create) {
  const items = [];
  const spare = [];
  return {
    items,
    resize(count) {
      for (; items.length < count; body.append(items[items.length - 1].element)) items.push(spare.pop() ?? create());
      for (; items.length > count; spare[spare.length - 1].element.remove()) spare.push(items.pop());
    },
  };
}

// How much is shown, and the switch of the intervals.
function createTableCaption(dispatch) {
  const counted = el("span", {});
  const intervals = el("button", { type: "button", class: "link", "data-testid": "intervals",
    on: { click: () => dispatch({ type: "intervals" }) } }, TEXT.table.intervals);
  return {
    element: el("caption", {}, counted, " ", intervals),
    update({ picture: { table, sum, amountText }, table: order, address: { by } }) {
      setAttribute(intervals, "aria-pressed", String(order.intervals));
      setText(counted,
        TEXT.table.caption(formatCount(table.count), formatCount(table.functions), by === "line", amountText(sum)));
    },
  };
}

function fillRow(row, shown, index, picture) {
  row.shown = shown;
  row.label = picture.table.labelOf(shown);
  setText(row.name, row.label.brief);
  setAttribute(row.button, "data-jit", picture.inJit(shown.frame));
  setText(row.place, row.label.near || (row.label.short === TEXT.native.badge ? TEXT.native.badge : ""));
  setAttribute(row.place, "title", row.label.place);
  setText(row.library, row.label.library);
  setAttribute(row.element, "aria-rowindex", index + 2);
  fillCell(row.self, shown.self, picture.intervalOf(shown.frame, "self"), picture);
  fillCell(row.total, shown.total, picture.intervalOf(shown.frame, "total"), picture);
}

export function createTable(root, dispatch) {
  const { heads, setMeasure } = createTableHeads(dispatch);
  const body = el("tbody", {});
  const caption = createTableCaption(dispatch);
  const table = el("table", { class: "functions", "data-testid": "table" }, caption.element,
    el("thead", {}, el("tr", {}, ...heads.map((head) => head.element))), body);
  const element = el("div", { class: "table", tabindex: "0", role: "region", "aria-label": TEXT.table.label }, table);
  root.append(element);
  offerMenu(body, dispatch, (event) => {
    const row = rows.find((one) => one.element.contains(event.target));
    return row === undefined ? null : { label: row.label, key: state.picture.table.keyOf(row.shown), stack: "" };
  });
  const { items: rows, resize } = createRowPool(body, () => createTableRow(find, about));
  let state = null;
  let first = 0;
  let around = AROUND;
  const scroll = createScroll(element);
  let all = [];
  let arrangedFor = "";

  // A row under the pointer stays where it is: only another question, or leaving, sorts again.
  function arrange() {
    const question = JSON.stringify([state.address, state.table]);
    const { rows: sorted } = state.picture.table;
    all = question === arrangedFor && isInUse(body) ? heldRows(sorted, all) : sorted;
    arrangedFor = question;
  }

  const find = (row) =>
    dispatch({ type: "address", changes: { view: "flame", about: state.picture.table.keyOf(row), zoom: [], frame: [] },
      how: "push" });
  const about = (row) =>
    dispatch({ type: "address", changes: { view: "sandwich", about: state.picture.table.keyOf(row) }, how: "push" });

  function fillRows() {
    const { from, last, height } = scroll.rowsOf(all.length, around);
    first = from;
    resize(last - first);
    rows.forEach((row, i) => fillRow(row, all[first + i], first + i, state.picture));
    body.style.setProperty("--rows-above", first * height + "px");
    body.style.setProperty("--rows-below", (all.length - last) * height + "px");
    setAttribute(table, "aria-rowcount", all.length + 1);
  }

  function onLayout() {
    if (state === null || element.hidden) return;
    const before = scroll.rowsOf(all.length, around).height;
    scroll.measure(rows[0]?.element);
    const { from, last, height } = scroll.rowsOf(all.length, around);
    if (from !== first || last - from !== rows.length || height !== before) fillRows();
  }

  // Those in view now, those around them once these are painted; what is in use stays.
  function fillInView() {
    if (isInUse(body)) return fillRows();
    if (around === AROUND)
      afterPaint(() => {
        around = AROUND;
        if (!element.hidden) fillRows();
      });
    around = AROUND_FIRST;
    return fillRows();
  }

  body.addEventListener("pointerleave", () => {
    if (state === null || element.hidden || isInUse(body)) return;
    arrange();
    fillRows();
  });
  element.addEventListener("scroll", onLayout, { passive: true });
  window.addEventListener("scroll", onLayout, { passive: true });
  const observer = new ResizeObserver(onLayout);
  for (const sized of [element, table]) observer.observe(sized);

  return {
    update(next) {
      state = next;
      const { picture, table: order } = state;
      element.hidden = picture.table === null || picture.sum === 0;
      if (element.hidden) return;
      table.classList.toggle("has-libraries", picture.native !== null);
      table.classList.toggle("has-intervals", order.intervals);
      for (const head of heads) {
        setAttribute(head.element, "aria-sort",
          head.key !== order.sort ? null : order.descending ? "descending" : "ascending");
      }
      setMeasure(picture.measure !== null);
      caption.update(state);
      arrange();
      fillInView();
    },
  };
}
