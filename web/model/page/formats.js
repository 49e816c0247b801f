// The formats of server/report that a session can be downloaded in, beside the report.

export const FORMATS = ["collapsed", "heatmap", "pstats-text", "pstats", "pprof", "speedscope", "gecko", "chrome-trace", "jsonl"];
