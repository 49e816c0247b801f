// The functions as a real table, for reading and for those who do not see the picture.

import { formatCount, formatShare, ratio, wilsonInterval } from "../model/numbers.js";
import { exactSearch } from "../model/search.js";
import { el, isolated, setAttribute, setText } from "./dom.js";

const COLUMNS = [
  { key: "self", label: "Own", meaning: "Samples in which it was running itself" },
  { key: "total", label: "Total", meaning: "Samples with it on the stack, each counted once" },
];

function intervalHint(samples, sum) {
  const { low, high } = wilsonInterval(samples, sum);
  return formatCount(samples) + " samples; 95 % interval " + formatShare(low) + " to " + formatShare(high);
}

function createCell() {
  const fill = el("i", {});
  const share = el("span", { class: "share" });
  const samples = el("span", { class: "samples" });
  const parts = el("div", { class: "measured" }, el("span", { class: "bar", "aria-hidden": "true" }, fill), share, samples);
  return { fill, share, samples, parts, element: el("td", {}, parts) };
}

function createTableRow(find) {
  const name = isolated("");
  const place = isolated("", { class: "place" });
  const button = el("button", { type: "button", class: "row-name", "data-hint": "Find in the flame graph" }, name);
  const self = createCell();
  const total = createCell();
  const element = el("tr", {}, self.element, total.element, el("th", { scope: "row" }, button, place));
  const row = { element, name, place, self, total, label: null };
  button.addEventListener("click", () => find(row.label));
  return row;
}

function fillCell(cell, samples, sum) {
  const share = ratio(samples, sum);
  cell.fill.style.width = (share || 0) * 100 + "%";
  setText(cell.share, formatShare(share));
  setText(cell.samples, formatCount(samples));
  setAttribute(cell.parts, "data-hint", intervalHint(samples, sum));
}

export function createTable(root, dispatch) {
  const sortBy = (key) => () => dispatch({ type: "sort", sort: key });
  const heads = COLUMNS.map((column) => ({
    key: column.key,
    element: el("th", { scope: "col" }, el("button", { type: "button", "data-hint": column.meaning, "data-testid": "sort-" + column.key, on: { click: sortBy(column.key) } }, column.label)),
  }));
  const nameHead = { key: "name", element: el("th", { scope: "col" }, el("button", { type: "button", "data-testid": "sort-name", on: { click: sortBy("name") } }, "Function")) };
  const body = el("tbody", {});
  const caption = el("caption", {});
  const more = el("button", { type: "button", "data-testid": "show-more", on: { click: () => dispatch({ type: "showMore" }) } }, "Show more");
  const table = el("table", { "data-testid": "table" }, caption, el("thead", {}, el("tr", {}, ...heads.map((head) => head.element), nameHead.element)), body);
  const element = el("div", { class: "table" }, table, more);
  root.append(element);
  const rows = [];

  function find(label) {
    dispatch({ type: "address", changes: { view: "flame", search: exactSearch(label.raw), zoom: [] }, how: "push" });
  }

  function fillRows(picture) {
    const shown = picture.table.rows;
    while (rows.length < shown.length) {
      rows.push(createTableRow(find));
      body.append(rows[rows.length - 1].element);
    }
    rows.forEach((row, i) => {
      row.element.hidden = i >= shown.length;
      if (row.element.hidden) return;
      row.label = shown[i].label;
      setText(row.name, row.label.name);
      setText(row.place, row.label.place);
      fillCell(row.self, shown[i].self, picture.sum);
      fillCell(row.total, shown[i].total, picture.sum);
    });
  }

  return {
    update(state) {
      const { picture, table: order } = state;
      element.hidden = picture.table === null || picture.sum === 0;
      if (element.hidden) return;
      for (const head of [...heads, nameHead]) {
        setAttribute(head.element, "aria-sort", head.key !== order.sort ? null : order.descending ? "descending" : "ascending");
      }
      const found = picture.table.count === picture.table.functions ? "" : " of " + formatCount(picture.table.functions);
      const what = state.address.by === "line" ? " lines" : " functions";
      setText(caption, formatCount(picture.table.count) + found + what + ", " + formatCount(picture.sum) + " samples");
      fillRows(picture);
      more.hidden = picture.table.count <= picture.table.rows.length;
      setText(more, "Show more (" + formatCount(picture.table.count - picture.table.rows.length) + " left)");
    },
  };
}
