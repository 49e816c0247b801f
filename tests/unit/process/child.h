/*
 * child - a child process of the test, to be looked at.
 *
 * Ownership: child_end ends it and waits for it; it also ends with the test.
 * Depends on: libc.
 */
#ifndef TESTS_UNIT_PROCESS_CHILD_H
#define TESTS_UNIT_PROCESS_CHILD_H

struct child {
    int pid;
    int order_fd; /* a byte lets it go on */
    int ready_fd; /* a byte says that it has begun */
};

/* Runs `then` in a child once it is told to go on, and ends it with what `then` returns. */
void child_start(struct child *child, int (*then)(void *context), void *context);
/* Tells it to go on. */
void child_go_on(const struct child *child);
/* Waits until it is a zombie, without taking its number away. */
void child_await_zombie(const struct child *child);
/* Takes the zombie away: its number now means nothing. */
void child_reap(const struct child *child);
/* Ends it, whatever it does, and takes it away. */
void child_end(struct child *child);

#endif /* TESTS_UNIT_PROCESS_CHILD_H */
