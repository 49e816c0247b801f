import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { cleanLinks, editorProblem, EDITORS, editorUrl, mapProblem, mergeLinks, noLinks, repositoryProblem,
  repositoryUrl, serviceProblem, serviceUrl } from "../../../web/model/page/links.js";
import { menuItems } from "../../../web/model/page/menu.js";

const shared = JSON.parse(readFileSync(new URL("../../source-links.json", import.meta.url), "utf8"));
const REPOSITORY = "https://git.example/shop/blob/{commit}/{path}#L{line}";
const links = (given) => ({ ...noLinks(), ...given });

test("the page takes the templates that the server takes, and no others", () => {
  for (const [kind, problem] of [["editors", editorProblem], ["repositories", repositoryProblem], ["services",
    serviceProblem], ["maps", mapProblem]])
  {
    for (const [text, fits] of shared[kind]) assert.equal(problem(text) === null, fits, kind + ": " + text);
  }
  for (const template of Object.values(EDITORS)) assert.equal(editorProblem(template), null);
});

test("a known editor opens the path as it is, or in the folder that it is mapped to", () => {
  assert.equal(editorUrl(links({ editor: "vscode" }), "/srv/app.py", 12), "vscode://file/srv/app.py:12");
  assert.equal(editorUrl(links({ editor: "pycharm" }), "/srv/app.py", 12), "pycharm://open?file=/srv/app.py&line=12");
  const mapped = links({ editor: "cursor", maps: ["/srv=/home/me", "/srv/shop/=/home/me/shop/", "/srv/sho=/wrong"] });
  assert.equal(editorUrl(mapped, "/srv/shop/app.py", 0), "cursor://file/home/me/shop/app.py:1");
  assert.equal(editorUrl(mapped, "/srv/other.py", 3), "cursor://file/home/me/other.py:3");
  assert.equal(editorUrl(mapped, "/srvother.py", 3), "cursor://file/srvother.py:3");
  assert.equal(editorUrl(noLinks(), "/srv/app.py", 12), null);
});

test("the repository has the path below the mapped folder, and no libraries", () => {
  const repository = links({ repository: REPOSITORY });
  assert.equal(repositoryUrl(repository, "/srv/app.py", 12), "https://git.example/shop/blob/HEAD/srv/app.py#L12");
  assert.equal(repositoryUrl(repository, "/usr/lib/python3.13/json/__init__.py", 12), null);
  assert.equal(repositoryUrl(repository, "/srv/.venv/lib/python3.13/site-packages/flask/app.py", 12), null);
  const mapped = links({ repository: REPOSITORY, commit: "v1/x y", maps: ["/srv=/home/me"] });
  assert.equal(repositoryUrl(mapped, "/srv/a/app.py", 12), "https://git.example/shop/blob/v1%2Fx%20y/a/app.py#L12");
  assert.equal(repositoryUrl(mapped, "/opt/app.py", 12), null);
});

test("names of the target are encoded, and none leads elsewhere", () => {
  const all = links({ editor: "https://code.example/open?f={path}&l={line}", repository: REPOSITORY });
  const url = editorUrl(all, "/srv/a b?x=1#y&z=%2e%2e/\\\u202e\"'<javascript:{line}>.py", 1);
  assert.equal(new URL(url).origin, "https://code.example");
  assert.equal(new URL(url).searchParams.get("l"), "1");
  assert.match(url, /a%20b%3Fx%3D1%23y%26z%3D%252e%252e\/%5C%E2%80%AE%22'%3Cjavascript%3A%7Bline%7D%3E\.py&l=1$/);
  for (const path of ["/srv/../../logout", "/srv/./x", "/srv//x", "/srv/x/", "../x", "app.py", "<string>", "", "~",
    "/srv/\ud800.py", "/" + "x".repeat(5000)])
  {
    assert.equal(repositoryUrl(all, path, 1), null, path);
    assert.equal(editorUrl(all, path, 1), null, path);
  }
  assert.equal(repositoryUrl(all, "//evil.example/x", 1), null);
});

test("what is wrong in settings is left out; those of the browser come first", () => {
  assert.deepEqual(
    cleanLinks({ editor: "javascript:{path}", repository: 7, commit: "a b", maps: ["/a=/b", "x", null] }),
    links({ maps: ["/a=/b"] }),
  );
  for (const none of [null, undefined, 3, "x", { maps: "/a=/b" }]) assert.deepEqual(cleanLinks(none), noLinks());
  assert.equal(cleanLinks({ maps: Array(100).fill("/a=/b") }).maps.length, 64);
  assert.deepEqual(
    mergeLinks(links({ editor: "vscode", repository: REPOSITORY, maps: ["/a=/b"] }),
      links({ editor: "cursor", maps: ["/c=/d"] })),
    links({ editor: "cursor", repository: REPOSITORY, maps: ["/c=/d", "/a=/b"] }),
  );
});

test("a git checkout gives the commit and the folder, where nobody has said otherwise", () => {
  const checkout = { root: "/srv/shop", commit: "0123456789abcdef0123456789abcdef01234567" };
  const found = mergeLinks(links({ repository: REPOSITORY, editor: "vscode" }), noLinks(), checkout);
  assert.equal(repositoryUrl(found, "/srv/shop/a/app.py", 12),
    "https://git.example/shop/blob/" + checkout.commit + "/a/app.py#L12");
  assert.equal(repositoryUrl(found, "/srv/other.py", 12), null);
  assert.equal(repositoryUrl(found, "/srv/shop/.venv/lib/python3.13/site-packages/flask/app.py", 12), null);
  assert.equal(editorUrl(found, "/srv/shop/a/app.py", 1), "vscode://file/srv/shop/a/app.py:1");
  const said = mergeLinks(links({ repository: REPOSITORY, commit: "v2", maps: ["/srv/shop/a=/home/me"] }), noLinks(),
    checkout);
  assert.equal(repositoryUrl(said, "/srv/shop/a/app.py", 12), "https://git.example/shop/blob/v2/app.py#L12");
  assert.deepEqual(mergeLinks(noLinks(), noLinks(), { root: "no path", commit: "a b" }), noLinks());
});

test("the menu has links where there are settings, and offers to choose them where there are none", () => {
  const subject = { label: { raw: "f", name: "f", path: "/srv/app.py", line: 4, hasSource: true }, key: "k",
    stack: "" };
  const keys = (given, about = subject) => menuItems(about, given).map((item) => item.key);
  assert.ok(keys(noLinks()).includes("links"));
  const both = links({ editor: "vscode", repository: REPOSITORY });
  assert.deepEqual(menuItems(subject, both).filter((item) => item.href).map((item) => item.href), [
    "vscode://file/srv/app.py:4",
    "https://git.example/shop/blob/HEAD/srv/app.py#L4",
  ]);
  assert.ok(!keys(both).includes("links"));
  const native = { ...subject, label: { ...subject.label, hasSource: false } };
  assert.deepEqual(keys(both, native).filter((key) => ["editor", "repository", "links"].includes(key)), []);
});

test("the service of a session elsewhere, in the time that is shown", () => {
  const session = { started_at: "2026-01-02T03:04:05Z", elapsed_s: 60.5,
    target: { pid: 7, host: "web-1", service: "shop&x=1/{pid}" } };
  const all = links({ service: "https://grafana.example/a/{service}?h={host}&p={pid}&from={from}&to={to}" });
  const began = Date.parse(session.started_at);
  assert.deepEqual(serviceUrl(all, session, null), {
    url: "https://grafana.example/a/shop%26x%3D1%2F%7Bpid%7D?h=web-1&p=7&from=" + began + "&to=" + (began + 60500),
    host: "grafana.example",
  });
  assert.match(serviceUrl(all, session, { from: 10, to: 20.25 }).url,
    new RegExp("from=" + (began + 10000) + "&to=" + (began + 20250) + "$"));
  assert.match(serviceUrl(all, session, { from: 10, to: null }).url, new RegExp("to=" + (began + 60500) + "$"));
  assert.match(serviceUrl(all, { ...session, target: { ...session.target, service: ".." } }, null).url, /\/a\/-\?h=/);
  assert.equal(serviceUrl(all, { ...session, target: { ...session.target, service: "\ud800" } }, null), null);
  assert.equal(serviceUrl(noLinks(), session, null), null);
  assert.equal(serviceUrl(all, null, null), null);
});
