#include "sampler/session/kernel/outer_parts.h"

#include <stdlib.h>
#include <string.h>

#include "sampler/kernel/decode.h"
#include "sampler/native/native_copy.h"

void outer_part_deinit(struct outer_part *part)
{
    if (part->parts)
        part->parts->bytes -= part->count;
    free(part->bytes);
    *part = (struct outer_part){ 0 };
}

void outer_part_learn(struct outer_part *part, struct outer_parts *parts, uint64_t record_ns,
                      const struct kernel_outer_place *place, const struct native_copy *copy)
{
    const struct native_span *const span = copy->stack.spans;
    const size_t count = (size_t)(copy->stack.base - place->from);
    if (part->count != count) {
        outer_part_deinit(part);
        if (parts->bytes > OUTER_PARTS_BYTES - count || !(part->bytes = malloc(count)))
            return;
        part->count = count;
        part->parts = parts;
        parts->bytes += count;
    }
    part->ns = record_ns;
    part->from = place->from;
    memcpy(part->bytes, span->bytes + (place->from - span->addr), count);
}

void outer_part_complete(const struct outer_part *part, struct outer_parts *parts,
                         const struct kernel_outer_place *place, struct native_copy *copy)
{
    struct native_stack *const stack = &copy->stack;
    if (part->ns == place->ns && part->from == place->from &&
        part->count == stack->base - place->from) {
        stack->spans[stack->span_count++] =
            (struct native_span){ part->from, part->bytes, part->count };
        return;
    }
    copy->is_cut = true;
    /* One that was not kept would not be kept again. */
    parts->is_missed = parts->is_missed || part->ns;
}
