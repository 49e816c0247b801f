// When services of a session started again: each process that began after the session, and that none of the others started. [{at, service, version (or ""), count}], in order.

import { TEXT } from "../../text/session.js";
import { visibleText } from "../base/text.js";

// A program that pyrometer runs starts as the session does.
const FIRST_S = 1;
// Processes of one service that start together are one start.
const TOGETHER_S = 10;
const STARTS_MAX = 200;

const beginOf = ({ from_s: from, age_s: age = 0 }) => from - age;

function isStart(target) {
  return target.parent === null && beginOf(target) >= FIRST_S;
}

export function startsOf(session) {
  const starts = [];
  const last = new Map();
  const targets = (session?.targets ?? []).filter(isStart).sort((a, b) => beginOf(a) - beginOf(b));
  for (const target of targets) {
    const { service = "", version = "" } = target;
    const at = beginOf(target);
    const key = service + "\u0000" + version;
    const before = last.get(key);
    if (before !== undefined && at - before.until <= TOGETHER_S) {
      before.until = at;
      before.count++;
      continue;
    }
    const start = { at, until: at, service, version, count: 1 };
    last.set(key, start);
    starts.push(start);
  }
  return starts.slice(-STARTS_MAX);
}

// Those within `near` seconds of an instant.
export function startsAt(starts, time, near) {
  return starts.filter(({ at }) => Math.abs(at - time) <= near);
}

export function startText({ service, version, count }) {
  return TEXT.strip.started(visibleText([service, version].filter(Boolean).join(" ")), count);
}

// The time since a start up to now, and as much of the time before it: {range, baseline}; null: there is none before.
export function sinceStart({ at }, now) {
  const before = Math.min(at, Math.max(now - at, 1));
  return before > 0 ? { range: { from: at, to: null }, baseline: { from: Math.max(0, at - before), to: at } } : null;
}
