// Every text of the stack chart and the call tree.

import { counted, nounOf, samples } from "./counts.js";

/** @satisfies {Texts} */
export const CHART_TEXT = {
  stacks: {
    label: (thread, span) =>
      "Stack chart of " + thread + ", " + span
      + ". Drag to select a time range; arrow keys go from frame to frame, Shift and an arrow key move the chart, plus and minus zoom, Home shows everything, Enter selects the time of the frame.",
    thread: "Thread",
    zoomIn: "Zoom in",
    zoomInHint: "Zoom in  ( + , or turn the wheel )",
    zoomOut: "Zoom out",
    zoomOutHint: "Zoom out  ( - )",
    whole: "Whole session",
    wholeHint: "Show the whole session  ( Home )",
    follow: "Follow",
    followHint: "Follow the last seconds of the session",
    following: "following",
    busiest: "busiest thread",
    hint: "Drag: select a time range. Wheel: zoom. Shift + wheel: move.",
    loading: "Reading the stacks of this thread…",
    nothing: "This thread has no samples here.",
    noTimes: "This report does not tell times apart, so it has no stack chart.",
    inReport:
      "Not in the order of time: this report keeps only sums over short spans of time of this thread. In each span the largest stacks stand first.",
    unordered: (share) =>
      "Not in the order of time: " + share
      + " of what is shown (hatched). Only sums are left of it; the largest stacks stand first within each part.",
    joined: (runs) => runs + " short runs are one box here, which shows the longest.",
    unknownOrder: "Order in time unknown.",
    runs: counted("run"),
  },
  tree: {
    label:
      "Call tree. Arrow keys move, and open and close rows; Enter zooms the flame graph to a row; the star opens everything below it.",
    columns: ["Function", "Total", "Self"],
    openAll: "Open all",
    closeAll: "Close all",
    caption: (rows, count) => counted("row")(rows) + "; percent of " + samples(count) + ".",
  },
  table: {
    columns: ["Innermost frame", "From", "Duration", "State", "In order of time"],
    yes: "yes",
    no: "no",
    caption: (shown, count) =>
      (shown === count ? count : "the longest " + shown + " of " + count) + " " + nounOf("run")(count)
      + " in the order of time",
  },
};
