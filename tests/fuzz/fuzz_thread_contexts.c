/* Input: the memory of a process: one file that is its program, its dynamic linker and its C library, and a thread. */
#include <string.h>

#include "sampler/cpython/contexts/contexts.h"
#include "sampler/cpython/contexts/thread_contexts.h"
#include "sampler/process/maps.h"
#include "tests/fuzz/any_memory.h"
#include "tests/fuzz/fuzz.h"

static void read_thread(struct thread_contexts *contexts, struct memory *memory, uint64_t ident)
{
    const struct context_value *const value = thread_contexts_read(contexts, ident, memory);
    if (value && value->kind == CONTEXT_SET)
        fuzz_check(strlen(value->text) == 32 + 1 + 16 &&
                   strspn(value->text, "0123456789abcdef ") == 32 + 1 + 16);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char path[] = "/program";
    struct any_memory any;
    struct thread_contexts *contexts;
    if (size == 0 || size > UINT32_MAX)
        return 0;
    /* A multiple of the size, so what is read begins with the input; and the thread is in the middle. */
    const remote_addr start = (remote_addr)size * 4096, ident = start + size / 2;
    struct mapping file = {
        .start = start, .end = start + size, .inode = 1, .readable = true, .path = path
    };
    const struct maps maps = { &file, 1 };
    any_memory_init(&any, data, size);
    if (thread_contexts_create(&maps, &any.memory, 0, &contexts) || !contexts)
        return 0;
    read_thread(contexts, &any.memory, ident);
    thread_contexts_refresh(contexts, UINT64_MAX);
    read_thread(contexts, &any.memory, ident);
    thread_contexts_destroy(contexts);
    return 0;
}
