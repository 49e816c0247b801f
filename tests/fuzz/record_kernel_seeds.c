/*
 * Records a file for corpus/kernel_record: a few records of the main thread of a Python process, and the
 * memory of the process that its stacks name.
 *
 *   record_kernel_seeds PID FILE [native]      as root
 *
 * `native`: the records have native stacks too.
 * The process should run one of the victims, so that its memory holds nothing else.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sampler/cpython/python_copies.h"
#include "sampler/kernel/copy_memory.h"
#include "sampler/kernel/engine.h"
#include "sampler/session/kernel/kernel_describe.h"
#include "sampler/session/target.h"
#include "tests/fuzz/kernel_seed.h"

enum { MAX_RECORDS = 4, MAX_RECORD_BYTES = 8192, RATE_HZ = 1000, MAX_DRAINS = 200 };

/* Copies what is read from the process into the file. */
struct watched_memory {
    struct memory memory;
    struct memory *process;
    FILE *file;
};

struct recording {
    struct watched_memory watched;
    struct copy_memory copy;
    struct target *target;
    struct thread *thread;
    unsigned records;
    /* The last tail. */
    size_t tail_bytes;
    unsigned char tail[MAX_RECORD_BYTES];
};

static void put_number(FILE *file, uint64_t value, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        putc((int)(value >> (8 * i) & 0xff), file);
}

static enum err_code read_and_keep(struct memory *memory, const struct memory_span *spans,
                                   size_t count, size_t *bytes_out)
{
    struct watched_memory *const watched = (struct watched_memory *)memory;
    const enum err_code rc = memory_readv(watched->process, spans, count, bytes_out);
    for (size_t i = 0; i < count && !rc; i++) {
        put_number(watched->file, KERNEL_SEED_MEMORY, 1);
        put_number(watched->file, spans[i].addr, 8);
        put_number(watched->file, spans[i].bytes, 4);
        fwrite(spans[i].buffer, 1, spans[i].bytes, watched->file);
    }
    return rc;
}

static enum err_code tell(void *context, struct thread *thread, enum err_code failure)
{
    (void)context;
    printf("%zu frames: %d\n", thread->stack.count, failure);
    return ERR_OK;
}

static enum err_code show(struct recording *recording, const struct kernel_record *record,
                          const void *spans)
{
    enum err_code rc = copy_memory_show(&recording->copy, spans, record->bytes);
    if (!rc && record->tail_ns)
        rc = copy_memory_show_more(&recording->copy, recording->tail, recording->tail_bytes);
    if (!rc && record->tail_at && !record->tail_ns) {
        recording->tail_bytes = record->bytes - record->tail_at;
        memcpy(recording->tail, (const unsigned char *)spans + record->tail_at,
               recording->tail_bytes);
    }
    return rc;
}

/* The memory that a record's stack names must come before it. */
static enum err_code take_record(void *context, const struct kernel_record *record,
                                 const void *spans)
{
    struct recording *const recording = context;
    FILE *const file = recording->watched.file;
    enum err_code rc = ERR_OK;
    if (recording->records == MAX_RECORDS || record->bytes > MAX_RECORD_BYTES ||
        (record->kind != KERNEL_TICK && record->kind != KERNEL_LEFT &&
         record->kind != KERNEL_CODE) ||
        (int32_t)record->tid != recording->thread->host_tid || show(recording, record, spans))
        return ERR_OK;
    if (record->kind == KERNEL_CODE) {
        copy_memory_complete(&recording->copy, &recording->watched.memory);
        (void)!python_learn_code(recording->target->python, &recording->copy.memory,
                                 recording->copy.spans[0].addr);
    } else {
        recording->records++;
    }
    if (record->kind != KERNEL_CODE && !record->same_ns) {
        const struct python_copy taken = { .memory = &recording->copy.memory,
                                           .taken_ns = record->time_ns,
                                           .is_whole = true };
        (void)python_begin_copies(recording->target->python);
        rc = python_take_copy(recording->target->python, recording->thread, &taken, tell, NULL);
    }
    put_number(file, KERNEL_SEED_RECORD, 1);
    put_number(file, sizeof *record + record->bytes + record->native_bytes, 4);
    fwrite(record, sizeof *record, 1, file);
    fwrite(spans, record->bytes + record->native_bytes, 1, file);
    return rc;
}

static enum err_code record_all(struct recording *recording, struct kernel *kernel,
                                const struct session_options *options)
{
    struct target *const target = recording->target;
    struct kernel_process process;
    struct kernel_thread thread;
    bool changed;
    size_t count;
    enum err_code rc = python_list_threads(target->python, &changed);
    struct thread *const *const threads = python_threads(target->python, &count);
    for (size_t i = 0; i < count; i++)
        if (threads[i]->is_main)
            recording->thread = threads[i];
    if (rc || !recording->thread)
        return rc ? rc : ERR_GONE;
    const uint32_t version = python_runtime(target->python)->layout.version;
    put_number(recording->watched.file, LAYOUT_MINOR(version) - LAYOUT_OLDEST_MINOR, 1);
    put_number(recording->watched.file, recording->thread->head.addr, 8);
    recording->watched.memory.readv = read_and_keep;
    recording->watched.process = &target->process.memory.memory;
    python_codes(target->python)->memory = &recording->watched.memory;
    copy_memory_init(&recording->copy);
    target->options = options;
    kernel_describe_process(target, &process);
    kernel_describe_thread(target, recording->thread, &thread);
    rc = kernel_add_process(kernel, target->process.pid, &process);
    if (!rc)
        rc = kernel_add_thread(kernel, recording->thread->host_tid, &thread);
    for (int i = 0; i < MAX_DRAINS && !rc && recording->records < MAX_RECORDS; i++) {
        usleep(10000);
        rc = kernel_drain(kernel, take_record, recording);
    }
    return rc;
}

int main(int argc, char **argv)
{
    static struct recording recording;
    const struct session_options options = { .native = argc == 4 ? SESSION_NATIVE_FULL
                                                                 : SESSION_NATIVE_OFF };
    struct kernel *kernel = NULL;
    struct strtab strings = { 0 };
    struct err err = { 0 };
    if (argc != 3 && argc != 4)
        return 2;
    recording.watched.file = fopen(argv[2], "wb");
    enum err_code rc = recording.watched.file ? strtab_init(&strings, &err) : ERR_FAULT;
    if (!rc)
        rc = target_open(atoi(argv[1]), RUNTIME_THOROUGH, SESSION_MODE_WALL, NULL, &strings,
                         &recording.target, &err);
    if (!rc)
        rc = kernel_open(NULL, &kernel, &err);
    if (!rc)
        rc = kernel_start(kernel, RATE_HZ, KERNEL_EVENT_TIME, &err);
    if (!rc)
        rc = record_all(&recording, kernel, &options);
    if (rc)
        fprintf(stderr, "record_kernel_seeds: %d: %s\n", rc, err.message);
    kernel_close(kernel);
    target_close(recording.target);
    strtab_deinit(&strings);
    if (recording.watched.file)
        fclose(recording.watched.file);
    return rc || !recording.records;
}
