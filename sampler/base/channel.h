/*
 * channel - what goes from one process to another: all bytes of a write or a read, and messages of Unix sockets, with the
 * descriptors that come with them.
 *
 * Ownership: descriptors that are sent stay the caller's; those that are received become the caller's.
 * Threads: any.
 * Limits: CHANNEL_MAX_FDS descriptors a message.
 * Errors: false or -1, and errno.
 */
#ifndef SAMPLER_BASE_CHANNEL_H
#define SAMPLER_BASE_CHANNEL_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

enum { CHANNEL_MAX_FDS = 4 };

/* Writes all of them, however often it is interrupted. */
bool channel_write(int fd, const void *data, size_t bytes);
/* Reads so many bytes, or those before the end; returns how many. */
ssize_t channel_read(int fd, void *out, size_t bytes);
/* Reads what has come of so many bytes that are wanted at *at, and moves both.  false: none will come, errno 0: the other
 * end is closed. */
bool channel_take(int fd, char **at, size_t *bytes);

/* Sends a message without SIGPIPE; waits up to wait_ms for room, then errno is EAGAIN. */
bool channel_send(int socket, const void *data, size_t bytes, const int *fds, size_t count,
                  unsigned wait_ms);
/* Receives a message without waiting: *got_out of its bytes, 0 if none has come, and the first `most` of its descriptors,
 * which exec closes; the others are closed.  *count_out: how many were written.  false: nobody is left to send one. */
bool channel_receive(int socket, void *out, size_t bytes, size_t *got_out, int *fds,
                     size_t most, size_t *count_out);

#endif /* SAMPLER_BASE_CHANNEL_H */
