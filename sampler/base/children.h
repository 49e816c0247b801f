/*
 * children - signals of a process that does nothing but start others and wait for them.
 */
#ifndef SAMPLER_BASE_CHILDREN_H
#define SAMPLER_BASE_CHILDREN_H

#include <stdbool.h>
#include <sys/types.h>

/* From now on the descriptor `as` is readable (struct signalfd_siginfo) when a child has ended, and no signal that is
 * meant for the whole program ends or stops this process. */
bool children_watch(int as);

/* The next child that has ended, and its status as from waitpid.  0: no more; the descriptor `fd` of the watch is readable
 * again when there are. */
pid_t children_take(int fd, int *status_out);
/* Reports also children that were stopped or go on (WIFSTOPPED, WIFCONTINUED). */
pid_t children_take_change(int fd, int *status_out);

#endif /* SAMPLER_BASE_CHILDREN_H */
