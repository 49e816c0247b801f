// The data of a report as a source: the same interface as live.js, answered from memory. A report may have a baseline of its own,
// of another session: {by, session, selection, tree, cells, request_durations}.

import { addCellFacts, blocksOfCells, createAsked, createTook, slotsInRange, threadsOfCells,
  viewOfCells } from "../model/profile/cells.js";
import { foldedStacks } from "../model/profile/folded.js";
import { PARTS, RUNNING } from "../model/profile/parts.js";
import { applyTree, createProfile } from "../model/profile/profile.js";
import { runsOfCells } from "../model/profile/report-runs.js";
import { keptRuns, runsOfNodes } from "../model/profile/runs.js";
import { gilOfCells } from "../model/threads/gil.js";
import { requestsOfReport } from "../model/threads/requests.js";
import { emptyHeat, heatOfCells, withHeat } from "../model/time/heatmap.js";
import { emptyMatches, matchesOfCells } from "../model/time/matches.js";
import { memoryOfAnswer } from "../model/time/memory.js";
import { timelineOfCells } from "../model/time/timeline.js";
import { BLOCKS_MAX } from "../model/trees/blocks.js";
import { TEXT } from "../text/session.js";
import { inflateText } from "./inflate.js";

const REPORT_VERSION = 1;

// The ids of the baseline's threads with the names of these threads of the report; one that does not exist when there are none.
function sameThreads(report, threads) {
  const nameOf = ({ tree }, id) => tree.strings.values[tree.threads.name[id]];
  const names = new Set(threads.map((id) => nameOf(report, id)));
  const same = report.baseline.tree.threads.name.flatMap((_,
    id) => (names.has(nameOf(report.baseline, id)) ? [id] : [])
  );
  return threads.length > 0 && same.length === 0 ? [-1] : same;
}

function whyNoSource({ session, sources, holds_all_sources: holdsAll }) {
  if (session.anonymized === true) return TEXT.source.reportAnonymized;
  if (holdsAll) return TEXT.source.reportWithout;
  return sources === undefined ? TEXT.source.reportHasNone : TEXT.source.reportHasSome;
}

// As /view answers, with blocks where there are times.
function viewWithBlocks(report, asked, range) {
  const blocks = blocksOfCells(report, asked, range, BLOCKS_MAX);
  return { ...viewOfCells(report, asked, range),
    in_jit: viewOfCells(report, { ...asked, states: [...asked.states, "in_jit"] }, range),
    ...(blocks === null ? {} : { blocks }) };
}

function sourceOf(report, id) {
  const path = report.tree.strings.values[report.tree.functions.file[id]];
  const found = (report.sources ?? []).find((one) => one.path === path);
  if (found === undefined) throw new Error(whyNoSource(report));
  if (found.error !== undefined) throw new Error(found.error);
  return found;
}

function foldedText(report, query) {
  const profile = createProfile();
  applyTree(profile, report.tree);
  return foldedStacks(profile, report.cells, createAsked(report, query));
}

// Against itself, chosen requests are compared with the rest.
const isAgainstRest = ({ session }, { against, took }) => took && against === session.id;

function reportSession(report, asked) {
  const { by, session, selection } = isAgainstRest(report, asked)
    ? { by: "samples", ...report }
    : report.baseline ?? {};
  return { ...report.session, links: report.links, selection: report.selection ?? null,
    baseline: session === undefined ? null : { by, session, selection } };
}

// The baseline of what is asked for, if there is one.
function deliverBaseline(report, asked, handlers) {
  const { baseline } = report;
  if (isAgainstRest(report, asked))
    handlers.onBaseline({ trees: [], other: report.tree,
      view: viewWithBlocks(report, { ...asked, rest: true }, asked.baseline) });
  else if (report.slots !== undefined && asked.baseline)
    handlers.onBaseline({ trees: [], view: viewWithBlocks(report, asked, asked.baseline) });
  else if (baseline !== undefined)
    handlers.onBaseline({ trees: [], other: baseline.tree,
      view: viewWithBlocks(baseline, { ...asked, threads: sameThreads(report, asked.threads) }, null) });
}

// Answers what is watched once, and again when the question changes: method(what is wanted, {report, asked}). `watched` is what they
// answered.
function createAnswers(watched, handlers) {
  return {
    heat(on, { report, asked: { took } }) {
      const key = on ? JSON.stringify(took) : watched.heat;
      if (key === watched.heat || report.heat === undefined) return;
      watched.heat = key;
      handlers.onHeat(took ? heatOfCells(report, took) : withHeat(emptyHeat(), { since: 0, ...report.heat }));
    },
    running(on, { report, asked }) {
      watched.running = on;
      if (on)
        handlers.onRunning({ recount: true, trees: [],
          view: viewOfCells(report, { ...asked, parts: [PARTS[RUNNING]] }, asked) });
    },
    gil(on, { report, asked }) {
      watched.gil = on;
      if (on) handlers.onGil(gilOfCells(report, asked, slotsInRange(report, asked)));
    },
    matches(wanted, { report, asked: { took } }) {
      const key = JSON.stringify([wanted?.term, took]);
      if (key === watched.matches) return;
      watched.matches = key;
      if (wanted !== null)
        handlers.onMatches({
          ...(matchesOfCells(report, wanted.matched, took) ?? { ...emptyMatches(), error: TEXT.heat.noTimes }),
          term: wanted.term,
        });
    },
    instructions(file, { report }) {
      if ((file?.path ?? "") === watched.instructions) return;
      watched.instructions = file?.path ?? "";
      const found = (report.instructions ?? []).find((one) => one.path === watched.instructions);
      if (file !== null)
        handlers.onInstructions(watched.instructions,
          found ?? { error: report.instructions === undefined ? "" : TEXT.source.reportHasHottest });
    },
    runs(wanted, { report, asked }) {
      const key = wanted === null ? watched.runs : JSON.stringify([wanted.ids, asked.took]);
      if (key === watched.runs) return;
      watched.runs = key;
      const runs = keptRuns(report, wanted.ids) ?? runsOfCells(report, wanted.ids);
      if (runs !== null) handlers.onRuns({ trees: [], runs: runsOfNodes(runs, createTook(report, asked)) });
    },
    requests(wanted, { report, asked }) {
      const key = wanted === null ? watched.requests : JSON.stringify([wanted, asked.took]);
      if (key === watched.requests || report.requests === undefined) return;
      watched.requests = key;
      handlers.onRequests(requestsOfReport(report, asked.took ?? null, wanted.mark));
    },
    summary(wanted, { report }) {
      if (watched.summary || wanted === null || report.summary === undefined) return;
      watched.summary = true;
      handlers.onSummary?.({ ...report.summary, ofReport: true });
    },
    lanes(lists, { report, asked: { took } }) {
      const signature = JSON.stringify([lists, took]);
      if (report.slots === undefined || signature === watched.lanes) return;
      watched.lanes = signature;
      if (lists.length > 0)
        handlers.onLanes(new Map(lists.map((ids) => [ids.join(), timelineOfCells(report, ids, took)])));
    },
  };
}

export function createReportSource(base64, handlers) {
  let report = null;
  const watched = { running: false, gil: false, lanes: "", instructions: "", matches: "", runs: "", requests: "",
    heat: "", summary: false };
  const answers = createAnswers(watched, handlers);
  let asked = { threads: [], states: [], parts: [], from: null, to: null };

  function deliver(isFirst) {
    handlers.onSession(reportSession(report, asked));
    handlers.onDelivery({ restart: isFirst, recount: true, trees: isFirst ? [report.tree] : [],
      view: viewWithBlocks(report, asked, asked) });
    if (watched.running) answers.running(true, { report, asked });
    handlers.onThreadStates(threadsOfCells(report, asked));
    deliverBaseline(report, asked, handlers);
    if (watched.gil) answers.gil(true, { report, asked });
    if (report.slots !== undefined) handlers.onTimeline?.(timelineOfCells(report, asked.threads, asked.took));
  }

  async function read() {
    try {
      report = JSON.parse(await inflateText(base64));
      if (report.version !== REPORT_VERSION) throw new Error(TEXT.banner.version(report.version));
      for (const one of [report, report.baseline]) if (one !== undefined) addCellFacts(one);
      deliver(true);
      if (report.memory !== undefined) handlers.onMemory?.(memoryOfAnswer(report.memory));
      handlers.onQuality(report.quality ?? report.session.quality);
      handlers.onConnection({ state: "ok", detail: "", retryAt: null });
    } catch (problem) {
      handlers.onConnection({ state: "unreadable", detail: String(problem.message), retryAt: null });
    }
  }

  return {
    live: false,
    start() {
      read();
    },
    ask(query) {
      asked = query;
      if (report !== null) deliver(false);
    },
    // True if times are distinguished here.
    hasTimes: () => report !== null && report.slots !== undefined,
    pause() {},
    retry() {},
    watch(what, wanted) {
      if (report !== null && !(["gil", "running"].includes(what) && watched[what] === wanted))
        answers[what]?.(wanted, { report, asked });
    },
    summaryText: async () => report.summary_markdown,
    sourceText: async (id) => sourceOf(report, id),
    zoomTimeline() {},
    downloads(query) {
      if (report === null) return [];
      return [{ key: "collapsed", label: TEXT.download.formats.collapsed[0], hint: TEXT.download.formats.collapsed[1],
        name: "profile.collapsed.txt", make: () => foldedText(report, { ...query, parts: query.shown }) }];
    },
  };
}
