// GIL contention, as in /gil: the waiting time of each window is divided among the threads that held the GIL in
// it. A report computes the same from its own cells.

import { createAsked } from "../profile/cells.js";
import { NEEDS_GIL } from "../profile/parts.js";

const HAS_GIL = 2;

// Thousandths of a sample are enough, here as there.
const rounded = (samples) => Math.round(samples * 1000) / 1000;

export function emptyGil() {
  return { waited: 0, unattributed: 0, threads: [], pairs: [], node: [], waits_caused: [] };
}

function addTo(map, key, amount) {
  map.set(key, (map.get(key) ?? 0) + amount);
}

// Threads with separate rows, as on the server: those that waited and held most; the others share one row.
const GIL_THREADS_MAX = 64;

// Cells of one slot of time: {held, waited} by thread, {places} of those that held: [{thread, node, count}].
function slotsOfCells(report, isAsked, within) {
  const { thread, state, part, node, count, slot } = report.cells;
  const slots = new Map();
  for (let i = 0; i < thread.length; i += 1) {
    const at = slot?.[i] ?? 0;
    if (within !== null && !within[at]) continue;
    const holds = (state[i] & HAS_GIL) !== 0;
    if (!holds && part[i] !== NEEDS_GIL) continue;
    if (!slots.has(at)) slots.set(at, { held: new Map(), waited: new Map(), places: [] });
    const one = slots.get(at);
    if (holds) {
      addTo(one.held, thread[i], count[i]);
      one.places.push({ thread: thread[i], node: node[i], count: count[i] });
    } else if (isAsked(i)) addTo(one.waited, thread[i], count[i]);
  }
  return slots;
}

// One process in one slot: {held, rates} by thread, where a rate is what a thread waited for each sample that another held;
// `unattributed` is what was waited while no other held it.
function ratesOf(held, waited) {
  let heldAll = 0;
  for (const count of held.values()) heldAll += count;
  const found = { held, rates: new Map(), unattributed: 0 };
  for (const [waiter, count] of waited) {
    const others = heldAll - (held.get(waiter) ?? 0);
    if (others === 0) found.unattributed += count;
    else found.rates.set(waiter, count / others);
  }
  return found;
}

// The moments of a slot, by process.
function momentsOf(slot, processOf) {
  const processes = new Map();
  for (const side of ["held", "waited"]) {
    for (const [thread, count] of slot[side]) {
      const process = processOf[thread];
      if (!processes.has(process)) processes.set(process, { held: new Map(), waited: new Map() });
      processes.get(process)[side].set(thread, count);
    }
  }
  return new Map(Array.from(processes, ([process, { held, waited }]) => [process, ratesOf(held, waited)]));
}

const sumOf = (map) => {
  let sum = 0;
  for (const value of map.values()) sum += value;
  return sum;
};

// Weights of what threads waited and made others wait: Map of thread -> samples.
function weightsOf(moments) {
  const weights = new Map();
  for (const { held, rates } of moments) {
    const heldAll = sumOf(held);
    const ratesAll = sumOf(rates);
    for (const [waiter, rate] of rates)
      if (rate > 0) addTo(weights, waiter, rate * (heldAll - (held.get(waiter) ?? 0)));
    for (const [holder, count] of held)
      if (ratesAll - (rates.get(holder) ?? 0) > 0)
        addTo(weights, holder, count * (ratesAll - (rates.get(holder) ?? 0)));
  }
  return weights;
}

// -> {threads, pairs}: a square of holders and waiters, with one more row and column when there are others
function squareOf(moments) {
  const weights = weightsOf(moments);
  const heaviest = Array.from(weights.keys()).sort((a, b) => weights.get(b) - weights.get(a) || a - b);
  const threads = heaviest.slice(0, GIL_THREADS_MAX).sort((a, b) => a - b);
  const rowOf = new Map(threads.map((id, row) => [id, row]));
  const rowFor = (thread) => rowOf.get(thread) ?? threads.length;
  const size = threads.length + (heaviest.length > threads.length ? 1 : 0);
  const square = Array.from({ length: size }, () => new Array(size).fill(0));
  for (const { held, rates } of moments) {
    const rowHeld = new Float64Array(size + 1);
    const rowRate = new Float64Array(size + 1);
    // No thread waits for itself: the part of each row that its threads would wait for themselves.
    const itself = new Float64Array(size + 1);
    for (const [thread, count] of held) {
      rowHeld[rowFor(thread)] += count;
      itself[rowFor(thread)] += count * (rates.get(thread) ?? 0);
    }
    for (const [thread, rate] of rates) rowRate[rowFor(thread)] += rate;
    for (let holder = 0; holder < size; holder += 1) {
      if (rowHeld[holder] === 0) continue;
      for (let waiter = 0; waiter < size; waiter += 1)
        square[holder][waiter] += rowHeld[holder] * rowRate[waiter] - (holder === waiter ? itself[holder] : 0);
    }
  }
  return { threads, pairs: square.map((row) => row.map((samples) => Math.max(0, rounded(samples)))) };
}

// -> what /gil answers, for those waiting threads (all when there are none) and the slots of which `within` is true
export function gilOfCells(report, { threads, took }, within) {
  const processOf = report.tree.threads.process;
  const caused = new Map();
  const moments = [];
  let waited = 0;
  let unattributed = 0;
  for (const slot of slotsOfCells(report, createAsked(report, { threads, took }), within).values()) {
    const processes = momentsOf(slot, processOf);
    const rateSums = new Map(Array.from(processes, ([process, { rates }]) => [process, sumOf(rates)]));
    waited += sumOf(slot.waited);
    for (const moment of processes.values()) {
      unattributed += moment.unattributed;
      moments.push(moment);
    }
    for (const { thread, node, count } of slot.places) {
      const rate = (rateSums.get(processOf[thread]) ?? 0) - (processes.get(processOf[thread])?.rates.get(thread) ?? 0);
      if (rate > 0) addTo(caused, node, count * rate);
    }
  }
  const node = Array.from(caused.keys()).sort((a, b) => a - b);
  return { waited, unattributed, ...squareOf(moments), node, waits_caused: node.map((id) => rounded(caused.get(id))) };
}

// As counts of a recording: what others waited, by the node at which somebody held the GIL.
export function causedCounts(gil, nodes) {
  const self = new Float64Array(nodes);
  gil.node.forEach((id, i) => {
    if (id < nodes) self[id] += gil.waits_caused[i];
  });
  return { self };
}

// Rows of one side: threads as people know them, most first; those beyond `most` are one, without a thread. `count` is how many
// threads it is, 0 when nobody knows.
function sidesOf(gil, threads, most, amountOf) {
  const personOf = new Map(threads.flatMap((thread) => thread.ids.map((id) => [id, thread])));
  const sides = new Map();
  for (let row = 0; row < gil.pairs.length; row += 1) {
    const thread = personOf.get(gil.threads[row]) ?? null;
    if (!sides.has(thread)) sides.set(thread, { thread, rows: [], samples: 0 });
    sides.get(thread).rows.push(row);
    sides.get(thread).samples += amountOf(row);
  }
  const sorted = Array.from(sides.values()).filter((side) => side.samples > 0).sort((a, b) =>
    Number(a.thread === null) - Number(b.thread === null) || b.samples - a.samples
  );
  if (sorted.length <= most) return sorted.map((side) => ({ ...side, count: 1 }));
  const rest = sorted.slice(most - 1);
  return [...sorted.slice(0, most - 1).map((side) => ({ ...side, count: 1 })), { thread: null,
    rows: rest.flatMap((side) => side.rows), samples: rest.reduce((sum, side) => sum + side.samples, 0),
    count: rest.some((side) => side.thread === null) ? 0 : rest.length }];
}

// -> {holders, waiters: [{thread | null, count, samples}], cells: [holder][waiter], hottest (of single threads)}
export function gilMatrix(gil, threads, most) {
  const rows = gil.pairs.map((_, row) => row);
  const holders = sidesOf(gil, threads, most, (row) => gil.pairs[row].reduce((sum, samples) => sum + samples, 0));
  const waiters = sidesOf(gil, threads, most, (row) => rows.reduce((sum, holder) => sum + gil.pairs[holder][row], 0));
  const cells = holders.map((holder) =>
    waiters.map((waiter) =>
      holder.rows.reduce((sum, row) => sum + waiter.rows.reduce((inner, column) => inner + gil.pairs[row][column], 0),
        0)
    )
  );
  const single = cells.flatMap((row, i) => row.filter((_, j) => holders[i].count === 1 && waiters[j].count === 1));
  return { holders, waiters, cells, hottest: Math.max(0, ...(single.length > 0 ? single : cells.flat())) };
}
