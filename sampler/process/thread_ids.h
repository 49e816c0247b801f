/*
 * thread_ids - the threads of a process, as the kernel numbers them.
 *
 * A process in a container numbers its threads in a pid namespace of its own.  What a process says about its threads
 * counts only if the kernel says so too: any other number may be that of a thread of another process.
 *
 * Ownership: the caller's storage; thread_ids_deinit accepts a zeroed one.
 * Threads: thread_ids_has: any; otherwise none.
 */
#ifndef SAMPLER_PROCESS_THREAD_IDS_H
#define SAMPLER_PROCESS_THREAD_IDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct thread_ids {
    int pid;
    int levels;     /* of pid namespaces that the process is in; 0: not known yet */
    bool is_listed; /* since thread_ids_begin; only of a process in a namespace below ours */
    struct thread_id {
        int32_t host, inner;
    } * items; /* by host */
    size_t count, room;
};

void thread_ids_init(struct thread_ids *ids, int pid);
void thread_ids_deinit(struct thread_ids *ids);

/* The threads may have changed since they were listed. */
void thread_ids_begin(struct thread_ids *ids);
/* The id on this host of the thread whose id is `tid` in the pid namespace of the process.  0: the process has no such
 * thread, or no longer. */
int32_t thread_ids_find(struct thread_ids *ids, int32_t tid);
/* How many threads the process has, those that are no threads of Python included; 0: unknown. */
size_t thread_ids_count(const struct thread_ids *ids);

/* Is `tid`, an id on this host, a thread of process `pid`?  One system call, which sends no signal. */
bool thread_ids_has(int pid, int32_t tid);

/* The id of the first thread of process `pid` on this host. */
int32_t thread_ids_first(int pid);

/* The id of process `pid` in its innermost pid namespace. */
int32_t thread_ids_inner_pid(int pid);

#endif /* SAMPLER_PROCESS_THREAD_IDS_H */
