/*
 * process_tree - the descendants of processes, and what the kernel says of a process that need not be Python.
 *
 * Ownership: the caller frees lists.
 * Threads: any.
 * Limits: PROCESS_TREE_MAX processes of a list; PROCESS_TREE_COMMAND bytes of a command line; PROCESS_TREE_GENERATIONS; PROCESS_TREE_STACK_BYTES of a stack of the kernel.
 */
#ifndef SAMPLER_PROCESS_TREE_H
#define SAMPLER_PROCESS_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "sampler/base/err.h"

enum { PROCESS_TREE_MAX = 1 << 14, PROCESS_TREE_GENERATIONS = 64, PROCESS_TREE_COMMAND = 4096 };
enum { PROCESS_TREE_NAME = 64, PROCESS_TREE_STACK_BYTES = 4096 };

/* The roots and their descendants, each once, by pid; roots that are gone are among them.  Processes beyond PROCESS_TREE_MAX are left
 * out.  The caller frees *out. */
MUST_CHECK enum err_code process_tree_list(const pid_t *roots, size_t count, pid_t **out,
                                           size_t *count_out, struct err *err);

/* Processes, Python or not, for which `is_wanted` holds of their command line, whose words have blanks between them; the owner of a
 * process chooses every byte.  By pid, without this one.  The caller frees *out. */
typedef bool process_command_filter(const void *context, const char *command);
MUST_CHECK enum err_code process_find_commands(process_command_filter *is_wanted,
                                               const void *context, pid_t **out,
                                               size_t *count_out, struct err *err);

struct process_facts {
    char name[PROCESS_TREE_NAME]; /* as the process or its program chose it */
    char wait
        [PROCESS_TREE_NAME]; /* the function of the kernel that its main thread waits in; "": it does not, or unknown */
    char state;   /* of the main thread, as in /proc/PID/stat: 'T' is stopped; '?': unknown */
    int32_t rank; /* RANK of its environment, or else LOCAL_RANK; -1: none, or unknown */
    pid_t
        memory_of; /* its parent, if it runs in the parent's memory, as a child of vfork does until it executes a program; 0: it does not */
};

/* ERR_GONE: there is no such process. */
MUST_CHECK enum err_code process_facts_read(pid_t pid, struct process_facts *out);
typedef enum err_code process_facts_reader(pid_t pid, struct process_facts *out);
/* Has another process read the facts from now on; before other threads start. */
void process_facts_provide(process_facts_reader *read);

/* The functions of the kernel that the thread is in, the innermost first, a line each: its stack, or only the one that it waits in.
 * "": it is in none.  ERR_PERM: the kernel shows neither. */
MUST_CHECK enum err_code process_kernel_stack(pid_t pid, pid_t tid,
                                              char out[PROCESS_TREE_STACK_BYTES]);

/* The resident memory of the process.  false: unknown. */
bool process_rss(pid_t pid, uint64_t *bytes_out);

/* How often the thread began to wait so far.  false: unknown. */
bool process_thread_waits(pid_t pid, pid_t tid, uint64_t *out);

#endif /* SAMPLER_PROCESS_TREE_H */
