// The server's API for a whole host: what is there is asked for again and again, and changes are sent.
//   start(), hurry(), tell(method, path, body) -> answer, watch(query of the captures, [{id, elapsed}] whose time lines are drawn)
// and tells its handlers onProcesses, onSessions, onCaptures(answer, null: no folder), onSpark(id, {timeline, from, to}), onConnection.

// Relative: the page may lie below another path, behind a proxy.
const HOST_API = "api/v1";
const HOST_ROUND_MS = 1000;
const HOST_FIRST_ROUND_MS = 150;
const HOST_HIDDEN_MS = 10000;
const HOST_RETRY_MS = [1000, 2000, 4000, 8000];
const HOST_TIMEOUT_MS = 20000;
const CAPTURES_EVERY = 5;
const SPARKS_PER_ROUND = 6;
const SPARK_SLOTS = 60;
export const SPARK_SECONDS = 120;
const PROCESSES_MAX = 4096;

export class Refusal extends Error {
  constructor(status, detail) {
    super(detail);
    this.status = status;
  }
}

function refusalOf(status, text) {
  try {
    const problem = JSON.parse(text);
    return new Refusal(status, String(problem.detail ?? problem.title ?? status));
  } catch {
    return new Refusal(status, "HTTP status " + status);
  }
}

async function send(method, path, body, headers = {}) {
  const marks = method === "GET" ? {} : { "X-Pyrometer": "1" };
  if (body !== undefined) marks["Content-Type"] = "application/json";
  const response = await fetch(HOST_API + path, {
    method, headers: { Accept: "application/json", ...marks, ...headers }, body: body === undefined ? undefined : JSON.stringify(body), cache: "no-store", signal: AbortSignal.timeout(HOST_TIMEOUT_MS),
  });
  if (!response.ok && response.status !== 304) throw refusalOf(response.status, await response.text());
  return response;
}

// What a page has to know before it chooses what to be: {scope, can_share, host}, or null when the server does not say.
export async function askAccess() {
  try {
    return await (await send("GET", "/access")).json();
  } catch {
    return null;
  }
}

export function captureFile(name) {
  return HOST_API + "/captures/" + encodeURIComponent(name) + "/file";
}

export function sessionReport(id) {
  return HOST_API + "/sessions/" + encodeURIComponent(id) + "/report.html";
}

// fetch cannot tell how far an upload is.
export function uploadCapture(file, onProgress) {
  return new Promise((done, failed) => {
    const request = new XMLHttpRequest();
    request.open("PUT", HOST_API + "/captures?title=" + encodeURIComponent(file.name.replace(/\.pyro$/, "").slice(0, 40)));
    request.setRequestHeader("Content-Type", "application/octet-stream");
    request.setRequestHeader("X-Pyrometer", "1");
    request.upload.addEventListener("progress", (event) => onProgress(event.lengthComputable ? event.loaded / event.total : 0));
    request.addEventListener("load", () => {
      if (request.status >= 200 && request.status < 300) done(JSON.parse(request.responseText));
      else failed(refusalOf(request.status, request.responseText));
    });
    request.addEventListener("error", () => failed(new Refusal(0, "The connection broke off.")));
    request.send(file);
  });
}

export function comparison(now, base) {
  return HOST_API + "/sessions/" + encodeURIComponent(now) + "/export?format=diff-flamegraph&base=" + encodeURIComponent(base);
}

export function createHostSource(handlers) {
  const tags = new Map();
  let timer = null;
  let busy = false;
  let again = false;
  let failures = 0;
  let rounds = 0;
  let watched = { captures: "", sparks: [], hasCaptures: true };

  // The answer, or null when it is what it was.
  async function get(path, tag) {
    const known = tags.get(tag);
    const response = await send("GET", path, undefined, known?.path === path ? { "If-None-Match": known.etag } : {});
    if (response.status === 304) return null;
    const answer = await response.json();
    if (response.headers.get("ETag") !== null) tags.set(tag, { path, etag: response.headers.get("ETag") });
    return answer;
  }

  async function readCaptures() {
    if (!watched.hasCaptures) return;
    try {
      const answer = await get("/captures?" + watched.captures, "captures");
      if (answer !== null) handlers.onCaptures(answer);
    } catch (refusal) {
      if (refusal.status !== 404) throw refusal;
      watched = { ...watched, hasCaptures: false };
      handlers.onCaptures(null);
    }
  }

  async function readSparks() {
    const many = watched.sparks.length;
    const turn = many <= SPARKS_PER_ROUND ? 0 : (rounds * SPARKS_PER_ROUND) % many;
    const chosen = Array.from({ length: Math.min(many, SPARKS_PER_ROUND) }, (_, i) => watched.sparks[(turn + i) % many]);
    await Promise.all(chosen.map(async ({ id, elapsed }) => {
      const from = Math.max(0, Math.floor(elapsed - SPARK_SECONDS));
      try {
        const timeline = await get("/sessions/" + id + "/timeline?buckets=" + SPARK_SLOTS + "&from=" + from, "spark " + id);
        if (timeline !== null) handlers.onSpark(id, { timeline, from, to: Math.max(elapsed, from + 1) });
      } catch (refusal) {
        if (!(refusal instanceof Refusal)) throw refusal;
      }
    }));
  }

  async function round(urgent) {
    const [processes, sessions] = await Promise.all([get("/processes?limit=" + PROCESSES_MAX, "processes"), get("/sessions", "sessions")]);
    if (processes !== null) handlers.onProcesses(processes);
    if (sessions !== null) handlers.onSessions(sessions);
    if (urgent || rounds % CAPTURES_EVERY === 0) await readCaptures();
    await readSparks();
  }

  function reportFailure(problem) {
    const wait = HOST_RETRY_MS[Math.min(failures, HOST_RETRY_MS.length - 1)];
    failures += 1;
    const denied = problem.status === 401 || problem.status === 403;
    handlers.onConnection({ state: denied ? "denied" : "lost", detail: problem instanceof Refusal ? problem.message : "", retryAt: Date.now() + wait });
    return wait;
  }

  async function run() {
    timer = null;
    busy = true;
    let wait;
    try {
      const urgent = again;
      again = false;
      await round(urgent);
      rounds += 1;
      failures = 0;
      handlers.onConnection({ state: "ok", detail: "", retryAt: null });
      wait = document.hidden ? HOST_HIDDEN_MS : rounds === 1 ? HOST_FIRST_ROUND_MS : HOST_ROUND_MS;
    } catch (problem) {
      wait = reportFailure(problem);
    }
    busy = false;
    timer = setTimeout(run, again ? 0 : wait);
  }

  function hurry() {
    again = true;
    if (busy || timer === null) return;
    clearTimeout(timer);
    timer = setTimeout(run, 0);
  }

  document.addEventListener("visibilitychange", () => {
    if (!document.hidden) hurry();
  });

  return {
    start: () => run(),
    hurry,
    // What of the captures is asked for, and of which sessions the time lines.
    watch(query, sparks) {
      const other = query !== watched.captures;
      watched = { ...watched, captures: query, sparks };
      if (other) hurry();
    },
    async tell(method, path, body) {
      const response = await send(method, path, body);
      hurry();
      return response.status === 204 ? null : response.json();
    },
  };
}
