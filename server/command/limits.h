/*
 * limits - how many files we may have open: each process and thread that is sampled takes some.
 *
 * Threads: the main one, before others start; limits_restore also in a child after fork.
 * Depends on: libc.
 */
#ifndef SERVER_COMMAND_LIMITS_H
#define SERVER_COMMAND_LIMITS_H

/* Raises the limit to what we may have. */
void limits_raise(void);
/* For a program that we start: it gets the limit that we were given. */
void limits_restore(void);

#endif /* SERVER_COMMAND_LIMITS_H */
