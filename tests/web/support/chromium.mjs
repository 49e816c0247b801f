// A headless Chromium, spoken to over a pipe: enough of the DevTools protocol to open, press, type and read.

import { spawn } from "node:child_process";
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const PATHS = [process.env.CHROMIUM, "/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"];
const FLAGS = [
  "--headless",
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
  "--remote-debugging-pipe",
  "--hide-scrollbars",
];

export function findChromium() {
  return PATHS.find((path) => path && existsSync(path)) ?? null;
}

// axe-core, which scripts/get-consumers brings, or null.
export function findAxe() {
  const folder = process.env.PYROMETER_CONSUMERS ?? fileURLToPath(new URL("../../../.consumers", import.meta.url));
  const path = join(folder, "node_modules/axe-core/axe.min.js");
  return existsSync(path) ? path : null;
}

export const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

export async function launchChromium(size = { width: 1440, height: 900 }) {
  const profile = mkdtempSync(join(tmpdir(), "pyrometer-chromium-"));
  const child = spawn(findChromium(), [...FLAGS, "--user-data-dir=" + profile,
    "--window-size=" + size.width + "," + size.height, "about:blank"], {
    stdio: ["ignore", "ignore", "ignore", "pipe", "pipe"],
  });
  const waiting = new Map();
  const listeners = [];
  let next = 1;
  let rest = "";
  child.stdio[4].setEncoding("utf8").on("data", (chunk) => {
    const parts = (rest + chunk).split("\0");
    rest = parts.pop();
    for (const part of parts) {
      const message = JSON.parse(part);
      if (message.id === undefined) { for (const listener of listeners) listener(message); }
      else {
        const { resolve, reject } = waiting.get(message.id);
        waiting.delete(message.id);
        if (message.error) reject(new Error(message.error.message));
        else resolve(message.result);
      }
    }
  });
  function send(method, params = {}, sessionId = undefined) {
    const id = next++;
    child.stdio[3].write(JSON.stringify({ id, method, params, sessionId }) + "\0");
    return new Promise((resolve, reject) => waiting.set(id, { resolve, reject }));
  }
  return {
    open: (url, options = {}) => openPage(send, listeners, url, { ...size, ...options }),
    async close() {
      const gone = new Promise((resolve) => child.once("exit", resolve));
      send("Browser.close").catch(() => {});
      await Promise.race([gone, pause(5000)]);
      child.kill("SIGKILL");
      await gone;
      rmSync(profile, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 });
    },
  };
}

// stranger: with cookies and storage of its own, as another person's browser.
async function openPage(send, listeners, url, { width, height, dark = false, mobile = false, stranger = false }) {
  const context = stranger ? await send("Target.createBrowserContext", { disposeOnDetach: true }) : {};
  const { targetId } = await send("Target.createTarget", { url: "about:blank", ...context });
  const { sessionId } = await send("Target.attachToTarget", { targetId, flatten: true });
  const call = (method, params) => send(method, params, sessionId);
  const said = [];
  listeners.push((message) => {
    if (message.sessionId !== sessionId) return;
    const { method, params } = message;
    if (method === "Runtime.consoleAPICalled")
      said.push(params.type + ": " + params.args.map((arg) => arg.value ?? arg.description).join(" "));
    if (method === "Runtime.exceptionThrown")
      said.push("exception: " + (params.exceptionDetails.exception?.description ?? params.exceptionDetails.text));
    if (method === "Log.entryAdded")
      said.push(params.entry.level + ": " + params.entry.text + " " + (params.entry.url ?? ""));
  });
  await Promise.all([call("Runtime.enable"), call("Log.enable"), call("Page.enable")]);
  await call("Emulation.setDeviceMetricsOverride", { width, height, deviceScaleFactor: 1, mobile });
  await call("Emulation.setEmulatedMedia", {
    features: [{ name: "prefers-color-scheme", value: dark ? "dark" : "light" }],
  });
  await call("Page.navigate", { url });

  async function evaluate(source) {
    const { result, exceptionDetails } = await call("Runtime.evaluate", { expression: source, awaitPromise: true,
      returnByValue: true });
    if (exceptionDetails) throw new Error(exceptionDetails.exception?.description ?? exceptionDetails.text);
    return result.value;
  }

  return {
    said,
    evaluate,
    call,
    // Waits until the expression is true, and gives its value. A page that is just being left has no answer yet.
    async until(source, ms = 30000) {
      const deadline = Date.now() + ms;
      for (;;) {
        const value = await evaluate(source).catch((problem) => {
          if (!/navigated or closed|context was destroyed|default execution context/.test(problem.message))
            throw problem;
          return false;
        });
        if (value) return value;
        if (Date.now() > deadline) throw new Error("never true: " + source);
        await pause(50);
      }
    },
    async press(key, code = 0) {
      const text = key.length === 1 ? key : key === "Enter" ? "\r" : undefined;
      const common = { key, windowsVirtualKeyCode: code
        || (key.length === 1
          ? key.toUpperCase().charCodeAt(0)
          : { Enter: 13, Escape: 27, ArrowUp: 38, ArrowDown: 40, ArrowLeft: 37, ArrowRight: 39, Tab: 9 }[key]) };
      await call("Input.dispatchKeyEvent", { type: "keyDown", text, ...common });
      await call("Input.dispatchKeyEvent", { type: "keyUp", ...common });
    },
    async type(text) {
      await call("Input.insertText", { text });
    },
    async point(x, y, click = false) {
      await call("Input.dispatchMouseEvent", { type: "mouseMoved", x, y });
      if (!click) return;
      await call("Input.dispatchMouseEvent", { type: "mousePressed", x, y, button: "left", clickCount: 1 });
      await call("Input.dispatchMouseEvent", { type: "mouseReleased", x, y, button: "left", clickCount: 1 });
    },
    async shot(path) {
      const { data } = await call("Page.captureScreenshot", { format: "png" });
      writeFileSync(path, Buffer.from(data, "base64"));
    },
    dark: (on) =>
      call("Emulation.setEmulatedMedia", {
        features: [{ name: "prefers-color-scheme", value: on ? "dark" : "light" }],
      }),
    resize: (w, h) =>
      call("Emulation.setDeviceMetricsOverride", { width: w, height: h, deviceScaleFactor: 1, mobile: false }),
    close: () => call("Page.close").catch(() => {}),
  };
}
