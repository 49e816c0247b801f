/*
 * procfs - a process and its threads as /proc shows them.
 *
 * Depends on: err.
 */
#ifndef SAMPLER_PROCESS_PROCFS_H
#define SAMPLER_PROCESS_PROCFS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sampler/base/err.h"

enum { PROCFS_MAX_FILE_BYTES = 64 << 20, PROCFS_COMM_BYTES = 64 };

/* Reads /proc/PID/NAME whole, NUL-terminated; *text_out is the caller's (free).
 * A process that is not there is ERR_GONE. */
MUST_CHECK enum err_code procfs_read(int pid, const char *name, char **text_out,
                                     size_t *bytes_out, struct err *err);

/* Field 22 of /proc/PID/stat: clock ticks after boot; tells a process from a later one with
 * its number. */
MUST_CHECK enum err_code procfs_start_time(int pid, uint64_t *out, struct err *err);

/* The state letter of /proc/PID/stat: 'Z' is a zombie. */
MUST_CHECK enum err_code procfs_state(int pid, char *out, struct err *err);

/* What tells a process from others, and one program in it from the next. */
struct procfs_identity {
    int parent;
    char state;
    uint64_t start_time;
    uint64_t
        stack_start; /* differs after an exec, unless addresses are not randomized; 0: hidden */
    uint64_t code_start;
};

MUST_CHECK enum err_code procfs_identify(int pid, struct procfs_identity *out, struct err *err);

/* Does the kernel choose the addresses of this process at random?  false also where that cannot
 * be read. */
bool procfs_has_random_addresses(int pid);

/* The name of a thread, without its newline. */
MUST_CHECK enum err_code procfs_thread_name(int pid, int tid, char out[PROCFS_COMM_BYTES],
                                            struct err *err);

/* What /proc/PID/exe points to; the caller's (free). */
MUST_CHECK enum err_code procfs_executable(int pid, char **out, struct err *err);

#endif /* SAMPLER_PROCESS_PROCFS_H */
