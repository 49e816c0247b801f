/*
 * prepared_child - a process that waits for one argument and then executes `program ARGUMENT`.
 *
 * It has the rights that pyrometer has when prepared_child_start is called.  It is not our child, and failures are
 * ignored.
 *
 * Threads: the main one.
 */
#ifndef SERVER_COMMAND_PROCESS_PREPARED_CHILD_H
#define SERVER_COMMAND_PROCESS_PREPARED_CHILD_H

#include <stdbool.h>

struct signals;

enum { PREPARED_MAX_ARGUMENT = 4096 };

struct prepared_child {
    bool is_waiting; /* false: none, as in zeroed storage */
    int fd;
};

void prepared_child_start(struct prepared_child *child, const char *program,
                          const struct signals *signals);
/* argument NULL: the process ends without executing anything. */
void prepared_child_run(struct prepared_child *child, const char *argument);

#endif /* SERVER_COMMAND_PROCESS_PREPARED_CHILD_H */
