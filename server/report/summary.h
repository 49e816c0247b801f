/*
 * summary - a profile in at most 40 lines (more if settings.limit asks for more): what was observed, the hottest
 * lines and functions, where it waits and why, the GIL, garbage collection, native code, and how far the numbers
 * can be trusted.
 *
 * Hot means of active samples, as on the first screen of the page, unless states were chosen or
 * settings.shows_idle is set.  Waiting is of all samples that are not active.  Why threads wait is known if the
 * stacks of the source have their marks (report_names_waits).  formats/summary_*.c write it.
 *
 * Ownership: plain data; texts are borrowed from the source, which must have its header.
 * Threads: any, on a snapshot of one's own.
 * Cost: a few views of the source.
 * Depends on: profile, own_lines, gil, wait_shares, report, header, names, wire.
 */
#ifndef SERVER_REPORT_SUMMARY_H
#define SERVER_REPORT_SUMMARY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sampler/base/err.h"
#include "sampler/profile/views/own_code.h"
#include "sampler/profile/views/states.h"
#include "sampler/profile/wait.h"
#include "server/report/names.h"

struct json;
struct report_source;
struct session_info;

enum {
    SUMMARY_LINES = 5,
    SUMMARY_FUNCTIONS = 5,
    SUMMARY_WAITS = 4,
    SUMMARY_WAIT_LINES = 3,
    SUMMARY_MAX_ROWS = 100, /* of each list, with settings.limit */
    SUMMARY_PEERS = 2,      /* of each cause */
    SUMMARY_LIBRARIES = 3,
    SUMMARY_RUNNABLE_PERCENT = 5, /* the text says that processors are missing from here on */
    SUMMARY_MAX_LINES = 40,       /* of the text */
    SUMMARY_QUALITY_BYTES = 640,
};

/* A line of your code, or a function. */
struct summary_row {
    struct named_frame frame; /* its line: the one to show, 0: unknown */
    uint64_t self;            /* samples; of a line with all that it called */
    uint64_t total;           /* of a function: with all that it called */
};

struct summary_rows {
    size_t count;
    struct summary_row rows[SUMMARY_MAX_ROWS];
};

struct summary_library {
    struct strtab_string path;
    uint64_t samples; /* whose innermost frame is of it */
};

struct summary_cause {
    enum wait_cause cause;
    uint64_t samples;
    size_t peer_count; /* known peers */
    struct summary_peer {
        struct strtab_string name;
        uint64_t samples;
    } peers[SUMMARY_PEERS]; /* most samples first */
};

enum summary_gil { SUMMARY_GIL_KNOWN, SUMMARY_GIL_UNKNOWN, SUMMARY_GIL_NONE };

struct summary {
    const struct report_source *source;
    size_t thread_count;
    uint64_t samples; /* of the selection */
    uint64_t hot;     /* of these: those that the shares of hot rows are of */
    uint64_t hot_ns;  /* the time that they stand for */
    uint64_t waiting; /* samples that are not active */
    bool is_active;   /* hot samples are the active ones; else all that were selected */
    struct own_code_level own_code,
        waiting_code; /* what counts as yours in lines and wait_lines */
    uint64_t own;     /* hot samples with your code on the stack */
    struct summary_rows lines, functions;
    struct summary_rows wait_functions, wait_lines; /* of the waiting samples */
    uint64_t
        thread_waiting; /* waiting samples without those of waiting tasks, which have no cause */
    uint64_t idle;      /* of these idle */
    size_t cause_count;
    struct summary_cause causes[WAIT_CAUSE_COUNT]; /* why threads wait; most samples first */
    struct state_sums states;                      /* of the selection, without waiting tasks */
    enum summary_gil gil;
    struct strtab_string
        holder; /* the thread that held the GIL most while others waited; "": none */
    int32_t holder_tid;
    double holder_share; /* of the waiting for the GIL */
    uint64_t native;     /* hot samples whose innermost frame is native */
    size_t library_count;
    struct summary_library libraries[SUMMARY_LIBRARIES]; /* most samples first */
};

MUST_CHECK enum err_code summary_init(struct summary *summary,
                                      const struct report_source *source, struct err *err);

/* Writes the Summary document of openapi.json as a value. */
MUST_CHECK enum err_code summary_write_json(struct json *json,
                                            const struct report_source *source,
                                            struct err *err);

/* How far the numbers can be trusted: one sentence without its full stop, about the whole session. */
void summary_quality_text(const struct session_info *info, char out[SUMMARY_QUALITY_BYTES]);

#endif /* SERVER_REPORT_SUMMARY_H */
