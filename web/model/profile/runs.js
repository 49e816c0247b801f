// Runs of one thread in the order of time, as /runs answers: {key (joined ids of the thread), from, to, start, end,
// node, state, part, ordered, runs}, columns with one entry for each run.

// Ends and starts this near are one instant.
export const INSTANT_S = 1.5e-6;

export function emptyRuns() {
  return { key: "", from: 0, to: 0, start: new Float64Array(0), end: new Float64Array(0), node: new Int32Array(0),
    state: new Int32Array(0), part: new Uint8Array(0), ordered: new Uint8Array(0), runs: new Int32Array(0) };
}

export function runsOfAnswer(key, answer) {
  return {
    key,
    from: answer.from,
    to: answer.to,
    start: Float64Array.from(answer.start),
    end: Float64Array.from(answer.end),
    node: Int32Array.from(answer.node),
    state: Int32Array.from(answer.state),
    ordered: Uint8Array.from(answer.ordered),
    runs: Int32Array.from(answer.runs),
  };
}

// Throws RangeError when a run names a node that does not exist, or begins before the one before it ends.
export function checkedRuns(runs, nodes) {
  let end = -Infinity;
  for (let i = 0; i < runs.node.length; i += 1) {
    if (runs.node[i] < 0 || runs.node[i] >= nodes) throw new RangeError("node " + runs.node[i] + " does not exist");
    if (!(runs.start[i] >= end - INSTANT_S) || !(runs.end[i] >= runs.start[i]))
      throw new RangeError("run " + i + " is out of order");
    end = runs.end[i];
  }
  return runs;
}

// The runs that a report keeps of a thread with these ids; null: none.
export function keptRuns({ runs = [] }, ids) {
  const key = ids.join();
  const kept = runs.find(({ threads }) => threads.join() === key);
  if (kept === undefined) return null;
  const start = [];
  const end = [];
  let us = 0;
  for (const [i, gap] of kept.gap_us.entries()) {
    start.push((us + gap) / 1e6);
    us += gap + kept.length_us[i];
    end.push(us / 1e6);
  }
  return runsOfAnswer(key, { ...kept, start, end });
}

// The runs whose nodes are kept.
export function runsOfNodes(runs, isKept) {
  const columns = ["start", "end", "node", "state", "ordered", "runs"];
  return { ...runs,
    ...Object.fromEntries(columns.map((name) => [name, runs[name].filter((_, i) => isKept(runs.node[i]))])) };
}
