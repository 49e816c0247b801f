/*
 * instants - how many instants an event of a processor's clock stands for.  A part of the BPF program, and of tests.
 *
 * Several clocks of a processor, each with a period of its own, make events that are as good as random: see
 * periods.h.  Most of them stand for one instant each.  But events come late where the processor is kept busy or, of a
 * virtual machine, is away, and then several of a clock are one.  So each thread has a balance: the time that it has run
 * less that of the instants that were counted.  Where chance alone does not explain it, an event stands for more instants
 * than one, or for none.
 *
 * A balance of which nothing may be left over would do harm: the first event after each full period would count, and these
 * instants have a rhythm.
 *
 * Included by the BPF program too, so it has neither types nor includes of libc.
 * Units: nanoseconds.
 */
#ifndef SAMPLER_KERNEL_INSTANTS_H
#define SAMPLER_KERNEL_INSTANTS_H

#include "sampler/kernel/record.h"

enum { INSTANTS_BY_CHANCE = 4 /* more or less than the time that has passed */ };

/* The instants of an event of a thread that has run for ran_ns since the balance was made. The
 * division has no sign, because the BPF program has no other. */
static inline unsigned int instants_take(unsigned long long ran_ns,
                                         unsigned long long period_ns, long long *balance_ns)
{
    const long long period = (long long)period_ns;
    const long long balance = *balance_ns + (long long)ran_ns;
    const long long most = (INSTANTS_BY_CHANCE + 1) * period;
    unsigned long long instants = balance + INSTANTS_BY_CHANCE * period < period ? 0 : 1;
    if (balance > most && period_ns)
        instants += (unsigned long long)(balance - most) / period_ns;
    if (instants > KERNEL_MAX_INSTANTS)
        instants = KERNEL_MAX_INSTANTS;
    *balance_ns = balance - (long long)instants * period;
    return (unsigned int)instants;
}

#endif /* SAMPLER_KERNEL_INSTANTS_H */
