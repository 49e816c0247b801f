// The target, the status of its session, and what concerns the page as a whole.

import { formatClock, formatCount } from "../../model/base/numbers.js";
import { commandText, shortCommand, visibleText } from "../../model/base/text.js";
import { mergeLinks, serviceUrl } from "../../model/page/links.js";
import { newerSamples, nextTheme, statusOf } from "../../model/page/state.js";
import { TEXT } from "../../text/session.js";
import { el, icon, isolated, setAttribute, setText } from "../elements/dom.js";
import { ICONS } from "../elements/icons.js";
import { createDownloads } from "./downloads.js";

// The reason of several processes goes on with that of the last one.
function endReason({ reason }) {
  return TEXT.status.reasons[reason] ?? visibleText((reason ?? "").split("; ")[0], "");
}

function statusText(state, status) {
  if (status === "report")
    return TEXT.status.report(String(state.session?.started_at ?? "").slice(0, 16).replace("T", " "));
  if (status === "ended") return TEXT.status.ended(endReason(state.session));
  return TEXT.status[status] ?? status;
}

function factsOf(session) {
  const target = session.target;
  const selection = session.selection ?? null;
  const python = TEXT.header.python(target.python) + (target.validated === false ? TEXT.header.untested : "");
  const others = (selection?.process_count ?? session.processes?.attached ?? 1) - 1;
  const who = TEXT.header.processes(target.pid, others > 0 ? formatCount(others) : "");
  const where = session.anonymized === true
    ? TEXT.header.anonymized
    : [target.pod, target.host].filter(Boolean).join(" · ");
  return [who, python, where, selection === null || selection.whole ? "" : TEXT.header.selected(selection.text)].filter(
    Boolean,
  );
}

export function createMark() {
  const mark = icon("M1 1.5h14v3.6H1z", 18);
  mark.setAttribute("class", "mark");
  for (const [name, path] of [["warm", "M1 6.2h9.4v3.6H1z"], ["hot", "M1 10.9h5v3.6H1z"]]) {
    const shape = mark.firstChild.cloneNode();
    shape.setAttribute("d", path);
    shape.setAttribute("class", name);
    mark.append(shape);
  }
  return mark;
}

export function createHeader(root, dispatch) {
  const command = isolated("", { class: "command", "data-testid": "command" });
  const facts = el("span", { class: "facts", "data-testid": "facts" });
  const statusLabel = el("span", { role: "status" });
  const newer = el("span", { "data-testid": "newer" });
  const clock = el("span", { class: "clock", "data-testid": "elapsed" });
  const status = el("span", { class: "status", "data-testid": "status" }, el("span", { class: "dot" }),
    el("span", {}, statusLabel, newer));
  const pause = el("button", { type: "button", class: "quiet wide", "data-testid": "pause",
    on: { click: () => dispatch({ type: "togglePause" }) } });
  const theme = el("button", { type: "button", class: "quiet", "data-testid": "theme" });
  const help = el("button", { type: "button", class: "quiet", "aria-label": TEXT.header.help,
    "data-hint": TEXT.header.helpHint, "data-testid": "help",
    on: { click: () => dispatch({ type: "help", open: true }) } }, "?");
  const share = el("button", { type: "button", class: "quiet wide", "data-hint": TEXT.header.shareHint,
    "data-testid": "share", on: { click: () => dispatch({ type: "share" }) } }, icon(ICONS.share),
    el("span", {}, TEXT.header.share));
  const elsewhere = el("a", { class: "button quiet wide", target: "_blank", rel: "noopener noreferrer",
    "aria-label": TEXT.header.elsewhere, "data-testid": "elsewhere" }, icon(ICONS.elsewhere),
    el("span", {}, TEXT.header.elsewhere));
  const downloads = createDownloads(dispatch);
  const actions = el("div", { class: "actions" }, pause, elsewhere, share, ...downloads.elements, theme, help);
  root.prepend(el("div", { class: "identity" }, createMark(), el("h1", {}, command), facts));
  root.append(el("div", { class: "progress" }, status, clock), actions);
  downloads.attach();
  let shownTheme = null;
  let shownPause = null;
  theme.addEventListener("click", () => dispatch({ type: "nextTheme" }));

  function updatePause(state) {
    const { connection } = state;
    const ended = !state.live || connection.state === "lost" || connection.state === "denied" || state.session === null
      || state.session.state === "ended" || state.session.state === "failed";
    pause.hidden = ended && !state.paused;
    if (shownPause === state.paused) return;
    shownPause = state.paused;
    pause.replaceChildren(icon(state.paused ? ICONS.play : ICONS.pause),
      el("span", {}, state.paused ? TEXT.header.resume : TEXT.header.pause));
    setAttribute(pause, "aria-pressed", String(state.paused));
    setAttribute(pause, "data-hint", state.paused ? TEXT.header.resumeHint : TEXT.header.pauseHint);
  }

  function updateTheme(state) {
    if (shownTheme === state.theme) return;
    shownTheme = state.theme;
    theme.replaceChildren(icon(ICONS[{ system: "system", light: "sun", dark: "moon" }[state.theme]]));
    setAttribute(theme, "aria-label", TEXT.header.theme(state.theme));
    setAttribute(theme, "data-hint", TEXT.header.themeHint(state.theme, nextTheme(state.theme)));
  }

  function updateElsewhere({ links, session, address }) {
    const found = session === null ? null : serviceUrl(mergeLinks(links.came, links.own), session, address.range);
    elsewhere.hidden = found === null;
    if (found === null) return;
    setAttribute(elsewhere, "href", found.url);
    setAttribute(elsewhere, "data-hint", TEXT.header.elsewhereHint(found.host));
  }

  return {
    update(state) {
      const said = statusOf(state);
      const none = state.session === null ? "Pyrometer" : TEXT.header.noCommand;
      setText(command, visibleText(shortCommand(state.session?.target), none));
      setAttribute(command, "title", visibleText(commandText(state.session?.target), none));
      setText(facts,
        state.session === null ? "" : factsOf(state.session).map((fact) => visibleText(String(fact))).join("  ·  "));
      setAttribute(status, "data-status", said);
      setText(statusLabel, statusText(state, said));
      setAttribute(status, "title", said === "ended" ? visibleText(state.session.reason ?? "", "") : "");
      const count = newerSamples(state);
      setText(newer, said === "view paused" && count > 0 ? TEXT.status.newer(formatCount(count)) : "");
      setText(clock,
        state.session === null ? "" : formatClock(state.session.selection?.duration_s ?? state.session.elapsed_s));
      share.hidden = !state.live || state.session === null;
      updateElsewhere(state);
      updatePause(state);
      updateTheme(state);
      downloads.update(state);
    },
  };
}
