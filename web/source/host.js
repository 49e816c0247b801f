// The server's API for a whole host: polls its lists and sends changes.
//   start(), hurry(), send(method, path, body) -> answer, readText(path), watch(query of the captures, [{id, elapsed}] whose time lines are drawn)
// and calls its handlers onProcesses, onSessions, onActivity, onCaptures(answer, null: no folder), onSpark(id, {timeline, from, to}), onConnection.

import { HOST_TEXT } from "../text/host.js";
import { API, createRequests, HttpProblem, problemOf, send } from "./requests.js";
import { createRounds } from "./rounds.js";

const HOST_ROUND_MS = 1000;
const HOST_FIRST_ROUND_MS = 150;
const HOST_HIDDEN_MS = 10000;
const CAPTURES_EVERY = 5;
const SPARKS_PER_ROUND = 6;
const SPARK_SLOTS = 60;
export const SPARK_SECONDS = 120;
const PROCESSES_MAX = 4096;

// Facts that a page has to know before it chooses what to be: {scope, can_share, host, events}, or null when the server does
// not say.
export async function askAccess() {
  try {
    return await (await send("GET", "/access")).json();
  } catch {
    return null;
  }
}

export function captureFile(name) {
  return API + "/captures/" + encodeURIComponent(name) + "/file";
}

export function sessionReport(id) {
  return API + "/sessions/" + encodeURIComponent(id) + "/report.html";
}

// fetch cannot tell how far an upload is.
export function uploadCapture(file, onProgress) {
  return new Promise((done, failed) => {
    const request = new XMLHttpRequest();
    request.open("PUT", API + "/captures?title=" + encodeURIComponent(file.name.replace(/\.pyro$/, "").slice(0, 40)));
    request.setRequestHeader("Content-Type", "application/octet-stream");
    request.setRequestHeader("X-Pyrometer", "1");
    request.upload.addEventListener("progress",
      (event) => onProgress(event.lengthComputable ? event.loaded / event.total : 0));
    request.addEventListener("load", () => {
      if (request.status >= 200 && request.status < 300) done(JSON.parse(request.responseText));
      else failed(problemOf(request.status, request.responseText));
    });
    request.addEventListener("error", () => failed(new HttpProblem(0, HOST_TEXT.connectionBroken)));
    request.send(file);
  });
}

export function createHostSource(handlers) {
  const requests = createRequests();
  let watched = { captures: "", sparks: [], hasCaptures: true };

  async function readCaptures() {
    if (!watched.hasCaptures) return;
    try {
      const answer = await requests.get("/captures?" + watched.captures, "captures");
      if (answer !== null) handlers.onCaptures(answer);
    } catch (problem) {
      if (problem.status !== 404) throw problem;
      watched = { ...watched, hasCaptures: false };
      handlers.onCaptures(null);
    }
  }

  async function readSpark({ id, elapsed }) {
    const from = Math.max(0, Math.floor(elapsed - SPARK_SECONDS));
    try {
      const timeline = await requests.get("/sessions/" + id + "/timeline?slots=" + SPARK_SLOTS + "&from=" + from,
        "spark " + id);
      if (timeline !== null) handlers.onSpark(id, { timeline, from, to: Math.max(elapsed, from + 1) });
    } catch (problem) {
      if (!(problem instanceof HttpProblem)) throw problem;
    }
  }

  function readSparks(rounds) {
    const many = watched.sparks.length;
    const turn = many <= SPARKS_PER_ROUND ? 0 : (rounds * SPARKS_PER_ROUND) % many;
    return Promise.all(
      Array.from({ length: Math.min(many, SPARKS_PER_ROUND) }, (_, i) => readSpark(watched.sparks[(turn + i) % many])),
    );
  }

  async function round({ urgent, count }) {
    const [processes, sessions, activity] = await Promise.all([
      requests.get("/processes?limit=" + PROCESSES_MAX, "processes"),
      requests.get("/sessions", "sessions"),
      requests.get("/activity", "activity"),
    ]);
    if (activity !== null) handlers.onActivity(activity);
    if (processes !== null) handlers.onProcesses(processes);
    if (sessions !== null) handlers.onSessions(sessions);
    if (urgent || count % CAPTURES_EVERY === 0) await readCaptures();
    await readSparks(count);
  }

  const waitMs = (count) => (document.hidden ? HOST_HIDDEN_MS : count === 1 ? HOST_FIRST_ROUND_MS : HOST_ROUND_MS);
  const { start, hurry } = createRounds({ round, waitMs, onConnection: handlers.onConnection });

  return {
    start,
    hurry,
    // Sets the query for captures, and the sessions whose time lines are asked for.
    watch(query, sparks) {
      const other = query !== watched.captures;
      watched = { ...watched, captures: query, sparks };
      if (other) hurry();
    },
    async send(method, path, body) {
      const response = await send(method, path, body);
      hurry();
      return response.status === 204 ? null : response.json();
    },
    readText: async (path) => (await send("GET", path, undefined, { Accept: "text/plain" })).text(),
  };
}
