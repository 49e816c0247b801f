/*
 * examiners - threads that examine the processes of the host, for processes.c.
 *
 * Processes to be examined are in a queue.  An examiner is a thread that takes the next process,
 * examines it without a lock, and stores the finding if the process still exists and executes the
 * same program.  One examiner works at a time.  An examiner that does not return for
 * PROCESSES_STUCK_NS hangs in the kernel: it is abandoned, and another one replaces it.
 *
 * Owners take turns in the queue, and rest when their processes took long.  An owner whose processes
 * hang PROCESSES_HANG_MAX examiners gets no turn until one of these returns.
 *
 * Private to discovery.
 */
#ifndef SAMPLER_DISCOVERY_EXAMINERS_H
#define SAMPLER_DISCOVERY_EXAMINERS_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sampler/discovery/finding.h"
#include "sampler/discovery/process_entry.h"
#include "sampler/discovery/turns.h"
#include "sampler/processes.h"

enum { PROCESSES_EXAMINERS = 17, PROCESSES_HANG_MAX = 4 };

struct examiner {
    struct processes *processes;
    bool is_there;     /* the thread exists */
    bool is_abandoned; /* it hangs */
    int pid;           /* of the process that it examines; 0: none */
    unsigned uid;
    uint64_t serial, since_ns;
};

struct processes {
    pthread_mutex_t lock;         /* guards everything that is not atomic */
    struct process_entry **items; /* by pid */
    size_t count;
    uint64_t scanned_ns, boot_ns; /* since 1970 */
    uint64_t serials;
    struct processes_summary summary;
    bool hides_arguments; /* does not change once there is an examiner */

    size_t users; /* the caller and the examiners; the last one frees */
    atomic_bool is_ending;
    pthread_cond_t changed;  /* the queue, or is_ending */
    struct turn_item *queue; /* processes to examine, in turn */
    size_t queue_count;
    struct debts debts;
    struct examiner examiners[PROCESSES_EXAMINERS];
    struct known_files *files;
};

/* Queues processes to examine, starts an examiner if there is none, and wakes it.  Call it with the lock. */
void examiners_queue_due(struct processes *processes, uint64_t now_ns);
/* Releases the lock and one user; the last user frees. */
void examiners_leave(struct processes *processes);

#endif /* SAMPLER_DISCOVERY_EXAMINERS_H */
