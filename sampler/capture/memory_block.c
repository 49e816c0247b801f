#include "sampler/capture/memory_block.h"

#include <stdbool.h>

#include "sampler/base/buffer.h"
#include "sampler/base/byte_reader.h"
#include "sampler/capture/windows.h"

enum { KIB = 1024, STEP_LEAST_BYTES = 4, USE_LEAST_BYTES = 8 };

/* 0 is that of MEMORY_OTHERS. */
static uint64_t number_of(process_id process)
{
    return process == MEMORY_OTHERS ? 0 : (uint64_t)process + 1;
}

static bool is_known(const struct memory_use *use, uint32_t processes)
{
    return use->process == MEMORY_OTHERS || use->process < processes;
}

static void put_use(struct buffer *out, const struct memory_use *use)
{
    buffer_number(out, number_of(use->process));
    buffer_number(out, use->group);
    buffer_number(out, use->rss_bytes / KIB);
    buffer_number(out, use->swap_bytes / KIB);
    buffer_number(out, use->peak_bytes / KIB);
    buffer_number(out, use->limit_bytes / KIB);
    buffer_number(out, use->minor_faults);
    buffer_number(out, use->major_faults);
}

bool memory_block_encode(const struct memory_log *log, size_t *next, uint32_t processes,
                         struct buffer *out)
{
    const size_t first = *next;
    size_t uses = 0, end = first;
    uint64_t last_ns = 0;
    while (end < log->step_count &&
           (end == first || uses + log->steps[end].count <= MEMORY_BLOCK_MAX_USES))
        uses += log->steps[end++].count;
    if (first == end)
        return false;
    buffer_number(out, end - first);
    for (size_t i = first; i < end; i++) {
        const struct memory_step *const step = &log->steps[i];
        const struct memory_use *const items = memory_log_uses(log, step);
        uint32_t count = 0;
        for (uint32_t k = 0; k < step->count; k++)
            count += is_known(&items[k], processes);
        buffer_number(out, step->start_ns - last_ns);
        buffer_number(out, step->end_ns - step->start_ns);
        buffer_number(out, step->peak_bytes / KIB);
        buffer_number(out, count);
        for (uint32_t k = 0; k < step->count; k++)
            if (is_known(&items[k], processes))
                put_use(out, &items[k]);
        last_ns = step->end_ns;
    }
    *next = end;
    return true;
}

/* At most 256 TiB, so that sums are numbers too. */
static uint64_t take_bytes(struct byte_reader *in)
{
    return byte_reader_below(in, UINT64_MAX >> 26) * KIB;
}

static struct memory_use take_use(struct byte_reader *in, uint32_t processes)
{
    const uint64_t number = byte_reader_below(in, processes);
    struct memory_use use = { .process = number ? (process_id)(number - 1) : MEMORY_OTHERS };
    use.group = (uint32_t)byte_reader_below(in, UINT32_MAX);
    use.rss_bytes = take_bytes(in);
    use.swap_bytes = take_bytes(in);
    use.peak_bytes = take_bytes(in);
    use.limit_bytes = take_bytes(in);
    use.minor_faults = (uint32_t)byte_reader_below(in, UINT32_MAX);
    use.major_faults = (uint32_t)byte_reader_below(in, UINT32_MAX);
    return use;
}

enum err_code memory_block_decode(struct byte_reader *in, uint32_t processes,
                                  struct memory_log *log, struct err *err)
{
    struct memory_use uses[MEMORY_STEP_MAX_USES];
    const size_t count = byte_reader_count(in, STEP_LEAST_BYTES, MEMORY_BLOCK_MAX_USES);
    uint64_t last_ns = 0;
    enum err_code rc = ERR_OK;
    for (size_t i = 0; i < count && !rc && !in->is_bad; i++) {
        struct memory_step step;
        step.start_ns = last_ns + byte_reader_below(in, WINDOWS_MAX_NS - last_ns);
        step.end_ns = step.start_ns + byte_reader_below(in, WINDOWS_MAX_NS - step.start_ns);
        step.peak_bytes = take_bytes(in);
        step.count = (uint32_t)byte_reader_count(in, USE_LEAST_BYTES, MEMORY_STEP_MAX_USES);
        step.first = 0;
        for (uint32_t k = 0; k < step.count && !in->is_bad; k++)
            uses[k] = take_use(in, processes);
        last_ns = step.end_ns;
        if (!in->is_bad)
            rc = memory_log_add(log, &step, uses, err);
    }
    return !rc && in->is_bad ? err_set(err, ERR_CORRUPT, "its memory of processes is invalid")
                             : rc;
}
