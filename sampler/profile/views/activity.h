/*
 * activity - what each process of a session did in a range of time: how busy it was along the range, its hottest line
 * and where it waited most; and the hottest functions of all processes together.
 *
 * A sample that runs counts at the innermost frame of your own code on its stack (own_code.h); without such a frame at
 * the innermost Python frame, and without one at the innermost frame.  One that does not counts for its cause, and where
 * the cause is unknown, at its innermost frame.
 * A process has a row if it has samples in the range, and is present if it has some in the last ACTIVITY_PRESENT_NS.
 * Where the host has used a pid twice, there is a row for each.
 *
 * Marks of functions are kept from one call to the next, because functions are never removed: own_marks, zeroed at first,
 * freed with own_marks_deinit, and only for snapshots of one profile.
 *
 * Ownership: the arrays belong to the struct; activity_deinit accepts a zeroed one.
 * Threads: any, each on its own snapshot and its own marks.
 * Cost: the cells of the range, plus the nodes of the session, plus one match for each new function.
 * Limits: ACTIVITY_MAX_SLOTS slots, ACTIVITY_MAX_FUNCTIONS functions; rows as processes in the profile.
 * Units: nanoseconds since the profile was created; times of threads add up.
 */
#ifndef SAMPLER_PROFILE_VIEWS_ACTIVITY_H
#define SAMPLER_PROFILE_VIEWS_ACTIVITY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sampler/base/err.h"
#include "sampler/profile/profile.h"
#include "sampler/profile/wait.h"

enum { ACTIVITY_MAX_SLOTS = 240, ACTIVITY_MAX_FUNCTIONS = 32 };
#define ACTIVITY_PRESENT_NS 5000000000ull

struct own_marks {
    unsigned char *functions;
    uint32_t count;
};

void own_marks_deinit(struct own_marks *marks);

struct activity_place {
    function_id function; /* 0: none */
    int32_t line;         /* 0: unknown */
    bool is_own;
    uint64_t ns;
};

/* The wait of a process that took most time. */
struct activity_wait {
    enum wait_cause cause;
    uint64_t ns; /* of the cause; of the place if the cause is unknown */
    /* The frame of the cause with its most frequent peer (wait.h); 0: the cause is unknown. */
    function_id mark;
    struct activity_place place; /* where, most: the innermost frame if the cause is unknown */
};

struct activity {
    uint64_t from_ns, to_ns, slot_ns;
    uint64_t running_ns; /* of all processes */
    size_t slots;
    size_t count;
    struct activity_process {
        process_id process;
        bool is_present;
        uint64_t parts_ns[PART_COUNT];
        struct activity_place hottest;
        struct activity_wait waits; /* place.function 0: none */
        const uint64_t *running;    /* in each slot */
    } * processes;                  /* ascending */
    size_t function_count;
    struct activity_function {
        struct activity_place
            place;          /* its hottest line; the time of all lines, in all processes */
        process_id process; /* where it was hottest */
        uint32_t processes;
    } functions[ACTIVITY_MAX_FUNCTIONS]; /* hottest first */
    uint64_t *running;                   /* of all processes, a row of slots each */
};

/* The last `slots` slots of the session (1 to ACTIVITY_MAX_SLOTS), fewer if it is younger.  They begin at whole
 * multiples of slot_ns, and the last one is not over. */
MUST_CHECK enum err_code activity_init(struct activity *activity,
                                       const struct profile_snapshot *snapshot,
                                       struct own_marks *marks, uint64_t slot_ns, size_t slots,
                                       struct err *err);
void activity_deinit(struct activity *activity);

#endif /* SAMPLER_PROFILE_VIEWS_ACTIVITY_H */
