#include "sampler/session/native/native_copies.h"

#include <stdlib.h>

#include "sampler/base/vec.h"
#include "sampler/native/native_copy.h"

struct native_slot {
    struct native_copy copy;
    unsigned char bytes[NATIVE_COPY_BYTES];
};

void native_copies_deinit(struct native_copies *copies)
{
    for (size_t i = 0; i < copies->made; i++)
        free(copies->slots[i]);
    free(copies->slots);
    *copies = (struct native_copies){ .count = 0 };
}

enum err_code native_copies_begin(struct native_copies *copies, size_t count)
{
    copies->count = 0;
    if (!VEC_RESERVE(copies->slots, copies->room, count))
        return ERR_NOMEM;
    for (; copies->made < count; copies->made++)
        if (!(copies->slots[copies->made] = malloc(sizeof **copies->slots)))
            return ERR_NOMEM;
    return ERR_OK;
}

const struct native_copy *native_copies_read(struct native_copies *copies,
                                             struct memory *memory, int32_t tid,
                                             remote_addr stack_start)
{
    if (copies->count == copies->made)
        return NULL;
    struct native_slot *const slot = copies->slots[copies->count];
    if (native_copy_read(memory, tid, stack_start, slot->bytes, &slot->copy))
        return NULL;
    copies->count++;
    return &slot->copy;
}

const struct native_copy *native_copies_read_known(struct native_copies *copies,
                                                   struct memory *memory,
                                                   const struct native_registers *registers,
                                                   remote_addr descriptor,
                                                   remote_addr stack_start)
{
    if (copies->count == copies->made)
        return NULL;
    struct native_slot *const slot = copies->slots[copies->count];
    if (native_copy_read_known(memory, registers, descriptor, stack_start, slot->bytes,
                               &slot->copy))
        return NULL;
    copies->count++;
    return &slot->copy;
}

const struct native_copy *native_copies_read_waiting(struct native_copies *copies,
                                                     struct memory *memory,
                                                     const struct system_call *call,
                                                     remote_addr stack_start)
{
    if (native_copies_begin(copies, 1))
        return NULL;
    struct native_slot *const slot = copies->slots[0];
    const bool is_read =
        !native_copy_read_waiting(memory, call, stack_start, slot->bytes, &slot->copy);
    copies->count = is_read;
    return is_read ? &slot->copy : NULL;
}
