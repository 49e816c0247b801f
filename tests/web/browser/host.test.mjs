// The page of a host in a real browser, against a made-up host: what a person sees and does.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";
import { HOST_TEXT } from "../../../web/text/host.js";
import { findAxe, launchChromium, pause } from "../support/chromium.mjs";
import { createHost } from "../support/made-up-host.mjs";
import { createProgram } from "../support/made-up-program.mjs";
import { createMockServer } from "../support/mock-server.mjs";

const ROOT = fileURLToPath(new URL("../../..", import.meta.url));
const folder = mkdtempSync(join(tmpdir(), "pyrometer-host-test-"));
const bundled = join(folder, "page.html");
const opened = [];
const WAIT_MS = 30000;
let browser;

before(async () => {
  execFileSync(join(ROOT, "scripts/bundle-web"), [bundled]);
  browser = await launchChromium({ width: 1440, height: 900 });
});
after(async () => {
  await browser.close();
  for (const server of opened) {
    server.closeAllConnections();
    server.close();
  }
  rmSync(folder, { recursive: true });
});

const hook = (id) => "document.querySelector('[data-testid=\"" + id + "\"]')";
const hooks = (id) =>
  "Array.from(document.querySelectorAll('[data-testid=\"" + id
  + "\"]')).filter((element) => element.checkVisibility())";
const rows = hooks("process");
const row = (pid) => "document.querySelector('[data-testid=process][data-pid=\"" + pid + "\"]')";

// A host that moves on request, and a page on it.
async function openHost({ fragment = "", size = {}, ...options } = {}) {
  const program = createProgram({ threads: 4, now: () => 0 });
  program.advance(2);
  const host = createHost(options);
  host.advance(30);
  const server = createMockServer(program, bundled, host);
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  opened.push(server);
  const page = await browser.open("http://127.0.0.1:" + server.address().port + "/" + fragment, size);
  const { until } = page;
  page.until = (source) => until(source, WAIT_MS);
  const press = async (id) => {
    await page.until(hooks(id) + ".length > 0");
    await page.evaluate("(" + hooks(id) + "[0].click(), 0)");
  };
  const type = async (id, text) => {
    await page.evaluate("(" + hook(id) + ".focus(), " + hook(id) + ".select?.(), 0)");
    await page.type(text);
  };
  const write = (selector, text) =>
    page.evaluate(
      "(() => { const field = document.querySelector(" + JSON.stringify(selector) + "); field.value = "
        + JSON.stringify(text) + "; })()",
    );
  await page.until(
    hook("host") + " !== null && " + hook("status") + "?.textContent === '" + HOST_TEXT.header.status.ok + "'",
  );
  return { page, host, server, press, type, write, texts: (selector) =>
    page.evaluate(
      "Array.from(document.querySelectorAll(" + JSON.stringify(selector) + "), (element) => element.textContent)",
    ) };
}

async function downloaded(name) {
  const deadline = Date.now() + WAIT_MS;
  while (!existsSync(join(folder, name))) {
    assert.ok(Date.now() < deadline, "no " + name + " arrived");
    await pause(50);
  }
}

test("processes are listed, searched, sorted; one is profiled, opened, and there is a way back", async () => {
  const { page, host, press, type } = await openHost();
  await page.until(rows + ".length === 24");
  assert.equal(await page.evaluate(hook("host-name") + ".textContent"), "build7");
  assert.match(await page.evaluate(hook("host-facts") + ".textContent"), /24 Python processes.*3 not profilable/);
  const shares = await page.evaluate(rows + ".map((tr) => parseFloat(tr.querySelector('.share').textContent))");
  assert.deepEqual(shares, shares.toSorted((a, b) => b - a));
  await type("search", "celery");
  await page.until(rows + ".length === 3");
  assert.match(await page.evaluate("location.hash"), /search=celery/);
  await type("search", "nothing is called so");
  await page.until(
    hook("processes-empty") + ".checkVisibility() && " + hook("processes-empty") + ".textContent.includes('"
      + HOST_TEXT.processes.noMatch + "')",
  );
  await page.press("Escape");
  await page.until(rows + ".length === 24");
  await press("sort-pid");
  await page.until(rows + "[0].dataset.pid === '1000'");
  await page.evaluate("(" + row(1000) + ".querySelector('[data-testid=profile]').click(), 0)");
  await page.until(
    "location.hash.includes('session=1') && document.querySelectorAll('g.frame').length > 10 && " + hook("home")
      + " !== null",
  );
  assert.deepEqual([host.sessions.length, host.sessions[0].settings.rate_hz, host.sessions[0].target.pid], [1, 1000,
    1000]);
  assert.equal(await page.evaluate(hook("host") + " === null"), true);
  await page.evaluate("history.back()");
  await page.until(
    "location.hash.includes('sort=pid') && " + rows + ".length === 24 && " + rows + "[0].dataset.pid === '1000'",
  );
  await page.until(row(1000) + ".querySelector('[data-testid=process-open]').checkVisibility()");
  assert.deepEqual(page.said, []);
  await page.close();
});

test("a process that is sampled has its headline in one line, however narrow the page", async () => {
  const { page } = await openHost({ sessions: 2 });
  await page.until(rows + ".length === 24");
  const said =
    "Array.from(document.querySelectorAll('[data-testid=process-headline]')).filter((one) => one.checkVisibility())";
  for (const width of [1440, 1024, 390]) {
    await page.resize(width, 800);
    await page.until(said + ".length === 2");
    assert.match(await page.evaluate(said + "[0].textContent"),
      /^\d+ % of the time that is not idle it runs \S+ \(shop\/app\.py:50\); .*9 of 12 threads are idle$/);
    // One line of the width of the row.
    const [height, wide] = await page.evaluate(
      "(({ clientHeight, clientWidth }) => [clientHeight, clientWidth])(" + said + "[0])",
    );
    assert.ok(height < 30 && wide > 0.6 * Math.min(width, 1000), width + ": " + height + " " + wide);
  }
  assert.deepEqual(page.said, []);
  await page.close();
});

test("what samples all the time says where each process is, and opens its last minutes at once", async () => {
  const { page, host, texts } = await openHost({ continuous: true });
  await page.until(rows + ".length === 24 && document.querySelectorAll('[data-testid=hot-function]').length > 0");
  const activity = host.answer("GET", "activity", new URLSearchParams()).value;
  const [busiest] = activity.processes;
  await page.until(
    row(busiest.pid) + ".querySelector('[data-testid=hottest-line]').textContent.includes("
      + JSON.stringify(busiest.hottest.name) + ")",
  );
  for (const { pid, waits, parts } of activity.processes.filter((process) =>
    process.parts.needs_gil === 0 && process.parts.blocked + process.parts.idle > 0
  ).slice(0, 9)) {
    const said = await page.evaluate(row(pid) + ".querySelector('[data-testid=waits]').textContent");
    assert.ok(
      said.startsWith(waits.cause === null
        ? "select.epoll.poll"
        : { network_read: "network read80.0 % · 10.0.0.5:5432", event_loop: "event loop" }[waits.cause]),
      said + JSON.stringify(parts),
    );
  }
  assert.match(await page.evaluate(row(busiest.pid) + ".querySelector('.row-spark path').getAttribute('d')"), /^M/);
  assert.ok((await texts("[data-testid=hot-function]"))[0].includes(activity.functions[0].name));
  // A session that nobody started does not keep anybody from starting something.
  assert.equal(await page.evaluate(row(busiest.pid) + ".querySelector('[data-testid=profile]').checkVisibility()"),
    true);
  const refused = host.processes.find((process) => !process.can_attach);
  assert.ok((await page.evaluate(row(refused.pid) + ".querySelector('.col-hottest').textContent")).includes("setcap"));
  const before = host.sessions.length;
  await page.evaluate("(" + row(busiest.pid) + ".querySelector('[data-testid=process-last]').click(), 0)");
  await page.until(
    "location.hash.includes('process=" + busiest.pid + "') && location.hash.includes('range=') && " + hook("home")
      + " !== null",
  );
  assert.equal(host.sessions.length, before);
  assert.deepEqual(page.said, []);
  await page.close();
});

test("without continuous sampling the page says what turns it on, and has no empty columns", async () => {
  const { page } = await openHost();
  await page.until(hook("activity-off") + "?.textContent.includes('--continuous') && " + rows + ".length === 24");
  assert.match(await page.evaluate(hook("activity-off") + ".textContent"), /^Continuous sampling .*\.$/);
  assert.equal(await page.evaluate("document.querySelector('td.col-hottest').checkVisibility()"), false);
  assert.deepEqual(
    await page.evaluate(
      "[document.querySelectorAll('[data-testid=hot-function]').length > 0, " + hooks("hot-function") + ".length]",
    ),
    [true, 0],
  );
  await page.close();
});

test("until the captures are known, their tab is not an empty list", async () => {
  const { page } = await openHost();
  const url = await page.evaluate("location.href.replace(/#.*$/, '')");
  await page.call("Page.addScriptToEvaluateOnNewDocument", {
    source:
      "const { fetch: ask } = globalThis; globalThis.fetch = (url, ...more) => (/captures/.test(url) ? new Promise(() => {}) : ask(url, ...more));",
  });
  await page.call("Page.navigate", { url: url + "?again#v=1&host=captures" });
  await page.until(
    "location.search === '?again' && " + hooks("tabs")
      + ".length === 1 && document.querySelector('[data-testid=tabs] [data-value=sessions]') !== null",
  );
  await page.until(
    "(document.querySelector('[data-testid=tabs] [data-value=captures]')?.getAttribute('aria-pressed') ?? '') === 'true'",
  );
  assert.equal(await page.evaluate(hooks("captures-empty") + ".length"), 0);
  await page.close();
});

test("options are checked before and by the server; several processes make one session", async () => {
  const { page, host, press, write } = await openHost();
  await page.until(rows + ".length === 24");
  await page.evaluate(
    "(" + row(1037) + ".querySelector('input').click(), " + row(1074) + ".querySelector('input').click(), 0)",
  );
  await page.until(hook("chosen") + ".textContent === '2 selected'");
  await press("profile-selected");
  await write("[name=rate]", "soon");
  await press("form-submit");
  await page.until(
    hook("form-error") + ".textContent.includes('1 to 10,000 Hz') && document.activeElement.name === 'rate'",
  );
  await write("[name=rate]", "9 khz");
  await press("form-submit");
  await page.until(hook("form-error") + ".textContent.includes('--max-rate')");
  await write("[name=rate]", "99");
  await write("[name=name]", "both");
  await page.evaluate("(" + hook("form-events") + ".querySelectorAll('input')[1].click(), 0)");
  await page.evaluate("(" + hook("form-engine") + ".querySelector('[data-value=remote]').click(), 0)");
  await press("form-submit");
  await page.until(hook("form-error") + ".textContent.includes('another engine')");
  await page.evaluate("(" + hook("form-engine") + ".querySelector('[data-value=kernel]').click(), 0)");
  await press("form-submit");
  await page.until(hook("profile-dialog") + " === null && " + hooks("session") + ".length === 1");
  const { name, settings, processes } = host.sessions[0];
  assert.deepEqual([name, settings.rate_hz, settings.engine, processes.attached], ["both", 99, "kernel", 2]);
  assert.match(await page.evaluate(hook("session") + ".textContent"), /both.*2 processes/);
  assert.equal(page.said.filter((line) => !line.includes("400")).length, 0);
  await page.close();
});

test("hostile names are text, and a row stays where it is while it is pointed at", async () => {
  const { page, host } = await openHost({ hostile: true, processes: 500 });
  await page.until(rows + ".length === 500");
  const scripts = await page.evaluate("document.scripts.length");
  assert.match(await page.evaluate(row(1000) + ".textContent"),
    /script><img src=x onerror=alert\(1\)>.*\\u202egnp\.exe/);
  assert.deepEqual(
    await page.evaluate(
      "[document.querySelectorAll('img, b, iframe').length, document.documentElement.scrollWidth <= innerWidth]",
    ),
    [0, true],
  );
  const [x, y, pid] = await page.evaluate(
    "(() => { const tr = " + rows
      + "[3]; const box = tr.querySelector('th').getBoundingClientRect(); return [box.x + 20, box.y + 5, tr.dataset.pid]; })()",
  );
  await page.point(x, y);
  const order = () => page.evaluate(rows + ".map((tr) => tr.dataset.pid).join()");
  const held = await order();
  const last = host.processes.at(-1);
  last.cpu_percent = 390;
  host.processes.splice(host.processes.findIndex((process) => String(process.pid) === pid), 1);
  await page.until(
    row(last.pid) + ".querySelector('.share').textContent === '390 %' && " + row(pid) + ".dataset.gone === 'true'",
  );
  assert.equal(await order(), held);
  await page.point(700, 20);
  await page.until(rows + "[0].dataset.pid === '" + last.pid + "' && " + row(pid) + " === null");
  assert.equal(await page.evaluate("document.scripts.length"), scripts);
  assert.deepEqual(page.said, []);
  await page.close();
});

test("sessions are paused, stopped, renamed and forgotten, with a way back from mistakes", async () => {
  const { page, host, press, write } = await openHost({ sessions: 2 });
  await page.until(
    hooks("session")
      + ".length === 2 && document.querySelector('.spark [data-part=running]').getAttribute('d')?.length > 10",
  );
  await press("session-pause");
  await page.until("document.querySelector('[data-id=\"2\"]').dataset.state === 'paused'");
  await press("session-pause");
  await page.until("document.querySelector('[data-id=\"2\"]').dataset.state === 'running'");
  await press("session-more");
  await press("session-edit");
  await write("[name=title]", "after <b>");
  await press("form-submit");
  await page.until("document.querySelector('[data-id=\"2\"] .session-title').textContent === 'after <b>'");
  await press("session-more");
  await press("session-rate");
  await write("[name=rate]", "2.5 khz");
  await press("form-submit");
  await page.until(hook("session") + ".textContent.includes('2,500 Hz')");
  await press("session-stop");
  await page.press("Escape");
  await page.until(hook("confirm-dialog") + " === null");
  assert.equal(host.sessions[1].state, "running");
  await press("session-stop");
  await press("confirm");
  await page.until("document.querySelector('[data-testid=over] [data-id=\"2\"]') !== null");
  await page.evaluate("(document.querySelector('[data-testid=over] [data-testid=session-more]').click(), 0)");
  await press("session-delete");
  await page.until("document.querySelector('[data-id=\"2\"]') === null");
  await press("toast-action");
  await page.until("document.querySelector('[data-id=\"2\"]') !== null");
  assert.equal(host.sessions.length, 2);
  await page.evaluate("(document.querySelector('[data-testid=over] [data-testid=session-more]').click(), 0)");
  await press("session-delete");
  await page.evaluate("(document.querySelector('.toast .close').click(), 0)");
  await page.until("document.querySelector('[data-id=\"2\"]') === null && document.querySelector('.toast') === null");
  const deadline = Date.now() + WAIT_MS;
  while (host.sessions.length > 1 && Date.now() < deadline) await pause(50);
  assert.equal(host.sessions.length, 1);
  assert.deepEqual(page.said, []);
  await page.close();
});

test("files that the server was started with are counted and listed among the captures, with or without a folder", async () => {
  for (const [folder, kept] of [[true, 9], [false, 0]]) {
    const { page } = await openHost({ files: 2, folder, fragment: "#v=1&host=captures" });
    const listed = hooks("capture");
    await page.until(listed + ".length === " + (kept + 2));
    assert.match(await page.evaluate("document.querySelector('[data-testid=tabs] [data-value=captures]').textContent"),
      new RegExp(HOST_TEXT.toolbar.tabs.captures + (kept + 2) + "$"));
    assert.equal(
      await page.evaluate(
        listed + ".filter((row) => row.querySelector('.mark-word').textContent === '" + HOST_TEXT.captures.file
          + "').length",
      ),
      2,
    );
    await page.evaluate("(" + listed + "[1].querySelector('[data-testid=capture-open]').click(), 0)");
    await page.until("location.hash.includes('session=2') && document.querySelectorAll('g.frame').length > 10");
    assert.deepEqual(page.said.filter((line) => folder || !line.includes("404")), []);
    await page.close();
  }
});

test("the stacks of a process and of a session are shown as text, read again, and refused in words", async () => {
  const { page, host } = await openHost({ processes: 8, sessions: 2 });
  await page.until(rows + ".length > 3");
  await page.evaluate(
    "Array.from(document.querySelectorAll('[data-testid=process-dump]')).find((one) => !one.hidden).click()",
  );
  await page.until(hook("dump-text") + "?.textContent.startsWith('process ')");
  const text = await page.evaluate(hook("dump-text") + ".textContent");
  assert.match(text, /\n {2}thread \d+ worker-2: blocked: lock\n {4}waits for threading\.Lock at /);
  assert.match(text, /<\/pre><b>loop<\/b>/);
  assert.equal(await page.evaluate(hook("dump-dialog") + ".querySelector('b, img') === null"), true);
  assert.equal(await page.evaluate(hook("dump-copy") + ".disabled"), false);
  const pid = Number(/^process (\d+)/.exec(text)[1]);
  host.processes.splice(host.processes.findIndex((process) => process.pid === pid), 1);
  await page.evaluate(hook("dump-again") + ".click()");
  await page.until(
    hook("dump-text") + ".textContent === 'no process " + pid + "' && " + hook("dump-copy") + ".disabled",
  );
  await page.press("Escape");
  await page.until(hook("dump-dialog") + " === null");
  await page.evaluate(hooks("session-dump") + "[0].click()");
  await page.until(hook("dump-text") + "?.textContent.startsWith('process ')");
  await page.close();
});

test("captures are found, named, opened, deleted with undo; files are added, and refused with the reason", async () => {
  const { page, host, press, type, write } = await openHost({ fragment: "#v=1&host=captures" });
  const shown = hooks("capture");
  await page.until(shown + ".length === 9");
  await type("find", "celery");
  await page.until(shown + ".length === 1");
  await page.press("Escape");
  await page.until(shown + ".length === 9");
  await press("label");
  await page.until(shown + ".length === 3 && location.hash.includes('label=web')");
  await page.evaluate("history.back()");
  await page.until(shown + ".length === 9");
  await press("capture-more");
  await press("capture-edit");
  await write("[name=title]", "the slow one");
  await write("[name=labels]", "slow, web");
  await press("form-submit");
  await page.until(hook("capture-open") + ".textContent === 'the slow one'");
  assert.deepEqual(host.captures[0].labels, ["slow", "web"]);
  await press("capture-more");
  await press("capture-delete");
  await page.until(shown + ".length === 8");
  await press("toast-action");
  await page.until(shown + ".length === 9");
  assert.equal(host.captures.length, 9);
  await page.call("Page.setDownloadBehavior", { behavior: "allow", downloadPath: folder });
  await page.evaluate("(" + shown + ".slice(0, 2).forEach((tr) => tr.querySelector('input').click()), 0)");
  await press("compare");
  await page.until("/session=\\d+&view=diff&against=\\d+/.test(location.hash)");
  await page.until(hook("diff") + "?.checkVisibility()");
  await page.evaluate("history.back()");
  await page.until(shown + ".length === 9");
  assert.equal(host.sessions.length, 2);
  const drop = (name, text) =>
    page.evaluate(
      "(() => { const transfer = new DataTransfer(); transfer.items.add(new File([" + JSON.stringify(text) + "], "
        + JSON.stringify(name) + "));"
        + " for (const type of ['dragenter', 'dragover', 'drop']) document.body.dispatchEvent(new DragEvent(type, { dataTransfer: transfer, bubbles: true, cancelable: true })); })()",
    );
  await drop("wrong.pyro", "GIF89a");
  await page.until(hooks("upload") + "[0]?.textContent.includes('not a Pyrometer capture')");
  await drop("mine.pyro", "PYRO 1");
  await page.until("location.hash.includes('session=3') && " + hook("home") + " !== null");
  assert.equal(host.captures[0].title, "mine");
  assert.deepEqual(page.said.filter((line) => !line.includes("422")), []);
  await page.close();
});

test("links are shared and revoked; a viewer sees that, and can change nothing", async () => {
  const { page, host, press } = await openHost({ sessions: 1 });
  await press("share");
  await press("share-make");
  await page.until(hook("share-url") + "?.value.endsWith('#v=1') && " + hooks("share-line") + ".length === 1");
  assert.equal(host.shares[0].session, null);
  await press("share-revoke");
  await page.until(hooks("share-line") + ".length === 0");
  assert.equal(host.shares.length, 0);
  await page.evaluate(hook("share-dialog") + ".close()");
  await press("session-more");
  await press("session-share");
  await press("share-make");
  await page.until(
    hook("share-url") + "?.value.endsWith('#v=1&session=" + host.sessions[0].id + "') && " + hook("share-line")
      + "?.textContent.includes('session " + host.sessions[0].id + "')",
  );
  assert.equal(host.shares[0].session, host.sessions[0].id);
  await page.close();
  const viewer = await openHost({ sessions: 1, scope: "viewer" });
  await viewer.page.until(rows + ".length === 24");
  assert.equal(await viewer.page.evaluate(hook("scope") + ".checkVisibility()"), true);
  for (const id of ["profile", "profile-options", "select-all", "session-pause", "session-stop", "share", "open-file"])
    assert.equal(await viewer.page.evaluate(hooks(id) + ".length"), 0, id);
  assert.equal(await viewer.page.evaluate(hooks("process-open") + ".length"), 1);
  assert.deepEqual([...page.said, ...viewer.page.said], []);
  await viewer.page.close();
});

test("a host without processes, a server that goes away, and a small screen", async () => {
  const none = await openHost({ processes: 0 });
  await none.page.until(hook("processes-empty") + ".textContent.includes('" + HOST_TEXT.processes.none + "')");
  await none.page.close();
  const { page, server } = await openHost({ sessions: 2, size: { width: 390, height: 844, mobile: true } });
  for (const tab of ["sessions", "captures", "processes"]) {
    await page.evaluate("(" + hook("tabs") + ".querySelector('[data-value=" + tab + "]').click(), 0)");
    await page.until(hook("host") + ".dataset.tab === '" + tab + "'");
    assert.equal(await page.evaluate("document.documentElement.scrollWidth <= innerWidth"), true, tab);
  }
  await page.evaluate("(" + rows + "[0].querySelector('input').focus(), 0)");
  await page.press("ArrowDown");
  assert.equal(
    await page.evaluate(
      "document.activeElement.closest('tr') === " + rows
        + ".slice(1).find((tr) => !tr.querySelector('input').disabled)",
    ),
    true,
  );
  server.closeAllConnections();
  server.close();
  await page.until(
    hook("banner") + ".checkVisibility() && " + hook("banner-text") + ".textContent.includes('does not answer')",
  );
  assert.ok((await page.evaluate(rows + ".length")) > 0);
  await page.until(hooks("profile") + "[0].disabled");
  await page.close();
});

const FAULTS =
  "axe.run(document, { resultTypes: ['violations'] }).then(({ violations }) => violations.filter(({ impact }) => impact === 'serious' || impact === 'critical')"
  + ".map(({ id, nodes }) => id + ': ' + nodes.slice(0, 3).map((node) => node.html.slice(0, 150)).join(' | ')))";

for (const [where, size] of [["on a desktop", {}], ["on a phone", { width: 390, height: 844, mobile: true,
  dark: true }]])
{
  test("axe-core finds nothing serious in the lists of a host and what opens over them, " + where, {
    skip: findAxe() === null && "axe-core is missing (scripts/get-consumers)",
  }, async () => {
    const { page, press } = await openHost({ sessions: 1, continuous: true, size });
    await page.until(rows + ".length > 5");
    await page.evaluate(readFileSync(findAxe(), "utf8") + "; 0");
    const assertNone = async (what) => assert.deepEqual(await page.evaluate(FAULTS), [], what);
    const assertNoneIn = async (dialog, ...presses) => {
      for (const id of presses) await press(id);
      await page.until(hook(dialog) + "?.open");
      await assertNone(dialog);
      await page.evaluate(hook(dialog) + ".close()");
      await page.until(hook(dialog) + " === null");
    };
    await assertNone("processes");
    await assertNoneIn("profile-dialog", "profile-options");
    await assertNoneIn("share-dialog", "share");
    // On a phone sessions are a list of their own.
    await page.evaluate("(location.hash = '#v=1&host=sessions', 0)");
    await page.until(hooks("session-more") + ".length > 0");
    await assertNone("sessions");
    await assertNoneIn("words-dialog", "session-more", "session-edit");
    await assertNoneIn("rate-dialog", "session-more", "session-rate");
    await press("session-more");
    await assertNone("menu of a session");
    await page.evaluate("(location.hash = '#v=1&host=captures', 0)");
    await page.until(hooks("capture") + ".length === 9");
    await assertNone("captures");
    await assertNoneIn("words-dialog", "capture-more", "capture-edit");
    await page.close();
  });
}
