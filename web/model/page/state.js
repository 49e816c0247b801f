// The state of a session page and how actions change it. No drawing, no network, no browser.

import { TEXT } from "../../text/session.js";
import { cleanTerm, FILTERS_MAX, parseTerm, recordedTerms } from "../filters/filter.js";
import { emptyGil } from "../threads/gil.js";
import { emptyLocks } from "../threads/locks.js";
import { emptyRequests } from "../threads/requests.js";
import { emptyTasks } from "../threads/tasks.js";
import { emptyHeat } from "../time/heatmap.js";
import { emptyMatches } from "../time/matches.js";
import { emptyMemory } from "../time/memory.js";
import { emptyTimeline } from "../time/timeline.js";
import { createRecording } from "../trees/recording.js";
import { defaultAddress } from "./address.js";
import { cleanLinks, noLinks } from "./links.js";

export function createState(live) {
  return {
    live,
    address: defaultAddress(),
    theme: "system",
    session: null,
    connection: { state: "connecting", detail: "", retryAt: null },
    recording: createRecording(),
    recordingVersion: 0,
    threadStates: new Map(),
    timeline: emptyTimeline(),
    timelineZoom: null,
    memory: emptyMemory(),
    stackSpan: null,
    heat: emptyHeat(),
    gil: emptyGil(),
    locks: emptyLocks(),
    deadlocks: [],
    tasks: emptyTasks(),
    requests: emptyRequests(),
    openRequest: 0,
    matches: emptyMatches(),
    holdsOnHover: false,
    ownPatterns: "",
    links: { came: noLinks(), own: noLinks() },
    linksOpen: false,
    picker: null,
    missing: null,
    access: null,
    filterError: "",
    sources: new Map(),
    instructions: new Map(),
    lanes: new Map(),
    quality: null,
    summary: null,
    summaryVersion: 0,
    paused: false,
    samplesAtPause: 0,
    hover: null,
    width: 0,
    widths: {},
    table: { sort: "self", descending: true, intervals: false },
    helpOpen: false,
    qualityOpen: false,
    note: "",
    menu: null,
  };
}

function withAddress(state, changes) {
  const address = { ...state.address, ...(changes.threads === undefined ? {} : { processes: [] }), ...changes };
  // A range is one of this session unless something else is said with it.
  if (changes.baseline !== undefined && changes.against === undefined) address.against = null;
  const otherTree = address.by !== state.address.by || address.native !== state.address.native
    || address.hidesWaits !== state.address.hidesWaits || address.bottomUp !== state.address.bottomUp;
  const otherFilters = address.filters.join("\n") !== state.address.filters.join("\n");
  const width = state.widths[address.view] ?? state.width;
  if ((otherTree || otherFilters) && changes.zoom === undefined) Object.assign(address, { zoom: [], frame: [] });
  if (changes.filters !== undefined && changes.noFilters === undefined) {
    address.noFilters = changes.filters.length === 0 && recordedTerms(state.session).terms.length > 0;
  }
  return { ...state, address, width, hover: otherTree || otherFilters ? null : state.hover,
    filterError: otherFilters ? "" : state.filterError };
}

// An address that says nothing of filters gets those that the session was recorded with; a report was made with them.
function withRecordedFilters(state) {
  const { terms, unknown } = recordedTerms(state.session);
  if (!state.live || state.address.noFilters || state.address.filters.length > 0 || terms.length + unknown === 0)
    return state;
  const next = terms.length > 0
    ? withAddress(state, { filters: terms, zoom: state.address.zoom, frame: state.address.frame })
    : state;
  return { ...next, filterError: unknown > 0 ? TEXT.filters.unknownRecorded(unknown) : "" };
}

// Instants of the address as a range of the session, as far as it has that time.
function withInstants(state) {
  const { at } = state.address;
  const began = Date.parse(state.session.started_at ?? "") / 1000;
  if (at === null || Number.isNaN(began)) return state;
  const from = Math.max(0, Math.round((at.from - began) * 1000) / 1000);
  const to = at.to === null ? null : Math.round((at.to - began) * 1000) / 1000;
  return withAddress(state, { at: null, range: to !== null && to <= from ? null : { from, to } });
}

// A capture that is still being opened does not know its filters yet.
function withSession(state, session) {
  // A report brings its links along; a server has them elsewhere.
  const links = session.links === undefined ? state.links : { ...state.links, came: cleanLinks(session.links) };
  const next = withInstants({ ...state, session, links });
  return state.session === null || state.session.state === "starting" ? withRecordedFilters(next) : next;
}

// Charts of another view have another width, which is known once it was there. Another window makes all of them another.
function withWidth(state, width) {
  const { view } = state.address;
  const isOther = state.widths[view] !== undefined && state.widths[view] !== width;
  return { ...state, width, widths: { ...(isOther ? {} : state.widths), [view]: width } };
}

function withSort(table, sort) {
  const descending = table.sort === sort ? !table.descending : sort !== "name";
  return { ...table, sort, descending };
}

// A term of filter.js behind those there are; what is wrong with it is said instead.
function withFilter(state, text) {
  const { filters } = state.address;
  const { error } = parseTerm(text);
  if (error !== null) return { ...state, filterError: error };
  if (filters.length >= FILTERS_MAX) return { ...state, filterError: TEXT.filters.tooMany(FILTERS_MAX) };
  const term = cleanTerm(text);
  return filters.includes(term)
    ? { ...state, filterError: "" }
    : { ...withAddress(state, { filters: [...filters, term] }), filterError: "" };
}

export const LIBRARIES_TERM = "hide libraries";

function withLibraries(state) {
  const { filters } = state.address;
  const on = filters.includes(LIBRARIES_TERM);
  return withAddress(state, {
    filters: on ? filters.filter((term) => term !== LIBRARIES_TERM) : [...filters, LIBRARIES_TERM],
  });
}

// Esc: out of the zoom first, then of the selection, then of the search.
function withStepBack(state) {
  const { zoom, frame, about, search, view } = state.address;
  if (zoom.length > 0) return withAddress(state, { zoom: [] });
  if (frame.length > 0) return withAddress(state, { frame: [] });
  if (about !== "" && view === "flame") return withAddress(state, { about: "" });
  return search === "" ? state : withAddress(state, { search: "" });
}

const REDUCERS = new Map([
  ["address", (state, action) => withRecordedFilters(withAddress(state, action.changes))],
  ["filter", (state, action) => withFilter(state, action.text)],
  ["toggleLibraries", withLibraries],
  ["timeline", (state, action) => ({ ...state, timeline: action.timeline })],
  ["memory", (state, action) => ({ ...state, memory: action.memory })],
  ["source", (state, action) => ({ ...state, sources: new Map(state.sources).set(action.path, action.source) })],
  ["instructions", (state, action) => ({ ...state, instructions: new Map([[action.path, action.answer]]) })],
  ["lanes", (state, action) => ({ ...state, lanes: action.lanes })],
  ["heat", (state, action) => ({ ...state, heat: action.heat })],
  ["matches", (state, action) => ({ ...state, matches: action.matches })],
  ["gil", (state, action) => ({ ...state, gil: action.gil })],
  ["locks", (state, { locks }) => ({ ...state, locks, deadlocks: locks.deadlocks })],
  ["deadlocks", (state, action) => ({ ...state, deadlocks: action.deadlocks })],
  ["tasks", (state, action) => ({ ...state, tasks: action.tasks })],
  ["requests", (state, action) => ({ ...state, requests: action.requests })],
  ["request", (state, action) => ({ ...state, openRequest: action.mark })],
  ["zoomTimeline", (state, action) => ({ ...state, timelineZoom: action.range })],
  ["stackSpan", (state, action) => ({ ...state, stackSpan: action.span })],
  ["links", (state, action) => ({ ...state, links: { ...state.links, ...action.links } })],
  ["access",
    (state, action) => ({ ...state, access: action.access,
      links: { ...state.links, came: cleanLinks(action.access?.links) } })],
  ["picker", (state, action) => ({ ...state, picker: action.picker })],
  // A dialog that was closed meanwhile stays closed.
  ["pickerFound",
    (state, action) => (state.picker === null ? state : { ...state, picker: { ...state.picker, ...action.found } })],
  ["missing", (state, action) => ({ ...state, missing: action.id })],
  ["linksDialog", (state, action) => ({ ...state, linksOpen: action.open })],
  ["own", (state, action) => ({ ...state, ownPatterns: action.patterns })],
  ["toggleHold", (state) => ({ ...state, holdsOnHover: !state.holdsOnHover })],
  ["turn", (state) => withAddress(state, { bottomUp: !state.address.bottomUp })],
  ["stepBack", withStepBack],
  ["session", (state, action) => withSession(state, action.session)],
  ["settings", (state, action) => ({ ...state, session: { ...state.session, settings: action.settings } })],
  ["recorded", (state) => ({ ...state, recordingVersion: state.recording.version })],
  ["connection", (state, action) => ({ ...state, connection: action.connection })],
  ["threadStates", (state, action) => ({ ...state, threadStates: action.threads })],
  ["summary", (state, action) => ({ ...state, summary: action.summary, summaryVersion: state.summaryVersion + 1 })],
  ["quality", (state, action) => ({ ...state, quality: action.quality })],
  ["pause",
    (state, action) => ({ ...state, paused: action.paused, samplesAtPause: state.session?.quality?.samples ?? 0 })],
  ["hover", (state, action) => ({ ...state, hover: action.id })],
  ["width", (state, action) => withWidth(state, action.width)],
  ["theme", (state, action) => ({ ...state, theme: action.theme })],
  ["nextTheme", (state) => ({ ...state, theme: nextTheme(state.theme) })],
  ["sort", (state, action) => ({ ...state, table: withSort(state.table, action.sort) })],
  ["intervals", (state) => ({ ...state, table: { ...state.table, intervals: !state.table.intervals } })],
  ["qualityDialog", (state, action) => ({ ...state, qualityOpen: action.open })],
  ["help", (state, action) => ({ ...state, helpOpen: action.open })],
  ["menu", (state, action) => ({ ...state, menu: action.menu })],
  ["note", (state, action) => ({ ...state, note: action.text })],
]);

// The state after `action`: {type, ...}. An action nobody knows changes nothing.
export function reduce(state, action) {
  const reducer = REDUCERS.get(action.type);
  return reducer ? reducer(state, action) : state;
}

export function nextTheme(theme) {
  return { system: "light", light: "dark", dark: "system" }[theme] ?? "system";
}

// The summary of a report is of the whole of it, whatever is selected.
export function isOfMore({ summary, address: { range, threads, processes, filters } }) {
  return summary?.ofReport === true && (range !== null || threads.length + processes.length + filters.length > 0);
}

export const mayOperate = ({ live, access }) => live && access?.scope === "operator";

// running | paused | ended | failed | starting | connecting | lost | denied | report
export function statusOf(state) {
  if (!state.live) return "report";
  if (state.connection.state === "lost" || state.connection.state === "denied") return state.connection.state;
  if (state.session === null) return "connecting";
  if (state.session.state === "running" && state.paused) return "view paused";
  return state.session.state;
}

// How siblings stand: as the address says, else by name while numbers change, and the largest first once they do not.
export function shownOrder(state) {
  return state.address.order ?? (["ended", "failed", "report"].includes(statusOf(state)) ? "size" : "name");
}

export function newerSamples(state) {
  if (!state.paused) return 0;
  return Math.max(0, (state.session?.quality?.samples ?? 0) - state.samplesAtPause);
}
