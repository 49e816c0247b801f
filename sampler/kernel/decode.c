#include "sampler/kernel/decode.h"

#include <stdint.h>
#include <string.h>

static bool is_number(unsigned id)
{
    return id && id <= INT32_MAX;
}

bool kernel_decode(const void *data, size_t bytes, struct kernel_record *record,
                   const void **spans)
{
    struct kernel_record head;
    if (bytes < sizeof head)
        return false;
    memcpy(&head, data, sizeof head);
    const size_t rest = bytes - sizeof head;
    if (!is_number(head.pid) || !is_number(head.tid) || head.bytes != rest ||
        rest > KERNEL_AREA_BYTES)
        return false;
    switch (head.kind) {
    case KERNEL_TICK:
        if (!head.instants || head.instants > KERNEL_MAX_INSTANTS)
            return false;
        break;
    case KERNEL_LEFT: break;
    case KERNEL_RETURNED:
        if (rest || head.left_ns > head.time_ns)
            return false;
        break;
    case KERNEL_CODE:
        if (!rest || rest > KERNEL_CODE_BYTES)
            return false;
        break;
    case KERNEL_UNKNOWN:
        if (rest)
            return false;
        break;
    default: return false;
    }
    *record = head;
    *spans = (const unsigned char *)data + sizeof head;
    return true;
}
