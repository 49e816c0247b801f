// Who held the GIL while whom waited, as /gil says it: what threads waited, shared out among those that held the GIL in the
// same window of time. A report makes the same of its own cells.

import { doingOf, STATE_DOINGS } from "./states.js";

const HOLDS = STATE_DOINGS.indexOf("holds_gil");
const AWAITS = STATE_DOINGS.indexOf("waits_gil");

// Thousandths of a sample are enough, here as there.
const rounded = (samples) => Math.round(samples * 1000) / 1000;

export function emptyGil() {
  return { waited: 0, unheld: 0, threads: [], pairs: [], node: [], kept: [] };
}

function addTo(map, key, amount) {
  map.set(key, (map.get(key) ?? 0) + amount);
}

// Cells of one slot of time: {held, waited} by thread, {places} of those that held: [{thread, node, count}].
function slotsOfCells(report, wanted, within) {
  const { thread, state, node, count, slot } = report.cells;
  const slots = new Map();
  for (let i = 0; i < thread.length; i += 1) {
    const at = slot?.[i] ?? 0;
    if (within !== null && !within[at]) continue;
    const doing = doingOf(state[i]);
    if (doing !== HOLDS && doing !== AWAITS) continue;
    if (!slots.has(at)) slots.set(at, { held: new Map(), waited: new Map(), places: [] });
    const one = slots.get(at);
    if (doing === HOLDS) {
      addTo(one.held, thread[i], count[i]);
      one.places.push({ thread: thread[i], node: node[i], count: count[i] });
    } else if (wanted.size === 0 || wanted.has(thread[i])) addTo(one.waited, thread[i], count[i]);
  }
  return slots;
}

// -> what /gil answers, for those waiting threads (all when there are none) and the slots of which `within` is true
export function gilOfCells(report, threads, within) {
  const processOf = report.tree.threads.process;
  const pairs = new Map();
  const kept = new Map();
  let waited = 0;
  let unheld = 0;
  for (const slot of slotsOfCells(report, new Set(threads), within).values()) {
    const heldBy = new Map();
    for (const [thread, count] of slot.held) addTo(heldBy, processOf[thread], count);
    const rates = new Map();
    const ratesOf = new Map();
    for (const [waiter, count] of slot.waited) {
      const process = processOf[waiter];
      const others = (heldBy.get(process) ?? 0) - (slot.held.get(waiter) ?? 0);
      waited += count;
      if (others === 0) {
        unheld += count;
        continue;
      }
      rates.set(waiter, count / others);
      addTo(ratesOf, process, count / others);
      for (const [holder, held] of slot.held) {
        if (holder === waiter || processOf[holder] !== process) continue;
        if (!pairs.has(holder)) pairs.set(holder, new Map());
        addTo(pairs.get(holder), waiter, (count / others) * held);
      }
    }
    for (const { thread, node, count } of slot.places) {
      const rate = (ratesOf.get(processOf[thread]) ?? 0) - (rates.get(thread) ?? 0);
      if (rate > 0) addTo(kept, node, count * rate);
    }
  }
  const ids = Array.from(new Set([...pairs.keys(), ...Array.from(pairs.values(), (row) => Array.from(row.keys())).flat()])).sort((a, b) => a - b);
  const node = Array.from(kept.keys()).sort((a, b) => a - b);
  return { waited, unheld, threads: ids, pairs: ids.map((holder) => ids.map((waiter) => rounded(pairs.get(holder)?.get(waiter) ?? 0))), node, kept: node.map((id) => rounded(kept.get(id))) };
}

// As counts of a recording: what others waited, by the node at which somebody held the GIL.
export function keptCounts(gil, nodes) {
  const self = new Float64Array(nodes);
  gil.node.forEach((id, i) => {
    if (id < nodes) self[id] += gil.kept[i];
  });
  return { self };
}

// Rows of one side: threads as people know them, most first; those beyond `most` are one, without a thread.
function sidesOf(gil, threads, most, amountOf) {
  const personOf = new Map(threads.flatMap((thread) => thread.ids.map((id) => [id, thread])));
  const sides = new Map();
  for (let row = 0; row < gil.pairs.length; row += 1) {
    const thread = personOf.get(gil.threads[row]) ?? null;
    if (!sides.has(thread)) sides.set(thread, { thread, rows: [], samples: 0 });
    sides.get(thread).rows.push(row);
    sides.get(thread).samples += amountOf(row);
  }
  const sorted = Array.from(sides.values()).filter((side) => side.samples > 0).sort((a, b) => (a.thread === null) - (b.thread === null) || b.samples - a.samples);
  if (sorted.length <= most) return sorted.map((side) => ({ ...side, count: 1 }));
  const rest = sorted.slice(most - 1);
  return [...sorted.slice(0, most - 1).map((side) => ({ ...side, count: 1 })), { thread: null, rows: rest.flatMap((side) => side.rows), samples: rest.reduce((sum, side) => sum + side.samples, 0), count: rest.length }];
}

// -> {holders, waiters: [{thread | null, count, samples}], cells: [holder][waiter], hottest (of single threads)}
export function gilMatrix(gil, threads, most) {
  const rows = gil.pairs.map((_, row) => row);
  const holders = sidesOf(gil, threads, most, (row) => gil.pairs[row].reduce((sum, samples) => sum + samples, 0));
  const waiters = sidesOf(gil, threads, most, (row) => rows.reduce((sum, holder) => sum + gil.pairs[holder][row], 0));
  const cells = holders.map((holder) => waiters.map((waiter) => holder.rows.reduce((sum, row) => sum + waiter.rows.reduce((inner, column) => inner + gil.pairs[row][column], 0), 0)));
  const own = cells.flatMap((row, i) => row.filter((_, j) => holders[i].count === 1 && waiters[j].count === 1));
  return { holders, waiters, cells, hottest: Math.max(0, ...(own.length > 0 ? own : cells.flat())) };
}
