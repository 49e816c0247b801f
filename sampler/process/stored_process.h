/*
 * stored_process - a process that no longer runs, and was stored, as in a core file.
 *
 * It has a number as processes have theirs, but below 0: /proc has nothing of that number, and no process group is minus
 * such a number.  What is asked about it in this folder (memory, maps, mapped_file, thread_ids, process) is answered by
 * what stores it.
 *
 * Ownership: embedded in what stores it, which must outlive all that reads it.
 * Threads: stored_process_find and the functions of the struct: any.
 * Limits: STORED_PROCESS_MAX at a time.
 */
#ifndef SAMPLER_PROCESS_STORED_PROCESS_H
#define SAMPLER_PROCESS_STORED_PROCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sampler/base/err.h"

struct mapping;
struct maps;
struct memory_span;

enum { STORED_PROCESS_MAX = 8, STORED_PROCESS_FIRST = -(1 << 30) };

struct stored_process {
    int number;          /* 0: it has none yet */
    int32_t pid;         /* while it ran */
    const char *program; /* the path of the file that it ran; "": unknown */
    const char *command; /* its command line, words separated by spaces */
    size_t thread_count;
    uint64_t program_inode; /* that mappings of the program have; 0: unknown */
    /* As memory_readv. */
    enum err_code (*readv)(struct stored_process *process, const struct memory_span *spans,
                           size_t count, size_t *bytes_out);
    /* As maps_read. */
    enum err_code (*read_maps)(struct stored_process *process, struct maps *maps,
                               struct err *err);
    /* The file of a mapping, for the caller to close; -1: it cannot be had. */
    int (*open_mapped)(struct stored_process *process, const struct mapping *mapping);
    bool (*has_thread)(const struct stored_process *process, int32_t tid);
};

/* Gives it a number. */
MUST_CHECK enum err_code stored_process_add(struct stored_process *process, struct err *err);
/* Does nothing if it has no number. */
void stored_process_remove(struct stored_process *process);
/* NULL: a process that runs, or none. */
struct stored_process *stored_process_find(int number);

#endif /* SAMPLER_PROCESS_STORED_PROCESS_H */
