// Wires the source to the state and the state to the views. One state, one queued render.

import { listenForPlaces } from "./host/home.js";
import { startHost } from "./host/page.js";
import { openSessionShare } from "./host/share.js";
import { filterParameters } from "./model/filters/filter.js";
import { sessionTitle } from "./model/host/sessions.js";
import { formatAddress, PANEL_VIEWS, parseAddress } from "./model/page/address.js";
import { cleanLinks, noLinks } from "./model/page/links.js";
import { isSameQuestion, openedFile, questionOf, searchedFor } from "./model/page/questions.js";
import { wantedRuns } from "./model/page/stack-span.js";
import { createState, reduce } from "./model/page/state.js";
import { createPicture } from "./model/picture/picture.js";
import { isRunningAPart } from "./model/profile/parts.js";
import { tasksRequest } from "./model/threads/tasks.js";
import { createChosenThreads, threadIds } from "./model/threads/threads.js";
import { takeBaseline, takeBlocks, takeDelivery, takeRunning, takeRuns } from "./model/trees/recording.js";
import { openComparable, readComparable } from "./source/comparable.js";
import { askAccess } from "./source/host.js";
import { createLiveSource } from "./source/live.js";
import { addRangeNote, removeRangeNote } from "./source/range-notes.js";
import { createReportSource } from "./source/report.js";
import { send } from "./source/requests.js";
import { TEXT } from "./text/session.js";
import { createOwnLinesView } from "./view/code/own.js";
import { createSource } from "./view/code/source.js";
import { createTable } from "./view/code/table.js";
import { afterPaint, el } from "./view/elements/dom.js";
import { createHint } from "./view/elements/hint.js";
import { createApplied } from "./view/filters/applied.js";
import { createPartsBar } from "./view/filters/parts.js";
import { createDetails } from "./view/flame/details.js";
import { createDiff } from "./view/flame/diff.js";
import { createFlame } from "./view/flame/flame.js";
import { createLegend } from "./view/flame/legend.js";
import { createSandwich } from "./view/flame/sandwich.js";
import { createStacks } from "./view/flame/stacks.js";
import { createAsTables } from "./view/page/as-table.js";
import { createBanner } from "./view/page/banner.js";
import { applyTheme, copyText, createAddressBar, remember, remembered, storedTheme } from "./view/page/browser.js";
import { createComparePicker } from "./view/page/compare-picker.js";
import { createContextMenu } from "./view/page/context-menu.js";
import { createHeader } from "./view/page/header.js";
import { createHeadline } from "./view/page/headline.js";
import { createHelp } from "./view/page/help.js";
import { listenForKeys } from "./view/page/keys.js";
import { createLinkSettings } from "./view/page/link-settings.js";
import { createNote } from "./view/page/note.js";
import { createPalette } from "./view/page/palette.js";
import { createMeasures, createQuality } from "./view/page/quality.js";
import { saveChart } from "./view/page/save-chart.js";
import { createShape } from "./view/page/shape.js";
import { createTitle } from "./view/page/title.js";
import { createToolbar } from "./view/page/toolbar.js";
import { createGil } from "./view/threads/gil.js";
import { createLanes, laneThreads } from "./view/threads/lanes.js";
import { createLocks } from "./view/threads/locks.js";
import { createRequestsView } from "./view/threads/requests.js";
import { createTasks } from "./view/threads/tasks.js";
import { createHeatmap } from "./view/time/heatmap.js";
import { createStrip } from "./view/time/strip.js";

const HOLD_KEY = "pyrometer.hold";
const OWN_KEY = "pyrometer.own";
const LINKS_KEY = "pyrometer.links";

// The handlers of the source: actions; `recorded` takes what changes the recording in place.
function sourceHandlers(dispatch, recorded) {
  return {
    onSession: (session) => dispatch({ type: "session", session }),
    onConnection: (connection) => dispatch({ type: "connection", connection }),
    onTimeline: (timeline) => dispatch({ type: "timeline", timeline }),
    onMemory: (memory) => dispatch({ type: "memory", memory }),
    onLanes: (lanes) => dispatch({ type: "lanes", lanes }),
    onHeat: (heat) => dispatch({ type: "heat", heat }),
    onInstructions: (path, answer) => dispatch({ type: "instructions", path, answer }),
    onMatches: (matches) => dispatch({ type: "matches", matches }),
    onGil: (gil) => dispatch({ type: "gil", gil }),
    onLocks: (locks) => dispatch({ type: "locks", locks }),
    onDeadlocks: (deadlocks) => dispatch({ type: "deadlocks", deadlocks }),
    onRequests: (requests) => dispatch({ type: "requests", requests }),
    onTasks: (tasks) => dispatch({ type: "tasks", tasks }),
    onThreadStates: (threads) => dispatch({ type: "threadStates", threads }),
    onSummary: (summary) => dispatch({ type: "summary", summary }),
    onMissing: (id) => dispatch({ type: "missing", id }),
    onQuality: (quality) => dispatch({ type: "quality", quality }),
    onDelivery: (delivery) => recorded(takeDelivery, delivery),
    onBaseline: (baseline) => recorded(takeBaseline, baseline),
    onRunning: (running) => recorded(takeRunning, running),
    onRuns: (runs) => recorded(takeRuns, runs),
    onBlocks: (blocks) => recorded(takeBlocks, blocks),
  };
}

// The summary says where all time goes, as the bar does.
const ofAllParts = (selected) => ({ ...selected, parts: [] });

// Sets what the source watches for the view that is shown.
function watchFor(source, state, picture, selected) {
  const { view } = state.address;
  source.watch("lanes", view === "threads" ? laneThreads({ ...state, picture }).map((thread) => thread.ids) : []);
  source.watch("gil", view === "gil");
  source.watch("locks", view === "locks");
  source.watch("tasks", view === "tasks");
  source.watch("requests", view === "requests" ? { mark: state.openRequest } : null);
  source.watch("instructions", openedFile(state, picture));
  source.watch("matches", searchedFor(state, picture));
  source.watch("heat", view === "heatmap");
  source.watch("blocks", view === "diff" || view === "table" || state.address.frame.length > 0);
  source.watch("running", view === "flame" && isRunningAPart(state));
  source.watch("runs", wantedRuns(state, picture));
  source.watch("quality", state.qualityOpen);
  source.watch("summary", PANEL_VIEWS.includes(view) && !selected.measure ? ofAllParts(selected) : null);
}

// All views of a session, in the order in which they are updated: {all, beside: those beside a chart, which cost as much as it does and may follow it}.
function createViews(dispatch) {
  const place = (id) => document.getElementById(id);
  const stage = place("stage");
  const toolbar = createToolbar(place("toolbar"), dispatch);
  const strip = createStrip(place("strip"), dispatch);
  const applied = createApplied(place("applied"), dispatch);
  const staged = [createOwnLinesView, createHeatmap, createShape, createFlame, createStacks, createSandwich, createDiff,
    createSource, createLanes, createGil, createLocks, createTasks, createRequestsView, createTable].map((
      create,
    ) => [create, create(stage, dispatch)]);
  const lines = new Map(staged).get(createSource);
  const quality = createQuality(place("quality"), dispatch);
  const palette = createPalette(place("overlay"), dispatch);
  const foot = el("div", { class: "foot" });
  stage.append(foot);
  const legend = createLegend(foot);
  const tables = createAsTables(place("strip"), foot, dispatch);
  stage.addEventListener("pointerenter", () => dispatch({ type: "pointAtStage", on: true }));
  stage.addEventListener("pointerleave", () => dispatch({ type: "pointAtStage", on: false }));
  listenForKeys(dispatch, { search: toolbar.focusSearch, filter: applied.focus, strip: strip.focus,
    stepLine: lines.step, palette: palette.open });
  const details = createDetails(place("details"), dispatch);
  const all = [
    createTitle(),
    createBanner(place("banner"), dispatch),
    createHeader(place("header"), dispatch),
    createHeadline(place("headline"), dispatch),
    quality,
    strip,
    toolbar,
    createPartsBar(place("states"), dispatch, applied.marks),
    applied,
    ...staged.map(([, view]) => view),
    palette,
    legend,
    tables,
    details,
    createHelp(place("overlay"), dispatch),
    createMeasures(place("overlay"), dispatch, quality.parts),
    createNote(place("overlay"), dispatch),
    createHint(place("overlay")),
    createContextMenu(place("overlay"), dispatch),
    createLinkSettings(place("overlay"), dispatch),
    createComparePicker(place("overlay"), dispatch),
  ];
  return { all, beside: [new Map(staged).get(createOwnLinesView), details, legend] };
}

// Actions that ask the server for something: {share, sampleTasks, recordNative, openPicker, compareWith}.
function createServerActions(dispatch, note, copy) {
  function share({ address, access, session }) {
    const ask = async (method, path, body) => {
      const answer = await send(method, path, body);
      return answer.status === 204 ? null : answer.json();
    };
    const here = location.href.replace(/#.*$/s, "") + "#" + formatAddress(address);
    openSessionShare(document.getElementById("overlay"), { access, send: ask,
      copy: (text) => copy(text, TEXT.menu.copied), address: here,
      session: { id: session.id, title: sessionTitle(session) } });
  }

  async function sampleTasks(state) {
    const session = await send("POST", "/sessions", tasksRequest(state)).then((response) => response.json());
    location.hash = formatAddress({ ...state.address, session: session.id, view: "tasks", threads: [], processes: [],
      range: null });
  }

  async function recordNative({ session: { id } }) {
    const { settings } = await send("PATCH", "/sessions/" + id, { native: "full" }).then((response) => response.json());
    dispatch({ type: "settings", settings });
    note(TEXT.nativeOffer.begun);
  }

  async function openPicker({ access }) {
    const picker = { sessions: null, captures: [], mayOpen: access?.scope === "operator", error: "", busy: false };
    dispatch({ type: "picker", picker });
    const found = (what) => dispatch({ type: "pickerFound", found: what });
    await readComparable().then(found, (problem) => found({ error: problem.message }));
  }

  async function compareWith(state, { choice }) {
    dispatch({ type: "pickerFound", found: { busy: true, error: "" } });
    try {
      const against = await openComparable(choice);
      dispatch({ type: "picker", picker: null });
      dispatch({ type: "address", changes: { view: "diff", against, baseline: choice.baseline }, how: "push" });
    } catch (problem) {
      dispatch({ type: "pickerFound", found: { busy: false, error: problem.message } });
    }
  }

  return { share, sampleTasks, recordNative, openPicker, compareWith };
}

// The effects of actions beside the state: {run(action, state), forget()}, where `page` is {source, dispatch,
// setPaused}.
function createEffects(page) {
  const bar = createAddressBar();
  let heldByPointing = false;

  function readSource(state, { path, function: id }) {
    if (state.sources.has(path)) return;
    const done = (source) => page.dispatch({ type: "source", path, source });
    done({ loading: true });
    page.source.sourceText(id).then(done, (problem) => done({ error: String(problem.message).replace(/\.?$/, ".") }));
  }

  // Whoever points at something wants it to stay: held by pointing, let go by leaving, unless it was paused by hand.
  function holdWhilePointed(state, pointed) {
    if (pointed ? !state.holdsOnHover || state.paused : !heldByPointing) return;
    heldByPointing = pointed;
    page.setPaused(pointed);
  }

  const note = (text) => page.dispatch({ type: "note", text });
  const noted = (change) => change.then(() => page.source.retry(), (problem) => note(problem.message));
  const copy = (text, done) => copyText(text).then(() => note(done), () => note(TEXT.header.copyRefused));

  const server = createServerActions(page.dispatch, note, copy);
  const push = (state) => bar.write(state.address, "push");
  const effects = new Map([
    ["address", (state, action) => bar.write(state.address, action.how)],
    // Filters that the session brought along.
    ["session", (state) => {
      if (state.address.filters.length > 0) bar.write(state.address, "replace");
    }],
    ["toggleLibraries", push],
    ["filter", push],
    ["turn", push],
    ["stepBack", push],
    ["wantSource", readSource],
    ["zoomTimeline", (state, action) => page.source.zoomTimeline(action.range)],
    ["own", (state) => remember(OWN_KEY, state.ownPatterns)],
    ["links", (state, action) => {
      if (action.links.own) remember(LINKS_KEY, JSON.stringify(state.links.own));
    }],
    ["toggleHold", (state) => remember(HOLD_KEY, state.holdsOnHover ? "yes" : "no")],
    ["pointAtStage", (state, action) => holdWhilePointed(state, action.on)],
    ["nextTheme", (state) => applyTheme(state.theme)],
    ["theme", (state) => applyTheme(state.theme)],
    ["download", (state, action) => document.querySelector('[data-testid="download-' + action.key + '"]')?.click()],
    ["togglePause", (state) => {
      heldByPointing = false;
      page.setPaused(!state.paused);
    }],
    ["retry", () => page.source.retry()],
    ["copySummary", () =>
      page.source.summaryText(ofAllParts(page.selected())).then(
        (text) => page.dispatch({ type: "copy", text, note: TEXT.summary.copied }),
        (problem) => page.dispatch({ type: "note", text: String(problem.message) }),
      )],
    ["copy", (state, action) => copy(action.text, action.note)],
    ["share", server.share],
    ["addRangeNote", (state, action) => noted(addRangeNote(state.session, action.note))],
    ["removeRangeNote", (state, action) => noted(removeRangeNote(state.session, action.id))],
    ["sampleTasks", (state) => server.sampleTasks(state).catch((problem) => note(problem.message))],
    ["recordNative", (state) => server.recordNative(state).catch((problem) => note(problem.message))],
    ["openPicker", server.openPicker],
    ["compareWith", server.compareWith],
    ["saveChart", (state, action) =>
      saveChart(state, action.chart, action.format).then(
        (drawn) => drawn || note(TEXT.download.noChart(TEXT.charts[action.chart])),
        (problem) => note(problem.message),
      )],
  ]);
  return { run: (action, state) => effects.get(action.type)?.(state, action), forget: bar.forget };
}

function rememberedLinks() {
  try {
    return cleanLinks(JSON.parse(remembered(LINKS_KEY) ?? "null"));
  } catch {
    return noLinks();
  }
}

// The state that the browser keeps from one visit to the next.
function rememberedState() {
  return { theme: storedTheme(), holdsOnHover: remembered(HOLD_KEY) === "yes", ownPatterns: remembered(OWN_KEY) ?? "",
    links: { came: noLinks(), own: rememberedLinks() } };
}

// True if the delivery fits what is here.
function fits(take, recording, delivery) {
  try {
    take(recording, delivery);
    return true;
  } catch (problem) {
    if (!(problem instanceof RangeError)) throw problem;
    return false;
  }
}

function startPage() {
  const data = document.getElementById("profile-data");
  const embedded = data.textContent.trim();
  // A report says at which view it opens.
  const addressHere = () => parseAddress(location.hash, data.dataset.view);
  const compute = createPicture();
  const chosenThreads = createChosenThreads();
  let state = { ...createState(embedded === ""), ...rememberedState(), address: addressHere() };
  let views = { all: [], beside: [] };
  let queued = false;
  let shown = null;
  let asked = questionOf(state, []);
  let selected = null;

  function recorded(take, delivery) {
    const isTaken = fits(take, state.recording, delivery);
    dispatch({ type: "recorded" });
    return isTaken;
  }

  const source = (embedded === "" ? createLiveSource : createReportSource)(
    embedded === "" ? state.address.session : embedded,
    sourceHandlers(dispatch, recorded),
  );

  function ask(question) {
    asked = question;
    source.ask(asked);
  }

  // The server filters threads, states and times, so another choice is another question: asked at once, as its answer takes longest.
  function askFor() {
    const ids = threadIds(chosenThreads(state).chosen.chosen);
    const unknown = state.address.threads.length + state.address.processes.length > 0 && ids.length === 0;
    const question = questionOf(state, unknown ? asked.threads : ids);
    if (!isSameQuestion(question, asked)) ask(question);
  }

  function updateBeside() {
    for (const view of views.beside) view.update(shown);
  }

  function render() {
    queued = false;
    askFor();
    const picture = compute(state);
    const { tree } = picture;
    // A chart that is there already: its surroundings follow once it is painted.
    const follows = shown !== null && tree !== shown.picture.tree && state.address.view === shown.address.view
      ? views.beside
      : [];
    selected = { ...asked, parts: state.address.parts ?? [],
      filters: [...filterParameters(state.address.filters),
        ...(picture.native === null ? [] : [["native", picture.native]])] };
    watchFor(source, state, picture, selected);
    const downloads = source.downloads({ ...selected, shown: asked.parts });
    // The summary is of time.
    const summary = picture.measure === null ? state.summary : null;
    shown = { ...state, picture, summary, hasTimes: source.hasTimes(), downloads,
      notApplied: source.live ? [] : state.address.filters };
    for (const view of views.all) if (!follows.includes(view)) view.update(shown);
    if (follows.length > 0) afterPaint(updateBeside);
  }

  function queueRender() {
    if (queued) return;
    queued = true;
    if (document.hidden) setTimeout(render, 0);
    else requestAnimationFrame(render);
  }

  function setPaused(paused) {
    if (!source.live) return;
    dispatch({ type: "pause", paused });
    source.pause(paused);
    if (!paused && asked.until !== null) ask({ ...asked, until: null });
  }

  const effects = createEffects({ source, dispatch, setPaused, selected: () => selected });

  function dispatch(action) {
    const { address } = state;
    state = reduce(state, action);
    effects.run(action, state);
    if (state.address !== address) askFor();
    queueRender();
  }

  window.addEventListener("popstate", () => {
    effects.forget();
    dispatch({ type: "address", changes: addressHere(), how: "replace" });
  });

  views = createViews(dispatch);
  ask(asked);
  source.start();
  queueRender();
  return { learn: (access) => dispatch({ type: "access", access }) };
}

// A server of a whole host has a host page; a session named in the address has the same page as everywhere.
async function start() {
  if (document.getElementById("profile-data").textContent.trim() !== "") return startPage();
  const place = listenForPlaces();
  const page = place.session === null ? null : startPage();
  const access = await askAccess();
  if (access?.host === true && page === null) return startHost(access, { stored: storedTheme, apply: applyTheme });
  (page ?? startPage()).learn(access);
  return access?.host === true ? place.showWayBack() : undefined;
}

start();
