#include "sampler/native/demangle_work.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { BYTES_OF_STEP = 32 };

void demangle_write(struct demangle_work *work, const char *text, size_t length)
{
    /* Text may be taken back, so the bound of its length does not bound the copying. */
    if (!demangle_step(work, 1 + (uint32_t)(length / BYTES_OF_STEP)))
        return;
    if (length > DEMANGLE_MAX_OUTPUT - work->length) {
        work->has_failed = true;
        return;
    }
    memcpy(work->text + work->length, text, length);
    work->length += length;
}

void demangle_write_text(struct demangle_work *work, const char *text)
{
    if (*text)
        demangle_write(work, text, strlen(text));
}

void demangle_write_number(struct demangle_work *work, uint64_t number)
{
    char digits[24];
    demangle_write(work, digits, (size_t)snprintf(digits, sizeof digits, "%" PRIu64, number));
}
