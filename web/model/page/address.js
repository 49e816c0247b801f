// The state of the page as text for the fragment of its URL, and back. Defaults are left out. Version 1:
//   v=1  session=ID  view=table  bottom-up  by=line  native=all  waits=off  colour=module  order=size  search=TEXT  thread=TID~NAME (repeated)  process=PID (repeated)
//   parts=PART,PART  state=WORD,WORD  range=FROM~TO  took=FROM~TO  baseline=FROM~TO  against=ID  filter=TERM (repeated)  about=KEY  file=PATH  line=N  hot  width=current  change=self  open=KEY.KEY or open=all  zoom=PATH  frame=PATH  tables=CHART,CHART
// at=FROM~TO, milliseconds since 1970, is read and becomes a range once the start of the session is known.
// PATH is frame keys from the root, joined by ".", a key that repeats N times written KEY*N. FROM and TO are seconds since
// the session began, but those of `took` are durations of requests; without TO a range goes on. `against` is another session to compare with, all of it, or what `baseline` says of it. TERM is one of filter.js; "filter" alone says that none applies, not even those
// that the session was recorded with.

import { cleanTerm, FILTERS_MAX } from "../filters/filter.js";
import { readParts } from "../profile/parts.js";
import { cleanWords } from "../profile/states.js";
import { NATIVE_SETTINGS } from "../trees/native.js";

export const ADDRESS_VERSION = 1;

const PATH_LENGTH_MAX = 20000;
const SEARCH_LENGTH_MAX = 2000;
const THREADS_MAX = 256;
const PROCESSES_OF_ADDRESS_MAX = 256;
const WORDS_LENGTH_MAX = 200;
const OPEN_MAX = 64;
const FILE_LENGTH_MAX = 4096;

export const VIEWS = ["flame", "stacks", "sandwich", "table", "source", "heatmap", "threads", "gil", "locks", "diff",
  "tasks", "requests"];

// The key that opens view number `index`.
export const viewKey = (index) => "12345678L90R"[index];

// Views that show the flame graph, alone or beneath something else.
export const FLAME_VIEWS = ["flame", "heatmap"];

// Views with the panel of details beside them.
export const PANEL_VIEWS = [...FLAME_VIEWS, "stacks"];

// Whose share the width of a frame of the comparison is, and which of its samples its colour compares.
export const DIFF_WIDTHS = ["both", "current", "baseline"];
export const DIFF_BY = ["total", "self"];

// How siblings stand in charts of frames: by name, or the largest first. An address that says neither: state.js, shownOrder().
export const ORDERS = ["name", "size"];

// Stands for all folded chains of frames (folds.js): none is folded.
export const ALL_OPEN = "all";

// Charts that can be had as tables too (view/page/as-table.js).
export const TABLES = ["strip", "memory", "heatmap", "flame", "stacks", "sandwich", "threads", "gil", "diff"];

/** @returns {Address} */
export function defaultAddress() {
  return {
    session: null,
    view: "flame",
    bottomUp: false,
    by: "function",
    native: null,
    hidesWaits: false,
    colour: "heat",
    order: null,
    search: "",
    threads: [],
    processes: [],
    parts: null,
    states: [],
    measure: null,
    range: null,
    took: null,
    at: null,
    baseline: null,
    against: null,
    filters: [],
    noFilters: false,
    about: "",
    file: "",
    line: 0,
    hotOnly: false,
    diffWidth: "both",
    diffBy: "total",
    open: [],
    zoom: [],
    frame: [],
    tables: [],
  };
}

/** @param {string[]} keys */
export function formatPath(keys) {
  const parts = [];
  for (let i = 0; i < keys.length;) {
    let same = i + 1;
    while (same < keys.length && keys[same] === keys[i]) same += 1;
    parts.push(same - i > 1 ? keys[i] + "*" + (same - i) : keys[i]);
    i = same;
  }
  return parts.join(".");
}

/** @param {string} text @returns {string[]} */
export function parsePath(text) {
  const keys = [];
  if (text === "") return keys;
  for (const part of text.split(".")) {
    const found = /^([0-9a-z]{1,8})(?:\*(\d{1,5}))?$/.exec(part);
    const times = Number(found?.[2] ?? 1);
    if (!found || keys.length + times > PATH_LENGTH_MAX) return [];
    for (let i = 0; i < times; i += 1) keys.push(found[1]);
  }
  return keys;
}

const listOf = (text) => (text ?? "").slice(0, WORDS_LENGTH_MAX).split(",");

/** @param {string} text */
function parseThread(text) {
  const found = /^(\d{1,15})~(.*)$/s.exec(text);
  return found ? { tid: Number(found[1]), name: found[2] } : null;
}

// "12.5~20" -> {from, to}; "12.5~" goes on: to is null. Anything else is null.
/** @param {string} text @returns {TimeRange | null} */
export function parseRange(text) {
  const found = /^(\d{1,9}(?:\.\d{1,6})?)~(\d{1,9}(?:\.\d{1,6})?)?$/.exec(text);
  if (!found) return null;
  const range = { from: Number(found[1]), to: found[2] === undefined ? null : Number(found[2]) };
  return range.to !== null && range.to <= range.from ? null : range;
}

// "1700000000000~1700000060000", milliseconds since 1970 as dashboards have them, as seconds: {from, to}; or null.
/** @param {string} text @returns {TimeRange | null} */
function parseInstants(text) {
  const found = /^(\d{12,14})~(\d{12,14})?$/.exec(text);
  return found && { from: Number(found[1]) / 1000, to: found[2] === undefined ? null : Number(found[2]) / 1000 };
}

export function formatRange({ from, to }) {
  const text = (seconds) => String(Math.round(seconds * 1e6) / 1e6);
  return text(from) + "~" + (to === null ? "" : text(to));
}

/** @param {string | null} value @param {string[]} allowed */
function oneOf(value, allowed) {
  return value !== null && allowed.includes(value) ? value : allowed[0];
}

/** @param {Address} address */
export function formatAddress(address) {
  const out = new URLSearchParams();
  out.set("v", String(ADDRESS_VERSION));
  if (address.session !== null) out.set("session", address.session);
  if (address.view !== "flame") out.set("view", address.view);
  if (address.bottomUp) out.set("bottom-up", "");
  if (address.by !== "function") out.set("by", address.by);
  if (address.native !== null) out.set("native", address.native);
  if (address.hidesWaits) out.set("waits", "off");
  if (address.colour !== "heat") out.set("colour", address.colour);
  if (address.order !== null) out.set("order", address.order);
  if (address.search !== "") out.set("search", address.search);
  for (const thread of address.threads) out.append("thread", thread.tid + "~" + thread.name);
  for (const pid of address.processes) out.append("process", String(pid));
  if (address.parts !== null) out.set("parts", address.parts.join());
  if (address.states.length > 0) out.set("state", address.states.join());
  if (address.measure !== null) out.set("measure", address.measure);
  if (address.range !== null) out.set("range", formatRange(address.range));
  if (address.took !== null) out.set("took", formatRange(address.took));
  if (address.baseline !== null) out.set("baseline", formatRange(address.baseline));
  if (address.against !== null) out.set("against", address.against);
  for (const term of address.filters) out.append("filter", term);
  if (address.noFilters) out.append("filter", "");
  if (address.about !== "") out.set("about", address.about);
  if (address.file !== "") out.set("file", address.file);
  if (address.line > 0) out.set("line", String(address.line));
  if (address.hotOnly) out.set("hot", "");
  if (address.diffWidth !== "both") out.set("width", address.diffWidth);
  if (address.diffBy !== "total") out.set("change", address.diffBy);
  if (address.open.length > 0) out.set("open", address.open.join("."));
  if (address.zoom.length > 0) out.set("zoom", formatPath(address.zoom));
  if (address.frame.length > 0) out.set("frame", formatPath(address.frame));
  if (address.tables.length > 0) out.set("tables", address.tables.join());
  return out.toString().replace(/=(?=&|$)/g, "").replaceAll("%2C", ",").replaceAll("%21", "!").replaceAll("%7E", "~");
}

// Whatever is wrong in `text` is left at its default; a later version of the format gives the defaults. An address that says
// nothing opens `view`.
export function parseAddress(text, view = "flame") {
  const address = defaultAddress();
  const given = new URLSearchParams(text.replace(/^#/, ""));
  if (given.size === 0) return { ...address, view: oneOf(view, VIEWS) };
  if (given.has("v") && Number(given.get("v")) !== ADDRESS_VERSION) return address;
  address.session = given.get("session");
  address.view = oneOf(given.get("view"), VIEWS);
  address.bottomUp = given.has("bottom-up");
  address.by = oneOf(given.get("by"), ["function", "line"]);
  address.native = NATIVE_SETTINGS.find((setting) => setting === given.get("native")) ?? null;
  address.hidesWaits = given.get("waits") === "off";
  address.colour = oneOf(given.get("colour"), ["heat", "module"]);
  address.order = ORDERS.find((order) => order === given.get("order")) ?? null;
  address.search = (given.get("search") ?? "").slice(0, SEARCH_LENGTH_MAX);
  address.threads = given.getAll("thread").slice(0, THREADS_MAX).map(parseThread).filter((thread) => thread !== null);
  address.processes = given.getAll("process").slice(0, PROCESSES_OF_ADDRESS_MAX).filter((pid) =>
    /^[1-9]\d{0,9}$/.test(pid)
  ).map(Number);
  address.parts = readParts(listOf(given.get("parts")));
  address.states = cleanWords(listOf(given.get("state")));
  address.measure = /^[\w.-]{1,64}$/.exec(given.get("measure") ?? "")?.[0] ?? null;
  address.range = parseRange(given.get("range") ?? "");
  address.took = parseRange(given.get("took") ?? "");
  address.at = parseInstants(given.get("at") ?? "");
  address.baseline = parseRange(given.get("baseline") ?? "");
  address.against = /^[\w.-]{1,64}$/.exec(given.get("against") ?? "")?.[0] ?? null;
  address.filters = given.getAll("filter").slice(0, FILTERS_MAX).map(cleanTerm).filter((term) => term !== null);
  address.noFilters = given.has("filter") && address.filters.length === 0;
  address.about = /^[0-9a-z]{1,8}$/.exec(given.get("about") ?? "")?.[0] ?? "";
  address.file = (given.get("file") ?? "").slice(0, FILE_LENGTH_MAX);
  address.line = /^\d{1,9}$/.test(given.get("line") ?? "") ? Number(given.get("line")) : 0;
  address.hotOnly = given.has("hot");
  address.diffWidth = oneOf(given.get("width"), DIFF_WIDTHS);
  address.diffBy = oneOf(given.get("change"), DIFF_BY);
  address.open = parsePath(given.get("open") ?? "").slice(0, OPEN_MAX);
  address.zoom = parsePath(given.get("zoom") ?? "");
  address.frame = parsePath(given.get("frame") ?? "");
  const tables = (given.get("tables") ?? "").split(",");
  address.tables = TABLES.filter((key) => tables.includes(key));
  return address;
}
