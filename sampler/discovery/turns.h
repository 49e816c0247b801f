/*
 * turns - in which order processes of many owners are examined, and how long those of one may take.
 *
 * Owners take turns, each with one process.  What an owner's processes took is its debt; beyond
 * TURNS_DEBT_NS it rests until that has gone down, by a part of the time that passes, so that one with
 * a thousand processes that were made to be slow keeps nobody else waiting for long.
 *
 * Ownership: the caller's storage; a zeroed one has no debts.
 * Threads: none.
 * Limits: TURNS_OWNERS debts; of more the smallest is forgotten.
 * Units: nanoseconds of CLOCK_MONOTONIC.
 * Depends on: clock.
 */
#ifndef SAMPLER_DISCOVERY_TURNS_H
#define SAMPLER_DISCOVERY_TURNS_H

#include <stddef.h>
#include <stdint.h>

#include "sampler/base/clock.h"

enum { TURNS_OWNERS = 64, TURNS_SHARE = 5 };
#define TURNS_DEBT_NS (3 * NS_PER_S)

struct turn_item {
    int pid;
    unsigned uid;
    uint32_t rank; /* among those of its owner */
};

struct debts {
    struct debt {
        unsigned uid;
        uint64_t ns, at_ns; /* as it was then */
    } items[TURNS_OWNERS];
};

/* First one of each owner's by uid, then another one of each, and so on; an owner's own by pid. */
void turns_sort(struct turn_item *items, size_t count);

void debts_charge(struct debts *debts, unsigned uid, uint64_t cost_ns, uint64_t now_ns);
/* When the owner's next turn may be; 0: now. */
uint64_t debts_rest_until_ns(const struct debts *debts, unsigned uid, uint64_t now_ns);

#endif /* SAMPLER_DISCOVERY_TURNS_H */
