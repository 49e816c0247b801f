/*
 * steady - whether the wall clock can be trusted to tell how old a file is.
 *
 * A clock that was set forward by years makes every capture too old at once, and what was removed does
 * not come back.  The first reading is trusted as it is; after a jump only when there was no
 * other for STEADY_NS.
 *
 * Ownership: the caller's storage, zeroed at first.
 * Threads: one at a time.
 * Units: nanoseconds.
 * Depends on: libc.
 */
#ifndef SERVER_SESSIONS_STEADY_H
#define SERVER_SESSIONS_STEADY_H

#include <stdbool.h>
#include <stdint.h>

#include "sampler/base/clock.h"

#define STEADY_NS      (24 * 3600 * NS_PER_S)
#define STEADY_JUMP_NS (60 * NS_PER_S) /* what is less is a clock being put right */

struct steady {
    uint64_t wall_ns, boot_ns;  /* of the last reading; boot_ns 0: there was none */
    uint64_t doubtful_until_ns; /* of boot_ns */
};

/* wall_ns: clock_wall_ns, boot_ns: clock_boot_ns. */
bool steady_is_trusted(struct steady *steady, uint64_t wall_ns, uint64_t boot_ns);

#endif /* SERVER_SESSIONS_STEADY_H */
