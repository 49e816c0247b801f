// Charts as rows of a table: {columns, rows, caption}. A column is text,
// or {label, number: true}. A row is {level, name, place, id, cells}: `name` is text of the target,
// `id`, if any, is the id in the chart.

import { CHART_TEXT } from "../../text/charts.js";
import { TEXT } from "../../text/session.js";
import { formatBytes, formatCount, formatDuration, formatShare, ratio } from "../base/numbers.js";
import { NEEDS_GIL, RUNNING } from "../profile/parts.js";
import { PART_LABELS } from "../threads/activity.js";
import { HEAT_MEASURES, heatColumn } from "../time/heatmap.js";
import { matchedShare } from "../time/matches.js";
import { timeLabel } from "../time/timeline.js";
import { fineTime } from "./stack-span.js";

export const ROWS_SHOWN_MAX = 400;
const RUN_STEP_S = 0.001;
const SPANS_MAX = 60;
const LANE_SPANS_MAX = 12;

const numbered = (label) => ({ label, number: true });

// The heaviest frames of a drawing in the order of the stacks: [{frame, level}]. The root and remainders are among them.
function heaviestFrames(drawing) {
  const all = [];
  const stack = [{ frame: drawing.root, level: 0 }];
  for (let entry = stack.pop(); entry !== undefined; entry = stack.pop()) {
    all.push(entry);
    for (const child of entry.frame.children.slice().reverse()) stack.push({ frame: child, level: entry.level + 1 });
  }
  // The first of equals, so that none is without the one it stands on.
  const heaviest = all.map((_, i) => i).sort((a, b) => all[b].frame.value - all[a].frame.value || a - b).slice(0,
    ROWS_SHOWN_MAX);
  return { shown: heaviest.sort((a, b) => a - b).map((i) => all[i]), count: all.length };
}

function frameRows(drawing, what, columns, cellsOf) {
  const { shown, count } = heaviestFrames(drawing);
  const rows = shown.map(({ frame, level }) => ({ level, name: frame.label, id: frame.remainder ? frame.of : frame.id,
    cells: cellsOf(frame) })
  );
  const some = count > shown.length
    ? TEXT.asTable.heaviest(formatCount(shown.length), formatCount(count))
    : TEXT.asTable.frames(formatCount(count));
  return { columns: [numbered(TEXT.asTable.level), TEXT.asTable.frame, ...columns], rows,
    caption: TEXT.asTable.caption(some, what) };
}

const SHARES = TEXT.asTable.shares.map(numbered);
const sharesOf =
  ({ sum, amountText }) => ({ total, self }) => [formatShare(ratio(total, sum)), amountText(total),
    formatShare(ratio(self, sum)), amountText(self)];

// The runs of a stack chart within a span: the longest, in the order of time.
export function stackRows({ layout: { shown, runs, grouping }, faceOf }, span) {
  const within = Array.from(shown).filter((i) => runs.end[i] > span.from && runs.start[i] < span.to);
  const length = (i) => runs.end[i] - runs.start[i];
  const longest = within.slice().sort((a, b) => length(b) - length(a) || a - b).slice(0, ROWS_SHOWN_MAX).sort((a, b) =>
    a - b
  );
  const rows = longest.map((i) => {
    const group = grouping.groupOfNode.values[runs.node[i]];
    return { level: grouping.depth.values[group], name: faceOf(group).label, id: group,
      cells: [fineTime(runs.start[i], RUN_STEP_S), formatDuration(length(i)), PART_LABELS[runs.part[i]].label,
        runs.ordered[i] ? CHART_TEXT.table.yes : CHART_TEXT.table.no] };
  });
  const [name, ...columns] = CHART_TEXT.table.columns;
  return { columns: [numbered(TEXT.asTable.level), name, ...columns.map(numbered)], rows,
    caption: CHART_TEXT.table.caption(formatCount(rows.length), formatCount(within.length)) };
}

// Callers and callees of one function, one side behind the other.
export function sandwichRows({ sandwich, sum, amountText }) {
  const sides = ["callers", "callees"].filter((side) => sandwich[side] !== null).map((side) => ({ side,
    ...frameRows(sandwich[side], TEXT.asTable.ofSides[side], SHARES, sharesOf({ sum, amountText })) })
  );
  const rows = sides.flatMap(({ side, rows: shown }) =>
    shown.map((row) => ({ ...row, side, cells: [TEXT.asTable.sides[side], ...row.cells] }))
  );
  const captions = sides.map(({ caption }) => caption);
  return { columns: [numbered(TEXT.asTable.level), TEXT.asTable.function, TEXT.asTable.side, ...SHARES], rows,
    caption: captions.join("; ") + TEXT.asTable.percentOf(amountText(sum)) + TEXT.asTable.levelZero };
}

// Stacks that held the GIL; `secondsText(samples)` is how long others waited.
export function gilRows(drawing, caused, secondsText) {
  const columns = TEXT.asTable.gilColumns.map(numbered);
  const table = frameRows(drawing, TEXT.asTable.ofGil, columns,
    (frame) => [secondsText(frame.total), formatShare(ratio(frame.total, caused))]);
  return { ...table, caption: table.caption + TEXT.asTable.percentOfWaits };
}

// A comparison: the frames of both sides.
export function diffRows(diff) {
  const points = (change) =>
    (change > 0 ? "+" : change < 0 ? "−" : "") + formatShare(Math.abs(change)).replace(" %", " pp").replace("< ", "");
  const cellsOf = (
    { baselineShare, currentShare, verdict },
  ) => [formatShare(baselineShare), formatShare(currentShare), points(currentShare - baselineShare),
    TEXT.compare.verdicts[verdict]];
  const rowCells = (
    { changes },
  ) => (changes === undefined ? Array(8).fill("") : [...cellsOf(changes.total), ...cellsOf(changes.self)]);
  const columns = [TEXT.table.total, TEXT.table.self].flatMap((
    number,
  ) => [...TEXT.asTable.diffColumns.map((label) => numbered(number + ", " + label)),
    number + ", " + TEXT.asTable.result]
  );
  const table = frameRows(diff.drawing, TEXT.asTable.ofBoth, columns, rowCells);
  return { ...table, caption: table.caption + TEXT.asTable.percentOfEach };
}

// Neighbouring slots put together, so that there are at most `most`: [{start, end, samples, parts, inGc}]
function joinedSlots(slots, most) {
  const each = Math.max(1, Math.ceil(slots.length / most));
  const joined = [];
  for (let at = 0; at < slots.length; at += each) {
    const part = slots.slice(at, at + each);
    const sum = (valueOf) => part.reduce((all, slot) => all + valueOf(slot), 0);
    joined.push({ start: part[0].start, end: part[part.length - 1].end, samples: sum((slot) => slot.samples),
      parts: PART_LABELS.map((_, at) => sum((slot) => slot.parts[at])), inGc: sum((slot) => slot.inGc) });
  }
  return joined;
}

// Times as far as they are distinguished, with as many digits in all spans.
function spanTexts(spans) {
  const step = spans.some(({ start, end }) => start % 1 !== 0 || end % 1 !== 0) ? 0.25 : 1;
  return spans.map(({ start, end }) => timeLabel(start, step) + " – " + timeLabel(end, step));
}

// The timeline. `isWaitUnknown`: nobody knows who waited for the GIL.
export function stripRows(timeline, span, isWaitUnknown = false) {
  const shareOf = (slot, part) => (part === NEEDS_GIL && isWaitUnknown ? NaN : ratio(slot.parts[part], slot.samples));
  const slots = joinedSlots(timeline.slots.filter((slot) => slot.end > span.from && slot.start < span.to), SPANS_MAX);
  const names = spanTexts(slots);
  const rows = slots.map((slot, i) => ({
    level: 0,
    name: names[i],
    cells: [formatCount(slot.samples), ...PART_LABELS.map((_, part) => formatShare(shareOf(slot, part))),
      formatShare(ratio(slot.inGc, slot.samples))],
  }));
  return {
    columns: [TEXT.asTable.time, numbered(TEXT.asTable.shares[1]),
      ...PART_LABELS.map(({ label }) => numbered(label[0].toUpperCase() + label.slice(1))),
      numbered(TEXT.asTable.inGc)],
    rows,
    caption: TEXT.asTable.stripCaption,
  };
}

// The memory: of all processes, and of each that has a row.
export function memoryRows({ slots, processes, others }, span) {
  const shown = slots.map((slot, i) => ({ ...slot, of: processes.map(({ rss }) => rss[i]) }))
    .filter(({ start, end }) => end > span.from && start < span.to);
  const each = Math.max(1, Math.ceil(shown.length / SPANS_MAX));
  const spans = Array.from({ length: Math.ceil(shown.length / each) }, (_, i) => shown.slice(i * each, (i + 1) * each));
  const names = spanTexts(spans.map((part) => ({ start: part[0].start, end: part[part.length - 1].end })));
  const rows = spans.map((part, i) => {
    const last = part[part.length - 1];
    const sum = (valueOf) => part.reduce((all, slot) => all + valueOf(slot), 0);
    return { level: 0, name: names[i],
      cells: [formatBytes(last.rss), formatBytes(Math.max(...part.map((slot) => slot.peak))), formatBytes(last.swap),
        formatCount(sum(({ minor, major }) => minor + major)), formatCount(sum(({ major }) => major)),
        formatBytes(last.limit), ...(processes.length > 1 ? last.of.map(formatBytes) : [])] };
  });
  const columns = [...TEXT.asTable.memoryColumns,
    ...(processes.length > 1 ? processes.map(({ pid }) => TEXT.asTable.rssOf(pid)) : [])];
  return { columns: [TEXT.asTable.time, ...columns.map(numbered)], rows,
    caption: TEXT.asTable.memoryCaption + (others > 0 ? TEXT.asTable.memoryOthers(formatCount(others)) : "") + "." };
}

// Threads over time: how much of each span they ran. lanes: [{name, place, timeline}]
export function laneRows(lanes, span) {
  const step = (span.to - span.from) / LANE_SPANS_MAX;
  const spans = Array.from({ length: LANE_SPANS_MAX },
    (_, i) => ({ start: span.from + i * step, end: span.from + (i + 1) * step }));
  const ran = (timeline, { start, end }) => {
    const slots = timeline.slots.filter((slot) => slot.start >= start - 1e-9 && slot.start < end - 1e-9);
    const sum = (valueOf) => slots.reduce((all, slot) => all + valueOf(slot), 0);
    return formatShare(ratio(sum((slot) => slot.parts[RUNNING]), sum((slot) => slot.samples)));
  };
  const rows = lanes.map(({ name, timeline }) => ({ level: 0, name, cells: spans.map((one) => ran(timeline, one)) }));
  return { columns: [TEXT.asTable.thread, ...spanTexts(spans).map(numbered)], rows,
    caption: TEXT.asTable.lanesCaption };
}

// The heat map: a row a second, the latest of many; with a search, how many samples of its windows match. `isWaitUnknown` as above.
export function heatRows(heat, matches = null, isWaitUnknown = false) {
  const seconds = Array.from(heat.columns.keys()).sort((a, b) => a - b).slice(-ROWS_SHOWN_MAX);
  const rows = seconds.map((second) => {
    const columnOf = (measure) => heatColumn(heat, second, measure) ?? [];
    const sums = HEAT_MEASURES.map((
      { key },
    ) => (key === "needs_gil" && isWaitUnknown ? NaN : columnOf(key).reduce((all, count) => all + count, 0)));
    const running = columnOf(HEAT_MEASURES[0].key);
    const most = Math.max(...running);
    return {
      level: 0,
      name: timeLabel(second),
      cells: [...sums.map(formatCount), most === 0 ? "" : formatCount(most),
        most === 0 ? "" : Math.round((running.indexOf(most) * 1000) / heat.bins) + " ms",
        ...(matches === null ? [] : [formatShare(matchedShare(matches, { from: second, to: second + 1 }))])],
    };
  });
  const columns = [TEXT.asTable.second, ...HEAT_MEASURES.map(({ label }) => numbered(label)),
    ...TEXT.asTable.busiest.map(numbered), ...(matches === null ? [] : [numbered(TEXT.asTable.searchMatches)])];
  return { columns, rows, caption: TEXT.asTable.heatCaption };
}
