/*
 * turns - the order in which processes of many owners are examined, and how long those of one owner
 * may take.
 *
 * Owners take turns, each with one process.  The time that an owner's processes took is its debt.  An
 * owner whose debt exceeds TURNS_DEBT_NS rests until the debt is paid down to that, by one part in
 * TURNS_SHARE of the time that passes.  So an owner with a thousand processes that are slow on purpose
 * does not delay the others for long.
 *
 * Ownership: the caller's storage; a zeroed one has no debts.
 * Threads: none.
 * Limits: TURNS_OWNERS debts; a new one then replaces the smallest.
 * Units: nanoseconds of CLOCK_MONOTONIC.
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
        uint64_t ns, at_ns; /* the debt, and when it was that high */
    } items[TURNS_OWNERS];
};

/* First one process of each owner, by uid, then another one of each, and so on; those of one owner
 * by pid. */
void turns_sort(struct turn_item *items, size_t count);

void debts_charge(struct debts *debts, unsigned uid, uint64_t cost_ns, uint64_t now_ns);
/* The earliest instant of the owner's next turn; 0: now. */
uint64_t debts_rest_until_ns(const struct debts *debts, unsigned uid, uint64_t now_ns);

#endif /* SAMPLER_DISCOVERY_TURNS_H */
