/*
 * steady - decides whether the wall clock can be trusted with the age of files.
 *
 * A clock that is set forward by years makes every capture too old at once, and removed captures are
 * lost.  The first reading is trusted.  After a jump the clock is trusted once STEADY_NS have passed
 * without another one.
 *
 * Ownership: the caller's storage, zeroed at first.
 * Threads: one at a time.
 * Units: nanoseconds.
 */
#ifndef SERVER_SESSIONS_STEADY_H
#define SERVER_SESSIONS_STEADY_H

#include <stdbool.h>
#include <stdint.h>

#include "sampler/base/clock.h"

#define STEADY_NS      (24 * 3600 * NS_PER_S)
#define STEADY_JUMP_NS (60 * NS_PER_S) /* a smaller one is an ordinary correction */

struct steady {
    uint64_t wall_ns, boot_ns;  /* of the last reading; boot_ns 0: none yet */
    uint64_t doubtful_until_ns; /* on the clock of boot_ns */
};

/* wall_ns: clock_wall_ns, boot_ns: clock_boot_ns. */
bool steady_is_trusted(struct steady *steady, uint64_t wall_ns, uint64_t boot_ns);

#endif /* SERVER_SESSIONS_STEADY_H */
