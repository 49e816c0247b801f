/*
 * procfs - a process and its threads as /proc shows them.
 */
#ifndef SAMPLER_PROCESS_PROCFS_H
#define SAMPLER_PROCESS_PROCFS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sampler/base/err.h"

enum { PROCFS_MAX_FILE_BYTES = 64 << 20, PROCFS_COMM_BYTES = 64 };

/* Reads all of /proc/PID/NAME, NUL-terminated; the caller frees *text_out.
 * ERR_GONE: no such process. */
MUST_CHECK enum err_code procfs_read(int pid, const char *name, char **text_out,
                                     size_t *bytes_out, struct err *err);

/* Field 22 of /proc/PID/stat: clock ticks after boot; distinguishes a process from a later one with
 * its pid. */
MUST_CHECK enum err_code procfs_start_time(int pid, uint64_t *out, struct err *err);

/* The state letter of /proc/PID/stat: 'Z' is a zombie. */
MUST_CHECK enum err_code procfs_state(int pid, char *out, struct err *err);
/* The state of one of its threads: 'D' is an uninterruptible sleep. */
MUST_CHECK enum err_code procfs_thread_state(int pid, int tid, char *out, struct err *err);

/* Distinguishes a process from others, and a program in it from the one after an exec. */
struct procfs_identity {
    int parent;
    char state;
    uint64_t start_time;
    uint64_t stack_start; /* changes at exec if addresses are randomized; 0: hidden */
    uint64_t code_start;
    uint64_t arguments_start; /* of the command line; 0: hidden */
};

MUST_CHECK enum err_code procfs_identify(int pid, struct procfs_identity *out, struct err *err);

/* Does the kernel randomize the addresses of this process?  false also: unknown. */
bool procfs_has_random_addresses(int pid);

/* The name of a thread, without its newline. */
MUST_CHECK enum err_code procfs_thread_name(int pid, int tid, char out[PROCFS_COMM_BYTES],
                                            struct err *err);

/* The target of the link /proc/PID/exe; the caller frees it. */
MUST_CHECK enum err_code procfs_executable(int pid, char **out, struct err *err);

#endif /* SAMPLER_PROCESS_PROCFS_H */
