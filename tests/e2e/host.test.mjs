// From the page of a host to a profile that is kept, and opened again.

import assert from "node:assert/strict";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, afterEach, before, test } from "node:test";
import { launchChromium } from "../web/support/chromium.mjs";
import { ALL_PARTS, FRAMES, hook, openPage, SHOWN } from "./page.mjs";
import { endAll, FOLDER, serve, startVictim, VICTIM_SECONDS } from "./processes.mjs";

const data = join(FOLDER, "e2e-captures");
let browser;

before(async () => {
  rmSync(data, { recursive: true, force: true });
  mkdirSync(data, { recursive: true });
  browser = await launchChromium({ width: 1280, height: 800 });
});
afterEach(endAll);
after(async () => {
  await endAll();
  await browser.close();
});

test("a process is found, profiled, stopped, and its capture opened again", async () => {
  const victim = await startVictim("tests/victims/threads.py", "4", VICTIM_SECONDS);
  const host = await serve("--data", data, "--no-continuous");
  const page = await openPage(browser, host.url);
  const row = "document.querySelector('[data-testid=process][data-pid=\"" + victim.pid + "\"]')";
  const here = (id) => hook(id) + "?.checkVisibility() === true";
  await page.until(row + "?.querySelector('[data-testid=profile]').checkVisibility()");
  assert.match(await page.evaluate(row + ".textContent"), /threads\.py/);
  await page.until("/^3[.][0-9]+/.test(" + row + ".querySelector('.col-python').textContent)");
  await page.evaluate("(" + row + ".querySelector('[data-testid=profile]').click(), 0)");
  await page.drawn();
  await page.press("home");
  await page.until(row + "?.querySelector('[data-testid=process-open]').checkVisibility()");
  await page.until(
    "document.querySelector('[data-testid=running] [data-testid=session]')?.dataset.state === 'running'",
  );
  await page.until("/[1-9]/.test(document.querySelector('[data-testid=session] .samples').textContent)");
  await page.picture("host-light");
  await page.press("session-open");
  await page.drawn();
  await page.until(page.frame("spin") + " !== undefined && " + here("home"));
  await page.press("home");
  await page.until(here("session-stop"));
  await page.press("session-stop");
  await page.press("confirm");
  await page.until("document.querySelector('[data-testid=over] [data-testid=session]')?.dataset.state === 'ended'");
  const [{ id, quality }] = (await (await host.ask("/sessions")).json()).sessions;
  assert.ok(quality.samples > 0);
  await page.choose("tabs", "captures");
  await page.until("document.querySelector('[data-testid=capture] .mark-word')?.textContent === ''");
  await page.evaluate("(document.querySelector('[data-testid=over] [data-testid=session-more]').click(), 0)");
  await page.press("session-delete");
  await page.until(here("toast-action"));
  await page.evaluate("(document.querySelector('.toast .close').click(), 0)");
  await page.until("document.querySelector('[data-testid=session]') === null");
  await page.press("capture-open");
  await page.until(
    "location.hash.includes('session=') && !location.hash.endsWith('session=" + id + "') && " + FRAMES + ".length > 2",
  );
  await page.until(page.frame("spin") + " !== undefined");
  await page.evaluate("(location.hash += '" + ALL_PARTS + "', 0)");
  await page.until(SHOWN + " === " + quality.samples);
  await page.assertInnocent(host.origin);
  await page.close();
});

test("a program that runs asyncio is sampled again with its tasks", async () => {
  const victim = await startVictim("tests/victims/asyncio_server.py", VICTIM_SECONDS);
  const host = await serve("--no-continuous");
  const id = await host.startSession(victim.pid, { rate_hz: 200 });
  const page = await openPage(browser, host.url + "#v=1&session=" + id);
  const tasks = "document.querySelector('[data-testid=view] [data-value=tasks]')";
  await page.until(tasks + "?.checkVisibility()");
  await page.choose("view", "tasks");
  await page.press("tasks-again");
  await page.until(
    "location.hash.includes('view=tasks') && !location.hash.includes('session=" + id
      + "') && document.querySelectorAll('[data-testid=task-group]').length > 0",
  );
  await page.picture("tasks-again");
  await page.assertInnocent(host.origin);
  await page.close();
});

// Each with what is drawn of it: what cannot be seen is an escape.
const WRITTEN = {
  "</script><script>alert(1)</script>": "</script><script>alert(1)</script>",
  "<img src=x onerror=alert(1)>": "<img src=x onerror=alert(1)>",
  "'\"><svg onload=alert(1)>&lt;b&gt;": "'\"><svg onload=alert(1)>&lt;b&gt;",
  "[a](javascript:alert(1)) ${alert(1)} {{alert(1)}}": "[a](javascript:alert(1)) ${alert(1)} {{alert(1)}}",
  "<!--\u202egnp.\u0085\u009b31m\u2028": "<!--\\u202egnp.\\u0085\\u009b31m\\u2028",
};

test("what operators write about a session is text, on every page and in every file", async () => {
  const texts = Object.keys(WRITTEN);
  const victim = await startVictim("tests/victims/chain.py", VICTIM_SECONDS);
  const host = await serve("--data", data, "--no-continuous");
  const headers = { Authorization: "Bearer " + host.token, "X-Pyrometer": "1", "Content-Type": "application/json" };
  const change = async (method, path, body) => {
    const answer = await fetch(host.origin + "/api/v1" + path, { method, headers, body: JSON.stringify(body) });
    assert.ok(answer.ok, method + " " + path + ": " + (await answer.clone().text()));
    return answer.json();
  };
  const id = await host.startSession(victim.pid, { duration_s: 1, name: texts[0], note: texts.join("\n") });
  let session;
  do session = await (await host.ask("/sessions/" + id)).json(); while (session.state !== "ended");
  for (const [i, text] of texts.entries())
    await change("POST", "/sessions/" + id + "/notes", { from_s: i / 10, to_s: (i + 1) / 10, text });
  await change("PATCH", "/captures/" + session.capture, { title: texts[1], note: texts[0],
    labels: ["<b>", "'\"><iframe>"] });

  const listed =
    "Array.from(document.querySelectorAll('[data-testid=range-note]'), (note) => note.firstElementChild.textContent)";
  const inert = async (page, origin) => {
    assert.equal(
      await page.evaluate(
        "document.querySelectorAll('img, b, iframe, object, embed, script[src], a[href^=javascript], [onload], [onerror]').length",
      ),
      0,
    );
    await page.assertInnocent(origin);
    await page.close();
  };
  const page = await openPage(browser, host.url + "#v=1&session=" + id + ALL_PARTS);
  await page.drawn();
  await page.until(listed + ".length === " + texts.length);
  assert.deepEqual(await page.evaluate(listed), Object.values(WRITTEN));
  await inert(page, host.origin);

  for (const format of ["flamegraph", "heatmap", "diff-markdown&baseline=" + id, "summary", "summary-markdown",
    "collapsed"])
  {
    const answer = await host.ask("/sessions/" + id + "/export?format=" + format);
    const file = await answer.text();
    if (!answer.headers.get("Content-Type").startsWith("text/html")) {
      assert.doesNotMatch(file, /<(img|svg|script)|[\u202e\u009b]/, format);
      continue;
    }
    assert.ok(!file.includes("alert(1)"), format);
    const path = join(data, format.split("&")[0] + ".html");
    writeFileSync(path, file);
    const report = await openPage(browser, "file://" + path + "#v=1" + ALL_PARTS);
    await report.until("/^Report of /.test(" + hook("status") + "?.textContent)");
    if (format === "flamegraph") {
      await report.until(listed + ".length === " + texts.length);
      assert.deepEqual(await report.evaluate(listed), Object.values(WRITTEN));
    }
    await inert(report, null);
  }

  const home = await openPage(browser, host.url);
  await home.until(hook("tabs") + " !== null");
  await home.choose("tabs", "captures");
  await home.until(
    "document.querySelector('[data-testid=capture]')?.textContent.includes(" + JSON.stringify(texts[1]) + ")",
  );
  await inert(home, host.origin);
});
