// The state of the host page as text for the fragment of its URL, and back. Defaults are left out. Version 1:
//   v=1  host=captures  search=TEXT  sort=KEY  up  only  find=TEXT  label=TEXT  on=HOST  age=hour|day|week|month
// The fragment of a session names it (session=ID); one that does not is of the host, where the server has a host page.

export const TABS = ["processes", "sessions", "captures"];
export const PROCESS_SORTS = ["cpu", "memory", "threads", "pid", "command", "python", "user", "container", "uptime"];
export const AGES = ["any", "hour", "day", "week", "month"];

const TEXT_LENGTH_MAX = 200;
const AGE_SECONDS = { hour: 3600, day: 86400, week: 7 * 86400, month: 30 * 86400 };
const ASCENDING_FIRST = new Set(["pid", "command", "python", "user", "container"]);

export function defaultHostAddress() {
  return { host: "processes", search: "", sort: "cpu", up: false, only: false, find: "", label: "", on: "",
    age: "any" };
}

export function formatHostAddress(address) {
  const plain = defaultHostAddress();
  const out = new URLSearchParams({ v: "1" });
  for (const [key, value] of Object.entries(address)) {
    if (value === plain[key]) continue;
    out.set(key, value === true ? "" : String(value));
  }
  return out.toString().replace(/=(?=&|$)/g, "");
}

function knownOr(value, allowed) {
  return allowed.includes(value) ? value : allowed[0];
}

// Whatever is wrong in `text` is left at its default.
export function parseHostAddress(text) {
  const given = new URLSearchParams(text.replace(/^#/, ""));
  const words = (key) => (given.get(key) ?? "").slice(0, TEXT_LENGTH_MAX);
  return {
    host: knownOr(given.get("host"), TABS),
    search: words("search"),
    sort: knownOr(given.get("sort"), PROCESS_SORTS),
    up: given.has("up"),
    only: given.has("only"),
    find: words("find"),
    label: words("label"),
    on: words("on"),
    age: knownOr(given.get("age"), AGES),
  };
}

// Which page a fragment is of: the id of a session, or null.
export function sessionOf(text) {
  return new URLSearchParams(text.replace(/^#/, "")).get("session");
}

// Another press on the same head turns the order around.
export function sortedBy(address, sort) {
  return { sort, up: address.sort === sort ? !address.up : ASCENDING_FIRST.has(sort) };
}

// The question that GET /captures is asked.
export function captureQuery(address, now) {
  const query = new URLSearchParams();
  if (address.find !== "") query.set("search", address.find);
  if (address.on !== "") query.set("host", address.on);
  if (address.label !== "") query.set("label", address.label);
  if (address.age !== "any") query.set("from", String(Math.floor(now / 60000) * 60 - AGE_SECONDS[address.age]));
  return query;
}
