/*
 * Input: a version, the address of a thread state, then pieces: memory of the process, and records of the
 * kernel engine, whose stacks are read.  record_kernel_seeds writes such a file from a real run.
 */
#include <string.h>

#include "sampler/cpython/objects/code_place.h"
#include "sampler/cpython/stack/stack.h"
#include "sampler/kernel/copy_memory.h"
#include "sampler/kernel/decode.h"
#include "sampler/native/native_copy.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/kernel_seed.h"
#include "tests/unit/cpython/made/offsets.h"

enum { MAX_REGIONS = 512, MAX_RECORDS = 16, MAX_READS = 20000 };

struct region {
    remote_addr addr;
    size_t bytes;
    const uint8_t *data;
};

struct world {
    struct memory process;
    struct layout layout;
    struct strtab strings;
    struct code_table codes;
    struct stack stack;
    struct copy_memory copy;
    struct tail {
        uint64_t ns;
        const uint8_t *data;
        size_t bytes;
    } tail; /* the last one */
    size_t region_count;
    struct region regions[MAX_REGIONS];
    struct fuzz_input input;
};

static enum err_code read_process(struct memory *memory, const struct memory_span *spans,
                                  size_t count, size_t *bytes_out)
{
    const struct world *const world = (const struct world *)memory;
    if (memory->reads >= MAX_READS)
        return ERR_GONE;
    for (size_t i = 0; i < count; i++) {
        const struct region *found = NULL;
        for (size_t r = 0; r < world->region_count && !found; r++) {
            const struct region *const region = &world->regions[r];
            const remote_addr from = spans[i].addr - region->addr;
            if (from <= region->bytes && spans[i].bytes <= region->bytes - from)
                found = region;
        }
        if (!found)
            return ERR_FAULT;
        memcpy(spans[i].buffer, found->data + (spans[i].addr - found->addr), spans[i].bytes);
        *bytes_out += spans[i].bytes;
    }
    return ERR_OK;
}

static void set_layout(struct world *world, unsigned minor)
{
    struct offsets table;
    if (minor < KERNEL_SEED_FIRST_TABLE) {
        fuzz_check(!layout_of_version(0x03000000 | minor << 16 | 0x1f0, &world->layout, NULL));
    } else {
        offsets_fill(&table, minor);
        fuzz_check(!layout_of_debug_offsets(&table, sizeof table, &world->layout, NULL));
    }
}

static void begin(struct world *world, const uint8_t *data, size_t size)
{
    const unsigned versions = KERNEL_SEED_NEWEST - LAYOUT_OLDEST_MINOR + 1;
    world->process.readv = read_process;
    world->input = (struct fuzz_input){ data, data + size };
    set_layout(world, LAYOUT_OLDEST_MINOR + (unsigned)fuzz_take(&world->input, 1) % versions);
    fuzz_check(!strtab_init(&world->strings, NULL));
    code_table_init(&world->codes, &world->process, &world->layout, &world->strings);
    copy_memory_init(&world->copy);
    stack_init(&world->stack, &world->copy.memory, &world->layout, fuzz_take(&world->input, 8),
               0);
    world->stack.copy.is_still = true;
    world->stack.copy.taken_ns = 1;
}

static void end(struct world *world)
{
    stack_deinit(&world->stack);
    code_table_deinit(&world->codes);
    strtab_deinit(&world->strings);
}

static void learn_code(struct world *world)
{
    if (!world->copy.count)
        return;
    world->codes.is_described = false;
    copy_memory_complete(&world->copy, &world->process);
    (void)!code_learn(&world->codes, &world->copy.memory, world->copy.spans[0].addr);
    world->codes.is_described = true;
}

/* Its spans lie in the record, and in order in the process. */
static void check_native(const struct kernel_record *record, const void *spans,
                         const uint8_t *end)
{
    struct native_copy copy;
    remote_addr reached = 0;
    struct kernel_outer_place outer;
    if (!kernel_decode_native(record, spans, &copy, &outer))
        return;
    if (outer.from)
        fuzz_check(copy.stack.span_count == 1 && outer.from < copy.stack.base &&
                   outer.from > copy.stack.spans[0].addr);
    fuzz_check(copy.stack.span_count <= KERNEL_MAX_STACK_SPANS);
    for (size_t i = 0; i < copy.stack.span_count; i++) {
        const struct native_span *const span = &copy.stack.spans[i];
        fuzz_check(span->bytes > (const uint8_t *)spans && span->count &&
                   span->count <= (size_t)(end - span->bytes));
        fuzz_check(span->addr >= reached && span->addr + span->count >= span->addr);
        reached = span->addr + span->count;
        fuzz_check(!copy.stack.base || reached <= copy.stack.base);
    }
}

/* false: it is the tail of a record that is not there. */
static bool show_tail(struct world *world, const struct kernel_record *record,
                      const void *spans)
{
    struct tail *const tail = &world->tail;
    struct kernel_span first = { 0 };
    if (record->tail_at && !record->tail_ns)
        *tail = (struct tail){ record->time_ns, (const uint8_t *)spans + record->tail_at,
                               record->bytes - record->tail_at };
    else if (record->tail_ns && (record->tail_ns != tail->ns ||
                                 copy_memory_show_more(&world->copy, tail->data, tail->bytes)))
        return false;
    if (record->tail_at && tail->bytes >= sizeof first)
        memcpy(&first, tail->data, sizeof first);
    world->stack.copy.tail =
        (struct copy_tail){ record->tail_at ? tail->ns : 0, first.addr + first.bytes };
    return true;
}

static void read_stack(struct world *world, const uint8_t *data, size_t bytes)
{
    struct kernel_record record;
    const void *spans;
    if (!kernel_decode(data, bytes, &record, &spans))
        return;
    check_native(&record, spans, data + bytes);
    if (copy_memory_show(&world->copy, spans, record.bytes))
        return;
    const uint64_t before = world->copy.memory.reads;
    if (record.kind == KERNEL_CODE) {
        learn_code(world);
        return;
    }
    /* Windows, which are no stack. */
    if (record.same_ns) {
        fuzz_check(record.native_bytes == 0 && record.same_ns <= record.time_ns);
        return;
    }
    if (!show_tail(world, &record, spans))
        return;
    code_begin_epoch(&world->codes);
    const enum err_code rc = stack_read(&world->stack, &world->codes);
    fuzz_check(world->copy.memory.reads - before < MAX_READS);
    for (size_t i = 0; !rc && i < world->stack.count; i++) {
        const struct walk_frame *const frame = &world->stack.frames[i];
        fuzz_check(frame->code < world->codes.codes.count);
        (void)code_place(&world->codes, frame->code, frame->instr);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct world world;
    memset(&world, 0, sizeof world);
    begin(&world, data, size);
    struct fuzz_input *const input = &world.input;
    for (unsigned records = 0; input->at < input->end && records < MAX_RECORDS;) {
        const bool is_memory = fuzz_take(input, 1) % 2 == KERNEL_SEED_MEMORY;
        const remote_addr addr = is_memory ? fuzz_take(input, 8) : 0;
        const size_t says = fuzz_take(input, 4), left = (size_t)(input->end - input->at);
        const size_t bytes = says < left ? says : left;
        if (!is_memory)
            records++, read_stack(&world, input->at, bytes);
        else if (world.region_count < MAX_REGIONS)
            world.regions[world.region_count++] = (struct region){ addr, bytes, input->at };
        input->at += bytes;
    }
    end(&world);
    return 0;
}
