// Wires the source to the state and the state to the views. One state, one queued render.

import { listenForPlaces } from "./host/home.js";
import { startHost } from "./host/page.js";
import { formatAddress, parseAddress } from "./model/address.js";
import { chosenFile } from "./model/lines.js";
import { createPicture } from "./model/picture.js";
import { takeBase, takeDelivery } from "./model/recording.js";
import { serverRules } from "./model/rules.js";
import { createState, reduce } from "./model/state.js";
import { threadIds } from "./model/threads.js";
import { askAccess } from "./source/host.js";
import { createLiveSource } from "./source/live.js";
import { createReportSource } from "./source/report.js";
import { createAsTables } from "./view/as-table.js";
import { createApplied } from "./view/applied.js";
import { createBanner } from "./view/banner.js";
import { createCrumbs } from "./view/crumbs.js";
import { createDetails } from "./view/details.js";
import { createDiff } from "./view/diff.js";
import { el } from "./view/dom.js";
import { createFlame } from "./view/flame.js";
import { createGil } from "./view/gil.js";
import { createTasks } from "./view/tasks.js";
import { createHeader } from "./view/header.js";
import { createHeatmap } from "./view/heatmap.js";
import { createHelp } from "./view/help.js";
import { createHint } from "./view/hint.js";
import { listenForKeys } from "./view/keys.js";
import { createLanes, laneThreads } from "./view/lanes.js";
import { createLegend } from "./view/legend.js";
import { createNote } from "./view/note.js";
import { createMeasures } from "./view/measures.js";
import { createPalette } from "./view/palette.js";
import { createQuality } from "./view/quality.js";
import { createSandwich } from "./view/sandwich.js";
import { createSource } from "./view/source.js";
import { createStateChips } from "./view/states.js";
import { createStrip } from "./view/strip.js";
import { createTable } from "./view/table.js";
import { createTitle } from "./view/title.js";
import { createToolbar } from "./view/toolbar.js";

const THEME_KEY = "pyrometer.theme";
const HOLD_KEY = "pyrometer.hold";

function remember(key, value) {
  try {
    localStorage.setItem(key, value);
  } catch {
    // Not remembered, then.
  }
}

function remembered(key) {
  try {
    return localStorage.getItem(key);
  } catch {
    return null;
  }
}

function storedTheme() {
  const chosen = document.documentElement.dataset.theme;
  return chosen === "light" || chosen === "dark" ? chosen : "system";
}

function applyTheme(theme) {
  if (theme === "system") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
  remember(THEME_KEY, theme);
}

function writeAddress(address, how) {
  const fragment = "#" + formatAddress(address);
  if (fragment === location.hash) return;
  try {
    if (how === "push") history.pushState(null, "", fragment);
    else history.replaceState(null, "", fragment);
  } catch {
    location.hash = fragment;
  }
}

const TYPED_MS = 150;

// What a person types or moves is written when they rest: browsers refuse an address that changes many times a second.
function createAddressBar() {
  let typed = null;
  let timer = null;
  const settle = () => {
    clearTimeout(timer);
    if (typed !== null) writeAddress(typed, "replace");
    typed = null;
  };
  return {
    write(address, how) {
      if (how === "push") {
        settle();
        return writeAddress(address, how);
      }
      typed = address;
      clearTimeout(timer);
      timer = setTimeout(settle, TYPED_MS);
      return undefined;
    },
    forget() {
      typed = null;
    },
  };
}

// A page that did not come over https has no clipboard interface; selecting and copying still works there.
async function copyText(text) {
  if (navigator.clipboard) return navigator.clipboard.writeText(text);
  const area = document.createElement("textarea");
  area.value = text;
  area.className = "offscreen";
  document.body.append(area);
  area.select();
  document.execCommand("copy");
  area.remove();
  return undefined;
}

function startPage() {
  const embedded = document.getElementById("profile-data").textContent.trim();
  const compute = createPicture();
  const addressBar = createAddressBar();
  let state = { ...createState(embedded === ""), theme: storedTheme(), holdsOnHover: remembered(HOLD_KEY) === "yes", address: parseAddress(location.hash) };
  let views = [];
  let queued = false;
  let heldByPointing = false;
  let asked = questionOf([]);

  // Whether what came fits what is here.
  function taken(take) {
    try {
      take();
      return true;
    } catch (problem) {
      if (!(problem instanceof RangeError)) throw problem;
      return false;
    } finally {
      dispatch({ type: "recorded" });
    }
  }

  const source = (embedded === "" ? createLiveSource : createReportSource)(embedded === "" ? state.address.session : embedded, {
    onSession: (session) => dispatch({ type: "session", session }),
    onConnection: (connection) => dispatch({ type: "connection", connection }),
    onTimeline: (timeline) => dispatch({ type: "timeline", timeline }),
    onLanes: (lanes) => dispatch({ type: "lanes", lanes }),
    onHeat: (heat) => dispatch({ type: "heat", heat }),
    onInstructions: (path, answer) => dispatch({ type: "instructions", path, answer }),
    onMatches: (matches) => dispatch({ type: "matches", matches }),
    onGil: (gil) => dispatch({ type: "gil", gil }),
    onTasks: (tasks) => dispatch({ type: "tasks", tasks }),
    onThreadStates: (threads) => dispatch({ type: "threadStates", threads }),
    onQuality: (quality) => dispatch({ type: "quality", quality }),
    onDelivery: (delivery) => taken(() => takeDelivery(state.recording, delivery)),
    onBase: (base) => taken(() => takeBase(state.recording, base)),
  });

  function pausedAt() {
    return state.paused ? state.session?.elapsed_s ?? null : null;
  }

  function questionOf(threads) {
    const { states, range, base, view } = state.address;
    return { threads, states, from: range?.from ?? null, to: range?.to ?? null, until: pausedAt(), base: view === "diff" ? base : null };
  }

  // What the heat map highlights: the functions that the search matches.
  function searchedFor(picture) {
    const { view, search } = state.address;
    return view === "heatmap" && search.trim() !== "" && picture.matched !== null ? { term: search, matched: picture.matched } : null;
  }

  let ruled = { key: "" };

  // What files of this session can be told of the filters.
  function fileRules() {
    const key = state.address.filters.join("\n") + "\n" + state.recordingVersion;
    if (ruled.key !== key) ruled = { key, ...serverRules(state.address.filters, state.recording.profile) };
    return ruled;
  }

  // Whose instructions are looked at: those of the file of the chosen line.
  function openedFile(picture) {
    const { view, line, file } = state.address;
    return view === "source" && line > 0 ? chosenFile(picture.source.files, file) ?? null : null;
  }

  // The server filters threads, states and times, so another choice is another question.
  function askFor(picture) {
    const chosen = threadIds(picture.chosen.chosen);
    const unknown = state.address.threads.length > 0 && chosen.length === 0;
    const threads = unknown ? asked.threads : chosen;
    const question = questionOf(threads);
    if (["threads", "states", "from", "to", "base"].every((part) => JSON.stringify(question[part]) === JSON.stringify(asked[part]))) return;
    asked = question;
    source.ask(asked);
  }

  function render() {
    queued = false;
    let picture = compute(state);
    askFor(picture);
    picture = compute(state);
    source.watchLanes(state.address.view === "threads" ? laneThreads({ ...state, picture }).map((thread) => thread.ids) : []);
    source.watchGil(state.address.view === "gil");
    source.watchTasks(state.address.view === "tasks");
    source.watchInstructions(openedFile(picture));
    source.watchMatches(searchedFor(picture));
    source.watchHeat(state.address.view === "heatmap");
    const shown = { ...state, picture, hasTimes: source.hasTimes(), downloads: source.downloads({ ...asked, rules: fileRules().rules }), unruled: source.live ? fileRules().left : state.address.filters };
    for (const view of views) view.update(shown);
  }

  function queueRender() {
    if (queued) return;
    queued = true;
    if (document.hidden) setTimeout(render, 0);
    else requestAnimationFrame(render);
  }

  const effects = new Map([
    ["address", (action) => addressBar.write(state.address, action.how)],
    ["toggleLibraries", () => addressBar.write(state.address, "push")],
    ["wantSource", (action) => readSource(action)],
    ["filter", () => addressBar.write(state.address, "push")],
    ["zoomTimeline", (action) => source.zoomTimeline(action.range)],
    ["toggleHold", () => remember(HOLD_KEY, state.holdsOnHover ? "yes" : "no")],
    ["pointAtStage", (action) => holdWhilePointed(action.on)],
    ["invert", () => addressBar.write(state.address, "push")],
    ["stepBack", () => addressBar.write(state.address, "push")],
    ["nextTheme", () => applyTheme(state.theme)],
    ["togglePause", () => { heldByPointing = false; setPaused(!state.paused); }],
    ["retry", () => source.retry()],
    ["copy", (action) => copyText(action.text).then(() => dispatch({ type: "note", text: action.note }), () => dispatch({ type: "note", text: "Copying was refused" }))],
    ["qualityDialog", (action) => source.watchQuality(action.open)],
  ]);

  function readSource({ path, function: id }) {
    if (state.sources.has(path)) return;
    const done = (source) => dispatch({ type: "source", path, source });
    done({ loading: true });
    source.sourceText(id).then(done, (problem) => done({ error: String(problem.message).replace(/\.?$/, ".") }));
  }

  function setPaused(paused) {
    if (!source.live) return;
    dispatch({ type: "pause", paused });
    source.pause(paused);
    if (!paused && asked.until !== null) {
      asked = { ...asked, until: null };
      source.ask(asked);
    }
  }

  // Whoever points at something wants it to stay: held by pointing, let go by leaving, unless it was paused by hand.
  function holdWhilePointed(pointed) {
    if (pointed ? !state.holdsOnHover || state.paused : !heldByPointing) return;
    heldByPointing = pointed;
    setPaused(pointed);
  }

  function dispatch(action) {
    state = reduce(state, action);
    effects.get(action.type)?.(action);
    queueRender();
  }

  window.addEventListener("popstate", () => {
    addressBar.forget();
    dispatch({ type: "address", changes: parseAddress(location.hash), how: "replace" });
  });

  const place = (id) => document.getElementById(id);
  const toolbar = createToolbar(place("toolbar"), dispatch);
  const strip = createStrip(place("strip"), dispatch);
  const applied = createApplied(place("applied"), dispatch);
  const heatmap = createHeatmap(place("stage"), dispatch);
  const crumbs = createCrumbs(place("stage"), dispatch);
  const flame = createFlame(place("stage"), dispatch);
  const sandwich = createSandwich(place("stage"), dispatch);
  const diff = createDiff(place("stage"), dispatch);
  const lines = createSource(place("stage"), dispatch);
  const lanes = createLanes(place("stage"), dispatch);
  const gil = createGil(place("stage"), dispatch);
  const tasks = createTasks(place("stage"), dispatch);
  const palette = createPalette(place("overlay"), dispatch);
  const table = createTable(place("stage"), dispatch);
  const foot = el("div", { class: "foot" });
  place("stage").append(foot);
  const legend = createLegend(foot, dispatch);
  const tables = createAsTables(place("strip"), foot, dispatch);
  views = [
    createTitle(), createBanner(place("banner"), dispatch), createHeader(place("header"), dispatch), createQuality(place("quality"), dispatch),
    strip, toolbar, createStateChips(place("states"), dispatch), applied, heatmap, crumbs, flame, sandwich, diff, lines, lanes, gil, tasks, table, palette, legend, tables, createDetails(place("details"), dispatch), createHelp(place("overlay"), dispatch), createMeasures(place("overlay"), dispatch),
    createNote(place("overlay"), dispatch), createHint(place("overlay")),
  ];
  const stage = place("stage");
  stage.addEventListener("pointerenter", () => dispatch({ type: "pointAtStage", on: true }));
  stage.addEventListener("pointerleave", () => dispatch({ type: "pointAtStage", on: false }));
  listenForKeys(dispatch, { search: toolbar.focusSearch, filter: applied.focus, strip: strip.focus, stepLine: lines.step, palette: palette.open });
  source.ask(asked);
  source.start();
  queueRender();
}

// A server of a whole host has a page of its own; any session of it, named in the address, is shown as everywhere.
async function start() {
  if (document.getElementById("profile-data").textContent.trim() !== "") return startPage();
  const place = listenForPlaces();
  if (place.session !== null) startPage();
  const access = await askAccess();
  if (access?.host !== true) return place.session === null ? startPage() : undefined;
  return place.session === null ? startHost(access, { stored: storedTheme, apply: applyTheme }) : place.showWayBack();
}

start();
