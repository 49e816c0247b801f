#define _GNU_SOURCE
#include <elf.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "sampler/base/scoped.h"
#include "sampler/cpython/runtime/runtime.h"
#include "sampler/cpython/runtime/runtime_search.h"
#include "sampler/process/mapped_file.h"
#include "sampler/process/ptrace_checks.h"
#include "sampler/process/thread_ids.h"

/* Time limits for a process, in a quick and in a thorough search, and in one beside sampling. */
static const uint64_t QUICK_NS = 2 * NS_PER_S, THOROUGH_NS = 60 * NS_PER_S,
                      OTHERS_NS = 50 * NS_PER_MS;

static uint64_t process_ns(enum runtime_effort effort)
{
    return runtime_is_quick(effort) ? QUICK_NS : THOROUGH_NS;
}

const char *runtime_way_text(enum runtime_way way)
{
    static const char *const texts[] = {
#define X(name, text) [RUNTIME_BY_##name] = (text),
        RUNTIME_WAYS(X)
#undef X
    };
    return texts[way];
}

/* Reads one byte of the program to learn whether its memory can be read. */
static enum err_code probe_memory(struct search *search)
{
    unsigned char byte;
    for (size_t i = 0; i < search->maps.count; i++) {
        const struct mapping *const m = &search->maps.items[i];
        if (!m->readable || !m->inode)
            continue;
        return memory_read(&search->process->memory.memory, m->start, &byte, 1);
    }
    return ERR_OK;
}

static bool is_32_bit_program(int pid)
{
    unsigned char ident[EI_NIDENT] = { 0 };
    SCOPED_FD int fd = -1;
    return mapped_file_open_program(pid, &fd) == MAPPED_FILE_OPENED &&
           read(fd, ident, sizeof ident) == (ssize_t)sizeof ident &&
           memcmp(ident, ELFMAG, SELFMAG) == 0 && ident[EI_CLASS] == ELFCLASS32;
}

static enum err_code refuse_process(const struct search *search)
{
    const struct process *const process = search->process;
    const int pid = thread_ids_first(process->pid);
    const uint64_t mib = 1 << 20;
    if (search->is_unfinished)
        return err_set(
            search->err, ERR_LIMIT,
            "process %d (%s) was not searched to the end: its files or its memory take "
            "longer to read than the %u s that a process is given",
            pid, process->executable, (unsigned)(process_ns(search->effort) / NS_PER_S));
    if (is_32_bit_program(process->pid))
        return err_set(search->err, ERR_NOT_PYTHON,
                       "process %d (%s) is a 32-bit program: only 64-bit ones can be read", pid,
                       process->executable);
    if (search->skipped_bytes == 0)
        return err_set(search->err, ERR_NOT_PYTHON, "process %d (%s) is not a Python process",
                       pid, process->executable);
    return err_set(search->err, ERR_NOT_PYTHON,
                   "process %d (%s) is not a Python process, as far as was searched: %" PRIu64
                   " MiB of its memory, and not the other %" PRIu64 " MiB",
                   pid, process->executable, search->scanned_bytes / mib,
                   search->skipped_bytes / mib);
}

static enum err_code search_process(struct search *search)
{
    const int pid = search->process->pid;
    struct err *const err = search->err;
    enum err_code rc = maps_read(&search->maps, pid, err);
    if (rc == ERR_PERM)
        return ptrace_checks_explain(pid, err);
    if (rc)
        return rc;
    if (search->maps.count == 0)
        return err_set(err, ERR_NOT_PYTHON,
                       "process %d is not a Python process (it has no memory of its own: a "
                       "kernel thread, or it is just ending)",
                       pid);
    rc = probe_memory(search);
    if (rc == ERR_PERM || rc == ERR_UNSUPPORTED) /* UNSUPPORTED: no process_vm_readv */
        return ptrace_checks_explain(pid, err);
    search->program_inode = mapped_file_program_inode(pid);
    if (search->effort == RUNTIME_HIDDEN_ONLY)
        search->has_hidden_file = true;
    else if (runtime_search_files(search))
        return ERR_OK;
    if (search->out->count == 0 || search->effort == RUNTIME_EXHAUSTIVE)
        (void)runtime_scan(search);
    if (search->out->count)
        return ERR_OK;
    if (search->refusal)
        return err_wrap(err, search->refusal, "process %d", thread_ids_first(pid));
    return refuse_process(search);
}

static enum err_code find_in(struct process *process, enum runtime_effort effort,
                             struct runtime_list *out, struct err *err)
{
    const struct deadline forever = { .at_ns = UINT64_MAX,
                                      .is_cancelled = process->is_cancelled };
    struct search search = { .process = process,
                             .effort = effort,
                             .deadline = deadline_within(&forever, process_ns(effort)),
                             .out = out,
                             .err = err };
    out->count = 0;
    idmap_init(&search.files);
    const enum err_code rc = search_process(&search);
    idmap_deinit(&search.files);
    maps_deinit(&search.maps);
    return rc;
}

enum err_code runtime_find(struct process *process, enum runtime_effort effort,
                           struct runtime *out, struct err *err)
{
    struct runtime_list list;
    const enum err_code rc = find_in(process, effort, &list, err);
    if (rc)
        return rc;
    /* An interpreter that runs code ended the search, so it is the last one. */
    const struct runtime *const last = &list.items[list.count - 1];
    *out = last->evidence.frames ? *last : list.items[0];
    return ERR_OK;
}

enum err_code runtime_find_all(struct process *process, struct runtime_list *out,
                               struct err *err)
{
    return find_in(process, RUNTIME_EXHAUSTIVE, out, err);
}

enum err_code runtime_find_others(struct process *process, remote_addr chosen,
                                  struct runtime_list *out, struct err *err)
{
    struct search search = { .process = process,
                             .effort = RUNTIME_EXHAUSTIVE,
                             .deadline = deadline_after(OTHERS_NS),
                             .out = out };
    /* A runtime that is in the list is not added again. */
    out->items[0] = (struct runtime){ .addr = chosen };
    out->count = 1;
    const enum err_code rc = maps_read(&search.maps, process->pid, err);
    if (!rc)
        runtime_search_exports(&search);
    maps_deinit(&search.maps);
    memmove(out->items, out->items + 1, --out->count * sizeof *out->items);
    return rc;
}
