// Charts as rows of a table, for those who do not see them or want the numbers: {columns, rows, caption}. A column is text,
// or {label, number: true}; a row {level, name, place, id, cells}, where `name` is what the row is of and is text of the
// target, and `id`, if any, is what the chart calls it.

import { DOING_LABELS } from "./doings.js";
import { HEAT_MEASURES, heatColumn } from "./heatmap.js";
import { matchedShare } from "./matches.js";
import { formatCount, formatShare, isKnown, ratio } from "./numbers.js";
import { STATE_DOINGS } from "./states.js";
import { timeLabel } from "./timeline.js";

export const ROWS_SHOWN_MAX = 400;
const SPANS_MAX = 60;
const LANE_SPANS_MAX = 12;
const RUNNING = ["holds_gil", "on_cpu"].map((doing) => STATE_DOINGS.indexOf(doing));

const numbered = (label) => ({ label, number: true });

// The heaviest frames of a drawing in the order of the stacks: [{frame, level}]. The root and remainders are among them.
function heaviestFrames(drawing) {
  const all = [];
  const stack = [{ frame: drawing.root, level: 0 }];
  while (stack.length > 0) {
    const entry = stack.pop();
    all.push(entry);
    for (const child of entry.frame.children.slice().reverse()) stack.push({ frame: child, level: entry.level + 1 });
  }
  // Of equals the first, so that none is without the one it stands on.
  const heaviest = all.map((_, i) => i).sort((a, b) => all[b].frame.value - all[a].frame.value || a - b).slice(0, ROWS_SHOWN_MAX);
  return { shown: heaviest.sort((a, b) => a - b).map((i) => all[i]), count: all.length };
}

function frameRows(drawing, what, columns, cellsOf) {
  const { shown, count } = heaviestFrames(drawing);
  const rows = shown.map(({ frame, level }) => ({ level, name: frame.label, id: frame.remainder ? frame.of : frame.id, cells: cellsOf(frame) }));
  const some = count > shown.length ? "The " + formatCount(shown.length) + " heaviest of " + formatCount(count) + " frames" : formatCount(count) + (count === 1 ? " frame" : " frames");
  return { columns: [numbered("Level"), "Frame", ...columns], rows, caption: some + " of " + what + ", in the order of the stacks" };
}

const SHARES = [numbered("Total"), numbered("Samples"), numbered("Own"), numbered("Own samples")];
const sharesOf = (sum) => ({ total, self }) => [formatShare(ratio(total, sum)), formatCount(total), formatShare(ratio(self, sum)), formatCount(self)];

// A flame graph: percentages are of `sum`.
export function flameRows(drawing, sum) {
  const table = frameRows(drawing, "the flame graph", SHARES, sharesOf(sum));
  return { ...table, caption: table.caption + "; percent of " + formatCount(sum) + " samples." };
}

// Callers and callees of one function, one side behind the other.
export function sandwichRows(sandwich, sum) {
  const sides = ["callers", "callees"].filter((side) => sandwich[side] !== null).map((side) => ({ side, ...frameRows(sandwich[side], side, SHARES, sharesOf(sum)) }));
  const rows = sides.flatMap(({ side, rows: own }) => own.map((row) => ({ ...row, side, cells: [side === "callers" ? "caller" : "callee", ...row.cells] })));
  const captions = sides.map(({ caption }) => caption);
  return { columns: [numbered("Level"), "Function", "Side", ...SHARES], rows, caption: captions.join("; ") + "; percent of " + formatCount(sum) + " samples. Level 0 is the function itself." };
}

// Stacks that held the GIL; `secondsText(samples)` is how long others waited.
export function gilRows(drawing, kept, secondsText) {
  const columns = [numbered("Others waited"), numbered("Share")];
  const table = frameRows(drawing, "the stacks that held the GIL", columns, (frame) => [secondsText(frame.total), formatShare(ratio(frame.total, kept))]);
  return { ...table, caption: table.caption + "; percent of all that was waited." };
}

// `verdicts`: words by verdict.
export function diffRows(diff, verdicts) {
  const points = (change) => (change > 0 ? "+" : change < 0 ? "−" : "") + formatShare(Math.abs(change)).replace(" %", " pp").replace("< ", "");
  const cellsOf = ({ base, now, verdict }) => (isKnown(base) ? [formatShare(base), formatShare(now), points(now - base), verdicts[verdict]] : ["", "", "", ""]);
  const table = frameRows(diff.drawing, "both together", [numbered("Base"), numbered("Now"), numbered("Change"), "Verdict"], cellsOf);
  return { ...table, caption: table.caption + "; percent of the samples of each, changes in percentage points (pp)." };
}

// Neighbouring slots put together, so that there are at most `most`: [{start, end, samples, doing, inGc}]
function joinedSlots(slots, most) {
  const each = Math.max(1, Math.ceil(slots.length / most));
  const joined = [];
  for (let at = 0; at < slots.length; at += each) {
    const part = slots.slice(at, at + each);
    const sum = (valueOf) => part.reduce((all, slot) => all + valueOf(slot), 0);
    joined.push({ start: part[0].start, end: part[part.length - 1].end, samples: sum((slot) => slot.samples), doing: STATE_DOINGS.map((_, doing) => sum((slot) => slot.doing[doing])), inGc: sum((slot) => slot.inGc) });
  }
  return joined;
}

// Times as far as they are told apart.
function spanText({ start, end }) {
  const step = end - start < 1 || start % 1 !== 0 ? 0.25 : 1;
  return timeLabel(start, step) + " – " + timeLabel(end, step);
}

// The strip of time.
export function stripRows(timeline, span) {
  const slots = joinedSlots(timeline.slots.filter((slot) => slot.end > span.from && slot.start < span.to), SPANS_MAX);
  const rows = slots.map((slot) => ({
    level: 0, name: spanText(slot), cells: [formatCount(slot.samples), ...DOING_LABELS.map(({ key }) => formatShare(ratio(slot.doing[STATE_DOINGS.indexOf(key)], slot.samples))), formatShare(ratio(slot.inGc, slot.samples))],
  }));
  return { columns: ["Time", numbered("Samples"), ...DOING_LABELS.map(({ label }) => numbered(label[0].toUpperCase() + label.slice(1))), numbered("Collecting garbage")], rows, caption: "What the threads were doing along time; percent of the samples of each row." };
}

// Threads along time: how much of each span they ran. lanes: [{name, place, timeline}]
export function laneRows(lanes, span) {
  const step = (span.to - span.from) / LANE_SPANS_MAX;
  const spans = Array.from({ length: LANE_SPANS_MAX }, (_, i) => ({ start: span.from + i * step, end: span.from + (i + 1) * step }));
  const ran = (timeline, { start, end }) => {
    const slots = timeline.slots.filter((slot) => slot.start >= start - 1e-9 && slot.start < end - 1e-9);
    const sum = (valueOf) => slots.reduce((all, slot) => all + valueOf(slot), 0);
    return formatShare(ratio(sum((slot) => RUNNING.reduce((all, doing) => all + slot.doing[doing], 0)), sum((slot) => slot.samples)));
  };
  const rows = lanes.map(({ name, timeline }) => ({ level: 0, name, cells: spans.map((one) => ran(timeline, one)) }));
  return { columns: ["Thread", ...spans.map((one) => numbered(spanText(one)))], rows, caption: "How much of its samples each thread held the GIL or was on a CPU." };
}

// The heat map: a row a second, the latest of many; with a search, how many samples of its windows match.
export function heatRows(heat, matches = null) {
  const seconds = Array.from(heat.columns.keys()).sort((a, b) => a - b).slice(-ROWS_SHOWN_MAX);
  const rows = seconds.map((second) => {
    const sums = HEAT_MEASURES.map(({ key }) => heatColumn(heat, second, key).reduce((all, count) => all + count, 0));
    const running = heatColumn(heat, second, HEAT_MEASURES[0].key);
    const most = Math.max(...running);
    return { level: 0, name: timeLabel(second), cells: [...sums.map(formatCount), most === 0 ? "" : formatCount(most), most === 0 ? "" : Math.round((running.indexOf(most) * 1000) / heat.bins) + " ms", ...(matches === null ? [] : [formatShare(matchedShare(matches, { from: second, to: second + 1 }))])] };
  });
  const columns = ["Second", ...HEAT_MEASURES.map(({ label }) => numbered(label)), numbered("Most in 20 ms"), numbered("From"), ...(matches === null ? [] : [numbered("Search matches")])];
  return { columns, rows, caption: "Samples of each second, by what the threads did; behind them the 20 ms in which most ran." };
}
