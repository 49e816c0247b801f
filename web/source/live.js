// The server's API as a source: polls, and reads only what changed. A source is
//   start(), retry(), pause(on), ask({measure (null: time), threads, states, parts, from, to, until, baseline, against}),
//     `from` and `to` the chosen range, `until` the moment of a pause, `baseline` the range to compare with, `against` another session; null is none
//   watch(what, wanted): heat, gil, locks, tasks, quality, running, blocks (true or false), lanes (lists of thread ids), matches (null or {term,
//     matched: by function id}), instructions (null or {path, function}), runs (null or {ids (of one thread), from, to (null: it goes on), slots}),
//     summary (null or what downloads() takes), requests (null or {mark: of the one whose pieces are shown, or 0})
//   zoomTimeline(null | {from, to}), hasTimes(), sourceText(function id) -> promise of {text, changed, whole}, rejected with a sentence,
//   downloads({threads, states, parts (chosen), shown (parts), from, to, filters: [[parameter, pattern]]})
// and calls its handlers
//   onSession(session), onConnection({state, detail, retryAt}), onDelivery(delivery), onBaseline({trees, view}) and
//   onRunning({recount, trees, view}) and onBlocks({trees, view}) and onRuns({trees, runs (runs.js)}) -> whether it fitted,
//   onThreadStates(Map of thread id -> sums of what it was doing), onTimeline(timeline), onMemory(memory), onLanes(Map of joined ids -> timeline),
//   onHeat(heat), onGil(what /gil answers), onLocks(what /locks answers), onDeadlocks(those in it), onTasks(what /tasks answers), onRequests(what /requests answers), onMatches({term, and what /matches answers} or
//   {term, error}), onSummary(what /summary answers), onInstructions(path, what /lines answers or {error}), onQuality(what /quality answers)

import { rangeText } from "../model/time/timeline.js";
import { TEXT } from "../text/session.js";
import { createDeliveries } from "./deliveries.js";
import { createPollers } from "./pollers.js";
import { API, createRequests, HttpProblem, queryText, send } from "./requests.js";
import { createRounds } from "./rounds.js";

// The formats of server/report that a session can be downloaded in, beside the report.
export const FORMATS = ["summary", "summary-markdown", "summary-json", "collapsed", "heatmap", "svg", "pstats-text",
  "pstats", "pprof", "speedscope", "gecko", "chrome-trace", "jsonl"];

// The formats that can be of another measure than time.
const WITH_MEASURES = ["collapsed", "pprof", "speedscope"];

// Those that distinguish the parts of time, and have all of them unless some are chosen.
const WITH_PARTS = ["summary", "summary-markdown", "summary-json", "heatmap", "gecko", "jsonl"];

const ROUND_MS = 1000;
const FIRST_ROUND_MS = 250;
const FIRST_ROUNDS = 12;
const HIDDEN_ROUND_MS = 10000;
const ENDED_ROUND_MS = 5000;

// The session, with the other one as its baseline while it is compared with that.
function sessionWithOther({ session, other, followed }) {
  if (other === null || followed.against !== other.session.id) return session;
  const wholeOf = ({ elapsed_s: seconds }) => ({ whole: true, duration_s: seconds, to_s: seconds });
  const partOf = ({ from, to }, end) => ({ whole: false, text: rangeText({ from, to }), duration_s: (to ?? end) - from,
    to_s: to ?? end });
  return { ...session, selection: wholeOf(session),
    baseline: { by: "samples", session: other.session, selection: followed.baseline === null
      ? wholeOf(other.session)
      : partOf(followed.baseline, other.session.elapsed_s) } };
}

function createFeed(requests, handlers) {
  const path = (rest) => "/sessions/" + feed.session.id + rest;
  const feed = {
    handlers,
    session: null,
    other: null,
    epoch: null,
    paused: false,
    range: null,
    watched: { heat: false, gil: false, locks: false, tasks: false, quality: false, running: false, blocks: false,
      runs: null, matches: null, instructions: null, lanes: [], summary: null, requests: null },
    get: (rest, tag) => requests.get(path(rest), tag),
    forget: requests.forget,
    getText: (rest) => send("GET", path(rest)).then((response) => response.text()),
    getOther: (id, rest) => requests.get("/sessions/" + encodeURIComponent(id) + rest),
    showSession: () => handlers.onSession(sessionWithOther(feed)),
    // A request that GET is not enough for; it changes nothing there.
    post: (rest, body) => send("POST", path(rest), body).then((response) => response.json()),
  };
  return feed;
}

function downloadsOf(session, query) {
  if (session === null) return [];
  const base = API + "/sessions/" + session.id;
  const asked = { ...query, until: null };
  return [
    { key: "report", label: TEXT.download.report, hint: TEXT.download.reportHint,
      href: base + "/report.html" + queryText({}, asked) },
    ...(query.measure ? WITH_MEASURES : FORMATS).map((format) => ({ key: format,
      label: TEXT.download.formats[format][0], hint: TEXT.download.formats[format][1], href: base + "/export"
        + queryText({ format }, WITH_PARTS.includes(format) ? asked : { ...asked, parts: query.shown }) })
    ),
  ];
}

// Keys of what is watched: equal keys are equal to the server.
const WATCHED_AS = {
  matches: (wanted) => wanted?.term,
  instructions: (file) => file?.path,
  runs: (wanted) => JSON.stringify(wanted),
  lanes: (lists) => lists.map(String).join(";"),
  summary: (selected) => JSON.stringify(selected),
  requests: (wanted) => JSON.stringify(wanted),
};

function isAny(wanted) {
  return Array.isArray(wanted) ? wanted.length > 0 : Boolean(wanted);
}

export function createLiveSource(sessionId, handlers) {
  const requests = createRequests();
  const feed = createFeed(requests, handlers);
  const deliveries = createDeliveries(feed);
  const pollers = createPollers(feed);

  async function findSession() {
    const { sessions } = await requests.get("/sessions");
    const found = sessions.find((candidate) => candidate.id === sessionId) ?? sessions[0];
    if (found === undefined) throw new HttpProblem(404, TEXT.banner.noSession);
    return found;
  }

  async function readSession() {
    const answer = feed.session === null ? await findSession() : await feed.get("", "session");
    if (answer === null) return;
    feed.session = answer;
    feed.showSession();
  }

  function forget() {
    deliveries.forget();
    pollers.forget();
    requests.forget();
  }

  async function round({ urgent }) {
    // Another question is answered first: somebody waits, and whether there is news of the session is no part of it.
    const isAsked = urgent && feed.session !== null && feed.epoch !== null && !feed.followed.isAnswered;
    if (isAsked && !(await deliveries.read())) forget();
    await readSession();
    const frozen = feed.paused && feed.followed.since !== 0;
    const isSame = frozen || deliveries.isCaughtUp() || (await deliveries.read());
    if (!isSame || (feed.epoch !== null && !(await pollers.poll()))) forget();
  }

  function waitMs(count) {
    if (document.hidden) return HIDDEN_ROUND_MS;
    if (feed.session.state === "ended" || feed.session.state === "failed") return ENDED_ROUND_MS;
    return count < FIRST_ROUNDS ? FIRST_ROUND_MS : ROUND_MS;
  }

  function onProblem({ status }) {
    if (status === 404) feed.session = null;
  }

  const { start, hurry } = createRounds({ round, waitMs, onProblem, onConnection: handlers.onConnection });
  Object.assign(feed, { hurry, readTrees: deliveries.readTrees });

  return {
    live: true,
    start,
    retry: hurry,
    hasTimes: () => true,
    ask(query) {
      deliveries.follow(query);
      hurry();
    },
    zoomTimeline(range) {
      feed.range = range;
      hurry();
    },
    // While paused nothing new is read, except once after another question.
    pause(on) {
      feed.paused = on;
      if (!on) hurry();
    },
    watch(what, wanted) {
      const sameAs = WATCHED_AS[what] ?? ((on) => on);
      const isOther = sameAs(wanted) !== sameAs(feed.watched[what]);
      if (isOther || what === "matches") feed.watched[what] = wanted;
      if (isOther && isAny(wanted)) hurry();
    },
    sourceText: (id) => feed.get("/source" + queryText({ function: id })),
    summaryText: (selected) => feed.getText("/summary" + queryText({ format: "markdown" }, selected)),
    downloads: (query) => downloadsOf(feed.session, query),
  };
}
