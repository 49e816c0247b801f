import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";
import { sumThreads } from "../../../web/model/profile/states.js";
import { createRecording, takeDelivery, takeRunning } from "../../../web/model/trees/recording.js";
import { createLiveSource } from "../../../web/source/live.js";
import { queryText } from "../../../web/source/requests.js";
import { createProgram } from "../support/made-up-program.mjs";

// A server in memory, and a clock that runs a round on request.
function createScene({ threads = 4 } = {}) {
  let now = 0;
  const scene = { program: createProgram({ threads, now: () => 0 }), asked: [], broken: null, due: null, sessions: [],
    connections: [], deliveries: [], threads: null, qualities: [], instructions: [], matches: [] };
  const recording = createRecording();
  scene.recording = recording;
  scene.advance = (seconds) => scene.program.advance(now += seconds);
  globalThis.document = { hidden: false, addEventListener() {} };
  globalThis.setTimeout = (run, ms) => {
    scene.due = { run, ms };
    return scene.due;
  };
  globalThis.clearTimeout = (timer) => {
    if (scene.due === timer) scene.due = null;
  };
  globalThis.fetch = async (path, { headers, body }) => {
    const url = new URL(path, "http://localhost");
    scene.asked.push(url.pathname.replace("/api/v1", "") + url.search);
    if (scene.broken !== null) return scene.broken(url);
    const query = {
      since: Number(url.searchParams.get("since") ?? 0),
      threads: url.searchParams.getAll("thread").map(Number),
      states: (url.searchParams.get("state") ?? "").split(",").filter(Boolean),
      parts: (url.searchParams.get("parts") ?? "").split(",").filter(Boolean),
      from: url.searchParams.has("from") ? Number(url.searchParams.get("from")) : null,
      to: url.searchParams.has("to") ? Number(url.searchParams.get("to")) : null,
    };
    const name = url.pathname.split("/").at(-1);
    const answer = {
      sessions: () => ({ sessions: [scene.program.session()] }),
      tree: () => scene.program.tree(query.since),
      view: () => scene.program.view(query),
      threads: () => scene.program.threadStates(query),
      timeline: () => scene.program.timeline(query),
      memory: () => scene.program.memory(query),
      quality: scene.program.fullQuality,
      lines: () => scene.program.lines(Number(url.searchParams.get("function"))),
      matches: () => scene.program.matches(JSON.parse(body).functions),
    }[name] ?? scene.program.session;
    const text = JSON.stringify(answer());
    const etag = '"' + text.length + "-" + scene.program.session().generation + '"';
    if (headers["If-None-Match"] === etag) return new Response(null, { status: 304 });
    return new Response(text, { headers: { ETag: etag } });
  };
  scene.source = createLiveSource(null, {
    onSession: (session) => scene.sessions.push(session),
    onConnection: (connection) => scene.connections.push(connection),
    onThreadStates: (threads) => (scene.threads = threads),
    onTimeline: (timeline) => (scene.timeline = timeline),
    onMemory: (memory) => (scene.memory = memory),
    onRunning: (running) => takeRunning(recording, running) ?? true,
    onQuality: (quality) => scene.qualities.push(quality),
    onInstructions: (path, answer) => scene.instructions.push([path, answer]),
    onMatches: (matches) => scene.matches.push(matches),
    onDelivery(delivery) {
      scene.deliveries.push(delivery);
      try {
        takeDelivery(recording, delivery);
        return true;
      } catch {
        return false;
      }
    },
  });
  scene.round = async () => {
    const { run } = scene.due;
    scene.due = null;
    await run();
  };
  return scene;
}

const realTimeout = globalThis.setTimeout;
const realClear = globalThis.clearTimeout;
beforeEach(() => {
  globalThis.setTimeout = realTimeout;
  globalThis.clearTimeout = realClear;
});

async function started(options) {
  const scene = createScene(options);
  scene.advance(1);
  scene.source.start();
  await scene.round();
  return scene;
}

const viewTotal = (scene, query) => scene.program.view(query).total;

test("the first round brings the session, its tree and its counts", async () => {
  const scene = await started();
  assert.equal(scene.sessions.length, 1);
  assert.equal(scene.recording.counts.total, viewTotal(scene, {}));
  assert.equal(scene.recording.profile.threads.length, 4);
  assert.ok(scene.memory.slots.length > 0);
  assert.equal(scene.connections.at(-1).state, "ok");
});

test("later rounds ask only for what is new, and sums stay right", async () => {
  const scene = await started();
  scene.advance(1);
  await scene.round();
  assert.ok(scene.asked.includes("/sessions/1/view?since=1&native=everything"));
  assert.ok(scene.asked.includes("/sessions/1/tree?since=1"));
  assert.equal(scene.recording.counts.total, viewTotal(scene, {}));
});

test("when nothing changed only the session is asked for, and 304 is enough", async () => {
  const scene = await started();
  await scene.round();
  scene.asked.length = 0;
  await scene.round();
  assert.deepEqual(scene.asked, ["/sessions/1"]);
  assert.equal(scene.deliveries.length, 1);
});

test("rounds are fast at first, then one a second, slow in a hidden tab and after the end", async () => {
  const scene = await started();
  assert.equal(scene.due.ms, 250);
  for (let i = 0; i < 15; i += 1) await scene.round();
  assert.equal(scene.due.ms, 1000);
  globalThis.document.hidden = true;
  await scene.round();
  assert.ok(scene.due.ms >= 5000);
});

test("another choice of threads is another question, from the start", async () => {
  const scene = await started();
  scene.source.ask({ threads: [1, 2], states: [], to: null });
  assert.equal(scene.due.ms, 0);
  await scene.round();
  assert.ok(scene.asked.includes("/sessions/1/view?since=0&native=everything&thread=1&thread=2"));
  assert.equal(scene.recording.counts.total, viewTotal(scene, { threads: [1, 2] }));
});

test("another question is answered before anything else is asked", async () => {
  const scene = await started();
  const before = scene.asked.length;
  scene.source.ask({ threads: [1], states: [], to: null });
  await scene.round();
  assert.equal(scene.asked[before], "/sessions/1/view?since=0&native=everything&thread=1");
  assert.equal(scene.asked.filter((path) => path.startsWith("/sessions/1/view")).length, 2);
  assert.ok(scene.asked.slice(before).includes("/sessions/1"));
});

test("a question that comes while the numbers beside the last one are read is asked before the rest of them", async () => {
  const scene = await started();
  const { fetch } = globalThis;
  scene.advance(1);
  globalThis.fetch = (path, options) => {
    if (path.includes("/threads")) scene.source.ask({ threads: [1], states: [], to: null });
    return fetch(path, options);
  };
  scene.asked.length = 0;
  await scene.round();
  globalThis.fetch = fetch;
  assert.ok(!scene.asked.some((path) => path.includes("/timeline")), scene.asked.join());
  assert.equal(scene.due.ms, 0);
  scene.asked.length = 0;
  await scene.round();
  assert.equal(scene.asked[0], "/sessions/1/view?since=0&native=everything&thread=1");
  assert.ok(scene.asked.some((path) => path.includes("/timeline")));
});

test("the same question again, to which nothing is new, does not stop the rest", async () => {
  const scene = await started();
  const view = (path) => path.startsWith("/sessions/1/view");
  assert.equal(scene.asked.filter(view).length, 1);
  scene.source.watch("quality", true);
  scene.source.ask({ threads: [], states: [], to: null });
  await scene.round();
  assert.equal(scene.asked.filter(view).length, 2);
  assert.equal(scene.deliveries.length, 1);
  assert.equal(scene.qualities.length, 1);
});

test("there and back before the first answer came: what is shown is what was asked last", async () => {
  const scene = await started();
  const { fetch } = globalThis;
  const ask = (...threads) => scene.source.ask({ threads, states: [], to: null });
  ask(1);
  globalThis.fetch = (path, options) => {
    globalThis.fetch = fetch;
    ask(2);
    ask(1);
    return fetch(path, options);
  };
  await scene.round();
  await scene.round();
  assert.equal(scene.recording.counts.total, viewTotal(scene, { threads: [1] }));
});

test("an answer to the question before is not taken for one to this", async () => {
  const scene = await started();
  scene.advance(1);
  const round = scene.round();
  scene.source.ask({ threads: [3], states: [], to: null });
  await round;
  await scene.round();
  assert.equal(scene.recording.counts.total, viewTotal(scene, { threads: [3] }));
});

test("paused, the session goes on being watched and the counts stand still", async () => {
  const scene = await started();
  const before = scene.recording.counts.total;
  scene.source.pause(true);
  scene.advance(1);
  await scene.round();
  assert.equal(scene.recording.counts.total, before);
  assert.ok(scene.sessions.at(-1).quality.samples > scene.sessions[0].quality.samples);
  scene.source.pause(false);
  await scene.round();
  assert.equal(scene.recording.counts.total, viewTotal(scene, {}));
});

test("a server that is gone is tried again, later and later, and what was read is kept", async () => {
  const scene = await started();
  scene.broken = () => {
    throw new TypeError("fetch failed");
  };
  const waits = [];
  for (let i = 0; i < 5; i += 1) {
    await scene.round();
    waits.push(scene.due.ms);
  }
  assert.deepEqual(waits, [1000, 2000, 4000, 8000, 8000]);
  assert.equal(scene.connections.at(-1).state, "lost");
  scene.broken = null;
  scene.advance(1);
  await scene.round();
  assert.equal(scene.connections.at(-1).state, "ok");
  assert.equal(scene.recording.counts.total, viewTotal(scene, {}));
});

test("a refusal is distinguished from silence", async () => {
  const scene = await started();
  scene.broken = () => new Response(JSON.stringify({ detail: "no" }), { status: 403 });
  await scene.round();
  assert.equal(scene.connections.at(-1).state, "denied");
  scene.broken = () => new Response("<html>", { status: 502 });
  await scene.round();
  assert.deepEqual([scene.connections.at(-1).state, scene.connections.at(-1).detail], ["lost", "HTTP status 502"]);
});

test("a server that began again is read again", async () => {
  const scene = await started();
  const old = scene.program;
  const renewed = createProgram({ threads: 2, seed: 9, now: () => 0 });
  renewed.advance(1);
  const other = (answer) => (query) => ({ ...answer(query), epoch: "other" });
  scene.program = { ...renewed, session: other(renewed.session), tree: other(renewed.tree), view: other(renewed.view),
    threadStates: other(renewed.threadStates), timeline: other(renewed.timeline), memory: other(renewed.memory),
    advance: old.advance };
  await scene.round();
  await scene.round();
  assert.equal(scene.recording.profile.epoch, "other");
  assert.equal(scene.recording.counts.total, renewed.view({}).total);
});

test("what threads do is asked for with the counts, and adds up", async () => {
  const scene = await started();
  for (let i = 0; i < 3; i += 1) {
    scene.advance(1);
    await scene.round();
  }
  assert.ok(scene.asked.includes("/sessions/1/threads?since=1"));
  const { all, threads } = scene.program.threadStates({});
  const sums = sumThreads(scene.threads, []);
  assert.equal(sums.samples, viewTotal(scene, {}));
  assert.equal(sums.yes[0], all.on_cpu.yes);
  assert.equal(sums.parts.reduce((sum, count) => sum + count, 0), sums.samples);
  assert.deepEqual([0, 1, 2, 3].map((id) => scene.threads.get(id).samples), threads.samples);
});

test("another choice of states is another question; the numbers of all states go on", async () => {
  const scene = await started();
  scene.source.ask({ threads: [], states: ["on_cpu", "has_gil"], to: null });
  await scene.round();
  assert.ok(scene.asked.includes("/sessions/1/view?since=0&native=everything&state=on_cpu%2Chas_gil"));
  assert.equal(scene.recording.counts.total, viewTotal(scene, { states: ["on_cpu", "has_gil"] }));
  assert.ok(scene.recording.counts.total < viewTotal(scene, {}));
  scene.advance(1);
  await scene.round();
  assert.ok(scene.asked.includes("/sessions/1/view?since=1&native=everything&state=on_cpu%2Chas_gil"));
  assert.equal(scene.recording.counts.total, viewTotal(scene, { states: ["on_cpu", "has_gil"] }));
  assert.equal(sumThreads(scene.threads, []).samples, viewTotal(scene, {}));
});

test("paused, another choice is answered and the numbers beside it stand still", async () => {
  const scene = await started();
  const before = sumThreads(scene.threads, []).samples;
  scene.source.pause(true);
  scene.advance(1);
  scene.source.ask({ threads: [], states: ["has_gil"], to: 1 });
  await scene.round();
  assert.equal(sumThreads(scene.threads, []).samples, before);
});

test("all numbers of quality are asked for only while they are shown", async () => {
  const scene = await started();
  assert.ok(!scene.asked.join().includes("/quality"));
  scene.source.watch("quality", true);
  await scene.round();
  assert.ok(scene.qualities.at(-1).rss_bytes > 0);
  scene.source.watch("quality", false);
  scene.asked.length = 0;
  await scene.round();
  assert.ok(!scene.asked.join().includes("/quality"));
});

test("downloads are links that keep the choice of threads and states", async () => {
  const scene = await started();
  const links = scene.source.downloads({ threads: [2, 3], states: ["on_cpu", "!has_gil"] }).map((item) => item.href);
  assert.ok(links.every((link) => link.endsWith("thread=2&thread=3&state=on_cpu%2C%21has_gil")));
  assert.equal(links[0], "api/v1/sessions/1/report.html?thread=2&thread=3&state=on_cpu%2C%21has_gil");
  assert.ok(links.includes("api/v1/sessions/1/export?format=collapsed&thread=2&thread=3&state=on_cpu%2C%21has_gil"));
});

test("downloads that cannot tell idle time from other time have what is shown", async () => {
  const scene = await started();
  const hrefs = (query) =>
    new Map(
      scene.source.downloads({ threads: [], states: [], ...query }).map((
        item,
      ) => [item.key, item.href.split("?")[1] ?? ""]),
    );
  const usual = hrefs({ parts: [], shown: ["running", "blocked"] });
  for (const key of ["collapsed", "svg", "speedscope", "pprof", "pstats", "chrome-trace"])
    assert.equal(usual.get(key), "format=" + key + "&parts=running%2Cblocked");
  assert.equal(usual.get("report"), "");
  for (const key of ["summary", "heatmap", "gecko"]) assert.equal(usual.get(key), "format=" + key);
  assert.equal(hrefs({ parts: ["idle"], shown: ["idle"] }).get("report"), "parts=idle");
});

test("queries without anything are no query", () => {
  assert.equal(queryText({}), "");
  assert.equal(queryText({}, { threads: [], states: [], to: null }), "");
  assert.equal(queryText({ since: 3 }, { threads: [1], states: ["on_cpu"], to: 2.5 }),
    "?since=3&thread=1&state=on_cpu&to=2.5");
});

test("instructions are asked for while a line is open, and nothing waits for them", async () => {
  const scene = await started();
  const asked = () => scene.asked.filter((path) => path.includes("/lines"));
  scene.source.watch("instructions", { path: "/srv/shop/pricing.py", function: 3 });
  await scene.round();
  await new Promise(setImmediate);
  assert.deepEqual(asked(), ["/sessions/1/lines?function=3"]);
  assert.equal(scene.instructions[0][0], "/srv/shop/pricing.py");
  assert.ok(scene.instructions[0][1].line.length > 0);
  scene.advance(1);
  await scene.round();
  assert.equal(asked().length, 1, "not each second");
  scene.source.ask({ threads: [], states: [], from: 0.5, to: null });
  await scene.round();
  await new Promise(setImmediate);
  assert.equal(asked().at(-1), "/sessions/1/lines?function=3&from=0.5");
  scene.source.watch("instructions", null);
  scene.source.ask({ threads: [], states: [], from: 0.7, to: null });
  await scene.round();
  assert.equal(asked().length, 2, "not when none is open");
});

test("matches are asked for by runs of functions, when there is news", async () => {
  const scene = await started();
  const asked = () => scene.asked.filter((path) => path.includes("/matches")).length;
  const matched = [false, true, true, false, true];
  scene.source.watch("matches", { term: "x", matched });
  await scene.round();
  assert.equal(asked(), 1);
  assert.equal(scene.matches[0].term, "x");
  assert.ok(scene.matches[0].samples.length > 0);
  await scene.round();
  assert.equal(asked(), 1, "no news");
  scene.advance(1);
  await scene.round();
  assert.equal(asked(), 2);
  scene.source.watch("matches", { term: "y", matched: Array.from({ length: 40000 }, (_, id) => id % 2 === 0) });
  await scene.round();
  assert.equal(asked(), 2);
  assert.match(scene.matches.at(-1).error, /too many/);
  scene.source.watch("matches", null);
  scene.advance(1);
  await scene.round();
  assert.equal(asked(), 2);
});

test("when the slots of the timeline get wider, all of it is read again", async () => {
  const scene = await started();
  const { timeline } = scene.program;
  scene.program.timeline = (query) => {
    const fine = timeline(query);
    return { ...fine, width: 2 * fine.width };
  };
  scene.advance(1);
  await scene.round();
  assert.equal(scene.timeline.slots[0].start, 0);
  assert.equal(scene.timeline.slots.reduce((sum, slot) => sum + slot.samples, 0), viewTotal(scene, {}));
  scene.advance(1);
  scene.asked.length = 0;
  await scene.round();
  assert.deepEqual(scene.asked.filter((path) => path.includes("/timeline")), [
    "/sessions/1/timeline?since=2&slots=480",
  ]);
});

test("what runs is read beside the rest while it is wanted, and only what is new of it", async () => {
  const scene = await started();
  assert.equal(scene.recording.running, null);
  scene.source.watch("running", true);
  for (let i = 0; i < 3; i += 1) {
    scene.advance(1);
    await scene.round();
    assert.equal(scene.recording.running.total, viewTotal(scene, { parts: ["running"] }));
  }
  assert.ok(scene.asked.includes("/sessions/1/view?since=3&native=everything&parts=running"));
});

test("what runs is never of another question than what is counted, nor newer than a pause", async () => {
  const scene = await started();
  scene.source.watch("running", true);
  await scene.round();
  const whole = viewTotal(scene, { parts: ["running"] });
  const seen = [];
  const { view } = scene.program;
  scene.program.view = (query) => {
    seen.push([query.parts.join(), scene.recording.running === null]);
    return view(query);
  };
  scene.source.ask({ threads: [1], states: [], parts: [], until: 1 });
  scene.source.pause(true);
  scene.advance(1);
  await scene.round();
  assert.deepEqual(seen, [["", false], ["running", true]]);
  assert.ok(scene.recording.running.total < whole);
  assert.equal(scene.recording.running.total, viewTotal(scene, { threads: [1], parts: ["running"], to: 1 }));
  // The question is asked again: what is counted begins again, and so does what runs of it.
  scene.source.ask({ threads: [1], states: [], parts: [], until: 1 });
  await scene.round();
  assert.equal(scene.recording.running.total, viewTotal(scene, { threads: [1], parts: ["running"], to: 1 }));
});
