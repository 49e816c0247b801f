/*
 * processes_parts - what the parts of processes share: processes.c is the list and what it tells,
 * processes_examine.c the threads that look into processes.
 *
 * Examiners take no part in the list: who is due stands in a queue; an examiner takes the next one,
 * looks into it with no lock held, and gives back what it found, which counts if the process is still
 * there and still that program.  One examiner works; one that has not come back for
 * PROCESSES_STUCK_NS hangs in the kernel and is left behind, and another one takes its place.
 *
 * Owners take turns in the queue, and rest when their processes took long; one whose processes hang
 * PROCESSES_HANG_MAX examiners gets no turn until one of these comes back.
 *
 * Private to processes.
 *
 * Depends on: finding, turns, vitals.
 */
#ifndef SAMPLER_DISCOVERY_PROCESSES_PARTS_H
#define SAMPLER_DISCOVERY_PROCESSES_PARTS_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sampler/discovery/finding.h"
#include "sampler/discovery/turns.h"
#include "sampler/process/process_stats.h"
#include "sampler/processes.h"

/* The one that works, and those that hang: of one owner no more than so many. */
enum { PROCESSES_EXAMINERS = 17, PROCESSES_HANG_MAX = 4 };

struct entry {
    int pid;
    unsigned uid;
    uint64_t serial;   /* of the program it runs; 0: it has not been looked into */
    uint64_t again_ns; /* when to examine it again; UINT64_MAX: never */
    struct process_stats stats;
    uint64_t measured_ns; /* of the CPU time in vitals */
    double cpu_percent;
    bool has_uid;               /* asked for since it was examined last */
    bool is_examined, is_taken; /* once; by an examiner right now */
    struct finding finding;
};

struct examiner {
    struct processes *processes;
    bool is_there, is_left; /* there is such a thread; it hangs */
    int pid;                /* of the process that it looks into; 0: none */
    unsigned uid;
    uint64_t serial, since_ns;
};

struct processes {
    pthread_mutex_t lock; /* guards all that is not atomic */
    struct entry **items; /* by pid */
    size_t count;
    uint64_t looked_ns, boot_ns; /* since 1970 */
    uint64_t serials;
    long ticks_per_s;
    struct processes_summary summary;
    bool hides_arguments; /* never changes once there is an examiner */

    size_t users; /* the owner and the examiners: the last one frees */
    atomic_bool is_ending;
    pthread_cond_t changed;  /* the queue, or is_ending */
    struct turn_item *queue; /* what is due, in turn */
    size_t queue_count;
    struct debts debts;
    struct examiner examiners[PROCESSES_EXAMINERS];
    struct known_files *files;
};

/* With the lock held: queues what is due, sees to it that there is an examiner, and wakes it. */
void processes_queue(struct processes *processes, uint64_t now_ns);
/* One user less; takes the lock with it. */
void processes_leave(struct processes *processes);
/* NULL: none. */
struct entry *processes_entry(const struct processes *processes, int pid);

#endif /* SAMPLER_DISCOVERY_PROCESSES_PARTS_H */
