/* Input: a core file. */
#define _GNU_SOURCE
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "sampler/process/core_file.h"
#include "sampler/process/maps.h"
#include "sampler/process/memory.h"
#include "sampler/process/stored_process.h"
#include "sampler/process/system_call.h"
#include "tests/fuzz/fuzz.h"

/* Mappings are in order, and what is read of one is what was asked for. */
static void read_mappings(int number)
{
    struct maps maps = { 0 };
    struct process_memory memory;
    unsigned char bytes[256];
    process_memory_init(&memory, number);
    if (!maps_read(&maps, number, NULL))
        for (size_t i = 0; i < maps.count; i++) {
            const struct mapping *const m = &maps.items[i];
            const struct memory_span span = { m->start, bytes, sizeof bytes };
            size_t arrived;
            fuzz_check(m->start < m->end && (i == 0 || m[-1].end <= m->start));
            const enum err_code rc = memory_readv(&memory.memory, &span, 1, &arrived);
            fuzz_check(arrived <= sizeof bytes && (rc || arrived == sizeof bytes));
        }
    maps_deinit(&maps);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct core_file *core = NULL;
    const int fd = memfd_create("core", MFD_CLOEXEC);
    struct err err = { 0 };
    if (fd < 0)
        return 0;
    if (write(fd, data, size) != (ssize_t)size) {
        close(fd);
        return 0;
    }
    if (core_file_open_fd(fd, "core", NULL, &core, &err)) {
        fuzz_check(*err.message && !strchr(err.message, '\n'));
    } else {
        const struct core_notes *const notes = core_file_notes(core);
        struct system_call call;
        for (size_t i = 0; i < notes->thread_count; i++) {
            fuzz_check(core_file_thread(core, notes->threads[i].tid) != NULL);
            core_file_call(core, &notes->threads[i], &call);
        }
        read_mappings(core_file_process(core)->number);
        core_file_close(core);
    }
    close(fd);
    return 0;
}
