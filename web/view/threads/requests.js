// Requests: how long they took, when, the slowest ones, and what one of them did.

import { formatCount, formatDuration } from "../../model/base/numbers.js";
import { isInBand } from "../../model/profile/contexts.js";
import { bandText } from "../../model/threads/requests.js";
import { TEXT } from "../../text/session.js";
import { el, isInUse, isolated, setText, soft } from "../elements/dom.js";

const SCATTER_NAMESPACE = "http://www.w3.org/2000/svg";
const SCATTER_WIDTH = 960;
const SCATTER_HEIGHT = 140;

function requestShape(tag, attributes, ...children) {
  const made = document.createElementNS(SCATTER_NAMESPACE, tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, String(value));
  made.append(...children);
  return made;
}

function titled(shape, text) {
  const title = requestShape("title", {});
  title.textContent = text;
  shape.append(title);
  return shape;
}

// When requests began, and how long they took.
function scatterOf({ scatter: { slots, width, from, cells }, histogram }) {
  const bins = histogram.length;
  const most = Math.max(...cells.map((cell) => cell.requests));
  const rowOf = (cell) => histogram.findIndex((bin) => Math.abs(bin.from - cell.from) < 1e-9);
  return requestShape("svg", { class: "request-scatter", viewBox: "0 0 " + SCATTER_WIDTH + " " + SCATTER_HEIGHT,
    preserveAspectRatio: "none", role: "img", "aria-label": TEXT.requests.scatter }, ...cells.map((cell) =>
      titled(
        requestShape("rect", { x: (cell.slot * SCATTER_WIDTH) / slots,
          y: SCATTER_HEIGHT - ((rowOf(cell) + 1) * SCATTER_HEIGHT) / bins, width: SCATTER_WIDTH / slots,
          height: SCATTER_HEIGHT / bins, opacity: 0.3 + 0.7 * Math.sqrt(cell.requests / most) }),
        TEXT.requests.scattered(formatCount(cell.requests), formatDuration(cell.from),
          formatDuration(from + cell.slot * width)),
      )
    ));
}

function waterfallElement({ from, to, lanes }) {
  return el("div", { class: "waterfall", "data-testid": "waterfall", role: "group",
    "aria-label": TEXT.requests.waterfall },
    el("p", { class: "soft" }, TEXT.requests.lasted(formatDuration(to - from), formatDuration(from))),
    ...lanes.map(({ title, pieces }) =>
      el("div", { class: "waterfall-lane" }, isolated(title, { class: "soft" }),
        el("ol", {}, ...pieces.map(({ left, width, part, text }) => {
          const piece = el("li", { title: text, "data-part": part, "aria-label": text });
          piece.style.insetInlineStart = 100 * left + "%";
          piece.style.width = Math.max(0.15, 100 * width) + "%";
          return piece;
        })))
    ));
}

function placeCell(column, place, change) {
  if (place === null) return el("td", { "data-head": TEXT.requests.heads[column] }, soft("—"));
  const open = () => change({ view: "source", file: place.path, line: place.line });
  return el("td", { "data-head": TEXT.requests.heads[column] },
    el("button", { type: "button", class: "row-name", on: { click: open } }, isolated(place.name), " ",
      isolated(place.place, { class: "soft" })));
}

export function createRequestsView(root, dispatch) {
  const change = (changes) => dispatch({ type: "address", changes, how: "push" });
  const summary = el("p", { class: "gil-summary", "data-testid": "requests-summary" });
  const bars = el("div", { class: "request-bars", role: "group", "aria-label": TEXT.requests.histogram,
    "data-testid": "request-bars" });
  const slowest = el("button", { type: "button", "data-testid": "requests-slowest" }, TEXT.requests.slowest);
  const rest = el("button", { type: "button", "data-testid": "requests-compare" }, TEXT.requests.compare);
  const clear = el("button", { type: "button", "data-testid": "requests-all" }, TEXT.requests.all);
  const scatter = el("div", {});
  const head = el("tr", {}, ...TEXT.requests.heads.map((text) => el("th", { scope: "col" }, text)));
  const body = el("tbody", {});
  const table = el("table", { class: "task-table request-table", "data-testid": "request-table",
    "aria-label": TEXT.requests.label }, el("thead", {}, head), body);
  const note = el("p", { class: "soft" });
  const none = el("p", { class: "empty", "data-testid": "requests-none" });
  const parts = [summary, bars, el("div", { class: "request-ways" }, slowest, rest, clear), scatter, note, table];
  const element = el("div", { class: "tasks requests", "data-testid": "requests", tabindex: "0", role: "region",
    "aria-label": TEXT.requests.label }, ...parts, none);
  root.append(element);
  let shown = null;
  let band = null;
  let session = null;

  const select = (from, to) => change({ took: { from, to } });
  slowest.addEventListener("click", () => change({ took: shown.slowest }));
  clear.addEventListener("click", () => change({ took: null }));
  rest.addEventListener("click", () => change({ view: "diff", took: band ?? shown.slowest, against: session.id }));

  // A bar keeps what is slower, too; with the shift key, only itself.
  function barOf(bin, most) {
    const count = bin.whole + bin.cut;
    const bar = el("button", { type: "button", "data-testid": "request-bar",
      "aria-pressed": String(isInBand(band, bin.from)),
      title: TEXT.requests.bar(formatCount(count), formatDuration(bin.from), formatDuration(bin.to)),
      "data-hint": TEXT.requests.barHint, on: { click: (event) => select(bin.from, event.shiftKey ? bin.to : null) } },
      el("span", { class: "request-bar" }), el("span", { class: "soft" }, formatDuration(bin.from)));
    bar.firstChild.style.height = (count === 0 ? 0 : 4 + (76 * count) / most) + "px";
    return bar;
  }

  function rowOf(row, { waterfall, pending }, isOpen) {
    const open = () => dispatch({ type: "request", mark: isOpen ? 0 : row.mark });
    const only = () => change({ view: "flame", filters: ["focus " + row.term] });
    const line = el("tr", { "data-testid": "request" },
      el("th", { scope: "row" },
        el("button", { type: "button", class: "task-open", "aria-expanded": String(isOpen),
          "aria-label": TEXT.requests.open, on: { click: open } }), " ",
        el("button", { type: "button", class: "row-name", "data-hint": TEXT.requests.only, on: { click: only } },
          isolated(row.value))),
      el("td", { class: "number", "data-head": TEXT.requests.heads[1], title: row.error }, row.duration),
      el("td", { class: "number", "data-head": TEXT.requests.heads[2] }, row.running),
      el("td", { "data-head": TEXT.requests.heads[3] }, row.waits.join(", ")), placeCell(4, row.line, change),
      placeCell(5, row.view, change));
    if (!isOpen) return [line];
    const detail = waterfall === null ? soft(pending) : waterfallElement(waterfall);
    return [line, el("tr", { class: "task-stack" }, el("td", { colspan: "6" }, detail))];
  }

  function summarize({ answer, percentiles, missing }) {
    summary.replaceChildren(el("strong", {}, TEXT.requests.count(formatCount(answer.requests))), " ",
      ...percentiles.flatMap(({ percent, duration, interval }) => [
        el("span", { class: "request-percentile", title: interval === "" ? "" : TEXT.requests.interval(interval) },
          soft(percent + " "), duration),
        " ",
      ]));
    setText(note, TEXT.requests.how + (missing === "" ? "" : " " + missing));
  }

  return {
    update(state) {
      element.hidden = state.address.view !== "requests" || state.picture.empty !== null;
      if (element.hidden) return;
      const { requests } = state.picture;
      for (const part of parts) part.hidden = requests.reason !== null;
      none.hidden = requests.reason === null;
      setText(none, requests.reason ?? "");
      const opened = state.openRequest;
      const isSame = shown?.requests === requests && band === state.address.took && shown?.opened === opened;
      band = state.address.took;
      session = state.session;
      if (requests.reason !== null || isSame) return;
      const isHeld = shown !== null && shown.opened === opened && isInUse(body);
      shown = { ...requests, requests, opened };
      summarize(requests);
      slowest.disabled = requests.slowest === null;
      rest.disabled = requests.slowest === null && band === null;
      clear.hidden = band === null;
      setText(clear, band === null ? "" : TEXT.requests.all + " (" + bandText(band) + ")");
      const most = Math.max(...requests.answer.histogram.map((bin) => bin.whole + bin.cut));
      if (!isInUse(bars)) bars.replaceChildren(...requests.answer.histogram.map((bin) => barOf(bin, most)));
      scatter.replaceChildren(scatterOf(requests.answer));
      // A row that is pointed at or has the focus stays where it is.
      if (isHeld) return;
      table.classList.toggle("without-views", requests.rows.every((row) => row.view === null));
      body.replaceChildren(...requests.rows.flatMap((row) => rowOf(row, requests, row.mark === opened)));
    },
  };
}
