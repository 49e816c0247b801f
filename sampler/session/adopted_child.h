/*
 * stray - a process that was forked by one that is followed, and has another parent by now.
 *
 * A daemon forks twice, and the one between ends at once: it is then a child of process 1, in a
 * session of its own.  But as long as it is the program that it was forked from, its stack and its
 * code lie where those of its forebear do, at addresses that the kernel drew by chance for that one.
 * Where it draws none (a personality without random addresses, or the whole host), nothing is told.
 *
 * Limits: of those that have ended the last ADOPTED_CHILD_MAX_GONE are remembered.
 * Depends on: kin, procfs.
 */
#ifndef SAMPLER_SESSION_ADOPTED_CHILD_H
#define SAMPLER_SESSION_ADOPTED_CHILD_H

#include <stdbool.h>

#include "sampler/session/child_table.h"

enum { ADOPTED_CHILD_MAX_GONE = 64 };

struct adopted_child_forebears {
    struct procfs_identity gone[ADOPTED_CHILD_MAX_GONE];
    size_t gone_count; /* ever; the place of the next is told by it */
};

/* It was followed and has ended. */
void adopted_child_remember(struct adopted_child_forebears *forebears,
                            const struct procfs_identity *identity);
/* Was it forked from one that is followed, or was? */
bool adopted_child_has_forebear(const struct adopted_child_forebears *forebears,
                                const struct child_table *table,
                                const struct procfs_identity *identity);
/* Are the addresses of this process drawn by chance?  false also where that cannot be read. */
bool adopted_child_is_random(int pid);

#endif /* SAMPLER_SESSION_ADOPTED_CHILD_H */
