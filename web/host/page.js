// The page of a host: wires its source to its state and that to its views. One state, one queued render.

import { visibleText } from "../model/base/text.js";
import { captureQuery, formatHostAddress, parseHostAddress } from "../model/host/address.js";
import { processKey } from "../model/host/processes.js";
import { openedFiles, orderSessions } from "../model/host/sessions.js";
import { createHostSource, uploadCapture } from "../source/host.js";
import { HOST_TEXT } from "../text/host.js";
import { el } from "../view/elements/dom.js";
import { createHint } from "../view/elements/hint.js";
import { captureActions, listActions, pageActions, processActions, sessionActions } from "./actions.js";
import { createHostBanner, createHostHeader, createHostToolbar } from "./bar.js";
import { createCaptureTable } from "./capture-table.js";
import { createUploads, listenForDrops } from "./drop.js";
import { createHottest } from "./hottest.js";
import { createHostMenu } from "./menu.js";
import { createProcessTable } from "./process-table.js";
import { createSessionList } from "./session-list.js";
import { createToasts } from "./toasts.js";

const CAPTURES_FIRST = 200;
const WIDE = "(min-width: 1000px)";

// Elements of a session's page are taken away; what floats stays.
function clearBody() {
  for (const child of Array.from(document.body.children))
    if (!["SCRIPT", "NOSCRIPT"].includes(child.tagName) && child.id !== "overlay") child.remove();
  const root = el("div", { class: "host", "data-testid": "host" });
  document.body.prepend(root);
  return { root, overlay: document.getElementById("overlay") };
}

function createHostState(access, theme) {
  return {
    operator: access.scope !== "viewer",
    canShare: access.can_share === true,
    events: access.events,
    theme,
    address: parseHostAddress(location.hash),
    tab: "processes",
    now: Date.now(),
    cutOff: false,
    connection: { state: "connecting", detail: "", retryAt: null },
    host: null,
    processes: null,
    activity: null,
    continuous: new Set(),
    sessions: null,
    captures: undefined,
    files: [],
    folder: undefined,
    captureLimit: CAPTURES_FIRST,
    selected: new Map(),
    chosen: new Map(),
    sparks: new Map(),
    leaving: new Set(),
    deleting: [],
  };
}

// The handlers of the source: they change the state.
function hostHandlers(state, all, again) {
  const taken = (take) => (...answer) => {
    take(...answer);
    again();
  };
  return {
    onProcesses: taken((answer) => {
      state.host = answer;
      state.processes = answer.processes;
      const here = new Set(answer.processes.filter((process) => process.can_attach).map(processKey));
      for (const key of state.selected.keys()) if (!here.has(key)) state.selected.delete(key);
    }),
    onActivity: taken((answer) => (state.activity = answer)),
    onSessions: taken((answer) => (all.sessions = answer.sessions)),
    onCaptures: taken((answer) => (state.folder = answer)),
    onSpark: taken((id, spark) => state.sparks.set(id, spark)),
    onConnection: taken((connection) => (state.connection = connection)),
  };
}

// Arranges what the views show: all that is known but what is being deleted.
function arrange(state, sessions, isWide) {
  const { address, connection, leaving } = state;
  state.now = Date.now();
  state.cutOff = connection.state === "lost" || connection.state === "denied";
  state.tab = address.host === "sessions" && isWide ? "processes" : address.host;
  state.sessions = state.host === null && sessions.length === 0
    ? null
    : orderSessions(sessions.filter((session) => !leaving.has("session " + session.id)));
  state.continuous = new Set(
    sessions.filter((session) => session.source === "continuous").map((session) => session.id),
  );
  if (state.folder === undefined) return;
  state.files = openedFiles(sessions, address, state.now);
  state.captures = [...state.files, ...(state.folder?.captures ?? [])].filter((capture) =>
    !leaving.has("capture " + capture.name) && !leaving.has(capture.name)
  );
}

// Asks for captures, and for the time lines that are drawn.
function watchHost(source, state) {
  const query = captureQuery(state.address, state.now);
  query.set("limit", String(state.captureLimit));
  const drawn = state.sessions?.running.filter((session) => session.state !== "starting") ?? [];
  source.watch(query.toString(), drawn.map((session) => ({ id: session.id, elapsed: session.elapsed_s })));
}

export function startHost(access, themes) {
  const { root, overlay } = clearBody();
  const state = createHostState(access, themes.stored());
  const wide = window.matchMedia(WIDE);
  const all = { sessions: [] };
  let views = [];
  let queued = false;

  function render() {
    queued = false;
    arrange(state, all.sessions, wide.matches);
    watchHost(source, state);
    root.dataset.tab = state.tab;
    root.dataset.connection = state.connection.state;
    document.title = (state.sessions?.running.length ? "● " : "")
      + (state.host === null ? HOST_TEXT.title : visibleText(state.host.host) + " – " + HOST_TEXT.title);
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

  const source = createHostSource(hostHandlers(state, all, again));
  const page = { state, source, overlay, themes, toasts: createToasts(overlay), menu: createHostMenu(overlay),
    sessions: () => all.sessions, setAddress, again };
  const upload = createUploads(overlay, uploadCapture, (captures, wanted) => {
    source.hurry();
    if (captures.length === 1 && wanted === 1) act.openCapture(captures[0]);
    else if (captures.length > 0) setAddress({ host: "captures" }, "push");
  });
  const act = { ...listActions(page), ...processActions(page), ...sessionActions(page), ...captureActions(page),
    ...pageActions(page), upload };
  listenForDrops(overlay, () => state.operator && state.folder !== null, upload);

  createHint(overlay);
  const header = createHostHeader(root, act);
  const banner = createHostBanner(root, act);
  const toolbar = createHostToolbar(root, act);
  const main = el("main", { class: "host-main" });
  root.append(main);
  const lists = el("div", { class: "host-lists" });
  main.append(lists);
  views = [header, banner, toolbar, createHottest(lists), createProcessTable(lists, act),
    createCaptureTable(lists, act), createSessionList(main, act)];
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
    ["/", toolbar.focusSearch],
    ["1", tab("processes")],
    ["2", tab("sessions")],
    ["3", tab("captures")],
    ["t", act.nextTheme],
    ["?", act.help],
    ["Escape", () => (state.selected.size + state.chosen.size > 0
      ? act.clear()
      : act.address(state.tab === "captures" ? { find: "" } : { search: "" }, "replace"))],
  ]);
  document.addEventListener("keydown", (event) => {
    if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.target.closest?.("input:not([type=checkbox]), textarea, select")
      || document.querySelector("dialog[open], :popover-open")) return;
    const run = keys.get(event.key);
    if (run === undefined) return;
    event.preventDefault();
    run();
  });
}
