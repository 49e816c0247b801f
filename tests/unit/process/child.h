/*
 * child - a child process that a test reads.
 *
 * Ownership: child_end kills and reaps it; it also ends with the test.
 */
#ifndef TESTS_UNIT_PROCESS_CHILD_H
#define TESTS_UNIT_PROCESS_CHILD_H

struct child {
    int pid;
    int order_fd; /* a byte lets the child go on */
    int ready_fd; /* a byte says that the child runs */
};

/* Starts a child that runs `then` after child_go_on, and exits with the result of `then`. */
void child_start(struct child *child, int (*then)(void *context), void *context);
void child_go_on(const struct child *child);
/* Waits until the child is a zombie, and does not reap it. */
void child_await_zombie(const struct child *child);
/* Reaps the zombie: its pid is then free. */
void child_reap(const struct child *child);
/* Kills the child and reaps it. */
void child_end(struct child *child);

#endif /* TESTS_UNIT_PROCESS_CHILD_H */
