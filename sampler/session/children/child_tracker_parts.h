/*
 * child_tracker_parts - shared by the files of child_tracker: child_tracker.c has the thread and the
 * functions for others, child_scan.c makes one search for children.
 */
#ifndef SAMPLER_SESSION_CHILDREN_CHILD_TRACKER_PARTS_H
#define SAMPLER_SESSION_CHILDREN_CHILD_TRACKER_PARTS_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

#include "sampler/process/process_scan.h"
#include "sampler/sampler.h"
#include "sampler/session/children/adopted_search.h"
#include "sampler/session/children/child_table.h"
#include "sampler/session/children/child_tracker.h"

struct strtab;
struct target;

struct released {
    int pid;
    uint64_t start_time;
    enum err_code why; /* ERR_OK: it may be searched at once */
};

struct child_tracker {
    struct strtab *strings;
    enum sampler_mode mode;
    pthread_t thread;
    bool has_thread;
    /* Written with the mutex held, read without it. */
    atomic_bool has_ready;
    atomic_bool is_ending; /* child_tracker_destroy was called */

    pthread_mutex_t mutex; /* guards what follows */
    pthread_cond_t changed;
    bool has_ended;
    bool is_left; /* child_tracker_destroy did not wait: the thread frees the tracker */
    struct target *ready[SAMPLER_MAX_PROCESSES];
    size_t ready_count;
    struct released released[SAMPLER_MAX_PROCESSES];
    size_t released_count;
    bool is_settling; /* a released target may have children that are not followed yet */
    size_t targets;   /* handed over and not released, including those of the start */
    size_t others;    /* followed, but no targets */
    struct child_tracker_counts counts;

    /* Used by the thread only. */
    struct child_table children;
    enum process_scan_method scan_method;
    pid_t adopter;
    int newest_fd; /* /proc/loadavg; -1: there is none */
    char newest[16];
    struct adopted_search adopted;
    bool is_blind;          /* newest_fd does not show new processes */
    uint64_t list_until_ns; /* new processes may appear in lists until then */
    uint64_t listed_ns, scanned_ns, cost_ns;
};

/* Does the host have new processes since the last call? */
bool child_scan_has_newer(struct child_tracker *tracker);
/* Finds children and hands those that are Python over.  A new process has settle_ns to execute another
 * program before it is searched. */
void child_scan(struct child_tracker *tracker, uint64_t now_ns, uint64_t settle_ns);
/* When the next search is due. */
uint64_t child_scan_next_ns(const struct child_tracker *tracker);
/* The time of a CPU clock; 0: it cannot be read. */
uint64_t child_scan_cpu_ns(clockid_t clock);

#endif /* SAMPLER_SESSION_CHILDREN_CHILD_TRACKER_PARTS_H */
