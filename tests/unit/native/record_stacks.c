/*
 * record_stacks - records stacks of a real program, with the parts of its memory that they need.
 *
 *     record_stacks STACKS FILE COMMAND...
 *
 * The command prints the id of its busy thread first.  A stack is recorded if libunwind finds the same
 * program counters.  test_recorded.c describes the file.
 */
#include <inttypes.h>
#include <libunwind-ptrace.h>
#include <libunwind.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sampler/base/clock.h"
#include "sampler/native/unwind.h"
#include "sampler/process/maps.h"
#include "tests/support/test.h"
#include "tests/unit/native/stopped_thread.h"

enum {
    MAX_FRAMES = 512,
    PART_BYTES = 1024,
    MAX_PARTS = 4096,
    START_US = 3000000, /* a program needs that long to load what it works with */
    PAUSE_US = 30000,
    MAX_STOPS = 1000
};

/* Bytes that were read. */
struct part {
    uint64_t addr;
    unsigned char bytes[PART_BYTES];
    bool is_used[PART_BYTES];
};

struct parts {
    struct part *items[MAX_PARTS];
    size_t count;
};

static struct parts tables;
static bool is_recording;

static void keep(struct parts *parts, uint64_t addr, const void *data, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++, addr++) {
        size_t at = 0;
        while (at < parts->count && parts->items[at]->addr != addr - addr % PART_BYTES)
            at++;
        if (at == parts->count) {
            assert_true(at < MAX_PARTS);
            parts->items[at] = calloc(1, sizeof *parts->items[at]);
            assert_non_null(parts->items[at]);
            parts->items[at]->addr = addr - addr % PART_BYTES;
            parts->count++;
        }
        parts->items[at]->bytes[addr % PART_BYTES] = ((const unsigned char *)data)[i];
        parts->items[at]->is_used[addr % PART_BYTES] = true;
    }
}

/* The linker puts this in the place of the function that reads tables. */
enum err_code __real_blocks_read(struct blocks *blocks, remote_addr addr, void *buffer,
                                 size_t bytes);
enum err_code __wrap_blocks_read(struct blocks *blocks, remote_addr addr, void *buffer,
                                 size_t bytes);

enum err_code __wrap_blocks_read(struct blocks *blocks, remote_addr addr, void *buffer,
                                 size_t bytes)
{
    const enum err_code rc = __real_blocks_read(blocks, addr, buffer, bytes);
    if (!rc && is_recording)
        keep(&tables, addr, buffer, bytes);
    return rc;
}

static void write_parts(FILE *file, const char *what, const struct parts *parts)
{
    for (size_t i = 0; i < parts->count; i++) {
        const struct part *const part = parts->items[i];
        for (size_t at = 0; at < PART_BYTES; at++) {
            if (!part->is_used[at])
                continue;
            fprintf(file, "%s %" PRIx64 " ", what, part->addr + at);
            for (; at < PART_BYTES && part->is_used[at]; at++)
                fprintf(file, "%02x", part->bytes[at]);
            fputc('\n', file);
        }
    }
}

static bool is_found_by_libunwind(unw_addr_space_t space, void *access,
                                  const struct native_walk *walk)
{
    unw_cursor_t cursor;
    size_t at = 0;
    int rc = 1;
    assert_int_equal(unw_init_remote(&cursor, space, access), 0);
    for (; rc > 0 && at < walk->count; at++) {
        unw_word_t ip;
        if (unw_get_reg(&cursor, UNW_REG_IP, &ip) != 0 || ip != walk->frames[at].pc)
            return false;
        rc = unw_step(&cursor);
    }
    return rc == 0 && at == walk->count && walk->end == NATIVE_COMPLETE;
}

/* Erases the words of the stack that the walk does not need. */
static void reduce_stack(struct unwinder *unwinder, struct stopped_thread *thread,
                         const struct native_walk *walk)
{
    static struct native_frame frames[MAX_FRAMES];
    const struct native_span *const span = &thread->stack.spans[0];
    const size_t bytes = walk->frames[walk->count - 1].sp - span->addr;
    for (size_t at = 0; at < bytes && at + 8 <= span->count; at += 8) {
        struct native_walk again = { .frames = frames, .room = MAX_FRAMES };
        uint64_t word;
        memcpy(&word, thread->bytes + at, sizeof word);
        memset(thread->bytes + at, 0, sizeof word);
        if (!word)
            continue;
        unwinder_walk(unwinder, &thread->registers, &thread->stack, NULL, 0, 0, &again);
        bool is_same = again.count == walk->count && again.end == walk->end;
        for (size_t i = 0; i < walk->count && is_same; i++)
            is_same =
                frames[i].pc == walk->frames[i].pc && frames[i].cfa == walk->frames[i].cfa;
        if (!is_same)
            memcpy(thread->bytes + at, &word, sizeof word);
    }
    memset(thread->bytes + bytes, 0, span->count - bytes);
}

static void write_stack(FILE *file, const struct stopped_thread *thread,
                        const struct native_walk *walk)
{
    const struct native_span *const span = &thread->stack.spans[0];
    const struct native_registers *const r = &thread->registers;
    fprintf(file, "registers %" PRIx64 " %" PRIx64 " %" PRIx64, r->ip, r->sp, r->outer_sp);
    for (size_t i = 0; i < MACHINE_SAVED; i++)
        fprintf(file, " %" PRIx64, r->saved[i]);
    fputc('\n', file);
    for (size_t at = 0; at + 8 <= span->count; at += 8) {
        uint64_t word;
        memcpy(&word, span->bytes + at, sizeof word);
        if (word)
            fprintf(file, "stack %" PRIx64 " %" PRIx64 "\n", span->addr + at, word);
    }
    for (size_t i = 0; i < walk->count; i++)
        fprintf(file, "frame %" PRIx64 "\n", walk->frames[i].pc);
    fprintf(file, "end\n");
}

/* The mappings of the images that were examined. */
static void write_maps(FILE *file, const struct unwinder *unwinder, int pid)
{
    struct maps maps;
    struct err err = { 0 };
    assert_ok(maps_read(&maps, pid, &err), &err);
    for (size_t i = 0; i < maps.count; i++) {
        const struct mapping *const mapping = &maps.items[i];
        const char *const slash = strrchr(mapping->path, '/');
        bool is_needed = false;
        for (size_t at = 0; at < unwinder->images.count; at++) {
            const struct image *const image = &unwinder->images.items[at];
            is_needed =
                is_needed || (image->state == IMAGE_ELF && mapping->start >= image->low &&
                              mapping->end <= image->high);
        }
        if (is_needed)
            fprintf(file, "map %" PRIx64 "-%" PRIx64 " r-%cp %" PRIx64 " 0:0 %" PRIu64 " %s\n",
                    mapping->start, mapping->end, mapping->executable ? 'x' : '-',
                    mapping->offset, mapping->inode, slash ? slash : mapping->path);
    }
    maps_deinit(&maps);
}

int main(int argc, char **argv)
{
    static struct native_frame frames[MAX_FRAMES];
    static struct stopped_thread thread;
    struct unwinder unwinder;
    struct err err = { 0 };
    FILE *const file = argc > 3 ? fopen(argv[2], "w") : NULL;
    const int wanted = argc > 3 ? atoi(argv[1]) : 0;
    if (!file || !stopped_thread_start(&thread, argv + 3) ||
        unwinder_init(&unwinder, &thread.memory.memory, thread.pid, &err)) {
        fprintf(stderr, "usage: record_stacks STACKS FILE COMMAND...\n");
        return 2;
    }
    const unw_addr_space_t space = unw_create_addr_space(&_UPT_accessors, 0);
    void *const access = _UPT_create(thread.tid);
    for (int stops = 0, done = 0; done < wanted && stops < MAX_STOPS; stops++) {
        struct native_walk walk = { .frames = frames, .room = MAX_FRAMES };
        stopped_thread_stop(&thread, stops ? PAUSE_US : START_US);
        is_recording = true;
        unwinder_walk(&unwinder, &thread.registers, &thread.stack, NULL, 0, clock_now_ns(),
                      &walk);
        is_recording = false;
        if (thread.stack.span_count == 1 && is_found_by_libunwind(space, access, &walk)) {
            reduce_stack(&unwinder, &thread, &walk);
            write_stack(file, &thread, &walk);
            done++;
        }
        stopped_thread_resume(&thread);
    }
    write_maps(file, &unwinder, thread.pid);
    write_parts(file, "memory", &tables);
    _UPT_destroy(access);
    unw_destroy_addr_space(space);
    unwinder_deinit(&unwinder);
    stopped_thread_end(&thread);
    return fclose(file) ? 1 : 0;
}
