// The entries of the command palette: commands of the page, and every function by name.

import { TEXT } from "../../text/session.js";
import { formatClock } from "../base/numbers.js";
import { visibleText } from "../base/text.js";
import { exactPattern, FILTER_VERBS } from "../filters/filter.js";
import { PARTS } from "../profile/parts.js";
import { threadKeyOf, threadPlace } from "../threads/threads.js";
import { sinceStart, startsOf, startText } from "../time/starts.js";
import { ALL_OPEN, viewKey, VIEWS } from "./address.js";
import { chartsOfView, IMAGE_FORMATS } from "./charts.js";

const MOST = 40;
const STARTS_OFFERED = 10;
const THEMES = ["system", "light", "dark"];

// The filters that a frame suggests.
function filterCommands({ name, raw }) {
  return FILTER_VERBS.map((verb) => ({ label: TEXT.commands.filter(verb, name), hint: "",
    action: { type: "filter", text: verb + " function:" + exactPattern(raw) } })
  );
}

// The newest starts: what changed since each of them.
function startCommands(session, change) {
  const commands = startsOf(session).slice(-STARTS_OFFERED).map((start) => ({ start,
    compared: sinceStart(start, session.elapsed_s) })
  ).filter(({ compared }) => compared !== null);
  return commands.reverse().map(({ start, compared }) => ({ label: TEXT.commands.compareStart(startText(start)),
    hint: formatClock(start.at), action: change({ view: "diff", ...compared }) })
  );
}

// -> [{label, hint, action}] of what the page can do; `action` is dispatched
export function pageCommands(state) {
  const change = (changes) => ({ type: "address", changes, how: "push" });
  const { address } = state;
  const isOpen = address.open.length > 0;
  /** @type {Command[]} */
  const commands = VIEWS.map((view, i) => ({ label: TEXT.commands.show(TEXT.view[view][0]), hint: viewKey(i),
    action: change({ view }) })
  );
  commands.push(
    { label: address.bottomUp ? TEXT.commands.topDown : TEXT.commands.bottomUp, hint: "i", action: { type: "turn" } },
    { label: address.by === "line" ? TEXT.commands.byFunction : TEXT.commands.byLine, hint: "",
      action: change({ by: address.by === "line" ? "function" : "line" }) },
    { label: address.colour === "heat" ? TEXT.commands.byModule : TEXT.commands.byHeat, hint: "",
      action: change({ colour: address.colour === "heat" ? "module" : "heat" }) },
    { label: TEXT.commands.libraries, hint: "l", action: { type: "toggleLibraries" } },
    { label: address.hidesWaits ? TEXT.commands.showWaits : TEXT.commands.hideWaits, hint: "",
      action: change({ hidesWaits: !address.hidesWaits }) },
    { label: isOpen ? TEXT.commands.fold : TEXT.commands.unfold, hint: "",
      action: change({ open: isOpen ? [] : [ALL_OPEN] }) },
    { label: TEXT.commands.quality, hint: "q", action: { type: "qualityDialog", open: true } },
    { label: TEXT.commands.links, hint: "", action: { type: "linksDialog", open: true } },
    ...THEMES.map((theme) => ({ label: TEXT.commands.theme(theme),
      hint: theme === state.theme ? TEXT.commands.current : "", action: { type: "theme", theme } })
    ),
    ...PARTS.map((part) => ({ label: TEXT.commands.part(TEXT.parts[part][0]), hint: "",
      action: change({ parts: [part] }) })
    ),
    { label: TEXT.commands.allParts, hint: "", action: change({ parts: PARTS }) },
    ...(state.downloads ?? []).map((item) => ({ label: TEXT.commands.download(item.label), hint: item.hint,
      action: { type: "download", key: item.key } })
    ),
    { label: TEXT.commands.help, hint: "?", action: { type: "help", open: true } },
    { label: TEXT.commands.reset, hint: "",
      action: change({ range: null, threads: [], parts: null, states: [], filters: [], search: "", zoom: [],
        frame: [] }) },
  );
  if (state.picture.selected !== null)
    commands.push(...filterCommands(state.picture.describe(state.picture.selected).label));
  for (const chart of chartsOfView(address.view, state.hasTimes)) {
    for (const format of IMAGE_FORMATS)
      commands.push({ label: TEXT.commands.saveChart(TEXT.charts[chart], format), hint: "",
        action: { type: "saveChart", chart, format } });
  }
  if (state.live) commands.push({ label: TEXT.commands.compareWith, hint: "", action: { type: "openPicker" } });
  if (state.live) commands.push({ label: TEXT.commands.share, hint: "", action: { type: "share" } });
  if (state.live)
    commands.push({ label: state.paused ? TEXT.commands.resume : TEXT.commands.pause, hint: "p",
      action: { type: "togglePause" } });
  commands.push(...startCommands(state.session, change));
  if (address.range !== null)
    commands.push({ label: TEXT.commands.compareBefore, hint: "",
      action: change({ view: "diff", baseline: { from: 0, to: Math.max(0.25, address.range.from) } }) });
  return commands;
}

// Commands that are too many to show before something is typed: threads, source files, functions: each {label, hint,
// isFunction, action}.
export function* listedCommands({ picture }) {
  const push = (changes) => ({ type: "address", changes, how: "push" });
  for (const thread of picture.threads)
    yield { label: TEXT.commands.thread(threadPlace(thread, picture.threads)),
      hint: thread.tid > 0 ? String(thread.tid) : "", action: push({ threads: [threadKeyOf(thread)] }) };
  for (const path of picture.paths)
    yield { label: TEXT.commands.file(visibleText(path)), hint: "",
      action: push({ view: "source", file: path, line: 0 }) };
  for (const { label, key } of picture.functions) {
    if (key !== "")
      yield { label: label.label, hint: TEXT.commands.function, isFunction: true,
        action: push({ view: "sandwich", about: key }) };
  }
}

// Those whose words are all in what was typed for, those of `listed` (an iterable) behind.
export function foundCommands(commands, listed, text) {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  const fits = (label) => words.every((word) => label.toLowerCase().includes(word));
  const found = commands.filter((command) => fits(command.label));
  if (words.length === 0) return found;
  for (const command of listed) {
    if (found.length >= MOST) break;
    if (fits(command.label)) found.push(command);
  }
  return found;
}
