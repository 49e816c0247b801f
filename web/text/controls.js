// The texts of what chooses a selection of a session: timeline, states, threads, filters, search and the buttons above a chart.

import { counted, functions, samples } from "./counts.js";

/** @satisfies {Texts} */
export const CONTROL_TEXT = {
  charts: { flame: "Flame graph", stacks: "Stack chart", sandwich: "Sandwich", heatmap: "Heat map", threads: "Threads",
    gil: "GIL", diff: "Comparison", strip: "Timeline" },

  strip: {
    started: (service, /** @type {number} */ count) =>
      service + (count > 1 ? " started, " + count + " processes" : " started"),
    freeze: "Freeze on hover",
    freezeHint: "Freeze the view while the pointer is over it  ( h )",
    zoomIn: "Zoom in to the selected range",
    zoomInHint: "Zoom in to the selected range  ( + )",
    zoomOut: "Show the whole session",
    zoomOutHint: "Show the whole session  ( - )",
    label:
      "Time range. Drag to select; arrow keys move the range, Shift and an arrow key move its end; Escape clears it.",
    whole: "whole session",
    none: "no samples",
    now: "now",
  },

  memory: {
    scale: (bytes) => "Memory, up to " + bytes,
    inRange: (growth) => "; in the range " + growth,
    rss: (bytes) => "RSS " + bytes,
    swap: (bytes) => "swap " + bytes,
    faults: counted("page fault"),
    major: (number) => number + " from disk",
    limit: (bytes) => "limit " + bytes,
    of: (/** @type {number} */ pid, /** @type {string} */ bytes) => "process " + pid + ": " + bytes,
    others: (number) => number + " more",
    growth: (bytes, faults) => "RSS " + bytes + ", " + counted("page fault")(faults),
    none: "no memory was read",
    grew: "What grew here",
    grewHint: "Show the lines that made the program larger in this range",
  },

  measure: {
    label: "What is counted",
    choices: { time: ["Time", "Samples of time"], "page-faults": ["Memory growth", "Bytes that became resident"],
      returned: ["Returned", "Bytes that were given back to the kernel"],
      "copy-on-write": ["Unshared", "Bytes that a fork shared until they were written"],
      "context-switches": ["Context switches", "How often threads left their processor"] },
  },

  display: "Display",

  view: {
    label: "View",
    more: "More",
    fewer: "Fewer",
    flame: ["Flame graph", "Call stacks; the width is the share of samples"],
    stacks: ["Stack chart", "The stacks of a thread in the order of time"],
    sandwich: ["Sandwich", "One function with its callers and callees"],
    table: ["Functions", "Functions by self and total samples"],
    source: ["Source", "Files and lines by samples"],
    heatmap: ["Heat map", "Activity in cells of 20 ms"],
    threads: ["Threads", "What each thread did over time"],
    gil: ["GIL", "GIL contention by thread"],
    locks: ["Locks", "Locks that threads wait for, and who holds them"],
    diff: ["Compare", "Two time ranges, or a report and its baseline"],
    requests: ["Requests", "How long requests take, and what the slow ones do"],
    tasks: ["Tasks", "Asyncio tasks: where each waits and what awaits it"],
  },

  direction: {
    label: "Direction",
    down: "Top-down",
    downHint: "From the outermost caller down  ( i )",
    up: "Bottom-up",
    upHint: "From the running function up to its callers  ( i )",
  },

  order: {
    label: "Order of siblings",
    name: ["By name", "Frames beside each other by name: they keep their places while numbers change"],
    size: ["Largest first", "Frames beside each other with the largest at the left"],
  },

  grouping: {
    label: "Grouping",
    function: "By function",
    functionHint: "One frame per function",
    line: "By line",
    lineHint: "One frame per source line",
  },

  native: {
    label: "Native frames",
    hidden: ["Hidden", "Python frames only; native code counts for the Python frame that called it"],
    leaf: ["Leaf", "Below the innermost Python frame, the native function that runs, and the system call"],
    library: ["Library", "One frame for each native library"],
    all: ["All", "All native frames but those of the interpreter, and all of the kernel"],
    everything: ["Everything", "All native frames, with those of the interpreter"],
    badge: "native",
    kernelBadge: "kernel",
    in: "Native code of",
    inKernel: "A function of the kernel.",
    noSource: ". No source file is known.",
    source: "Source",
  },

  colour: {
    label: "Colour",
    heat: "Heat",
    heatHint: "Colour by self samples",
    module: "Module",
    moduleHint: "One hue per package, and per file of your own code",
    heatMeaning: "Self samples",
    heatMeaningAmount: "Self amount",
    moduleMeaning: "One hue per package or file; grey-blue: standard library; teal: native code; red-brown: kernel",
    below: (percent) => "below " + percent + " %",
    from: (percent) => percent + " % or more",
    neutral: (percent) => "idle, or C code below " + percent + " %",
    waitsFor: "Waits:",
    waits: { gil: "GIL", processor: "processor", idle: "for work", lock: "lock or queue", network: "network",
      disk: "disk or GPU", process: "pipe or child process" },
  },

  // The five parts of time: title, meaning, and a short title for where there is little room.
  parts: {
    label: "Parts of time",
    running: ["running", "On a processor, or not known to wait"],
    needs_gil: ["needs the GIL", "Waits for the GIL, which another thread holds", "GIL"],
    needs_processor: ["needs a processor", "Ready to run, without a processor; only the kernel engine shows this",
      "processor"],
    blocked: ["blocked", "Waits for something that is not work for it: disk, network, lock, child process"],
    idle: ["idle", "Waits for work or for time: event loop, worker without work, sleep, accept"],
    allButIdle: "all but idle",
    hidden: "hidden",
    how: "Of all samples, idle ones too. Click: only this part. Ctrl or Shift and a click: this part too, or not.",
  },

  doing: {
    none: "no samples",
    noGil: "n/a (free-threaded)",
    notApplicable: "n/a",
  },

  states: {
    label: "Marks",
    marks: { has_gil: "The thread held the GIL", in_gc: "The garbage collector was running",
      has_exception: "The thread was handling an exception",
      in_jit: "Code that CPython's JIT has made executed the innermost Python frame" },
    facts: { on_cpu: "on a processor", has_gil: "holds the GIL", waits_gil: "needs the GIL",
      in_gc: "collecting garbage", in_native: "in native code", has_exception: "handling an exception",
      runnable: "needs a processor", in_jit: "JIT" },
    signs: { "": "", "!": "not: ", "~": "all but: " },
    isUnknown: ": unknown",
    isKnown: ": known",
    unknown: "unknown",
    fromLink: "From the address of this page",
    freeThreaded: ". This interpreter is free-threaded: it has no GIL.",
    unavailable: ". Unknown: this version of Python does not show it, or pyrometer is not permitted to read it.",
    counted: (count, all) => ": " + count + " of " + all + " samples.",
    recordedMode: (mode, left) => "Recorded with --mode " + mode + ": " + left + " other samples were left out",
  },

  filters: {
    placeholder: "Filter: focus …",
    button: "Filter",
    mark: "mark",
    label: "Add a filter: focus, ignore, hide, show or show-from, then a pattern",
    examples: ["focus module:app", "ignore function:poll", "hide libraries", "show file:views", "show-from /regex/",
      "focus wait:network"],
    meanings: {
      focus: "Keep samples with a matching frame",
      ignore: "Drop samples with a matching frame",
      hide: "Remove matching frames; their samples go to the caller",
      show: "Keep only matching frames",
      "show-from": "Start stacks at the outermost matching frame; drop stacks without one",
    },
    time: "time",
    timeHint: "Only this time range",
    requests: "requests",
    requestsHint: "Only requests that took so long, waits and idle time included",
    baseline: "baseline",
    baselineHint: "The baseline of the comparison",
    thread: "thread",
    threadHint: "Only this thread",
    process: "process",
    processHint: "Only the threads of this process",
    threads: "threads",
    threadsHint: "Only these threads",
    selected: (count) => count + " selected",
    remove: (kind, text) => "Remove " + kind + " " + text,
    libraries: "Hide libraries",
    librariesHint:
      "Hide frames of the standard library and of installed packages; their samples go to the caller  ( l )",
    malformed: "Start with focus, ignore, hide, show or show-from, for example: ignore function:poll",
    noPattern: (verb) => "Add a pattern, for example: " + verb + " function:poll",
    notSimple: "Filters do not support lookaround, back-references, named groups or Unicode classes.",
    unknownRecorded: (/** @type {number} */ number) =>
      (number === 1 ? "One recorded filter is" : number + " recorded filters are")
      + " not applied: this page cannot read " + (number === 1 ? "it." : "them."),
    tooMany: (/** @type {number} */ most) => "There may be at most " + most + " filters.",
  },

  threads: {
    label: "Threads",
    one: "1 thread",
    every: (count) => "All " + count + " threads",
    some: (/** @type {string} */ count, /** @type {string} */ all) => count + " of " + all + " threads",
    filter: "Filter threads",
    alike: (name, number) => name + " × " + number,
    silent: (number) => number + (number === "1" ? " thread" : " threads") + " without samples in the last 10 s",
    unfold: (name) => "Show the threads of " + name,
    reset: "All threads",
    heads: { name: "Thread", tid: "TID", doing: "Parts", cpu: "Running", gil: "Holds the GIL", samples: "Samples" },
    missingOne: "One thread of this link is not in this session.",
    missing: (count) => count + " threads of this link are not in this session.",
    thread: (tid) => "Thread " + tid,
    unknown: "Thread of unknown id",
    process: (pid) => "Process " + pid,
    of: (thread, pid) => thread + " of " + pid,
    lanes: ["Thread", "Timeline", "Samples", "Running", "Needs the GIL", "Needs a processor", "Blocked", "Idle",
      "Holds the GIL"],
    lanesCaption: (shown, all) =>
      (shown === all
        ? all + (all === "1" ? " thread." : " threads.")
        : shown + " of " + all + " threads: the selected or the busiest.")
      + " Samples: share of all. Other columns: share of the thread.",
    only: "Show only this thread",
  },

  search: {
    placeholder: "Search: text or /regex/",
    label: "Search functions and files",
    matched: " matched",
    samples: (count) => ", " + samples(count),
    found: (count, of) => samples(count) + " in " + functions(of),
    invalid: (problem) => "Invalid regular expression: " + problem,
  },

  crumbs: {
    label: "Zoom path",
    more: (count) => count + " more",
    reset: "Reset zoom",
    noFrame: (live) => "The linked frame has no samples" + (live ? " yet." : "."),
    noThread: (live) => "The linked thread has no samples" + (live ? " yet." : "."),
    zoomed: (count, share) => count + ", " + share + " of all",
  },
};
