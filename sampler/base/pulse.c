#define _GNU_SOURCE
#include "sampler/base/pulse.h"

#include <stddef.h>
#include <sys/mman.h>

struct pulse *pulse_create(void)
{
    struct pulse *const pulse =
        mmap(NULL, sizeof *pulse, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    return pulse == MAP_FAILED ? NULL : pulse;
}

void pulse_drop(struct pulse *pulse)
{
    if (pulse)
        (void)munmap(pulse, sizeof *pulse);
}

void pulse_take(struct pulse *pulse)
{
    if (pulse && atomic_fetch_add(&pulse->taken, 1) + 1 == 0)
        atomic_fetch_add(&pulse->taken, 1);
}

void pulse_lose(struct pulse *pulse)
{
    atomic_store(&pulse->taken, 0);
    atomic_fetch_add(&pulse->lost, 1);
}
