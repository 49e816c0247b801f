// The server's API as a source: asks again and again, only for what changed. A source is
//   start(), ask({threads, states, from, to, until, base}), pause(on), retry(), watchQuality(on), watchHeat(on), watchGil(on), watchLanes(lists of thread ids), hasTimes(),
//   watchMatches(null | {term, matched: by function id}),
//   watchInstructions(null | {path, function}),
//   sourceText(function id) -> promise of {text, changed}, rejected with a sentence,
//   zoomTimeline(null | {from, to}), downloads({threads, states, from, to, rules: [[parameter, pattern]]})
// (`from` and `to` the chosen range, `until` the moment of a pause, `base` the range to compare with; null is none) and tells its handlers
//   onSession(session), onDelivery(delivery) -> whether it fitted, onConnection({state, detail, retryAt}),
//   onThreadStates(Map of thread id -> sums of what it was doing), onTimeline(timeline), onHeat(heat), onGil(what /gil answers), onTasks(what /tasks answers), onMatches({term, and what /matches answers} or {term, error}), onInstructions(path, what /lines answers or {error}), onLanes(Map of joined ids -> timeline), onBase(view) -> whether it fitted, onQuality(all there is to know,
//   while it is watched)

import { FORMATS } from "../model/formats.js";
import { emptyHeat, withHeat } from "../model/heatmap.js";
import { emptyMatches, runsOf } from "../model/matches.js";
import { addThreads } from "../model/states.js";
import { emptyTimeline, withTimeline } from "../model/timeline.js";

// Relative: the page may lie below another path, behind a proxy.
const API = "api/v1";
const ROUND_MS = 1000;
const FIRST_ROUND_MS = 250;
const FIRST_ROUNDS = 12;
const HIDDEN_ROUND_MS = 10000;
const ENDED_ROUND_MS = 5000;
const RETRY_MS = [1000, 2000, 4000, 8000];
const TIMEOUT_MS = 20000;
const TREES_MAX = 64;
const TIMELINE_SLOTS = 480;
const LANE_SLOTS = 160;
const LANES_AT_ONCE = 8;
// Asked again after so long, and so many times what the answer took.
const INSTRUCTIONS_MS = 5000;
const INSTRUCTIONS_TIMES = 20;
const MATCH_RUNS_MAX = 8192;
const MATCH_BODY_MAX = 64 * 1024;

class HttpProblem extends Error {
  constructor(status, detail) {
    super(detail);
    this.status = status;
  }
}

async function problemOf(response) {
  try {
    const problem = await response.json();
    return new HttpProblem(response.status, String(problem.detail ?? problem.title ?? response.status));
  } catch {
    return new HttpProblem(response.status, "HTTP status " + response.status);
  }
}

// asked: {threads, states, from, to, until}, each of which may be missing
export function queryText(parameters, asked = {}) {
  const query = new URLSearchParams(parameters);
  for (const thread of asked.threads ?? []) query.append("thread", String(thread));
  if (asked.states?.length > 0) query.set("state", asked.states.join());
  const ends = [asked.to, asked.until].filter((end) => typeof end === "number");
  if (typeof asked.from === "number") query.set("from", String(asked.from));
  if (ends.length > 0) query.set("to", String(Math.min(...ends)));
  for (const [name, pattern] of asked.rules ?? []) query.append(name, pattern);
  const text = query.toString();
  return text === "" ? "" : "?" + text;
}

// A view being followed: its query, how far it was read, the ETag of the last answer.
function createFollowed({ threads, states, from, to, until, base }) {
  return { threads, states, from: from ?? null, to: to ?? null, until: until ?? null, base: base ?? null, since: 0, baseGeneration: 0 };
}

export function createLiveSource(sessionId, handlers) {
  const tags = new Map();
  let session = null;
  let followed = createFollowed({ threads: [], states: [] });
  let treeGeneration = 0;
  let epoch = null;
  let restart = true;
  let paused = false;
  let failures = 0;
  let rounds = 0;
  let timer = null;
  let running = false;
  let again = false;
  let watchesQuality = false;
  let threadStates = new Map();
  let statesGeneration = 0;
  let timeline = emptyTimeline();
  let timelineGeneration = 0;
  let timelineRange = null;
  let heat = emptyHeat();
  let heatGeneration = 0;
  let watchesHeat = false;
  let watchesGil = false;
  let gilFor = "";
  let watchesTasks = false;
  let tasksFor = "";
  let searched = null;
  let matchesFor = "";
  let opened = null;
  let instructionsFor = "";
  let instructionsAt = 0;
  let instructionsAsked = 0;
  let instructionsTook = 0;
  let readsInstructions = false;
  let hasInstructions = false;
  let lanes = [];
  let laneRange = null;
  let nextLane = 0;
  let laneTimelines = new Map();

  // The answer, or null when it is what it was. `tag` names the resource whose last ETag is sent.
  async function get(path, tag) {
    const headers = { Accept: "application/json" };
    const known = tag === undefined ? undefined : tags.get(tag);
    if (known !== undefined && known.path === path) headers["If-None-Match"] = known.etag;
    const response = await fetch(API + path, { headers, cache: "no-store", signal: AbortSignal.timeout(TIMEOUT_MS) });
    if (response.status === 304) return null;
    if (!response.ok) throw await problemOf(response);
    const etag = response.headers.get("ETag");
    const answer = await response.json();
    if (tag !== undefined && etag !== null) tags.set(tag, { path, etag });
    return answer;
  }

  async function findSession() {
    const { sessions } = await get("/sessions");
    const found = sessions.find((candidate) => candidate.id === sessionId) ?? sessions[0];
    if (found === undefined) throw new HttpProblem(404, "The server has no session.");
    return found;
  }

  async function readSession() {
    const answer = session === null ? await findSession() : await get("/sessions/" + session.id, "session");
    if (answer === null) return;
    session = answer;
    handlers.onSession(session);
  }

  function forget() {
    epoch = null;
    treeGeneration = 0;
    restart = true;
    followed = createFollowed(followed);
    threadStates = new Map();
    statesGeneration = 0;
    timelineGeneration = 0;
    heatGeneration = 0;
    gilFor = "";
    tasksFor = "";
    matchesFor = "";
    instructionsFor = "";
    laneTimelines = new Map();
    tags.clear();
  }

  async function readTrees(generation) {
    const trees = [];
    while (treeGeneration < generation && trees.length < TREES_MAX) {
      const tree = await get("/sessions/" + session.id + "/tree" + queryText({ since: treeGeneration }));
      if (tree === null || tree.epoch !== epoch) return null;
      trees.push(tree);
      if (tree.generation <= treeGeneration) break;
      treeGeneration = tree.generation;
    }
    return trees;
  }

  // Brings what changed since the last time; false when the server began anew and all must be read again.
  async function readData() {
    const asked = followed;
    const path = "/sessions/" + session.id + "/view" + queryText({ since: asked.since }, asked);
    const view = await get(path, "view");
    if (view === null) return true;
    if (epoch === null) epoch = view.epoch;
    const trees = view.epoch === epoch ? await readTrees(view.generation) : null;
    if (trees === null) return false;
    const current = asked === followed;
    const delivery = { restart, recount: current && (asked.since === 0 || view.since === 0), trees, view: current ? view : null };
    restart = false;
    if (current) followed.since = view.generation;
    if (!current) again = true;
    return handlers.onDelivery(delivery) && readThreadStates();
  }

  // What the threads were doing, all states of it: the numbers on the filters. They stand still with the picture.
  async function readThreadStates() {
    if (paused && statesGeneration !== 0) return true;
    const { from, to } = followed;
    const answer = await get("/sessions/" + session.id + "/threads" + queryText({ since: statesGeneration }, { from, to }));
    if (answer.epoch !== epoch) return false;
    if (followed.from !== from || followed.to !== to) return true;
    threadStates = addThreads(threadStates, answer);
    statesGeneration = answer.generation;
    handlers.onThreadStates(threadStates);
    return true;
  }

  // What they were doing along time: of the chosen threads, whatever range and states are chosen.
  async function readTimeline() {
    if (timelineGeneration !== 0 && (paused || timelineGeneration >= session.generation)) return true;
    const { threads } = followed;
    const range = timelineRange;
    const query = queryText({ since: timelineGeneration, buckets: TIMELINE_SLOTS }, { threads, ...range });
    const answer = await get("/sessions/" + session.id + "/timeline" + query);
    if (answer.epoch !== epoch) return false;
    if (threads.join() !== followed.threads.join() || range !== timelineRange) return true;
    timeline = withTimeline(timelineGeneration === 0 ? emptyTimeline() : timeline, answer);
    timelineGeneration = answer.generation;
    handlers.onTimeline?.(timeline);
    return true;
  }

  // What the view is compared with; once, unless it goes on.
  async function readBase() {
    const asked = followed;
    const { base, threads, states } = asked;
    if (base === null || epoch === null || (asked.baseGeneration !== 0 && (base.to !== null || paused || asked.baseGeneration >= session.generation))) return;
    const view = await get("/sessions/" + session.id + "/view" + queryText({}, { threads, states, from: base.from, to: base.to }));
    if (view.epoch !== epoch || asked !== followed) return;
    await readTrees(view.generation).then((trees) => {
      if (trees !== null && handlers.onBase({ trees, view })) asked.baseGeneration = view.generation;
    });
  }

  // Cells of 20 ms, while somebody looks at them: of the strip's zoom, else of the last minutes.
  async function readHeat() {
    if (!watchesHeat || (heatGeneration !== 0 && (paused || heatGeneration >= session.generation))) return;
    const range = timelineRange;
    const answer = await get("/sessions/" + session.id + "/heatmap" + queryText({ since: heatGeneration }, { ...range }));
    if (answer.epoch !== epoch || range !== timelineRange) return;
    heat = withHeat(heat, answer);
    heatGeneration = answer.generation;
    handlers.onHeat(heat);
  }

  // Who held the GIL while whom waited, while somebody looks: of the chosen threads and range.
  async function readGil() {
    const { threads, from, to } = followed;
    const query = queryText({}, { threads, from, to });
    const wanted = query + " " + session.generation;
    if (!watchesGil || wanted === gilFor || (paused && gilFor.startsWith(query + " "))) return;
    const answer = await get("/sessions/" + session.id + "/gil" + query);
    if (answer.epoch !== epoch) return;
    gilFor = wanted;
    handlers.onGil(answer);
  }

  // The asyncio tasks as they were seen last, while somebody looks.
  async function readTasks() {
    const wanted = epoch + " " + session.generation;
    if (!watchesTasks || wanted === tasksFor || (paused && tasksFor.startsWith(epoch + " "))) return;
    const answer = await get("/sessions/" + session.id + "/tasks");
    if (answer.epoch !== epoch) return;
    tasksFor = wanted;
    handlers.onTasks(answer);
  }

  // What GET is not enough for: it changes nothing there.
  async function ask(path, body) {
    const headers = { Accept: "application/json", "Content-Type": "application/json", "X-Pyrometer": "1" };
    const response = await fetch(API + path, { method: "POST", headers, body, cache: "no-store", signal: AbortSignal.timeout(TIMEOUT_MS) });
    if (!response.ok) throw await problemOf(response);
    return response.json();
  }

  // When what is searched for was on stacks, while the heat map shows it.
  async function readMatches() {
    if (searched === null || epoch === null) return;
    const { term, matched } = searched;
    const query = queryText({}, { from: heat.from, to: heat.to > 0 ? heat.to : null });
    const runs = runsOf(matched);
    const body = JSON.stringify({ functions: runs });
    const wanted = [epoch, session.generation, query, body].join(" ");
    if (wanted === matchesFor || (paused && matchesFor.endsWith(query + " " + body))) return;
    matchesFor = wanted;
    if (runs.length / 2 > MATCH_RUNS_MAX || body.length > MATCH_BODY_MAX) {
      handlers.onMatches({ ...emptyMatches(), term, error: "too many different functions match" });
      return;
    }
    const answer = await ask("/sessions/" + session.id + "/matches" + query, body);
    if (answer.epoch === epoch && searched?.term === term) handlers.onMatches({ ...answer, term });
  }

  // What the lines of a file executed, while one of them is open: of the chosen range, all threads and states. It may take
  // a while, and nothing else waits for it.
  async function readInstructions() {
    if (opened === null || epoch === null || readsInstructions) return;
    const asked = opened;
    const query = queryText({ function: asked.function }, { from: followed.from, to: followed.to });
    const wanted = query + " " + epoch;
    const isOld = !paused && instructionsAt < session.generation && Date.now() - instructionsAsked > Math.max(INSTRUCTIONS_MS, INSTRUCTIONS_TIMES * instructionsTook);
    if (wanted === instructionsFor && !(isOld && hasInstructions)) return;
    instructionsFor = wanted;
    instructionsAsked = Date.now();
    readsInstructions = true;
    try {
      const answer = await get("/sessions/" + session.id + "/lines" + query);
      instructionsAt = answer.generation;
      instructionsTook = Date.now() - instructionsAsked;
      hasInstructions = answer.line.length > 0;
      if (answer.epoch === epoch && opened?.path === asked.path) handlers.onInstructions(asked.path, answer);
    } catch (problem) {
      // A server that is gone is told of by what else is asked.
      hasInstructions = false;
      if (!(problem instanceof HttpProblem) || problem.status === 503) instructionsFor = "";
      if (opened?.path === asked.path) handlers.onInstructions(asked.path, { error: problem instanceof HttpProblem ? problem.message : "the server has not answered." });
    }
    readsInstructions = false;
  }

  // What single threads were doing along time, while somebody looks at them: some each round, in turn.
  async function readLanes() {
    if (laneRange !== timelineRange) laneTimelines = new Map();
    laneRange = timelineRange;
    const due = lanes.filter((ids) => { const known = laneTimelines.get(ids.join()); return known === undefined || (!paused && known.generation < session.generation); });
    if (due.length === 0) return;
    const range = timelineRange;
    const chosen = Array.from({ length: Math.min(LANES_AT_ONCE, due.length) }, (_, i) => due[(nextLane + i) % due.length]);
    nextLane += chosen.length;
    const answers = await Promise.all(chosen.map((threads) => get("/sessions/" + session.id + "/timeline" + queryText({ buckets: LANE_SLOTS }, { threads, ...range }))));
    if (range !== timelineRange) return;
    laneTimelines = new Map(laneTimelines);
    chosen.forEach((ids, i) => laneTimelines.set(ids.join(), { ...withTimeline(emptyTimeline(), answers[i]), generation: answers[i].generation }));
    handlers.onLanes(laneTimelines);
    if (due.some((ids) => !laneTimelines.has(ids.join()))) again = true;
  }

  function isCaughtUp() {
    return followed.since !== 0 && followed.since >= session.generation && epoch === session.epoch;
  }

  async function round() {
    await readSession();
    const frozen = paused && followed.since !== 0;
    if (!frozen && !isCaughtUp() && !(await readData())) forget();
    else if (epoch !== null && !(await readTimeline())) forget();
    await readBase();
    await readHeat();
    await readMatches();
    await readGil();
    await readTasks();
    readInstructions();
    await readLanes();
    if (watchesQuality) handlers.onQuality(await get("/sessions/" + session.id + "/quality"));
  }

  function delayAfterSuccess() {
    if (again) return 0;
    if (document.hidden) return HIDDEN_ROUND_MS;
    if (session.state === "ended" || session.state === "failed") return ENDED_ROUND_MS;
    return rounds < FIRST_ROUNDS ? FIRST_ROUND_MS : ROUND_MS;
  }

  function reportFailure(problem) {
    const wait = RETRY_MS[Math.min(failures, RETRY_MS.length - 1)];
    failures += 1;
    const denied = problem.status === 401 || problem.status === 403;
    const detail = problem instanceof HttpProblem ? problem.message : "";
    if (problem.status === 404) session = null;
    handlers.onConnection({ state: denied ? "denied" : "lost", detail, retryAt: Date.now() + wait });
    return wait;
  }

  async function run() {
    timer = null;
    running = true;
    let wait;
    try {
      again = false;
      await round();
      rounds += 1;
      failures = 0;
      handlers.onConnection({ state: "ok", detail: "", retryAt: null });
      wait = delayAfterSuccess();
    } catch (problem) {
      wait = reportFailure(problem);
    }
    running = false;
    timer = setTimeout(run, again ? 0 : wait);
  }

  function hurry() {
    again = true;
    if (running || timer === null) return;
    clearTimeout(timer);
    timer = setTimeout(run, 0);
  }

  document.addEventListener("visibilitychange", () => {
    if (!document.hidden) hurry();
  });

  return {
    live: true,
    start() {
      timer = setTimeout(run, 0);
    },
    ask(query) {
      const before = followed;
      followed = createFollowed(query);
      if (followed.from !== before.from || followed.to !== before.to) {
        threadStates = new Map();
        statesGeneration = 0;
      }
      if (followed.threads.join() !== before.threads.join()) timelineGeneration = 0;
      hurry();
    },
    hasTimes: () => true,
    zoomTimeline(range) {
      timelineRange = range;
      timelineGeneration = 0;
      heatGeneration = 0;
      hurry();
    },
    // While paused nothing new is read, except once after another question.
    pause(on) {
      paused = on;
      if (!on) hurry();
    },
    retry: hurry,
    watchQuality(on) {
      watchesQuality = on;
      if (on) hurry();
    },
    watchHeat(on) {
      if (on && !watchesHeat) hurry();
      watchesHeat = on;
    },
    watchGil(on) {
      if (on && !watchesGil) hurry();
      watchesGil = on;
    },
    watchTasks(on) {
      if (on && !watchesTasks) hurry();
      watchesTasks = on;
    },
    watchMatches(wanted) {
      const isOther = wanted?.term !== searched?.term;
      searched = wanted;
      if (isOther && wanted !== null) hurry();
    },
    watchInstructions(file) {
      if (file?.path === opened?.path) return;
      opened = file;
      if (file !== null) hurry();
    },
    watchLanes(wanted) {
      if (wanted.map(String).join(";") === lanes.map(String).join(";")) return;
      lanes = wanted;
      if (lanes.length > 0) hurry();
    },
    sourceText: (id) => get("/sessions/" + session.id + "/source" + queryText({ function: id })),
    downloads(query) {
      if (session === null) return [];
      const base = API + "/sessions/" + session.id;
      return [
        { key: "report", label: "Report", hint: "this page with its data, one HTML file", href: base + "/report.html" + queryText({}, { ...query, until: null }) },
        ...FORMATS.map(({ name, label, hint }) => ({ key: name, label, hint, href: base + "/export" + queryText({ format: name }, { ...query, until: null }) })),
      ];
    },
  };
}
