// Requests to the server's API: JSON in, JSON out, errors as HttpProblem, conditional by ETag.

import { PARTS } from "../model/profile/parts.js";

// Relative: the page may lie below another path, behind a proxy.
export const API = "api/v1";

const TIMEOUT_MS = 20000;

export class HttpProblem extends Error {
  constructor(status, detail) {
    super(detail);
    this.status = status;
  }
}

export function problemOf(status, text) {
  try {
    const problem = JSON.parse(text);
    return new HttpProblem(status, String(problem.detail ?? problem.title ?? status));
  } catch {
    return new HttpProblem(status, "HTTP status " + status);
  }
}

// `body` is an object or undefined. Throws HttpProblem for an answer that is neither a success nor 304.
export async function send(method, path, body, headers = {}) {
  const marks = { "X-Pyrometer": "1" };
  if (body !== undefined) marks["Content-Type"] = "application/json";
  const response = await fetch(API + path, {
    method,
    headers: { Accept: "application/json", ...marks, ...headers },
    body: body === undefined ? undefined : JSON.stringify(body),
    cache: "no-store",
    signal: AbortSignal.timeout(TIMEOUT_MS),
  });
  if (!response.ok && response.status !== 304) throw problemOf(response.status, await response.text());
  return response;
}

// -> {get(path, tag), forget(tag; without one: all)}; get answers null when nothing changed since the last answer for `tag` and the same path.
export function createRequests() {
  const tags = new Map();
  return {
    async get(path, tag) {
      const known = tag === undefined ? undefined : tags.get(tag);
      const response = await send("GET", path, undefined, known?.path === path ? { "If-None-Match": known.etag } : {});
      if (response.status === 304) return null;
      const answer = await response.json();
      const etag = response.headers.get("ETag");
      if (tag !== undefined && etag !== null) tags.set(tag, { path, etag });
      return answer;
    },
    forget: (tag) => (tag === undefined ? tags.clear() : tags.delete(tag)),
  };
}

// asked: {measure, threads, states, parts, from, to, until, took (durations of requests: {from, to}), filters: [[parameter, pattern]]}, each of which may be missing
export function queryText(parameters, asked = {}) {
  const query = new URLSearchParams(parameters);
  for (const thread of asked.threads ?? []) query.append("thread", String(thread));
  if (asked.measure) query.set("measure", asked.measure);
  if (asked.states?.length > 0) query.set("state", asked.states.join());
  // Without any the server answers for all.
  if (asked.parts?.length > 0 && asked.parts.length < PARTS.length) query.set("parts", asked.parts.join());
  const ends = [asked.to, asked.until].filter((end) => typeof end === "number");
  if (typeof asked.from === "number") query.set("from", String(asked.from));
  if (ends.length > 0) query.set("to", String(Math.min(...ends)));
  if (asked.took) query.set("slower_than", String(asked.took.from));
  if (typeof asked.took?.to === "number") query.set("faster_than", String(asked.took.to));
  for (const [name, pattern] of asked.filters ?? []) query.append(name, pattern);
  const text = query.toString();
  return text === "" ? "" : "?" + text;
}
