// The answer of /requests of a made-up program: two requests, one of them slow and shown with its pieces.

const line = (name, number) => ({ name, file: "/app/store.py", line: number, function: 3 });

export function requestsAnswer() {
  const row = { variable: "request_id", begin: 1, error: 0.001, rough: false, samples: 160, awaits: 0, causes: [],
    view: null };
  return {
    unknown: 3,
    unset: 40,
    other: 0,
    samples: 700,
    requests: 61,
    whole: 60,
    cut: 1,
    rough: 0,
    percentiles: [{ percent: 50, duration: 0.008, low: 0.007, high: 0.009 }, { percent: 95, duration: 0.12, low: 0.1,
      high: null }],
    histogram: [{ from: 0.007, to: 0.009, whole: 55, cut: 0 }, { from: 0.009, to: 0.1, whole: 0, cut: 0 }, { from: 0.1,
      to: 0.2, whole: 5, cut: 1 }],
    scatter: { from: 0, width: 0.1, slots: 96,
      cells: [{ slot: 3, from: 0.007, to: 0.009, requests: 55 }, { slot: 40, from: 0.1, to: 0.2, requests: 6 }] },
    chosen: 2,
    rows: [
      { ...row, value: "4711.a", mark: 21, duration: 0.16, cut: true, awaits: 0.005, line: line("fetch", 12),
        view: line("show", 30), parts: { running: 0.013, needs_gil: 0.002, needs_processor: 0, blocked: 0.14, idle: 0 },
        causes: [{ cause: "network_read", title: "network read", seconds: 0.14 }] },
      { ...row, value: "4712", mark: 22, duration: 0.008, cut: false, line: line("render", 40),
        parts: { running: 0.008, needs_gil: 0, needs_processor: 0, blocked: 0, idle: 0 } },
    ],
    pieces_left_out: 0,
    pieces: [
      { from: 1, to: 1.01, pid: 6, tid: 7, thread: "MainThread", part: "running", cause: null, line: line("show", 30) },
      { from: 1.01, to: 1.15, pid: 6, tid: 8, thread: "pool", part: "blocked", cause: "network read",
        line: line("fetch", 12) },
      { from: 1.15, to: 1.16, pid: 6, tid: 7, thread: "MainThread", part: "running", cause: null,
        line: line("show", 30) },
    ],
  };
}

// A report with these two requests: half of the cells are of the slow one, a quarter of the other.
export function withRequests(report) {
  const { tree, cells } = report;
  const marks = ["<context request_id: 4711.a>", "<context request_id: 4712>"].map((name) => {
    tree.functions.name.push(tree.strings.values.push(name) - 1);
    tree.functions.file.push(tree.strings.values.indexOf("~") < 0
      ? tree.strings.values.push("~") - 1
      : tree.strings.values.indexOf("~"));
    tree.functions.line.push(0);
    return tree.functions.name.length - 1 + tree.functions.first;
  });
  const marked = new Map();
  cells.node = cells.node.map((node, i) => {
    if (i % 4 === 3) return node;
    const mark = marks[i % 4 === 2 ? 1 : 0];
    const key = node + " " + mark;
    if (!marked.has(key)) {
      tree.nodes.function.push(mark);
      tree.nodes.line.push(0);
      marked.set(key, tree.nodes.parent.push(node) - 1 + tree.nodes.first);
    }
    return marked.get(key);
  });
  const { pieces, pieces_left_out: leftOut, ...requests } = requestsAnswer();
  const rows = requests.rows.map((row, i) => ({ ...row, mark: marks[i] }));
  return { ...report, request_durations: { function: marks, ns: [160000000, 8000000] },
    requests: { ...requests, rows, waterfalls: [{ mark: marks[0], pieces_left_out: leftOut, pieces }] } };
}
