/*
 * gecko_rows - one thread over time: its samples, and markers made of its states.
 *
 * A row is a cell of a slice, with the time assigned to it (slices.h).  A marker is a run of rows that
 * agree on one fact (did the thread hold the GIL?  Why did it wait?); an unknown fact makes no marker.
 *
 * Ownership: the struct owns its arrays; gecko_rows_deinit accepts a zeroed one.
 * Units: nanoseconds since the session began.
 * Limits: GECKO_MAX_MARKERS for a thread; `cut` counts those beyond.
 */
#ifndef SERVER_REPORT_FORMATS_GECKO_ROWS_H
#define SERVER_REPORT_FORMATS_GECKO_ROWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sampler/base/err.h"
#include "sampler/profile/profile.h"

struct preorder;
struct slices;

enum { GECKO_MAX_MARKERS = 1 << 22 };

/* name, category, text */
#define GECKO_MARKERS(X)                          \
    X(HAS_GIL, "GIL", "Has GIL")                  \
    X(NO_GIL, "GIL", "No GIL")                    \
    X(WAITS_GIL, "GIL", "Waiting for GIL")        \
    X(ON_CPU, "CPU", "On CPU")                    \
    X(OFF_CPU, "CPU", "Off CPU")                  \
    X(PYTHON_CODE, "Code Type", "Python Code")    \
    X(NATIVE_CODE, "Code Type", "Native Code")    \
    X(EXCEPTION, "Exceptions", "Has Exception")   \
    X(NO_EXCEPTION, "Exceptions", "No Exception") \
    X(GC, "GC", "GC Collecting")                  \
    X(OPCODE, "Opcodes", "Opcode")                \
    X(WAIT, "Waits", "Wait")

enum gecko_marker_name {
#define X(name, category, text) GECKO_##name,
    GECKO_MARKERS(X)
#undef X
        GECKO_MARKER_COUNT
};

const char *gecko_marker_text(enum gecko_marker_name name);
/* The name of a category of gecko_tables.h. */
const char *gecko_marker_category(enum gecko_marker_name name);

struct gecko_rows {
    size_t count;
    struct gecko_row {
        node_id node;
        uint64_t start_ns, end_ns;
        uint64_t samples, ns; /* ns: that they stand for */
        state_bits state;
    } * rows;
    size_t row_room;
    size_t marker_count;
    struct gecko_marker {
        uint64_t start_ns, end_ns;
        enum gecko_marker_name name;
        union {
            spot_id spot;     /* of an opcode's */
            function_id wait; /* of a wait: the mark that says why */
        };
    } * markers;
    size_t marker_room;
    size_t cut;
};

/* Instructions are among the markers unless the query leaves them out. */
MUST_CHECK enum err_code gecko_rows_init(struct gecko_rows *rows, struct slices *slices,
                                         const struct preorder *order, thread_id thread,
                                         struct err *err);
void gecko_rows_deinit(struct gecko_rows *rows);

#endif /* SERVER_REPORT_FORMATS_GECKO_ROWS_H */
