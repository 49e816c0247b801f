// The sessions: a card for each running one, a line for each that ended.

import { formatClock, formatRate, formatShortCount } from "../model/base/numbers.js";
import { visibleText } from "../model/base/text.js";
import { programName } from "../model/host/processes.js";
import { isOver, orderSessions, sessionTitle, SPARK_PARTS, sparkSlots, sparkThreads } from "../model/host/sessions.js";
import { CONTROL_TEXT } from "../text/controls.js";
import { HOST_TEXT } from "../text/host.js";
import { el, icon, isolated, setAttribute, setText } from "../view/elements/dom.js";
import { ICONS } from "../view/elements/icons.js";

const SVG_SPACE = "http://www.w3.org/2000/svg";
const SPARK_HEIGHT = 100;
const SPARK_WIDTH = 1000;

function createSpark() {
  const svg = document.createElementNS(SVG_SPACE, "svg");
  svg.setAttribute("class", "spark");
  svg.setAttribute("viewBox", "0 0 " + SPARK_WIDTH + " " + SPARK_HEIGHT);
  svg.setAttribute("preserveAspectRatio", "none");
  svg.setAttribute("role", "img");
  svg.setAttribute("aria-label", HOST_TEXT.sessions.sparkLabel(HOST_TEXT.sessions.noSpark));
  const layers = SPARK_PARTS.map((name) => {
    const path = document.createElementNS(SVG_SPACE, "path");
    path.setAttribute("data-part", name);
    svg.append(path);
    return path;
  });
  return { svg, layers, drawn: null };
}

// Stacked from below: threads that run, and that need something to run.
function sparkPaths(slots) {
  const paths = SPARK_PARTS.map(() => "");
  for (const slot of slots) {
    let floor = SPARK_HEIGHT;
    SPARK_PARTS.forEach((name, i) => {
      const height = slot.heights[i] * SPARK_HEIGHT;
      if (height < 0.01) return;
      const [x, width] = [slot.x * SPARK_WIDTH, Math.max(1, slot.width * SPARK_WIDTH - 3)];
      paths[i] += "M" + x.toFixed(1) + " " + floor.toFixed(1) + "h" + width.toFixed(1) + "v" + (-height).toFixed(1)
        + "h" + (-width).toFixed(1) + "z";
      floor -= height;
    });
  }
  return paths;
}

function drawSpark(spark, drawn, numbers) {
  if (spark.drawn === drawn) return;
  spark.drawn = drawn;
  if (drawn === null) return;
  sparkPaths(sparkSlots(drawn.timeline, drawn.from, drawn.to)).forEach((path, i) =>
    spark.layers[i].setAttribute("d", path)
  );
  const threads = sparkThreads(drawn.timeline);
  const text = threads === null
    ? HOST_TEXT.sessions.noSpark
    : HOST_TEXT.sessions.spark(...threads.map((count) => count.toFixed(1)));
  setText(numbers, text);
  spark.svg.setAttribute("aria-label", HOST_TEXT.sessions.sparkLabel(text));
}

function createSessionCard(act) {
  const card = { session: null };
  const title = isolated("");
  const link = el("a", { class: "session-title", "data-testid": "session-open" }, el("span", { class: "live-dot" }),
    title);
  const clock = el("span", { class: "clock" });
  const facts = isolated("", { class: "session-facts" });
  const note = isolated("", { class: "session-note" });
  const spark = createSpark();
  const numbers = el("span", { class: "spark-numbers" });
  const samples = el("span", { class: "samples" });
  const pause = el("button", { type: "button", class: "quiet", "data-testid": "session-pause",
    on: { click: () => act.togglePause(card.session) } });
  const stop = el("button", { type: "button", class: "quiet", "aria-label": HOST_TEXT.sessions.stop,
    "data-hint": HOST_TEXT.sessions.stopHint, "data-testid": "session-stop",
    on: { click: () => act.stop(card.session) } }, icon(ICONS.stop));
  const dump = el("button", { type: "button", class: "quiet", "data-hint": HOST_TEXT.dump.hint,
    "data-testid": "session-dump", on: { click: () => act.dumpSession(card.session) } }, icon(ICONS.lines));
  const more = el("button", { type: "button", class: "quiet", "aria-label": HOST_TEXT.sessions.more,
    "aria-haspopup": "menu", "data-testid": "session-more", on: { click: () => act.sessionMenu(card.session, more) } },
    icon(ICONS.more));
  const foot = el("div", { class: "session-foot" }, el("span", { class: "session-numbers" }, numbers, samples), dump,
    pause, stop, more);
  const element = el("li", { class: "session", "data-testid": "session" },
    el("div", { class: "session-head" }, link, clock), facts, note, spark.svg, foot);
  return Object.assign(card, { element, link, title, clock, facts, note, spark, numbers, samples, dump, pause, stop,
    more, shownPaused: null });
}

// The state of a session that does not run, with its reason: of an ended one the reason says enough.
function stateText({ state, reason }) {
  const said = HOST_TEXT.sessions.states[state] ?? null;
  if (said === null || !reason) return said;
  const why = HOST_TEXT.sessions.reasons[reason] ?? reason;
  return state === "ended" ? why : said + ": " + why;
}

function factsText(session) {
  const target = session.target ?? {};
  const { name, rest } = programName(target.command);
  const processes = session.processes?.attached ?? session.targets?.length ?? 1;
  return [
    stateText(session),
    session.capture_error ?? null,
    !target.command?.length ? null : session.name || isOver(session) ? name : rest || name,
    processes > 1 ? HOST_TEXT.sessions.processes(processes) : HOST_TEXT.sessions.pid(target.pid),
    isOver(session) ? null : formatRate(session.settings?.rate_hz) + " Hz",
  ].filter(Boolean).join(" · ");
}

function fillCard(card, session, state) {
  const over = isOver(session);
  card.session = session;
  const title = visibleText(sessionTitle(session));
  setText(card.title, title);
  setAttribute(card.link, "href", "#v=1&session=" + encodeURIComponent(session.id));
  setAttribute(card.element, "data-state", session.state);
  setAttribute(card.element, "data-id", session.id);
  setText(card.clock, formatClock(session.elapsed_s));
  setText(card.facts, visibleText(factsText(session)));
  setText(card.note, session.note ? visibleText(session.note) : "");
  card.note.hidden = !session.note;
  setText(card.samples, HOST_TEXT.sessions.samples(formatShortCount(session.quality?.samples ?? 0)));
  card.spark.svg.toggleAttribute("hidden", over || session.state === "starting");
  card.numbers.hidden = over;
  if (!over) drawSpark(card.spark, state.sparks.get(session.id) ?? null, card.numbers);
  card.pause.hidden = over || !state.operator || session.state === "starting";
  card.stop.hidden = over || !state.operator;
  card.dump.hidden = over || !state.operator || session.state === "starting";
  setAttribute(card.dump, "aria-label", HOST_TEXT.dump.of(title));
  for (const button of [card.dump, card.pause, card.stop]) button.disabled = state.cutOff;
  setAttribute(card.stop, "aria-label", HOST_TEXT.sessions.stopOf(title));
  setAttribute(card.more, "aria-label", HOST_TEXT.sessions.moreOf(title));
  const paused = session.state === "paused";
  if (card.shownPaused === paused) return;
  card.shownPaused = paused;
  card.pause.replaceChildren(icon(paused ? ICONS.play : ICONS.pause));
  setAttribute(card.pause, "aria-label",
    paused ? HOST_TEXT.sessions.resumeOf(title) : HOST_TEXT.sessions.pauseOf(title));
  setAttribute(card.pause, "data-hint", paused ? HOST_TEXT.sessions.resumeHint : HOST_TEXT.sessions.pauseHint);
}

export function createSessionList(root, act) {
  const running = el("ol", { class: "sessions", "data-testid": "running", "aria-label": HOST_TEXT.sessions.running });
  const ends = ["opened", "over"].map((
    group,
  ) => [el("h3", {}, HOST_TEXT.sessions[group]), el("ol", { class: "sessions over", "data-testid": group })]);
  const blank = el("p", { class: "soft blank-line", "data-testid": "sessions-empty" });
  const legend = el("p", { class: "spark-legend", "aria-hidden": "true" },
    ...SPARK_PARTS.map((part) =>
      el("span", {}, el("i", { class: "part", "data-part": part }), CONTROL_TEXT.parts[part][0])
    ));
  const count = el("span", { class: "soft" });
  const element = el("aside", { class: "watched", "aria-label": HOST_TEXT.sessions.label },
    el("h2", {}, HOST_TEXT.sessions.running + " ", count), blank, running, legend, ...ends.flat());
  root.append(element);
  const cards = new Map();

  function fillList(list, sessions, state) {
    let next = list.firstElementChild;
    for (const session of sessions) {
      if (!cards.has(session.id)) cards.set(session.id, createSessionCard(act));
      const card = cards.get(session.id);
      if (card.element === next) next = next.nextElementSibling;
      else list.insertBefore(card.element, next);
      fillCard(card, session, state);
    }
  }

  return {
    update(state) {
      const sessions = state.sessions ?? orderSessions([]);
      const shown = new Set(Object.values(sessions).flat().map((session) => session.id));
      for (const [id, card] of cards) {
        if (shown.has(id)) continue;
        card.element.remove();
        cards.delete(id);
      }
      fillList(running, sessions.running, state);
      for (const [head, list] of ends) {
        fillList(list, sessions[list.dataset.testid], state);
        head.hidden = !list.firstElementChild;
      }
      legend.hidden = sessions.running.length === 0;
      setText(count, sessions.running.length === 0 ? "" : String(sessions.running.length));
      blank.hidden = state.sessions === null || sessions.running.length > 0;
      setText(blank, state.operator ? HOST_TEXT.sessions.noneHint : HOST_TEXT.sessions.none);
    },
  };
}
