// A server that speaks the wire contract with a made-up program, to see the page without a build:
//
//   node tests/web/support/mock-server.mjs [--port 8765] [--ends SECONDS] [--threads N] [--deep LEVELS] [--quiet SECONDS]
//                                  [--exceptions unknown] [--mode cpu] [--grows yes] [--locks yes|deadlock] [--page FILE.html] [--report FILE.html]
//                                  [--host PROCESSES [--sessions N] [--hostile yes] [--scope viewer] [--continuous yes] [--age SECONDS]]
//
// With --host it is the server of a whole host. Without --page the page is bundled again on every load. --report also writes a standalone report when it ends or stops.

import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { createHost } from "./made-up-host.mjs";
import { createProgram } from "./made-up-program.mjs";
import { requestsAnswer } from "./made-up-requests.mjs";

const ROOT = fileURLToPath(new URL("../../..", import.meta.url));
const PLACEHOLDER = '<script type="text/plain" id="profile-data"></script>';

// The part of GET /summary that the page shows; names are those of the program, and hostile.
export const SUMMARY = {
  headline: "41 % runs `</script><img src=x onerror=alert(1)>` (pricing.py:20); 2 of 20 threads are idle",
  parts: { running: 0.3, needs_gil: 0.3, needs_processor: 0, blocked: 0.2, idle: 0.2 },
  observed: { samples: 1000 },
  waiting: {
    samples: 400,
    share: 0.4,
    functions: [{ name: "<native> select.epoll.poll", share: 0.5 }],
    causes: [
      { cause: "event_loop", title: "event loop", share: 0.5, peers: [] },
      { cause: "network_read", title: "network read", share: 0.3,
        peers: [{ peer: "</script><img src=x onerror=alert(1)>" }] },
      { cause: "unknown", title: "unknown", share: 0.2, peers: [] },
    ],
  },
  gil: { held_share: 0.9, waited_share: 0.1, holder: { name: "", tid: 4713, share: 0.8 } },
  runnable_share: 0.25,
  gc_share: 0.02,
  native: { share: 0.3, libraries: [{ path: "/usr/lib/libz.so.1", share: 0.3 }] },
  quality: { text: "99.0 % of the samples exact" },
};

// A program with waiting tasks.
const AWAITING = { samples: 4000,
  lines: [{ name: "handle\u202e", file: "/srv/shop/pricing.py", line: 20, function: 1, samples: 3000 }, { name: "main",
    file: "/srv/shop/app.py", line: 7, function: 2, samples: 500 }] };

function pageFiles(given) {
  if (given) return given;
  const out = join(mkdtempSync(join(tmpdir(), "pyrometer-page-")), "page.html");
  execFileSync(join(ROOT, "scripts/bundle-web"), [out]);
  return out;
}

// The page with the policy of a report and data in place.
export function reportPage(pagePath, report) {
  const data = gzipSync(JSON.stringify(report)).toString("base64");
  const page = readFileSync(pagePath, "utf8");
  const meta = readFileSync(pagePath.replace(/html$/, "meta"), "utf8");
  return page.replace("<!--report-csp-->", () => meta).replace(PLACEHOLDER,
    () => PLACEHOLDER.replace("><", ">" + data + "<"));
}

function answerJson(request, response, value) {
  const body = JSON.stringify(value);
  let hash = 0;
  for (let i = 0; i < body.length; i += 1) hash = (Math.imul(hash, 31) + body.charCodeAt(i)) | 0;
  const etag = '"' + (hash >>> 0).toString(36) + "-" + body.length + '"';
  const headers = { ETag: etag, "Cache-Control": "private, no-cache", Vary: "Accept-Encoding" };
  if (request.headers["if-none-match"] === etag) return response.writeHead(304, headers).end();
  const zipped = gzipSync(body);
  return response.writeHead(200, { ...headers, "Content-Type": "application/json", "Content-Encoding": "gzip" }).end(
    zipped,
  );
}

function answerProblem(response, status, detail) {
  const body = JSON.stringify({ type: "about:blank", title: "Problem", status, detail });
  response.writeHead(status, { "Content-Type": "application/problem+json" }).end(body);
}

function answerPage(response, given) {
  const path = pageFiles(given);
  const policy = readFileSync(path.replace(/html$/, "csp"), "utf8").trim();
  const headers = { "Content-Type": "text/html; charset=utf-8", "Content-Security-Policy": policy,
    "X-Content-Type-Options": "nosniff", "Cache-Control": "no-cache" };
  response.writeHead(200, headers).end(readFileSync(path));
}

function answerFile(response, name, type, body) {
  response.writeHead(200, { "Content-Type": type, "Content-Disposition": 'attachment; filename="' + name + '"' }).end(
    body,
  );
}

function readQuery(url) {
  const numberOr = (name) => (url.searchParams.has(name) ? Number(url.searchParams.get(name)) : null);
  const numbers = (name) => url.searchParams.getAll(name).map(Number);
  return {
    since: Number(url.searchParams.get("since") ?? 0),
    measure: url.searchParams.get("measure"),
    threads: numbers("thread"),
    states: (url.searchParams.get("state") ?? "").split(",").filter(Boolean),
    parts: (url.searchParams.get("parts") ?? "").split(",").filter(Boolean),
    from: numberOr("from"),
    to: numberOr("to"),
    blocks: url.searchParams.get("blocks") === "1",
  };
}

async function readBody(request) {
  const chunks = [];
  for await (const chunk of request) chunks.push(chunk);
  const text = Buffer.concat(chunks).toString();
  return request.headers["content-type"] === "application/json" ? JSON.parse(text) : text;
}

// True when it was answered: what is of the host, but not what a session of it holds.
async function answerHost(host, request, response, url) {
  if (!url.pathname.startsWith("/api/v1/")) return false;
  const unsafe = request.method !== "GET";
  if (unsafe && request.headers["x-pyrometer"] !== "1")
    return answerProblem(response, 403, "X-Pyrometer is missing"), true;
  const body = unsafe ? await readBody(request) : undefined;
  const answer = host.answer(request.method, url.pathname.slice("/api/v1/".length), url.searchParams, body);
  if (answer === null) return false;
  const { status = 200, value, text } = answer;
  if (text !== undefined) response.writeHead(200, { "Content-Type": "text/plain; charset=utf-8" }).end(text);
  else if (status === 200 && !unsafe) answerJson(request, response, value);
  else if (status === 204) response.writeHead(204).end();
  else response.writeHead(status, { "Content-Type": status < 400 ? "application/json" : "application/problem+json" })
      .end(JSON.stringify(value));
  return true;
}

// -> http.Server, not yet listening. With a host (made-up-host.mjs), all its sessions hold the same program.
export function createMockServer(program, page, host = null) {
  return createServer(async (request, response) => {
    const url = new URL(request.url, "http://localhost");
    if (host !== null && (await answerHost(host, request, response, url))) return undefined;
    if (host !== null) url.pathname = url.pathname.replace(/^(\/api\/v1\/sessions\/)[^/]+/, "$11");
    if (url.pathname === "/api/v1/access")
      return answerJson(request, response, { scope: "operator", share: null, expires_at: null, can_share: false,
        host: false });
    const rest = url.pathname.replace(/^\/api\/v1\/sessions\/1/, "");
    if (url.pathname === "/") return answerPage(response, page);
    if (url.pathname === "/api/v1/sessions") return answerJson(request, response, { sessions: [program.session()] });
    if (rest === url.pathname) return answerProblem(response, 404, "nothing at " + url.pathname);
    if (rest === "" && request.method === "PATCH") {
      const { status, value } = program.change(await readBody(request));
      return response.writeHead(status, { "Content-Type": "application/json" }).end(JSON.stringify(value));
    }
    if (rest === "") return answerJson(request, response, program.session());
    if (rest === "/tree") return answerJson(request, response, program.tree(readQuery(url).since));
    if (rest === "/threads") return answerJson(request, response, program.threadStates(readQuery(url)));
    if (rest === "/timeline") return answerJson(request, response, program.timeline(readQuery(url)));
    if (rest === "/memory") return answerJson(request, response, program.memory(readQuery(url)));
    if (rest === "/runs") return answerJson(request, response, program.runs(readQuery(url)));
    if (rest === "/gil") return answerJson(request, response, program.gil(readQuery(url)));
    if (rest === "/locks") return answerJson(request, response, program.locks());
    if (rest === "/requests") {
      const { epoch, generation } = program.locks();
      return answerJson(request, response, { epoch, generation, ...requestsAnswer() });
    }
    if (rest === "/tasks") return answerJson(request, response, program.tasks());
    if (rest === "/heatmap") return answerJson(request, response, program.heatmap(readQuery(url)));
    if (rest === "/source") {
      const found = program.source(Number(url.searchParams.get("function")));
      return found === null
        ? answerProblem(response, 404, "there is no such source file")
        : answerJson(request, response, found);
    }
    if (rest === "/matches" && request.method === "POST")
      return answerJson(request, response, program.matches((await readBody(request)).functions, readQuery(url)));
    if (rest === "/notes") {
      const { status, value } = program.changeNotes(request.method,
        request.method === "POST" ? await readBody(request) : Number(url.searchParams.get("note")));
      return response.writeHead(status, { "Content-Type": "application/json" }).end(
        value === undefined ? undefined : JSON.stringify(value),
      );
    }
    if (rest === "/lines")
      return answerJson(request, response, program.lines(Number(url.searchParams.get("function"))));
    if (rest === "/quality") return answerJson(request, response, program.fullQuality());
    if (rest === "/summary")
      return url.searchParams.get("format") === "markdown"
        ? answerFile(response, "summary.md", "text/markdown", "## `made up`\n")
        : answerJson(request, response, { ...SUMMARY,
          ...(program.session().settings.async === "all" ? { tasks: AWAITING } : {}),
          native: { ...SUMMARY.native, wanted_for: program.wantedFor() } });
    if (rest === "/view") return answerJson(request, response, program.view(readQuery(url)));
    if (rest === "/report.html")
      return answerFile(response, "report.html", "text/html; charset=utf-8",
        reportPage(pageFiles(page), program.report(readQuery(url))));
    if (rest === "/export")
      return answerFile(response, "profile.collapsed.txt", "text/plain; charset=utf-8", "made up 1\n");
    return answerProblem(response, 404, "nothing at " + url.pathname);
  });
}

function option(name, fallback) {
  const at = process.argv.indexOf("--" + name);
  return at < 0 ? fallback : process.argv[at + 1];
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const program = createProgram({
    threads: Number(option("threads", 20)),
    endsAfter: Number(option("ends", 0)),
    deep: Number(option("deep", 0)),
    quietFor: Number(option("quiet", 0)),
    exceptions: option("exceptions", "known") !== "unknown",
    mode: option("mode", "wall"),
    waiting: Number(option("tasks", 0)),
    grows: option("grows", null) !== null,
    locks: option("locks", null) !== null,
    deadlocked: option("locks", null) === "deadlock",
  });
  const host = option("host", null) === null
    ? null
    : createHost({ processes: Number(option("host", 24)), sessions: Number(option("sessions", 4)),
      hostile: option("hostile", null) !== null, scope: option("scope", "operator"),
      continuous: option("continuous", null) !== null });
  host?.advance(Number(option("age", 0)));
  const timer = setInterval(() => program.advance(), 100);
  if (host !== null) setInterval(() => host.advance(1), 1000);
  const server = createMockServer(program, option("page", null), host);
  const port = Number(option("port", 8765));
  server.listen(port, "127.0.0.1", () => console.log("http://127.0.0.1:" + port + "/"));
  const stop = () => {
    clearInterval(timer);
    const report = option("report", null);
    if (report) writeFileSync(report, reportPage(pageFiles(option("page", null)), program.report({ threads: [] })));
    process.exit(0);
  };
  process.on("SIGINT", stop);
  process.on("SIGTERM", stop);
}
