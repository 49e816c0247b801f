// Links of a line of source code: to an editor, and to the view of a repository; and the links of a session's service
// to other tools. Settings are {editor, repository, commit, service, maps, checkout (folders of git checkouts, as
// maps)}, of the server (server/report/source_links.h), of the report, or of this browser. Names and paths are the
// target's: percent-encoded, and no path has a part that would lead elsewhere.

import { TEXT } from "../../text/session.js";
import { isLibraryPath } from "../profile/frames.js";

export const EDITORS = { vscode: "vscode://file{path}:{line}", cursor: "cursor://file{path}:{line}",
  pycharm: "pycharm://open?file={path}&line={line}" };

// Rules as in server/report/source_links.c; tests/source-links.json holds cases that both must pass.
const EDITOR_SCHEMES = ["http", "https", "vscode", "vscode-insiders", "vscodium", "cursor", "zed", "windsurf",
  "jetbrains", "idea", "subl", "pycharm", "txmt", "mvim", "emacs", "x-mine"];
const TEMPLATE_MAX = 1000;
const MAPS_MAX = 64;
const MAP_MAX = 4096;
const COMMIT_MAX = 100;
const PATH_MAX = 4096;
const HEAD = "HEAD";

export function noLinks() {
  return { editor: null, repository: null, commit: null, service: null, maps: [], checkout: [] };
}

// The fault of a template, or null.
function templateProblem(text) {
  const scheme = /^([a-z][a-z0-9+.-]*):/i.exec(text)?.[1].toLowerCase() ?? "";
  if (text.length > TEMPLATE_MAX) return TEXT.links.long;
  if (!text.includes("{path}")) return TEXT.links.noPath;
  if (!/^[!-~]+$/.test(text) || /[{}]/.test(text.replace(/\{(?:path|line|commit)\}/g, ""))) return TEXT.links.braces;
  if (!EDITOR_SCHEMES.includes(scheme)) return TEXT.links.scheme;
  return /^https?$/.test(scheme) && !/^https?:\/\/[^/?#{}\\]+\//i.test(text) ? TEXT.links.host : null;
}

export function editorProblem(text) {
  if (Object.hasOwn(EDITORS, text)) return null;
  return text.includes(":") ? templateProblem(text) : TEXT.links.editor;
}

export function repositoryProblem(text) {
  return templateProblem(text) ?? (/^https?:/i.test(text) ? null : TEXT.links.web);
}

export function serviceProblem(text) {
  if (text.length > TEMPLATE_MAX || !/^https?:\/\/[^/?#{}\\]+\//i.test(text)) return TEXT.links.host;
  return !/^[!-~]+$/.test(text) || /[{}]/.test(text.replace(/\{(?:service|host|pid|from|to)\}/g, ""))
    ? TEXT.links.braces
    : null;
}

export function mapProblem(text) {
  return /^\/[^=]*=\//.test(text) && text.length <= MAP_MAX ? null : TEXT.links.map;
}

// Settings as they came, from a server, a report or the browser's memory: what is wrong in them is left out.
/** @param {{ [setting: string]: unknown } | null} [given] */
export function cleanLinks(given) {
  const text = (value,
    problem) => (typeof value === "string" && value !== "" && problem(value) === null ? value : null);
  return {
    editor: text(given?.editor, editorProblem),
    repository: text(given?.repository, repositoryProblem),
    commit: text(given?.commit,
      (value) => (/^[!-~]+$/.test(value) && value.length <= COMMIT_MAX ? null : TEXT.links.commit)),
    service: text(given?.service, serviceProblem),
    maps: (Array.isArray(given?.maps) ? given.maps : []).filter((map) => text(map, mapProblem) !== null).slice(0,
      MAPS_MAX),
    checkout: [],
  };
}

// Those of this browser before those that came with the page, and the commit of `checkout`, the git checkout that your code is in, after both.
/** @param {ReturnType<typeof cleanLinks>} came @param {ReturnType<typeof cleanLinks>} own @param {{ commit: string, root: string } | null} checkout */
export function mergeLinks(came, own, checkout = null) {
  const found = cleanLinks({ commit: checkout?.commit, maps: [checkout?.root + "=/"] });
  return { editor: own.editor ?? came.editor, repository: own.repository ?? came.repository,
    commit: own.commit ?? came.commit ?? found.commit, service: came.service, maps: [...own.maps, ...came.maps],
    checkout: found.maps };
}

// The longest folder that `path` is below: {to, rest}, where rest has no slash at its start; or null.
/** @param {string} path @param {string[]} maps */
function mapped(path, maps) {
  /** @type {{ length: number, to: string, rest: string } | null} */
  let best = null;
  for (const map of maps) {
    const at = map.indexOf("=");
    const from = map.slice(0, at).replace(/\/+$/, "");
    if (path.startsWith(from + "/") && (best === null || from.length > best.length))
      best = { length: from.length, to: map.slice(at + 1).replace(/\/+$/, ""), rest: path.slice(from.length + 1) };
  }
  return best;
}

function isAbsolute(path) {
  return path.startsWith("/") && !path.startsWith("//");
}

function encodedPath(path) {
  const parts = path.split("/");
  if (path === "" || parts.some((part, i) => part === "." || part === ".." || (part === "" && i > 0))) return null;
  try {
    return parts.map(encodeURIComponent).join("/");
  } catch {
    return null; // Half a character.
  }
}

function fill(template, path, line, commit) {
  const encoded = encodedPath(path);
  if (encoded === null || path.length > PATH_MAX) return null;
  const values = { path: encoded, line: String(line > 0 ? line : 1), commit: encodeURIComponent(commit) };
  return template.replace(/\{(path|line|commit)\}/g, (_, name) => values[name]);
}

// The URL that opens `path` at `line` in the editor, or null where there is none.
export function editorUrl({ editor, commit, maps }, path, line) {
  if (editor === null || !isAbsolute(path)) return null;
  const found = mapped(path, maps);
  return fill(EDITORS[editor] ?? editor, found === null ? path : found.to + "/" + found.rest, line, commit ?? HEAD);
}

// The link in the repository: the path below the folder of the target that is mapped, or that is a checkout. Without
// such folders all of it, but of your code only: no library is in your repository.
export function repositoryUrl({ repository, commit, maps, checkout }, path, line) {
  if (repository === null || !isAbsolute(path)) return null;
  const found = mapped(path, maps) ?? (isLibraryPath(path) ? null : mapped(path, checkout));
  if (found === null && (maps.length + checkout.length > 0 || isLibraryPath(path))) return null;
  return fill(repository, found === null ? path.slice(1) : found.rest, line, commit ?? HEAD);
}

// The URL that shows the service of a session elsewhere, in the range of time that the page shows, and its host; null where there is none.
export function serviceUrl({ service }, session, range) {
  const began = Date.parse(session?.started_at ?? "");
  if (service === null || Number.isNaN(began)) return null;
  const { target } = session;
  const instant = (seconds) => String(Math.round(began + 1000 * seconds));
  // A name of dots would lead to another path.
  const named = (text) => (/^\.*$/.test(text) ? "-" : text);
  const values = { service: named(target.service ?? ""), host: named(target.host ?? ""), pid: String(target.pid),
    from: instant(range?.from ?? 0), to: instant(range?.to ?? session.elapsed_s) };
  try {
    return { url: service.replace(/\{(service|host|pid|from|to)\}/g, (_, name) => encodeURIComponent(values[name])),
      host: new URL(service.replace(/[{}]/g, "")).host };
  } catch {
    return null; // Half a character.
  }
}
