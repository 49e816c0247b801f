#include "sampler/native/linkage.h"

#include "sampler/native/machine/machine.h"

remote_addr linkage_target(struct blocks *blocks, remote_addr stub)
{
    unsigned char code[MACHINE_STUB_BYTES];
    uint64_t target;
    if (blocks_read(blocks, stub, code, sizeof code))
        return 0;
    const remote_addr slot = machine_stub_slot(code, stub);
    /* The word changes when the function is found, so it is not read through the cache. */
    return slot && !memory_read(blocks->memory, slot, &target, sizeof target) ? target : 0;
}
