// Pollers of a session: what is asked for beside its profile while its view is open. A poller is a function of the feed
// that says what is wanted now: null, or
//   {question, subject, once, always, read(since, before) -> promise of an answer, take(answer, before) -> the new state}
// Another `question` is asked from the start; the same one again when the session has news, unless the page is paused or it is
// asked `once`. An answer counts while the `subject` (the question, when there is none) is still wanted. `before` is what the
// last answer to the same question was made into, null when there is none; undefined from take() means that it did not fit.
//
// The feed: {session, followed, recounts (how often its counts began again), epoch, paused, range (of the time strip), watched: {heat, gil, locks, tasks, quality, running, blocks,
// matches, runs, instructions, lanes, requests (null or {mark: of the row that is open, or 0})}, handlers, get(path[, tag]), forget(tag), getOther(session, path), post(path, body), readTrees(generation), hurry(), showSession()}; paths are those below the session.

import { PARTS, RUNNING } from "../model/profile/parts.js";
import { runsOfAnswer } from "../model/profile/runs.js";
import { addThreads } from "../model/profile/states.js";
import { emptyHeat, withHeat } from "../model/time/heatmap.js";
import { emptyMatches, runsOf } from "../model/time/matches.js";
import { memoryOfAnswer } from "../model/time/memory.js";
import { continuesTimeline, emptyTimeline, withTimeline } from "../model/time/timeline.js";
import { TEXT } from "../text/session.js";
import { HttpProblem, queryText } from "./requests.js";

const TIMELINE_SLOTS = 480;
const LANE_SLOTS = 160;
const MEMORY_SLOTS = 240;
const LANES_AT_ONCE = 8;
// Asked again after so long, and so many times what the answer took.
const INSTRUCTIONS_MS = 5000;
const INSTRUCTIONS_TIMES = 20;
const SLOW_MS = 5000;
const REQUEST_ROWS = 50;
const MATCH_RUNS_MAX = 8192;
const MATCH_BODY_MAX = 64 * 1024;

const passed = (handler) => (value) => {
  handler?.(value);
  return value;
};

function nullIfGone(problem) {
  if (problem.status !== 404) throw problem;
  return null;
}

const POLLERS = {
  // The states of all threads: the numbers on the state filters.
  threadStates({ followed: { from, to, took }, get, handlers }) {
    const asked = { from, to, took };
    return {
      question: queryText({}, asked),
      read: (since) => get("/threads" + queryText({ since }, asked)),
      // Chosen requests change while they last, so they are always counted from the start.
      take: (answer, before) =>
        passed(handlers.onThreadStates)(addThreads(took === null ? before ?? new Map() : new Map(), answer)),
    };
  },

  // The timeline of the selected threads, whatever range and states are selected.
  timeline({ followed: { threads, took }, range, get, handlers }) {
    const asked = { threads, took, ...range };
    const readSince = (since) => get("/timeline" + queryText({ since, slots: TIMELINE_SLOTS }, asked));
    return {
      question: queryText({}, asked),
      // As time passes, slots get wider: then all of them are read again.
      async read(since, before) {
        const answer = await readSince(since);
        return continuesTimeline(before ?? emptyTimeline(), answer) ? answer : readSince(0);
      },
      take: (answer, before) => passed(handlers.onTimeline)(withTimeline(before ?? emptyTimeline(), answer)),
    };
  },

  // The baseline of a comparison; read once unless it has no end.
  baseline({ followed: { measure, baseline, against, threads, states, parts, took }, get, handlers, readTrees }) {
    if (baseline === null || against !== null) return null;
    const query = queryText({ native: "everything", blocks: 1 }, { measure, threads, states, parts, took,
      from: baseline.from, to: baseline.to });
    return {
      question: query,
      once: baseline.to !== null,
      read: () => get("/view" + query),
      async take(view) {
        const trees = await readTrees(view.generation);
        return trees !== null && handlers.onBaseline({ trees, view }) ? view.generation : undefined;
      },
    };
  },

  // Another session to compare with, read once: all threads of it, of all its time or of the range that is the baseline. Null: it is gone.
  against(feed) {
    const { followed: { measure, against, baseline, states, parts, took }, getOther, handlers } = feed;
    if (against === null) return null;
    // Against itself, chosen requests are compared with the rest.
    const rest = took !== null && against === feed.session.id ? { rest: 1 } : {};
    const query = queryText({ native: "everything", blocks: 1, ...rest }, { measure, states, parts, took,
      from: baseline?.from, to: baseline?.to });
    const counts = (session) => measure === null || session.measures.some(({ name }) => name === measure);
    return {
      question: against + query,
      once: true,
      async read() {
        const session = await getOther(against, "").catch(nullIfGone);
        if (session === null || !counts(session)) return { session: null };
        const view = await getOther(against, "/view" + query);
        const tree = feed.other?.session.id === against ? feed.other.tree : await getOther(against, "/tree");
        return { session, tree, view };
      },
      take({ session, tree, view }) {
        handlers.onMissing?.(session === null ? against : null);
        if (session === null) return feed.session.generation;
        feed.other = { session, tree };
        feed.showSession();
        return handlers.onBaseline({ trees: [], other: tree, view }) ? view.generation : undefined;
      },
    };
  },

  // The running samples of the current query, where they are a part of it: from the start where that is.
  running(
    { watched, followed: { measure, threads, states, from, to, took, until }, recounts, get, handlers, readTrees },
  ) {
    if (!watched.running) return null;
    const asked = { measure, threads, states, parts: [PARTS[RUNNING]], from, to, took, until };
    return {
      question: queryText({}, asked) + " " + recounts,
      read: (since) => get("/view" + queryText({ since, native: "everything" }, asked)),
      async take(view) {
        const trees = await readTrees(view.generation);
        return trees !== null && handlers.onRunning({ recount: view.since === 0, trees, view })
          ? view.generation
          : undefined;
      },
    };
  },

  // The memory of all processes, whatever is selected.
  memory({ range, get, handlers }) {
    const query = queryText({ slots: MEMORY_SLOTS }, { ...range });
    return {
      question: query,
      read: () => get("/memory" + query),
      take: (answer) => passed(handlers.onMemory)(memoryOfAnswer(answer)),
    };
  },

  // The slices of time of the current query, for intervals and comparisons.
  blocks({ watched, followed: { measure, threads, states, parts, from, to, took }, get, handlers, readTrees }) {
    if (!watched.blocks) return null;
    const query = queryText({ native: "everything", blocks: 1 }, { measure, threads, states, parts, from, to, took });
    return {
      question: query,
      once: to !== null && took === null,
      read: () => get("/view" + query),
      async take(view) {
        const trees = await readTrees(view.generation);
        return trees !== null && handlers.onBlocks({ trees, view }) ? view.generation : undefined;
      },
    };
  },

  // Runs of one thread in the order of time. An answer about another part of its time still shows something.
  runs({ watched, followed: { took }, get, handlers, readTrees }) {
    if (watched.runs === null) return null;
    const { ids, from, to, slots } = watched.runs;
    const query = queryText({ slots }, { threads: ids, from, to, took });
    return {
      question: query,
      subject: ids.join(),
      read: () => get("/runs" + query),
      async take(answer) {
        const trees = await readTrees(answer.generation);
        return trees !== null && handlers.onRuns({ trees, runs: runsOfAnswer(ids.join(), answer) })
          ? answer.generation
          : undefined;
      },
    };
  },

  // Cells of 20 ms: of the strip's zoom, else of the last minutes.
  heat({ watched, range, followed: { took }, get, handlers }) {
    const asked = { took, ...range };
    return !watched.heat ? null : {
      question: queryText({}, asked),
      read: (since) => get("/heatmap" + queryText({ since }, asked)),
      take: (answer, before) => passed(handlers.onHeat)(withHeat(before ?? emptyHeat(), answer)),
    };
  },

  // When the searched functions were on stacks, for the time that the heat map shows.
  matches({ watched, followed: { took }, post, handlers }, keptOf) {
    if (watched.matches === null) return null;
    const { term, matched } = watched.matches;
    const shown = keptOf("heat") ?? emptyHeat();
    const query = queryText({}, { took, from: shown.from, to: shown.to > 0 ? shown.to : null });
    const functions = runsOf(matched);
    const body = JSON.stringify({ functions });
    const isTooMuch = functions.length / 2 > MATCH_RUNS_MAX || body.length > MATCH_BODY_MAX;
    return {
      question: query + " " + body,
      subject: term,
      read: async () => (isTooMuch
        ? { ...emptyMatches(), error: TEXT.heat.tooMany }
        : post("/matches" + query, { functions })),
      take: (answer) => passed(handlers.onMatches)({ ...answer, term }),
    };
  },

  // GIL contention: of the selected threads, range and requests.
  gil({ watched, followed: { threads, from, to, took }, get, handlers }) {
    const query = queryText({}, { threads, from, to, took });
    return !watched.gil ? null : { question: query, read: () => get("/gil" + query), take: passed(handlers.onGil) };
  },

  // Locks: of the whole session.
  locks({ watched, get, handlers }) {
    return !watched.locks ? null : { question: "", read: () => get("/locks"), take: passed(handlers.onLocks) };
  },

  // Requests: of the selected range. The rows are those of the band, and the pieces those of the row that is open.
  requests({ watched, followed: { from, to, took }, get, handlers }) {
    if (watched.requests === null) return null;
    const query = queryText({ limit: REQUEST_ROWS,
      ...(watched.requests.mark ? { function: watched.requests.mark } : {}) }, { from, to, took });
    return { question: query, subject: "", read: () => get("/requests" + query), take: passed(handlers.onRequests) };
  },

  // The latest list of asyncio tasks.
  tasks({ watched, get, handlers }) {
    return !watched.tasks ? null : { question: "", read: () => get("/tasks"), take: passed(handlers.onTasks) };
  },

  quality({ watched, get, handlers }) {
    return !watched.quality
      ? null
      : { question: "", always: true, read: () => get("/quality"), take: passed(handlers.onQuality) };
  },
};

// One takes the place of the other, so each is read again.
const EITHER = ["baseline", "against"];

const subjectOf = (wanted) => (wanted === null ? null : wanted.subject ?? wanted.question);

// -> {poll() -> false when the server was restarted, forget()}
export function createPollers(feed) {
  const kept = new Map();
  const keptOf = (name) => kept.get(name)?.value ?? null;

  async function poll(name) {
    const poller = POLLERS[name];
    const wanted = poller(feed, keptOf);
    if (wanted === null) {
      if (EITHER.includes(name)) kept.delete(name);
      return true;
    }
    const known = kept.get(name)?.question === wanted.question ? kept.get(name) : null;
    if (known !== null && !wanted.always && (wanted.once || feed.paused || known.generation >= feed.session.generation))
      return true;
    const asked = feed.session.generation;
    const answer = await wanted.read(known?.generation ?? 0, known?.value ?? null);
    if (answer.epoch !== undefined && answer.epoch !== feed.epoch) return false;
    if (subjectOf(poller(feed, keptOf)) !== subjectOf(wanted)) return true;
    const value = await wanted.take(answer, known?.value ?? null);
    if (value !== undefined)
      kept.set(name, { question: wanted.question, generation: answer.generation ?? asked, value });
    return true;
  }

  const instructions = createInstructionPoller(feed);
  const lanes = createLanePoller(feed);
  const slow = [createSummaryPoller(feed), createDeadlockPoller(feed)];
  return {
    async poll() {
      for (const name of Object.keys(POLLERS)) {
        if (!(await poll(name))) return false;
        // Somebody asked something else meanwhile, and waits.
        if (!feed.followed.isAnswered) return true;
      }
      instructions.poll();
      for (const poller of slow) poller.poll();
      await lanes.poll();
      return true;
    },
    forget() {
      kept.clear();
      instructions.forget();
      for (const poller of slow) poller.forget();
      lanes.forget();
    },
  };
}

// The bytecode of a file while one of its lines is open: of the selected range, all threads and states. It may take a while;
// nothing else waits for it.
function createInstructionPoller(feed) {
  let last = { question: "", generation: 0, at: 0, took: 0, found: false };
  let reading = false;

  // True if it was never answered, or some time ago.
  function isDue(question) {
    if (question !== last.question) return true;
    return last.found && !feed.paused && last.generation < feed.session.generation
      && Date.now() - last.at > Math.max(INSTRUCTIONS_MS, INSTRUCTIONS_TIMES * last.took);
  }

  function say(path, answer) {
    if (feed.watched.instructions?.path === path) feed.handlers.onInstructions(path, answer);
  }

  return {
    async poll() {
      const file = feed.watched.instructions;
      if (file === null || reading) return;
      const query = queryText({ function: file.function }, { from: feed.followed.from, to: feed.followed.to });
      const question = query + " " + feed.epoch;
      if (!isDue(question)) return;
      last = { ...last, question, at: Date.now() };
      reading = true;
      try {
        const answer = await feed.get("/lines" + query);
        last = { ...last, generation: answer.generation, took: Date.now() - last.at, found: answer.line.length > 0 };
        if (answer.epoch === feed.epoch) say(file.path, answer);
      } catch (problem) {
        // The other requests report a server that does not answer.
        const isProblem = problem instanceof HttpProblem;
        last = { ...last, found: false, question: !isProblem || problem.status === 503 ? "" : last.question };
        say(file.path, { error: isProblem ? problem.message : TEXT.source.noAnswer });
      }
      reading = false;
    },
    forget() {
      last = { ...last, question: "" };
    },
  };
}

// A poller of what stands beside the views: at once, then every few seconds while there is news. Nothing waits for it.
// pathOf(feed): what to ask, null for nothing; take(feed, answer).
function createSlowPoller(feed, pathOf, take) {
  let last = { question: "", generation: 0, at: 0, took: 0 };
  let reading = false;

  function isDue(question) {
    if (question !== last.question) return true;
    return !feed.paused && last.generation < feed.session.generation
      && Date.now() - last.at > Math.max(SLOW_MS, INSTRUCTIONS_TIMES * last.took);
  }

  return {
    async poll() {
      const path = pathOf(feed);
      if (path === null || reading) return;
      const question = path + " " + feed.epoch;
      if (!isDue(question)) return;
      last = { question, generation: feed.session.generation, at: Date.now(), took: 0 };
      reading = true;
      try {
        const answer = await feed.get(path);
        last.took = Date.now() - last.at;
        if (pathOf(feed) !== null) take(feed, answer);
      } catch {
        // The other requests report a server that does not answer; the last answer stays.
      }
      reading = false;
    },
    forget() {
      last = { ...last, question: "" };
    },
  };
}

const createSummaryPoller = (feed) =>
  createSlowPoller(feed,
    ({ watched: { summary } }) => (summary === null ? null : "/summary" + queryText({ format: "json" }, summary)),
    ({ handlers }, answer) => handlers.onSummary?.(answer));

// Deadlocks, wherever the page is: their view asks for all locks by itself.
const createDeadlockPoller = (feed) =>
  createSlowPoller(feed, ({ watched }) => (watched.locks ? null : "/locks?limit=1"), ({ handlers }, { deadlocks }) =>
    handlers.onDeadlocks?.(deadlocks));

// The timelines of single threads: some each round, in turn.
function createLanePoller(feed) {
  let timelines = new Map();
  let range = null;
  let took = null;
  let next = 0;
  return {
    async poll() {
      if (range !== feed.range || took !== feed.followed.took) timelines = new Map();
      range = feed.range;
      took = feed.followed.took;
      const asked = range;
      const isDue = (ids) =>
        !timelines.has(ids.join()) || (!feed.paused && timelines.get(ids.join()).generation < feed.session.generation);
      const due = feed.watched.lanes.filter(isDue);
      if (due.length === 0) return;
      const chosen = Array.from({ length: Math.min(LANES_AT_ONCE, due.length) },
        (_, i) => due[(next + i) % due.length]);
      next += chosen.length;
      const answers = await Promise.all(
        chosen.map((threads) => feed.get("/timeline" + queryText({ slots: LANE_SLOTS }, { threads, took, ...asked }))),
      );
      if (asked !== feed.range) return;
      timelines = new Map(timelines);
      chosen.forEach((ids, i) =>
        timelines.set(ids.join(), { ...withTimeline(emptyTimeline(), answers[i]), generation: answers[i].generation })
      );
      feed.handlers.onLanes(timelines);
      if (due.some((ids) => !timelines.has(ids.join()))) feed.hurry();
    },
    forget() {
      timelines = new Map();
    },
  };
}
