// The stacks that threads of a program that does not exist have, and the states that they are in there.

export const HOSTILE_NAMES = [
  "</script><img src=x onerror=\"document.title='PWNED'\">",
  "__proto__",
  "constructor",
  "<lambda>",
  "",
  "invoice_\u202egnp.exe",
  "half\ud800surrogate",
  "nul\u0000inside",
  "名前_日本語",
  "x".repeat(100000),
];

const STDLIB = "/usr/lib/python3.13/";
const PACKAGES = "/srv/shop/.venv/lib/python3.13/site-packages/";

// [function, file, first line] by name; a stack is a list of names.
export const FUNCTIONS = {
  module: ["<module>", "/srv/shop/app.py", 1],
  main: ["main", "/srv/shop/app.py", 212],
  bootstrap: ["Thread._bootstrap", STDLIB + "threading.py", 1005],
  inner: ["Thread._bootstrap_inner", STDLIB + "threading.py", 1033],
  run: ["Thread.run", STDLIB + "threading.py", 984],
  worker: ["_worker", STDLIB + "concurrent/futures/thread.py", 69],
  item: ["_WorkItem.run", STDLIB + "concurrent/futures/thread.py", 53],
  serve: ["Server.handle", "/srv/shop/server.py", 88],
  dispatch: ["Router.dispatch", PACKAGES + "starlet/routing.py", 301],
  view: ["CheckoutView.post", "/srv/shop/views/checkout.py", 41],
  listing: ["CatalogueView.get", "/srv/shop/views/catalogue.py", 22],
  price: ["price_basket", "/srv/shop/pricing.py", 12],
  discount: ["apply_discounts.<locals>.best", "/srv/shop/pricing.py", 57],
  tax: ["TaxTable.lookup", "/srv/shop/pricing.py", 130],
  query: ["Session.execute", PACKAGES + "sqlkit/orm/session.py", 2101],
  compile: ["Compiler.visit_select", PACKAGES + "sqlkit/sql/compiler.py", 4410],
  fetch: ["Cursor.fetchall", PACKAGES + "sqlkit/engine/cursor.py", 1188],
  render: ["Template.render", PACKAGES + "jinjava/environment.py", 1269],
  escape: ["escape", PACKAGES + "markup/_native.py", 5],
  dumps: ["dumps", STDLIB + "json/__init__.py", 183],
  encode: ["JSONEncoder.iterencode", STDLIB + "json/encoder.py", 205],
  native: ["<native>", "~", 0],
  sorted: ["<native> sorted", "~", 0],
  gc: ["<GC>", "~", 0],
  idle: ["<idle native thread>", "~", 0],
  wait: ["Condition.wait", STDLIB + "threading.py", 327],
  get: ["Queue.get", STDLIB + "queue.py", 154],
  fib: ["fib", "/srv/shop/warmup.py", 7],
  tokens: ["tokens", "/srv/shop/feed/reader.py", 33],
  parse: ["FeedReader.parse", "/srv/shop/feed/reader.py", 71],
  match: ["Scanner.match", PACKAGES + "regexp/scanner.py", 44],
};

const REQUEST = ["bootstrap", "inner", "run", "worker", "item", "serve", "dispatch"];

// The causes for which threads with these stacks wait when they do not run: by the frame before the last; workers without work by that before it.
const WAITS = { fetch: "network read 10.0.0.5:5432", get: "idle worker", wait: "queue or condition", parse: "disk",
  main: "event loop" };

// [weight, from second, stack]
export const WEB = [
  [16, 0, [...REQUEST, "view", "price", "discount"]],
  [7, 0, [...REQUEST, "view", "price", "discount", "sorted"]],
  [9, 0, [...REQUEST, "view", "price", "tax"]],
  [4, 0, [...REQUEST, "view", "price"]],
  [6, 0, [...REQUEST, "view", "query", "compile"]],
  [11, 0, [...REQUEST, "view", "query", "fetch", "native"]],
  [8, 0, [...REQUEST, "listing", "query", "fetch", "native"]],
  [3, 0, [...REQUEST, "listing", "query", "compile"]],
  [9, 2, [...REQUEST, "listing", "render", "escape"]],
  [5, 2, [...REQUEST, "listing", "render"]],
  [6, 4, [...REQUEST, "listing", "dumps", "encode"]],
  [2, 0, [...REQUEST, "listing", "gc"]],
  [10, 0, ["bootstrap", "inner", "run", "worker", "get", "wait", "native"]],
];

export const FEED = [
  [20, 0, ["bootstrap", "inner", "run", "parse", "tokens", "match"]],
  [12, 0, ["bootstrap", "inner", "run", "parse", "tokens"]],
  [6, 0, ["bootstrap", "inner", "run", "parse", "native"]],
  [30, 0, ["bootstrap", "inner", "run", "get", "wait", "native"]],
];

export const MAIN = [
  [30, 0, ["module", "main", "wait", "native"]],
  [4, 1, ["module", "main", "fib"]],
];

// State bits, as on the wire.
export const ON_CPU = 1;
const HAS_GIL = 2;
const WAITS_GIL = 4;
const IN_GC = 8;
const HAS_EXCEPTION = 32;
export const UNKNOWN_ON_CPU = 256;
const UNKNOWN_WAITS_GIL = 1024;
const UNKNOWN_IN_NATIVE = 4096;
const UNKNOWN_HAS_EXCEPTION = 8192;

// The state of a thread with this stack; one in three that run Python has the lock.
export function madeUpState(names, random, facts) {
  const leaf = names.at(-1);
  const luck = random();
  const rest = UNKNOWN_IN_NATIVE | (facts.exceptions ? 0 : UNKNOWN_HAS_EXCEPTION)
    | (facts.waits ? 0 : UNKNOWN_WAITS_GIL);
  if (leaf === "native" || leaf === "wait" || leaf === "idle")
    return rest | (luck < 0.004 ? UNKNOWN_ON_CPU : luck < 0.02 ? ON_CPU : 0);
  if (leaf === "gc") return rest | ON_CPU | HAS_GIL | IN_GC;
  const handles = facts.exceptions && leaf === "discount" && luck > 0.9 ? HAS_EXCEPTION : 0;
  return rest | handles
    | (luck < 0.35 ? ON_CPU | HAS_GIL : luck < 0.39 ? HAS_GIL : luck < 0.45 ? ON_CPU : facts.waits ? WAITS_GIL : 0);
}

// The mark at the end of such a stack in that state; null: it has none.
export function waitMark(names, state) {
  // The deep stack.
  if (names.length === 1 && names[0] === "fib") return null;
  if (state & WAITS_GIL) return "GIL";
  if (state & (ON_CPU | HAS_GIL | UNKNOWN_ON_CPU)) return null;
  const waits = names.at(-1) === "native" ? names.slice(0, -1) : names;
  return WAITS[waits.at(-1) === "wait" ? waits.at(-2) : waits.at(-1)] ?? null;
}
