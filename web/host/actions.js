// The actions of the host page, by what they act on. Each function gets the page,
//   {state, source, overlay, toasts, menu, themes, sessions(), setAddress(changes, how), again()},
// and returns actions by name.

import { formatBytes } from "../model/base/numbers.js";
import { visibleText } from "../model/base/text.js";
import { formatHostAddress, sortedBy } from "../model/host/address.js";
import { processKey, programName } from "../model/host/processes.js";
import { captureTitle, defaultProfile, profileRequest, sessionTitle } from "../model/host/sessions.js";
import { nextTheme } from "../model/page/state.js";
import { captureFile, sessionReport } from "../source/host.js";
import { HOST_TEXT } from "../text/host.js";
import { el } from "../view/elements/dom.js";
import { openConfirmDialog, openDialog, openDumpDialog, openProfileDialog, openRateDialog, openReasonDialog,
  openWordsDialog } from "./dialogs.js";
import { openShareDialog } from "./share.js";

const CAPTURES_STEP = 200;
const CAPTURES_MOST = 4096;
const SELECTED_MAX = 256;
const READING_MS = 250;
// A deleted thing is hidden until the server's list is without it.
const DELETED_MS = 5000;

const sessionLink = (id) => "#v=1&session=" + encodeURIComponent(id);
const titleOfProcess = (process) => visibleText(programName(process.command).name);

async function copyHostText(text) {
  if (navigator.clipboard) return navigator.clipboard.writeText(text);
  throw new Error(HOST_TEXT.cannotCopy);
}

function sayProblem({ toasts }, problem) {
  toasts.show({ text: visibleText(problem.message ?? String(problem)), tone: "bad" });
}

// The answer, or undefined after showing the problem.
async function trySend(page, method, path, body) {
  try {
    return await page.source.send(method, path, body);
  } catch (problem) {
    sayProblem(page, problem);
    return undefined;
  }
}

// The result of a form: null, or its problem.
async function asForm(promise) {
  try {
    await promise;
    return null;
  } catch (problem) {
    return { field: "", problem: problem.message };
  }
}

// Hidden at once; deleted on the server when the toast closes without Undo.
function deleteLater(page, key, text, path) {
  const { leaving, deleting } = page.state;
  const bring = () => {
    leaving.delete(key);
    page.again();
  };
  leaving.add(key);
  page.again();
  page.toasts.show({ text, action: { label: HOST_TEXT.undo, run: bring }, onGone: () =>
    deleting.push(
      trySend(page, "DELETE", path).then((
        answer,
      ) => (answer === undefined ? bring() : setTimeout(bring, DELETED_MS))),
    ) });
}

function toggled(map, key, value, on) {
  if (on) map.set(key, value);
  else map.delete(key);
}

const copyTo = ({ toasts }) => (text) =>
  copyHostText(text).then(() => toasts.show({ text: HOST_TEXT.copied }), (problem) => sayProblem({ toasts }, problem));

// session: {id, title} of the shared session, or null for the whole host.
function openShare(page, fragment, session) {
  openShareDialog(page.overlay, { send: page.source.send, copy: copyTo(page), fragment, session });
}

// path: of the process or the session.
function openDump(page, title, path) {
  return openDumpDialog(page.overlay, { title: HOST_TEXT.dump.title(title) }, () => page.source.readText(path),
    copyTo(page));
}

export function listActions({ state, source, themes, setAddress, again }) {
  return {
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
      toggled(state.selected, processKey(process), process, on);
      again();
    },
    selectAll(processes, on) {
      state.selected.clear();
      if (on) { for (const process of processes.slice(0, SELECTED_MAX)) state.selected.set(processKey(process),
            process); }
      again();
    },
    selected: () => Array.from(state.selected.values()),
    clear() {
      state.selected.clear();
      state.chosen.clear();
      again();
    },
    chooseCapture(capture, on) {
      toggled(state.chosen, capture.name, capture, on);
      again();
    },
    moreCaptures() {
      state.captureLimit = Math.min(CAPTURES_MOST, state.captureLimit + CAPTURES_STEP);
      again();
    },
  };
}

export function processActions(page) {
  const { state, source, overlay, toasts, again } = page;

  async function startSession(body, title) {
    const session = await source.send("POST", "/sessions", body);
    state.selected.clear();
    toasts.show({ text: HOST_TEXT.processes.starting(title),
      action: { label: HOST_TEXT.processes.open, href: sessionLink(session.id) } });
    again();
  }

  return {
    profile: ({ pid }) =>
      source.send("POST", "/sessions", profileRequest([pid], defaultProfile(state.events)).body).then(
        ({ id }) => (location.hash = sessionLink(id)),
        (problem) => sayProblem(page, problem),
      ),
    options(processes) {
      const what = processes.length === 1
        ? titleOfProcess(processes[0])
        : HOST_TEXT.processes.together(processes.length);
      openProfileDialog(overlay, { pids: processes.map((process) => process.pid), title: HOST_TEXT.profile.title(what),
        events: state.events }, (body) => asForm(startSession(body, what)));
    },
    dump: (process) => openDump(page, titleOfProcess(process), "/processes/" + process.pid + "/dump?format=text"),
    explain: (process) =>
      openReasonDialog(overlay, { title: HOST_TEXT.processes.named(titleOfProcess(process), process.pid),
        reason: process.reason ?? "" }),
  };
}

export function sessionActions(page) {
  const { state, source, overlay, menu } = page;
  const pathOf = (session) => "/sessions/" + session.id;
  const titleOf = (session) => visibleText(sessionTitle(session));
  const change = (session) => (body) => asForm(source.send("PATCH", pathOf(session), body));

  const edit = (session) =>
    openWordsDialog(overlay, { title: HOST_TEXT.sessions.editTitle(session.id), first: "name",
      words: { title: session.name ?? "", note: session.note ?? "" } }, change(session));
  const setRate = (session) =>
    openRateDialog(overlay, { title: HOST_TEXT.sessions.rateTitle(titleOf(session)), rate: session.settings.rate_hz },
      change(session));
  const forget = (session) =>
    deleteLater(page, "session " + session.id, HOST_TEXT.sessions.forgot(titleOf(session)), pathOf(session));

  return {
    togglePause: (session) =>
      trySend(page, "PATCH", pathOf(session), { state: session.state === "paused" ? "running" : "paused" }),
    stop: (session) =>
      openConfirmDialog(overlay, { title: HOST_TEXT.sessions.stopTitle(titleOf(session)),
        text: HOST_TEXT.sessions.stopText, yes: HOST_TEXT.sessions.stop }, () =>
        trySend(page, "PATCH", pathOf(session), { state: "ended" })),
    dumpSession: (session) => openDump(page, titleOf(session), pathOf(session) + "/dump"),
    sessionMenu(session, button) {
      const over = session.state === "ended" || session.state === "failed";
      menu.open(button, [
        state.operator && { label: HOST_TEXT.sessions.edit, testid: "session-edit", run: () => edit(session) },
        state.operator && !over && session.state !== "starting"
        && { label: HOST_TEXT.sessions.rate, testid: "session-rate", run: () => setRate(session) },
        { label: HOST_TEXT.sessions.report, hint: HOST_TEXT.sessions.reportHint, href: sessionReport(session.id),
          testid: "session-report" },
        session.capture
        && { label: HOST_TEXT.sessions.capture, hint: HOST_TEXT.sessions.captureHint,
          href: captureFile(session.capture), testid: "session-capture" },
        state.canShare
        && { label: HOST_TEXT.sessions.share, hint: HOST_TEXT.sessions.shareHint, testid: "session-share",
          run: () => openShare(page, sessionLink(session.id), { id: session.id, title: sessionTitle(session) }) },
        state.operator && over
        && { label: HOST_TEXT.sessions.forget,
          hint: session.capture ? HOST_TEXT.sessions.forgetKept : HOST_TEXT.sessions.forgetLost,
          testid: "session-delete", run: () => forget(session) },
      ]);
    },
  };
}

export function captureActions(page) {
  const { state, source, overlay, toasts, menu } = page;
  const pathOf = (capture) => "/captures/" + encodeURIComponent(capture.name);
  const titleOf = (capture) => visibleText(captureTitle(capture));
  const isDeletable = ({ state: now }) => now !== "recording" && now !== "file";
  const remove = (capture) =>
    deleteLater(page, "capture " + capture.name, HOST_TEXT.captures.deleted(titleOf(capture)), pathOf(capture));
  const edit = (capture) =>
    openWordsDialog(overlay, { title: capture.name, first: "title",
      words: { title: capture.title, note: capture.note, labels: capture.labels } }, (body) =>
      asForm(source.send("PATCH", pathOf(capture), body)));

  // The list of captures may be some seconds old: a session that it names may be gone.
  async function openedSession(capture) {
    const open = page.sessions().find((session) =>
      capture.sessions.includes(session.id) && !state.leaving.has("session " + session.id)
    );
    if (open !== undefined) return open;
    // While a session of the capture is being deleted, the server would answer with that one.
    await Promise.all(state.deleting.splice(0));
    return source.send("POST", "/captures", { name: capture.name });
  }

  // The id of a session once all of its capture has been read.
  async function readSession({ id }) {
    for (;;) {
      const session = await source.send("GET", "/sessions/" + encodeURIComponent(id));
      if (session.state === "failed") throw new Error(HOST_TEXT.captures.unreadable(session.reason));
      if (session.state !== "starting") return id;
      await new Promise((done) => setTimeout(done, READING_MS));
    }
  }

  function clearChosen() {
    state.selected.clear();
    state.chosen.clear();
    page.again();
  }

  return {
    openCapture: (capture) =>
      openedSession(capture).then((session) => (location.hash = sessionLink(session.id)), (problem) =>
        sayProblem(page, problem)),
    captureMenu(capture, button) {
      menu.open(button, [
        state.operator && { label: HOST_TEXT.captures.edit, testid: "capture-edit", run: () => edit(capture) },
        { label: HOST_TEXT.captures.download, hint: formatBytes(capture.bytes) + ", " + capture.name + ".pyro",
          href: captureFile(capture.name), testid: "capture-download" },
        state.operator && isDeletable(capture)
        && { label: HOST_TEXT.captures.delete, testid: "capture-delete", run: () => remove(capture) },
      ]);
    },
    deleteChosen() {
      for (const capture of state.chosen.values()) if (isDeletable(capture)) remove(capture);
      clearChosen();
    },
    async compare() {
      const [older, newer] = Array.from(state.chosen.values()).sort((a, b) => a.started_at.localeCompare(b.started_at));
      const gone = toasts.show({ text: HOST_TEXT.captures.comparing(titleOf(older), titleOf(newer)) });
      try {
        const [baseline, current] = await Promise.all(
          [older, newer].map((capture) => openedSession(capture).then(readSession)),
        );
        clearChosen();
        gone();
        location.hash = sessionLink(current) + "&view=diff&against=" + encodeURIComponent(baseline);
      } catch (problem) {
        gone();
        sayProblem(page, problem);
      }
    },
  };
}

export function pageActions(page) {
  const { state, overlay } = page;
  return {
    share: () => openShare(page, "#" + formatHostAddress(state.address), null),
    help: () =>
      openDialog(overlay, { title: HOST_TEXT.help.title, testid: "help-dialog" },
        el("p", {},
          el("a", { href: "manual", target: "_blank", rel: "noopener", "data-testid": "manual" },
            HOST_TEXT.help.manual)), el("dl", {}, ...HOST_TEXT.help.keys.map(([key, meaning]) =>
            el("div", {}, el("dt", {}, el("kbd", {}, key)), el("dd", {}, meaning)))),
        el("p", { class: "soft" }, HOST_TEXT.help.about)),
  };
}
