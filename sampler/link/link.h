/*
 * link - sends requests to the sampling process and waits for answers.
 *
 * Ownership: the answer's pipe is the caller's.
 * Threads: link_open before others start; the others any.
 */
#ifndef SAMPLER_LINK_LINK_H
#define SAMPLER_LINK_LINK_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sampler/base/err.h"

struct buffer;
struct link_request;
struct pulse;

/* For an answer, and until a request is taken. */
enum { LINK_WAIT_MS = 30000, LINK_TAKE_MS = 5000 };

/* pulse: of the sampling process; NULL: none. */
void link_open(int socket, struct pulse *pulse);
bool link_is_open(void);

/* When to stop waiting. */
struct link_patience {
    uint64_t end_ns;                 /* 0: never */
    int cancel_fd;                   /* readable: at once; -1: none */
    const atomic_bool *is_cancelled; /* NULL: never */
    unsigned lost;                   /* link_lost, as it was before the request was sent */
    bool
        is_stream; /* of a session, which ends with its sampling process; a request may be taken by the next one */
};

/* How many sampling processes there were before the present one. */
unsigned link_lost(void);

/* answer_out: the pipe of the answer; NULL: there is none. */
MUST_CHECK enum err_code link_send(const struct link_request *request, int *answer_out,
                                   struct err *err);
/* Exactly so many bytes.  ERR_NOT_FOUND: the other end was closed before the first; ERR_GONE: after it, or another reader
 * process has taken the place of that of a stream; ERR_LIMIT: it takes too long; ERR_SYS: cancelled. */
MUST_CHECK enum err_code link_receive(int fd, void *out, size_t bytes,
                                      const struct link_patience *patience, struct err *err);
/* The contents of an answer; its error, if it is one. */
MUST_CHECK enum err_code link_receive_answer(int fd, const struct link_patience *patience,
                                             struct buffer *out, struct err *err);
/* All of this: sends, and waits up to wait_ms. */
MUST_CHECK enum err_code link_ask(const struct link_request *request, int cancel_fd,
                                  unsigned wait_ms, struct buffer *out, struct err *err);

#endif /* SAMPLER_LINK_LINK_H */
