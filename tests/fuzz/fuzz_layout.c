/*
 * Input: a table of offsets and more bytes; all of it is also the memory of the target.  A table that is
 * accepted must do no harm.
 */
#include <string.h>

#include "sampler/cpython/objects/code_place.h"
#include "sampler/cpython/objects/dict.h"
#include "sampler/cpython/runtime/runtime.h"
#include "sampler/cpython/threads/thread_state.h"
#include "sampler/cpython/threads/threads.h"
#include "tests/fuzz/any_memory.h"
#include "tests/fuzz/fuzz.h"

static const remote_addr SOMEWHERE = 0x10000;

static void read_objects(struct memory *memory, const struct layout *layout)
{
    struct object_bytes bytes = { 0 };
    remote_addr found;
    (void)!object_read_str(memory, layout, SOMEWHERE, &bytes);
    (void)!object_read_bytes(memory, layout, SOMEWHERE, &bytes);
    (void)!object_attribute(memory, layout, SOMEWHERE, "name", &found);
    object_bytes_deinit(&bytes);
}

static void read_stack(struct memory *memory, const struct layout *layout)
{
    struct strtab strings;
    struct code_table codes;
    struct stack stack;
    code_id id;
    if (strtab_init(&strings, NULL))
        return;
    code_table_init(&codes, memory, layout, &strings);
    stack_init(&stack, memory, layout, SOMEWHERE, 0);
    /* Every type counts as that of code objects; otherwise none would be read. */
    (void)!memory_read_u64(memory, SOMEWHERE + layout->object_type, &codes.code_type);
    if (!code_load(&codes, SOMEWHERE, 0, &id)) {
        (void)code_place(&codes, id, code_at(&codes, id)->instructions + 2);
        (void)code_check(&codes, &id, 1);
    }
    (void)!stack_read(&stack, &codes);
    stack_deinit(&stack);
    code_table_deinit(&codes);
    strtab_deinit(&strings);
}

static void list_threads(struct memory *memory, const struct layout *layout)
{
    const struct runtime runtime = { .addr = SOMEWHERE, .layout = *layout };
    struct thread_list list;
    bool same;
    remote_addr interp = 0;
    if (!runtime_confirm(memory, &runtime, &interp))
        (void)evidence_gather(memory, &runtime.layout, interp);
    thread_list_init(&list, memory, &runtime);
    if (!thread_list_walk(&list)) {
        (void)!thread_list_check(&list, &same);
        for (size_t i = 0; i < list.count; i++)
            (void)thread_state_of(&list, list.items[i]);
    }
    thread_list_deinit(&list);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct any_memory any;
    struct layout layout;
    struct err err;
    if (layout_of_debug_offsets(data, size, &layout, &err))
        return 0;
    fuzz_check(layout_check(&layout, NULL) == ERR_OK);
    any_memory_init(&any, data, size);
    read_objects(&any.memory, &layout);
    any_memory_init(&any, data, size);
    read_stack(&any.memory, &layout);
    any_memory_init(&any, data, size);
    list_threads(&any.memory, &layout);
    return 0;
}
