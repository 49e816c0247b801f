// The differential flame graph of a report: reads the embedded comparison, lays it out, and draws frames of at least a pixel.
// Names come from the target and reach the page as text only.

const ROW_PX = 20;
const FRAMES_MAX = 4000;
const LEVELS_MAX = 1000;
const TABLE_ROWS = 50;

const DIFF_TEXT = {
  all: "all",
  verdicts: { same: "not significant", few: "too few samples", more: "more", less: "less", new: "new", gone: "removed" },
  total: "total",
  self: "self",
  points: (number) => number + " pp",
  colour: "Colour by",
  width: "Width",
  widthCurrent: "current",
  widthBaseline: "baseline (includes removed)",
  search: "Search",
  searchLabel: "Search functions and files",
  reset: "Reset zoom",
  theme: "Theme",
  themes: { system: "system", light: "light", dark: "dark" },
  title: "What changed",
  baseline: "Baseline: ",
  current: "Current: ",
  side: (samples, seconds, pid, command) => samples + " samples in " + seconds + " s of process " + pid + ": " + command,
  selected: (text) => " (" + text + ")",
  byTime: "Compared by time rather than by share of samples.",
  bySamples: "Compared by share of samples.",
  legend: { more: "more than the baseline", less: "less than the baseline", same: "not significant, or too few samples (italic)" },
  table: "Paths with the largest change of self time",
  heads: ["Baseline", "Current", "Change", "Certainty", "Result", "Path"],
  none: "No significant change of self time.",
  method: (rate) => "Colours mark significant changes: two-proportion test, false discovery rate " + rate + ". Changes in percentage points (pp).",
  unreadable: (problem) => "This report cannot be read: " + problem,
};

function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

// What cannot be seen, and what turns the direction of writing, is shown as its number.
function visible(text) {
  return text.replace(/[\u0000-\u001f\u007f-\u009f\u200e\u200f\u2028-\u202e\u2066-\u2069]/g, (c) => "\\u" + c.charCodeAt(0).toString(16).padStart(4, "0")).slice(0, 300);
}

async function readData() {
  const packed = Uint8Array.from(atob(document.getElementById("diff-data").textContent.trim()), (c) => c.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Response(stream).json();
}

// Totals of both sides, and children in lists: parents come before children.
function buildTree(data) {
  const { parent, baseSelf, nowSelf } = data.nodes;
  const count = parent.length;
  const base = Float64Array.from(baseSelf);
  const now = Float64Array.from(nowSelf);
  const children = Array.from({ length: count }, () => []);
  for (let id = count - 1; id > 0; id -= 1) {
    base[parent[id]] += base[id];
    now[parent[id]] += now[id];
    children[parent[id]].push(id);
  }
  return { base, now, children };
}

const percent = (share) => (100 * share).toFixed(2) + " %";
const points = (change) => (change >= 0 ? "+" : "") + DIFF_TEXT.points((100 * change).toFixed(2));
const plausible = (q) => (q < 0.0001 ? "q < 0.0001" : "q = " + q.toFixed(4));

function createModel(data) {
  const tree = buildTree(data);
  const { functions, nodes, verdicts } = data;
  const shareOf = (count, side) => (side.all > 0 ? count / side.all : 0);
  const nameOf = (id) => (id === 0 ? DIFF_TEXT.all : visible(functions.name[nodes.function[id]]));
  const fileOf = (id) => (id === 0 ? "" : visible(functions.file[nodes.function[id]]));
  function numbers(id, self) {
    const base = self ? nodes.baseSelf[id] : tree.base[id];
    const now = self ? nodes.nowSelf[id] : tree.now[id];
    const verdict = verdicts[(self ? nodes.selfVerdict : nodes.totalVerdict)[id]];
    const q = (self ? nodes.selfQ : nodes.totalQ)[id];
    return { base, now, q, verdict, baseShare: shareOf(base, data.base), nowShare: shareOf(now, data.now) };
  }
  return { data, tree, nameOf, fileOf, numbers };
}

// Width is the current share of a frame, or its share in the baseline.
function weightOf(model, state, id) {
  return state.gone ? model.numbers(id, false).baseShare : model.numbers(id, false).nowShare;
}

function lookOf(model, state, id) {
  const { verdict, baseShare, nowShare } = model.numbers(id, state.by === "self");
  if (verdict === "same" || verdict === "few" || id === 0) return verdict === "few" ? "few" : "";
  const side = nowShare >= baseShare ? "more" : "less";
  const ratio = Math.abs(nowShare - baseShare) / Math.max(nowShare, baseShare);
  return side + "-" + (ratio < 0.2 ? 1 : ratio < 0.5 ? 2 : 3);
}

// Frames to draw, outermost first: those above the focus over the whole width, then what lies under it.
function layOut(model, state, width) {
  const frames = [];
  const { parent } = model.data.nodes;
  for (let id = state.focus; id !== 0; id = parent[id]) frames.unshift({ id: parent[id], x: 0, width, fade: true });
  frames.forEach((frame, level) => Object.assign(frame, { level }));
  const queue = [{ id: state.focus, x: 0, width, level: frames.length, fade: false }];
  for (let at = 0; at < queue.length && frames.length < FRAMES_MAX; at += 1) {
    const frame = queue[at];
    frames.push(frame);
    const whole = weightOf(model, state, frame.id);
    let { x } = frame;
    const under = model.tree.children[frame.id].filter((id) => weightOf(model, state, id) > 0);
    under.sort((a, b) => (model.nameOf(a) < model.nameOf(b) ? -1 : 1));
    for (const id of under) {
      const part = (frame.width * weightOf(model, state, id)) / whole;
      if (part >= 1 && frame.level < LEVELS_MAX) queue.push({ id, x, width: part, level: frame.level + 1, fade: false });
      x += part;
    }
  }
  return frames;
}

function sentence(model, id) {
  const parts = [];
  for (const [title, self] of [[DIFF_TEXT.total, false], [DIFF_TEXT.self, true]]) {
    const { base, now, q, verdict, baseShare, nowShare } = model.numbers(id, self);
    parts.push(title + ": " + percent(baseShare) + " (" + base + ") → " + percent(nowShare) + " (" + now + "), " + points(nowShare - baseShare) + ", " + DIFF_TEXT.verdicts[verdict] + ", " + plausible(q));
  }
  return parts;
}

function drawFlame(model, state, place, dispatch) {
  const width = Math.max(200, place.clientWidth);
  const frames = layOut(model, state, width);
  const needle = state.search.toLowerCase();
  place.replaceChildren(...frames.map((frame) => {
    const name = model.nameOf(frame.id);
    const look = [lookOf(model, state, frame.id), frame.fade ? "fade" : ""];
    if (needle !== "") look.push((name + " " + model.fileOf(frame.id)).toLowerCase().includes(needle) ? "match" : "other");
    const button = element("button", { type: "button", class: look.filter(Boolean).join(" "), "data-node": frame.id, "aria-label": name + ", " + sentence(model, frame.id).join("; ") }, frame.width > 24 ? name : "");
    button.style.left = frame.x + "px";
    button.style.top = frame.level * ROW_PX + "px";
    button.style.width = frame.width + "px";
    button.addEventListener("click", () => dispatch({ focus: frame.id }));
    button.addEventListener("pointerenter", () => dispatch({ pointed: frame.id }));
    button.addEventListener("focus", () => dispatch({ pointed: frame.id }));
    return button;
  }));
  place.style.height = (frames.reduce((most, frame) => Math.max(most, frame.level), 0) + 1) * ROW_PX + "px";
}

function drawHint(model, id, place) {
  const lines = sentence(model, id).map((text) => element("div", {}, text));
  place.replaceChildren(element("div", {}, element("b", {}, element("bdi", {}, model.nameOf(id))), " ", element("bdi", {}, model.fileOf(id))), ...lines);
}

// The paths whose self share changed most, significant changes only.
function drawTable(model, dispatch) {
  const rows = [];
  for (let id = 1; id < model.data.nodes.parent.length; id += 1) {
    const numbers = model.numbers(id, true);
    if (numbers.verdict !== "same" && numbers.verdict !== "few") rows.push({ id, ...numbers, change: numbers.nowShare - numbers.baseShare });
  }
  rows.sort((a, b) => Math.abs(b.change) - Math.abs(a.change) || a.id - b.id);
  const body = element("tbody");
  for (const row of rows.slice(0, TABLE_ROWS)) {
    const link = element("a", { href: "#" }, element("bdi", {}, model.nameOf(row.id)));
    link.addEventListener("click", (event) => {
      event.preventDefault();
      dispatch({ focus: row.id });
    });
    body.append(element("tr", {},
      element("td", { class: "n" }, percent(row.baseShare)), element("td", { class: "n" }, percent(row.nowShare)),
      element("td", { class: "n " + (row.change > 0 ? "up" : "down") }, points(row.change)), element("td", { class: "n" }, plausible(row.q)),
      element("td", {}, DIFF_TEXT.verdicts[row.verdict]), element("td", {}, link, " ", element("bdi", {}, model.fileOf(row.id)))));
  }
  if (rows.length === 0) return element("p", { class: "note" }, DIFF_TEXT.none);
  const head = element("tr", {}, ...DIFF_TEXT.heads.map((title, i) => element("th", i < 4 ? { class: "n" } : {}, title)));
  return element("table", { class: "rows" }, element("thead", {}, head), body);
}

function choice(type, name, id, label, checked, onChange) {
  const input = element("input", { type, name, id });
  input.checked = checked;
  input.addEventListener("change", () => onChange(input));
  return element("label", {}, input, " ", label);
}

function sideText(side) {
  const { selection, session } = side;
  return DIFF_TEXT.side(side.samples, selection.duration_s.toFixed(2), session.target.pid, visible(session.target.command.join(" "))) + (selection.whole ? "" : DIFF_TEXT.selected(visible(selection.text)));
}

function start(data) {
  const model = createModel(data);
  const state = { focus: 0, by: "total", gone: false, search: "", pointed: 0 };
  const flame = element("div", { class: "flame", "data-testid": "flame" });
  const hint = element("div", { class: "hint", "data-testid": "hint", "aria-live": "polite" });

  function dispatch(change) {
    Object.assign(state, change);
    drawHint(model, state.pointed, hint);
    if (!("pointed" in change)) drawFlame(model, state, flame, dispatch);
  }

  const search = element("input", { type: "search", placeholder: DIFF_TEXT.search, "aria-label": DIFF_TEXT.searchLabel });
  search.addEventListener("input", () => dispatch({ search: search.value }));
  const reset = element("button", { type: "button" }, DIFF_TEXT.reset);
  reset.addEventListener("click", () => dispatch({ focus: 0 }));
  const legend = element("ul", { class: "legend" });
  for (const [look, text] of [["more-3", DIFF_TEXT.legend.more], ["less-3", DIFF_TEXT.legend.less], ["same", DIFF_TEXT.legend.same]]) legend.append(element("li", {}, element("i", { class: look }), text));

  document.body.append(
    element("header", {},
      element("fieldset", {}, element("legend", {}, DIFF_TEXT.colour),
        choice("radio", "by", "by-total", DIFF_TEXT.total, true, () => dispatch({ by: "total" })), choice("radio", "by", "by-self", DIFF_TEXT.self, false, () => dispatch({ by: "self" }))),
      element("fieldset", {}, element("legend", {}, DIFF_TEXT.width),
        choice("radio", "gone", "now", DIFF_TEXT.widthCurrent, true, () => dispatch({ gone: false, focus: 0 })), choice("radio", "gone", "gone", DIFF_TEXT.widthBaseline, false, () => dispatch({ gone: true, focus: 0 }))),
      search, reset,
      element("fieldset", {}, element("legend", {}, DIFF_TEXT.theme),
        ...Object.entries(DIFF_TEXT.themes).map(([theme, label]) => choice("radio", "theme", "theme-" + theme, label, theme === "system", () => {})))),
    element("main", {},
      element("h1", {}, DIFF_TEXT.title),
      element("p", { class: "command" }, element("bdi", {}, DIFF_TEXT.baseline + sideText(data.base)), element("br"), element("bdi", {}, DIFF_TEXT.current + sideText(data.now)), element("br"),
        data.by === "time" ? DIFF_TEXT.byTime : DIFF_TEXT.bySamples),
      legend, flame, hint, element("h2", {}, DIFF_TEXT.table), drawTable(model, dispatch),
      element("p", { class: "note" }, DIFF_TEXT.method(percent(data.maxQ)))));
  window.addEventListener("resize", () => dispatch({}));
  dispatch({});
}

readData().then(start, (problem) => document.body.append(element("p", {}, DIFF_TEXT.unreadable(problem.message))));
