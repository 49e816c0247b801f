// The parts of time over time, as in /timeline: slots of one width, each with its true start and end.

import { TEXT } from "../../text/session.js";
import { createAsked } from "../profile/cells.js";
import { PARTS } from "../profile/parts.js";

const IN_GC = 8;

export function emptyTimeline() {
  return { width: 0, from: 0, to: 0, slots: [] };
}

function slotsOf(answer) {
  return answer.slot.map((slot, i) => ({
    slot,
    start: answer.start[i],
    end: answer.end[i],
    samples: answer.samples.all[i],
    parts: PARTS.map((part) => answer.samples[part][i]),
    inGc: answer.samples.in_gc[i],
  }));
}

// True if an answer of /timeline goes on with `timeline`: slots of another width say nothing of those before them.
export function continuesTimeline(timeline, answer) {
  return answer.since === 0 || answer.width === timeline.width;
}

// `timeline` with an answer of /timeline that goes on with it: its slots take the place of those it had.
export function withTimeline(timeline, answer) {
  const news = slotsOf(answer);
  if (answer.since === 0) return { width: answer.width, from: answer.from, to: answer.to, slots: news };
  const replaced = new Set(news.map((slot) => slot.slot));
  const slots = [...timeline.slots.filter((slot) => !replaced.has(slot.slot)), ...news].sort((a, b) => a.slot - b.slot);
  return { width: answer.width, from: answer.from, to: answer.to, slots };
}

// The timeline by a report's own cells, which say in which of its `slots` ({start, end}) and of PARTS they are.
export function timelineOfCells(report, threads, took = null) {
  const { start, end } = report.slots;
  const isAsked = createAsked(report, { threads, took });
  const slots = start.map((from, i) => ({ slot: i, start: from, end: end[i], samples: 0, parts: PARTS.map(() => 0),
    inGc: 0 })
  );
  const { cells } = report;
  for (let i = 0; i < cells.node.length; i += 1) {
    const slot = slots[cells.slot[i]];
    if (slot === undefined || !isAsked(i)) continue;
    slot.samples += cells.count[i];
    slot.parts[cells.part[i]] += cells.count[i];
    if (cells.state[i] & IN_GC) slot.inGc += cells.count[i];
  }
  return { width: report.slots.width ?? 0, from: start[0] ?? 0, to: end[end.length - 1] ?? 0,
    slots: slots.filter((slot) => slot.samples > 0) };
}

// From when to when there is anything to show: {from, to}.
export function timelineSpan(timeline, elapsed) {
  const last = timeline.slots[timeline.slots.length - 1];
  return { from: timeline.from, to: Math.max(timeline.to, last?.end ?? 0, elapsed ?? 0, timeline.from + 1) };
}

// `range` moved to the edges of slots, so that what is chosen is what is counted. At least one slot.
export function snapRange(timeline, from, to) {
  const step = timeline.width > 0 ? timeline.width : 1;
  const start = Math.max(0, Math.floor(from / step + 1e-6) * step);
  const end = Math.max(start + step, Math.ceil(to / step - 1e-6) * step);
  return { from: start, to: end };
}

// For every part, from below, one outline: arrays of points {x0, x1, y0, y1}, as shares of the span and of the busiest slot.
export function stackedLayers(timeline, span) {
  const length = span.to - span.from;
  const rate = (slot) => slot.samples / Math.max(slot.end - slot.start, 1e-9);
  const shown = timeline.slots.filter((slot) => slot.end > span.from && slot.start < span.to);
  const most = steadyMost(shown.map(rate));
  /** @type {{ x0: number, x1: number, y0: number, y1: number }[][]} */
  const layers = PARTS.map(() => []);
  for (const slot of shown) {
    const x0 = (slot.start - span.from) / length;
    const x1 = (slot.end - span.from) / length;
    const height = Math.min(1, rate(slot) / most) / Math.max(slot.samples, 1);
    let y = 0;
    slot.parts.forEach((samples, part) => {
      const y1 = y + samples * height;
      layers[part].push({ x0, x1, y0: y, y1 });
      y = y1;
    });
  }
  return layers;
}

// The highest rate there is, but for the few slots at the edges that are too short to tell.
function steadyMost(rates) {
  const sorted = rates.slice().sort((a, b) => a - b);
  const high = sorted[Math.floor((sorted.length - 1) * 0.95)] ?? 1;
  return Math.max(high, 1e-9) * 1.02;
}

// The slot at that time, or null.
export function slotAt(timeline, time) {
  return timeline.slots.find((slot) => slot.start <= time && time < slot.end) ?? null;
}

// "0:12.5" for an axis that has `step` seconds between its marks.
export function timeLabel(seconds, step = 1) {
  const digits = step < 0.1 ? 2 : step < 1 ? (step === 0.25 ? 2 : 1) : 0;
  const whole = Math.round(seconds * 100) / 100;
  const hours = Math.floor(whole / 3600);
  const minutes = Math.floor(whole / 60) % 60;
  const rest = (whole % 60).toFixed(digits).padStart(digits > 0 ? 3 + digits : 2, "0");
  return hours > 0 ? hours + ":" + String(minutes).padStart(2, "0") + ":" + rest : minutes + ":" + rest;
}

export function rangeText({ from, to }) {
  const step = [from, to ?? 0].some((edge) => edge % 1 !== 0) ? 0.25 : 1;
  return timeLabel(from, step) + " – " + (to === null ? TEXT.strip.now : timeLabel(to, step));
}

const STEPS = [0.05, 0.1, 0.25, 0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 43200,
  86400];

// Marks of an axis: {step, marks}, at most `most` of them.
export function axisMarks(span, most) {
  const length = span.to - span.from;
  const step = STEPS.find((candidate) => length / candidate <= most) ?? Math.ceil(length / most / 86400) * 86400;
  const marks = [];
  for (let at = Math.ceil(span.from / step - 1e-9) * step; at <= span.to + 1e-9; at += step) marks.push(at);
  return { step, marks };
}
