// How long the page takes: node tests/bench/page.mjs URL ROUNDS -> one line of JSON, milliseconds by what was done.
// Each is the time from the event to the first frame of the browser that shows its effect, of a page at rest; the median of the rounds.

import { launchChromium, pause } from "../web/support/chromium.mjs";

const WAIT_MS = 120000;
// Work that an action leaves for later, such as what stands beside a chart, is done by then.
const REST_MS = 150;
const FRAMES = "document.querySelectorAll('g.frame')";

// Runs before anything of the page does.
const WATCH = `
  const check = () => document.querySelectorAll("g.frame").length > 2 ? globalThis.firstFrame = performance.now() : requestAnimationFrame(check);
  requestAnimationFrame(check);
  const painted = (done) => new Promise((shown, failed) => {
    const late = performance.now() + 20000;
    // Asked once a frame is drawn, so that what any callback of that frame did counts; the next one shows that it was.
    const check = () => {
      if (done()) requestAnimationFrame(() => shown());
      else if (performance.now() > late) failed(new Error("never shown: " + done));
      else requestAnimationFrame(() => setTimeout(check, 0));
    };
    check();
  });
  globalThis.took = async (act, done) => {
    const from = performance.now();
    act();
    await painted(done);
    return performance.now() - from;
  };
  // After what only prepares an action.
  globalThis.prepare = async (act, done) => {
    await took(act, done);
    await new Promise((rested) => setTimeout(rested, ` + REST_MS + `));
  };
  globalThis.choose = (group, value) => hook(group).querySelector("[data-value=" + value + "]").click();
  globalThis.tall = (element) => element !== null && element !== undefined && element.getBoundingClientRect().height > 0;
  globalThis.frameNames = () => Array.from(document.querySelectorAll("g.frame"), (g) => g.getAttribute("name")).sort().join();
  globalThis.shown = () => hook("drawing-note").textContent;
  globalThis.hook = (id) => document.querySelector("[data-testid=" + id + "]");
  globalThis.widest = (nth) => Array.from(document.querySelectorAll("g.frame")).filter((g) => !g.classList.contains('remainder'))
    .map((g) => [g, g.querySelector("rect").getBoundingClientRect()]).filter(([, at]) => at.top < innerHeight - 60)
    .sort(([, a], [, b]) => b.width - a.width)[nth];
`;

// Each gives milliseconds and leaves the page as it was.
const ACTIONS = {
  hover: `(async () => {
    const [g, at] = widest(3 + round % 3);
    const ms = await took(() => g.querySelector("rect").dispatchEvent(new PointerEvent("pointermove", { bubbles: true, clientX: at.x + at.width / 2, clientY: at.y + at.height / 2, pointerType: "mouse" })), () => hook("details-name") !== null);
    hook("flame").dispatchEvent(new PointerEvent("pointerleave"));
    await took(() => {}, () => hook("details-name") === null);
    return ms;
  })()`,
  zoom: `(async () => {
    const [g] = widest(2 + round % 3);
    const before = location.hash;
    const ms = await took(() => g.dispatchEvent(new MouseEvent("click", { bubbles: true })), () => location.hash !== before && hook("zoom-reset") !== null);
    history.back();
    await took(() => {}, () => location.hash === before);
    return ms;
  })()`,
  search: `(async () => {
    const box = hook("search");
    const type = (text) => { box.value = text; box.dispatchEvent(new Event("input", { bubbles: true })); };
    const ms = await took(() => type("function_" + (11 + round)), () => hook("matched").textContent.endsWith("%") && document.querySelector("g.frame.other, g.frame.match") !== null);
    await took(() => type(""), () => document.querySelector("g.frame.other, g.frame.match") === null);
    return ms;
  })()`,
  invert: `(async () => {
    const before = frameNames();
    const ms = await took(() => choose("direction", "up"), () => frameNames() !== before);
    await took(() => choose("direction", "down"), () => frameNames() === before);
    return ms;
  })()`,
  table: `(async () => {
    const ms = await took(() => choose("view", "table"), () => tall(document.querySelector(".functions tbody tr")));
    await took(() => choose("view", "flame"), () => tall(hook("flame")));
    return ms;
  })()`,
  sort: `(async () => {
    await prepare(() => choose("view", "table"), () => tall(document.querySelector(".functions tbody tr")));
    const order = () => Array.from(document.querySelectorAll(".functions tbody .row-name"), (name) => name.textContent).join();
    const before = order();
    const ms = await took(() => hook("sort-name").click(), () => order() !== before);
    await took(() => hook("sort-self").click(), () => order() === before);
    await took(() => choose("view", "flame"), () => tall(hook("flame")));
    return ms;
  })()`,
  sandwich: `(async () => {
    const before = location.hash;
    await prepare(() => widest(2 + round % 3)[0].dispatchEvent(new MouseEvent("click", { bubbles: true })), () => hook("open-sandwich") !== null);
    const ms = await took(() => hook("open-sandwich").click(), () => tall(hook("sandwich-callees")) && hook("sandwich-callees").querySelectorAll("g.frame").length > 0);
    history.go(-2);
    await took(() => {}, () => location.hash === before && tall(hook("flame")));
    return ms;
  })()`,
  source: `(async () => {
    const ms = await took(() => choose("view", "source"), () => tall(hook("source-files")));
    await took(() => choose("view", "flame"), () => tall(hook("flame")));
    return ms;
  })()`,
  stacks: `(async () => {
    const ms = await took(() => choose("view", "stacks"), () => tall(hook("stacks")) && hook("stacks").height > 30);
    await took(() => choose("view", "flame"), () => tall(hook("flame")));
    return ms;
  })()`,
  stack_zoom: `(async () => {
    await prepare(() => choose("view", "stacks"), () => tall(hook("stacks")) && hook("stacks").height > 30);
    const span = () => document.querySelector(".stacks-span").textContent;
    const before = span();
    const at = hook("stacks").getBoundingClientRect();
    const ms = await took(() => hook("stacks").dispatchEvent(new WheelEvent("wheel", { bubbles: true, cancelable: true, deltaY: -120, clientX: at.x + 300, clientY: at.y + 40 })), () => span() !== before);
    await took(() => choose("view", "flame"), () => tall(hook("flame")));
    return ms;
  })()`,
  tree: `(async () => {
    const ms = await took(() => hook("as-table-flame-open").click(), () => hook("call-tree")?.querySelector("tbody tr .tree-name")?.textContent && tall(hook("call-tree")));
    await took(() => hook("as-table-flame-open").click(), () => !tall(hook("call-tree")));
    return ms;
  })()`,
  line: `(async () => {
    const before = frameNames();
    const ms = await took(() => choose("grouping", "line"), () => frameNames() !== before);
    await took(() => choose("grouping", "function"), () => frameNames() === before);
    return ms;
  })()`,
  hide: `(async () => {
    const before = frameNames();
    const box = hook("filter-input");
    box.value = "hide function_" + (1 + round);
    const ms = await took(() => box.dispatchEvent(new KeyboardEvent("keydown", { key: "Enter", bubbles: true })), () => frameNames() !== before);
    history.back();
    await took(() => {}, () => frameNames() === before);
    return ms;
  })()`,
  thread: `(async () => {
    if (!tall(document.querySelector("[data-testid=thread]"))) await prepare(() => hook("threads").click(), () => tall(document.querySelector("[data-testid=thread]")));
    const before = shown();
    const ms = await took(() => document.querySelectorAll("[data-testid=thread] input")[round % 2].click(), () => shown() !== before);
    history.back();
    await took(() => {}, () => shown() === before);
    document.querySelector(":popover-open")?.hidePopover();
    return ms;
  })()`,
  range: `(async () => {
    const before = shown();
    const ms = await took(() => hook("strip").dispatchEvent(new KeyboardEvent("keydown", { key: "ArrowLeft", bubbles: true })), () => shown() !== before);
    await took(() => hook("strip").dispatchEvent(new KeyboardEvent("keydown", { key: "Escape", bubbles: true })), () => shown() === before);
    return ms;
  })()`,
};

function median(values) {
  return values.sort((a, b) => a - b)[Math.floor(values.length / 2)];
}

async function open(browser, url) {
  const page = await browser.open("about:blank");
  await page.call("Page.addScriptToEvaluateOnNewDocument", { source: WATCH });
  await page.call("Page.navigate", { url });
  await page.until("globalThis.firstFrame > 0", WAIT_MS);
  return page;
}

const [url, rounds = "3"] = process.argv.slice(2);
const browser = await launchChromium();
const taken = { first: [], ...Object.fromEntries(Object.keys(ACTIONS).map((name) => [name, []])) };
try {
  for (let round = 0; round < Number(rounds); round += 1) {
    const page = await open(browser, url);
    taken.first.push(await page.evaluate("firstFrame"));
    // The first time is not what people wait for again and again.
    for (let again = 0; again < 2; again += 1) {
      for (const [name, action] of Object.entries(ACTIONS)) {
        await pause(REST_MS);
        const ms = await page.evaluate("(() => { const round = " + (2 * round + again) + "; return " + action + "; })()");
        if (again === 1) taken[name].push(ms);
        else (taken[name + "_once"] ??= []).push(ms);
      }
    }
    // Made-up places have no source to show.
    const said = page.said.filter((line) => !line.includes("/source?"));
    if (said.length > 0) throw new Error(said.join("\n"));
    await page.close();
  }
  console.log(JSON.stringify(Object.fromEntries(Object.entries(taken).map(([name, values]) => [name, Math.round(median(values))]))));
} finally {
  await browser.close();
}
