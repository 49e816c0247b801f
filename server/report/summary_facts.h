/*
 * summary_facts - what a summary says.
 *
 * Ownership: plain data; texts are borrowed from the source.
 */
#ifndef SERVER_REPORT_SUMMARY_FACTS_H
#define SERVER_REPORT_SUMMARY_FACTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sampler/profile/views/own_code.h"
#include "sampler/profile/views/states.h"
#include "sampler/profile/wait.h"
#include "server/report/names.h"

struct report_source;

/* A thread with this share of idle samples does nothing else that matters. */
#define SUMMARY_IDLE_SHARE 0.9
/* A thread with less than this share of the samples of the one that lives longest comes or goes meanwhile. */
#define SUMMARY_LASTING_SHARE 0.5

enum {
    SUMMARY_LINES = 5,
    SUMMARY_FUNCTIONS = 5,
    SUMMARY_WAITS = 4,
    SUMMARY_WAIT_LINES = 3,
    SUMMARY_TASK_LINES = 3,
    SUMMARY_MAX_ROWS = 100, /* of each list, with settings.limit */
    SUMMARY_PEERS = 2,      /* of each cause */
    SUMMARY_LIBRARIES = 3,
    SUMMARY_RUNNABLE_PERCENT = 5, /* the text says that processors are missing from here on */
    SUMMARY_NATIVE_PERCENT =
        20,                 /* of what runs: from here on a C function is worth native stacks */
    SUMMARY_MAX_LINES = 40, /* of the text */
    SUMMARY_QUALITY_BYTES = 640,
    SUMMARY_HEADLINE_BYTES = 640,
};

/* A line of your code, or a function. */
struct summary_row {
    struct named_frame frame; /* its line: the one to show, 0: unknown */
    uint64_t self;            /* samples; of a line with all that it called */
    uint64_t total;           /* of a function: with all that it called */
};

struct summary_rows {
    struct own_code_level own_code; /* of lines: what counts as your code */
    uint64_t samples;               /* of lines: of the query */
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
    size_t thread_count, idle_threads; /* with samples; of these idle nearly all the time */
    bool threads_last;                 /* none of them comes or goes */
    uint64_t samples;                  /* of the selection's threads */
    uint64_t parts[PART_COUNT], parts_ns[PART_COUNT];
    bool
        lacks_states; /* no sample says whether its thread ran, or they are not of time; all count as running */
    uint64_t busy;                         /* samples that are not idle */
    uint64_t hot;                          /* of these running */
    uint64_t waiting;                      /* the rest of them */
    uint64_t own;                          /* hot samples with your code on the stack */
    char headline[SUMMARY_HEADLINE_BYTES]; /* a sentence without its full stop; names in ` */
    struct summary_rows lines, functions;
    struct summary_rows wait_functions, wait_lines; /* of the waiting samples */
    struct summary_rows task_lines;                 /* where waiting tasks await */
    uint64_t tasks; /* samples of waiting tasks, which are no time of threads */
    size_t cause_count;
    struct summary_cause causes[WAIT_CAUSE_COUNT]; /* why threads wait; most samples first */
    struct state_sums states;                      /* of the busy samples */
    enum summary_gil gil;
    struct strtab_string
        holder; /* the thread that held the GIL most while others waited; "": none */
    int32_t holder_tid;
    double holder_share; /* of the waiting for the GIL */
    uint64_t native;     /* hot samples whose innermost frame is native */
    /* Without native stacks: a C function that no Python brings, in which much of what runs ends; self 0: none. */
    struct summary_row c_function;
    size_t library_count;
    struct summary_library libraries[SUMMARY_LIBRARIES]; /* most samples first */
};

#endif /* SERVER_REPORT_SUMMARY_FACTS_H */
