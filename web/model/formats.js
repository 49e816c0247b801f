// What a session can be downloaded as, beside this page itself: the formats of server/report, with words for the menu.

export const FORMATS = [
  { name: "collapsed", label: "Folded stacks", hint: "text for flame graph tools" },
  { name: "heatmap", label: "Heat map", hint: "source lines, one HTML file" },
  { name: "pstats-text", label: "Table", hint: "functions with the most samples, text" },
  { name: "pstats", label: "pstats", hint: "for Python's pstats" },
  { name: "pprof", label: "pprof", hint: "for go tool pprof, Pyroscope, Parca" },
  { name: "speedscope", label: "speedscope", hint: "for speedscope.app" },
  { name: "gecko", label: "Firefox Profiler", hint: "for profiler.firefox.com" },
  { name: "chrome-trace", label: "Trace", hint: "for Perfetto" },
  { name: "jsonl", label: "JSON lines", hint: "tables and sums for programs" },
];
