#include "server/command/options/suggest.h"

#include <stdbool.h>
#include <string.h>

enum { MAX_WORD = 32 };

/* Words of py-spy, perf, Austin, Scalene, pprof and others, and letters of theirs that are none of ours. */
static const struct {
    const char *word, *means;
} meanings[] = {
    { "F", "sampling-rate" },
    { "freq", "sampling-rate" },
    { "frequency", "sampling-rate" },
    { "hz", "sampling-rate" },
    { "interval", "sampling-rate" },
    { "sampling-frequency", "sampling-rate" },
    { "sampling-interval", "sampling-rate" },
    { "time", "duration" },
    { "timeout", "duration" },
    { "seconds", "duration" },
    { "exposure", "duration" },
    { "children", "subprocesses" },
    { "child", "subprocesses" },
    { "follow-forks", "subprocesses" },
    { "process", "pid" },
    { "pids", "pid" },
    { "all-processes", "all" },
    { "all-cpus", "all" },
    { "nonblocking", "stop" },
    { "non-blocking", "stop" },
    { "no-blocking", "stop" },
    { "pause", "stop" },
    { "call-graph", "native" },
    { "native-all", "native" },
    { "kernel", "engine" },
    { "remote", "engine" },
    { "ebpf", "engine" },
    { "cpu", "mode" },
    { "wall", "mode" },
    { "cpu-time", "mode" },
    { "wall-time", "mode" },
    { "exclude-idle", "parts" },
    { "include-idle", "idle" },
    { "gil-only", "gil" },
    { "asyncio", "async-aware" },
    { "tasks", "async-aware" },
    { "port", "listen" },
    { "host", "listen" },
    { "bind", "listen" },
    { "address", "listen" },
    { "open", "browser" },
    { "web", "browser" },
    { "out", "output" },
    { "outfile", "output" },
    { "output-file", "output" },
    { "file", "output" },
    { "type", "format" },
    { "raw", "collapsed" },
    { "folded", "collapsed" },
    { "html", "flamegraph" },
    { "flame-graph", "flamegraph" },
    { "flame", "flamegraph" },
    { "chrometrace", "chrome-trace" },
    { "trace", "chrome-trace" },
    { "perfetto", "chrome-trace" },
    { "firefox", "gecko" },
    { "protobuf", "pprof" },
    { "proto", "pprof" },
    { "text", "summary" },
    { "markdown", "summary-markdown" },
    { "json", "summary-json" },
    { "json", "jsonl" },
    { "table", "pstats" },
    { "pyro", "binary" },
    { "capture", "binary" },
    { "lines", "by-line" },
    { "lineno", "by-line" },
    { "stats", "realtime-stats" },
    { "verbose", "realtime-stats" },
    { "top", "limit" },
    { "rows", "limit" },
    { "filter", "focus" },
    { "include", "focus" },
    { "match", "focus" },
    { "grep", "focus" },
    { "exclude", "ignore" },
    { "omit", "hide" },
    { "remove", "hide" },
    { "start", "from" },
    { "since", "from" },
    { "end", "to" },
    { "until", "to" },
    { "tid", "thread" },
    { "base", "diff-flamegraph" },
    { "auth", "token-file" },
    { "token", "token-file" },
    { "no-auth", "no-token" },
    { "cert", "tls-cert" },
    { "key", "tls-key" },
    { "folder", "data" },
    { "dir", "data" },
};

static size_t smallest_of(size_t a, size_t b, size_t c)
{
    const size_t d = a < b ? a : b;
    return d < c ? d : c;
}

/* Optimal string alignment; rows[i % 3] is the row of the first i characters of a. */
size_t suggest_distance(const char *a, const char *b)
{
    size_t rows[3][MAX_WORD + 1];
    const size_t m = strlen(a), n = strlen(b);
    if (m > MAX_WORD || n > MAX_WORD)
        return MAX_WORD;
    for (size_t j = 0; j <= n; j++)
        rows[0][j] = j;
    for (size_t i = 1; i <= m; i++) {
        size_t *const row = rows[i % 3], *const above = rows[(i + 2) % 3];
        row[0] = i;
        for (size_t j = 1; j <= n; j++) {
            const bool differs = a[i - 1] != b[j - 1];
            row[j] = smallest_of(above[j] + 1, row[j - 1] + 1, above[j - 1] + differs);
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                row[j] = smallest_of(row[j], rows[(i + 1) % 3][j - 2] + 1, row[j]);
        }
    }
    return rows[m % 3][n];
}

const char *suggest_meaning(const char *word, size_t index)
{
    for (size_t i = 0; i < sizeof meanings / sizeof *meanings; i++)
        if (strcmp(meanings[i].word, word) == 0 && index-- == 0)
            return meanings[i].means;
    return NULL;
}

void suggest_offer(struct suggestion *best, const char *word, const char *candidate)
{
    const size_t distance = suggest_distance(word, candidate);
    const size_t near_enough = strlen(candidate) / 3 + 1;
    if (distance > near_enough || (best->word && distance >= best->distance))
        return;
    *best = (struct suggestion){ candidate, distance };
}
