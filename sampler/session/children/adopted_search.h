/*
 * adopted_search - when to list all processes of the host to find adopted children, and which processes
 * are adopted children.
 *
 * An adopted child is a process that a followed process forked, and whose parent ended before the
 * child was seen.  Only processes newer than those of the last scans are compared.
 *
 * Ownership: plain data.
 * Threads: none.
 * Units: nanoseconds.
 */
#ifndef SAMPLER_SESSION_CHILDREN_ADOPTED_SEARCH_H
#define SAMPLER_SESSION_CHILDREN_ADOPTED_SEARCH_H

#include <stdbool.h>
#include <stdint.h>

struct child_table;

enum { ADOPTED_SEARCH_ATTEMPTS = 5 };

struct adopted_search {
    int known
        [ADOPTED_SEARCH_ATTEMPTS]; /* the newest process at the last scans, last one first */
    int attempts_left;             /* several, as a new process has an id before it is listed */
    int settling; /* scans until no released target can have children that are not followed yet */
    uint64_t last_ns, cost_ns, next_ns;
};

/* newest: the id of the newest process of the host. */
void adopted_search_init(struct adopted_search *search, int newest);
/* The host has new processes. */
void adopted_search_begin(struct adopted_search *search);
/* A target has been released, and may have children that are not followed yet. */
void adopted_search_settle(struct adopted_search *search);
bool adopted_search_is_due(const struct adopted_search *search, uint64_t now_ns);
/* Is the process new, and a child of a followed one?  Reads its identity. */
bool adopted_search_finds(const struct adopted_search *search,
                          const struct child_table *children, int newest, int pid);
/* All processes have been listed; cost_ns: the CPU time that it took. */
void adopted_search_end(struct adopted_search *search, int newest, uint64_t now_ns,
                        uint64_t cost_ns);

#endif /* SAMPLER_SESSION_CHILDREN_ADOPTED_SEARCH_H */
