// The page of a host: wires its source to its state and that to its views. One state, one queued render.

import { captureTitle, defaultProfile, formatBytes, orderSessions, profileRequest, sessionTitle } from "../model/hosted.js";
import { captureQuery, formatHostAddress, parseHostAddress, sortedBy } from "../model/hosting.js";
import { processKey, programName } from "../model/processes.js";
import { nextTheme } from "../model/state.js";
import { visibleText } from "../model/text.js";
import { captureFile, comparison, createHostSource, sessionReport, uploadCapture } from "../source/host.js";
import { el } from "../view/dom.js";
import { createHint } from "../view/hint.js";
import { createHostBanner, createHostHeader, createHostToolbar } from "./bar.js";
import { createCaptureTable } from "./capture-table.js";
import { openConfirmDialog, openDialog, openProfileDialog, openRateDialog, openReasonDialog, openWordsDialog } from "./dialogs.js";
import { createUploads, listenForDrops } from "./drop.js";
import { createHostMenu } from "./menu.js";
import { createProcessTable } from "./process-table.js";
import { createSessionList } from "./session-list.js";
import { openShareDialog } from "./share.js";
import { createToasts } from "./toasts.js";

const CAPTURES_STEP = 200;
const CAPTURES_MOST = 4096;
const SELECTED_MAX = 256;
const READING_MS = 250;
const WIDE = "(min-width: 1000px)";
const HOST_KEYS = [["/", "search"], ["1  2  3", "processes, sessions, captures"], ["↑ ↓", "from row to row, once one has the focus"], ["Esc", "clear the search, or what is chosen"], ["t", "theme: system, light, dark"], ["?", "this help"]];

const sessionLink = (id) => "#v=1&session=" + encodeURIComponent(id);

// What belongs to the page of a session is taken away; what floats stays.
function clearBody() {
  for (const child of Array.from(document.body.children)) if (!["SCRIPT", "NOSCRIPT"].includes(child.tagName) && child.id !== "overlay") child.remove();
  const root = el("div", { class: "host", "data-testid": "host" });
  document.body.prepend(root);
  return { root, overlay: document.getElementById("overlay") };
}

function createHostState(access, theme) {
  return {
    operator: access.scope !== "viewer", canShare: access.can_share === true, theme, address: parseHostAddress(location.hash), tab: "processes", now: Date.now(), cutOff: false,
    connection: { state: "connecting", detail: "", retryAt: null }, host: null, processes: null, sessions: null, captures: undefined, folder: undefined, captureLimit: CAPTURES_STEP,
    selected: new Map(), chosen: new Map(), sparks: new Map(), leaving: new Set(),
  };
}

async function copyHostText(text) {
  if (navigator.clipboard) return navigator.clipboard.writeText(text);
  throw new Error("Copying is not possible here; select the text instead.");
}

export function startHost(access, themes) {
  const { root, overlay } = clearBody();
  const state = createHostState(access, themes.stored());
  const wide = window.matchMedia(WIDE);
  const toasts = createToasts(overlay);
  const menu = createHostMenu(overlay);
  let allSessions = [];
  let views = [];
  let queued = false;

  const source = createHostSource({
    onProcesses(answer) {
      state.host = answer;
      state.processes = answer.processes;
      const here = new Set(answer.processes.filter((process) => process.attach).map(processKey));
      for (const key of state.selected.keys()) if (!here.has(key)) state.selected.delete(key);
      again();
    },
    onSessions(answer) {
      allSessions = answer.sessions;
      again();
    },
    onCaptures(answer) {
      state.folder = answer;
      again();
    },
    onSpark(id, spark) {
      state.sparks.set(id, spark);
      again();
    },
    onConnection(connection) {
      state.connection = connection;
      again();
    },
  });

  function render() {
    queued = false;
    state.now = Date.now();
    state.cutOff = state.connection.state === "lost" || state.connection.state === "denied";
    const { address } = state;
    state.tab = address.host === "sessions" && wide.matches ? "processes" : address.host;
    state.sessions = state.host === null && allSessions.length === 0 ? null : orderSessions(allSessions.filter((session) => !state.leaving.has("session " + session.id)));
    if (state.folder !== undefined) state.captures = (state.folder?.captures ?? []).filter((capture) => !state.leaving.has("capture " + capture.name));
    const query = captureQuery(address, state.now);
    query.set("limit", String(state.captureLimit));
    source.watch(query.toString(), state.sessions?.running.filter((session) => session.state !== "starting").map((session) => ({ id: session.id, elapsed: session.elapsed_s })) ?? []);
    root.dataset.tab = state.tab;
    root.dataset.connection = state.connection.state;
    document.title = (state.sessions?.running.length ? "● " : "") + (state.host === null ? "Pyrometer" : visibleText(state.host.host) + " – Pyrometer");
    for (const view of views) view.update(state);
  }

  function again() {
    if (queued) return;
    queued = true;
    if (document.hidden) setTimeout(render, 0);
    else requestAnimationFrame(render);
  }

  function setAddress(changes, how) {
    state.address = { ...state.address, ...changes };
    const fragment = "#" + formatHostAddress(state.address);
    if (fragment !== location.hash) history[how === "push" ? "pushState" : "replaceState"](null, "", fragment);
    again();
  }

  function sayProblem(problem) {
    toasts.show({ text: visibleText(problem.message ?? String(problem)), tone: "bad" });
  }

  // An answer, or undefined after saying why not.
  async function tell(method, path, body) {
    try {
      return await source.tell(method, path, body);
    } catch (problem) {
      sayProblem(problem);
      return undefined;
    }
  }

  const goTo = (id) => (location.hash = sessionLink(id));
  const titleOfProcess = (process) => visibleText(programName(process.command).name);

  async function startSession(body, title) {
    const session = await source.tell("POST", "/sessions", body);
    state.selected.clear();
    toasts.show({ text: "Profiling " + title, action: { label: "Open", href: sessionLink(session.id) } });
    again();
  }

  // What a form is told: null, or what is wrong.
  async function asForm(promise) {
    try {
      await promise;
      return null;
    } catch (problem) {
      return { field: "", problem: problem.message };
    }
  }

  // Gone from sight at once, from the server when there was time to think better of it.
  function deleteLater(key, text, path) {
    const bring = () => {
      state.leaving.delete(key);
      again();
    };
    state.leaving.add(key);
    again();
    toasts.show({ text, action: { label: "Undo", run: bring }, onGone: () => tell("DELETE", path).then((answer) => (answer === undefined ? bring() : setTimeout(bring, 5000))) });
  }

  const deleteCapture = (capture) => deleteLater("capture " + capture.name, "Deleted " + visibleText(captureTitle(capture)), "/captures/" + encodeURIComponent(capture.name));

  // The list of captures may be some seconds old: a session that it names may be forgotten.
  async function openedSession(capture) {
    const open = allSessions.find((session) => capture.sessions.includes(session.id) && !state.leaving.has("session " + session.id));
    return open ?? source.tell("POST", "/captures", { name: capture.name });
  }

  // The id of a session once all of its capture has been read.
  async function readSession({ id }) {
    for (;;) {
      const session = await source.tell("GET", "/sessions/" + encodeURIComponent(id));
      if (session.state === "failed") throw new Error("It cannot be read: " + session.reason);
      if (session.state !== "starting") return id;
      await new Promise((done) => setTimeout(done, READING_MS));
    }
  }

  const share = (fragment, session) => openShareDialog(overlay, { tell: source.tell, copy: (text) => copyHostText(text).then(() => toasts.show({ text: "Copied" }), sayProblem), fragment, session });
  const act = {
    again,
    address: setAddress,
    sort: (key) => setAddress(sortedBy(state.address, key), "replace"),
    toggleOnly: () => setAddress({ only: !state.address.only }, "push"),
    retry: () => source.hurry(),
    nextTheme() {
      state.theme = nextTheme(state.theme);
      themes.apply(state.theme);
      again();
    },
    select(process, on) {
      if (on) state.selected.set(processKey(process), process);
      else state.selected.delete(processKey(process));
      again();
    },
    selectAll(processes, on) {
      state.selected.clear();
      if (on) for (const process of processes.slice(0, SELECTED_MAX)) state.selected.set(processKey(process), process);
      again();
    },
    selected: () => Array.from(state.selected.values()),
    clear() {
      state.selected.clear();
      state.chosen.clear();
      again();
    },
    profile: (process) => startSession(profileRequest([process.pid], defaultProfile()).body, titleOfProcess(process)).catch(sayProblem),
    options(processes) {
      const what = processes.length === 1 ? titleOfProcess(processes[0]) : processes.length + " processes together";
      openProfileDialog(overlay, { pids: processes.map((process) => process.pid), title: "Profile " + what }, (body) => asForm(startSession(body, what)));
    },
    explain: (process) => openReasonDialog(overlay, { title: titleOfProcess(process) + ", process " + process.pid, reason: process.reason ?? "" }),
    togglePause: (session) => tell("PATCH", "/sessions/" + session.id, { state: session.state === "paused" ? "running" : "paused" }),
    stop: (session) => openConfirmDialog(overlay, { title: "Stop " + visibleText(sessionTitle(session)) + "?", text: "Recording ends and cannot go on. What was recorded stays.", yes: "Stop" }, () => tell("PATCH", "/sessions/" + session.id, { state: "ended" })),
    sessionMenu(session, button) {
      const over = session.state === "ended" || session.state === "failed";
      menu.open(button, [
        state.operator && { label: "Rename, note", testid: "session-edit", run: () => openWordsDialog(overlay, { title: "Session " + session.id, first: "name", words: { title: session.name ?? "", note: session.note ?? "" } }, (body) => asForm(source.tell("PATCH", "/sessions/" + session.id, body))) },
        state.operator && !over && session.state !== "starting" && { label: "Change rate", testid: "session-rate", run: () => openRateDialog(overlay, { title: "Rate of " + visibleText(sessionTitle(session)), rate: session.settings.rate_hz }, (body) => asForm(source.tell("PATCH", "/sessions/" + session.id, body))) },
        { label: "Download report", hint: "one HTML file with all of it", href: sessionReport(session.id), testid: "session-report" },
        session.capture && { label: "Download capture", hint: "the .pyro file, as far as it is written", href: captureFile(session.capture), testid: "session-capture" },
        state.canShare && { label: "Share", hint: "a link that lets look at it", testid: "session-share", run: () => share("#v=1&session=" + encodeURIComponent(session.id), { id: session.id, title: sessionTitle(session) }) },
        state.operator && over && { label: "Forget", hint: session.capture ? "its capture stays" : "it is not kept on disk", testid: "session-delete", run: () => deleteLater("session " + session.id, "Forgot " + visibleText(sessionTitle(session)), "/sessions/" + session.id) },
      ]);
    },
    chooseCapture(capture, on) {
      if (on) state.chosen.set(capture.name, capture);
      else state.chosen.delete(capture.name);
      again();
    },
    openCapture: (capture) => openedSession(capture).then((session) => goTo(session.id), sayProblem),
    captureMenu(capture, button) {
      const path = "/captures/" + encodeURIComponent(capture.name);
      menu.open(button, [
        state.operator && { label: "Rename, note, labels", testid: "capture-edit", run: () => openWordsDialog(overlay, { title: capture.name, first: "title", words: { title: capture.title, note: capture.note, labels: capture.labels } }, (body) => asForm(source.tell("PATCH", path, body))) },
        { label: "Download", hint: formatBytes(capture.bytes) + ", " + capture.name + ".pyro", href: captureFile(capture.name), testid: "capture-download" },
        state.operator && capture.state !== "recording" && { label: "Delete", testid: "capture-delete", run: () => deleteCapture(capture) },
      ]);
    },
    moreCaptures() {
      state.captureLimit = Math.min(CAPTURES_MOST, state.captureLimit + CAPTURES_STEP);
      again();
    },
    deleteChosen() {
      for (const capture of state.chosen.values()) if (capture.state !== "recording") deleteCapture(capture);
      act.clear();
    },
    async compare() {
      const both = Array.from(state.chosen.values()).sort((a, b) => a.started_at.localeCompare(b.started_at));
      const gone = toasts.show({ text: "Comparing " + visibleText(captureTitle(both[0])) + " with " + visibleText(captureTitle(both[1])) });
      try {
        const [before, after] = await Promise.all(both.map((capture) => openedSession(capture).then(readSession)));
        act.clear();
        el("a", { href: comparison(after, before), download: "" }).click();
      } catch (problem) {
        gone();
        sayProblem(problem);
      }
    },
    upload: (files) => upload(files),
    share: () => share("#" + formatHostAddress(state.address), null),
    help: () => openDialog(overlay, { title: "Keys", testid: "help-dialog" }, el("dl", {}, ...HOST_KEYS.map(([key, meaning]) => el("div", {}, el("dt", {}, el("kbd", {}, key)), el("dd", {}, meaning)))),
      el("p", { class: "soft" }, "The table is read again each second. While you point at a row, or are in one, rows keep their places; numbers go on.")),
  };

  const upload = createUploads(overlay, uploadCapture, (captures, wanted) => {
    source.hurry();
    if (captures.length === 1 && wanted === 1) act.openCapture(captures[0]);
    else if (captures.length > 0) setAddress({ host: "captures" }, "push");
  });
  listenForDrops(overlay, () => state.operator && state.folder !== null, upload);

  createHint(overlay);
  const header = createHostHeader(root, act);
  const banner = createHostBanner(root, act);
  const toolbar = createHostToolbar(root, act);
  const main = el("main", { class: "host-main" });
  root.append(main);
  const lists = el("div", { class: "host-lists" });
  main.append(lists);
  views = [header, banner, toolbar, createProcessTable(lists, act), createCaptureTable(lists, act), createSessionList(main, act)];
  listenForHostKeys(act, toolbar, state);
  window.addEventListener("popstate", () => {
    state.address = parseHostAddress(location.hash);
    again();
  });
  wide.addEventListener("change", again);
  source.start();
  again();
}

function listenForHostKeys(act, toolbar, state) {
  const tab = (host) => () => act.address({ host }, "push");
  const keys = new Map([
    ["/", toolbar.focusSearch], ["1", tab("processes")], ["2", tab("sessions")], ["3", tab("captures")], ["t", act.nextTheme], ["?", act.help],
    ["Escape", () => (state.selected.size + state.chosen.size > 0 ? act.clear() : act.address(state.tab === "captures" ? { find: "" } : { search: "" }, "replace"))],
  ]);
  document.addEventListener("keydown", (event) => {
    if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.target.closest?.("input:not([type=checkbox]), textarea, select") || document.querySelector("dialog[open], :popover-open")) return;
    const run = keys.get(event.key);
    if (run === undefined) return;
    event.preventDefault();
    run();
  });
}
