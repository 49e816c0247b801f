/*
 * fd_message - messages of a Unix socket, and the descriptors that come with them.
 *
 * Ownership: descriptors that are sent stay the caller's; those that are received become the caller's.
 * Threads: any.
 * Limits: FD_MESSAGE_MAX descriptors a message.
 */
#ifndef SAMPLER_BASE_FD_MESSAGE_H
#define SAMPLER_BASE_FD_MESSAGE_H

#include <stddef.h>
#include <sys/types.h>

enum { FD_MESSAGE_MAX = 4 };

/* Sends a message as send(2) does, without waiting and without SIGPIPE. */
ssize_t fd_message_send(int socket, const void *data, size_t bytes, const int *fds,
                        size_t count);
/* Receives a message as recv(2) does, without waiting.  Writes the first `most` descriptors, which exec closes, and closes
 * the others; *count_out: how many were written, 0 on failure. */
ssize_t fd_message_receive(int socket, void *out, size_t bytes, int *fds, size_t most,
                           size_t *count_out);

#endif /* SAMPLER_BASE_FD_MESSAGE_H */
