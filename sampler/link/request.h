/*
 * request - what the HTTP process asks the sampling process, and how it is answered.
 *
 * A request is one message of a socket pair (SOCK_SEQPACKET), with at most one descriptor: the pipe for
 * the answer.  An answer is a head and its contents; what START has started follows in the same pipe, as a live
 * capture (capture/growing.h) whose CAPTURE_STATE blocks are those of state.h.
 *
 * The two processes are of one program and of one version, but neither trusts the other: every number has a
 * bound, and both sides check it.
 *
 * Ownership: decoded texts and bytes point into the message.
 * Limits: LINK_MAX_REQUEST_BYTES, LINK_MAX_ANSWER_BYTES.
 */
#ifndef SAMPLER_LINK_REQUEST_H
#define SAMPLER_LINK_REQUEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sampler/base/err.h"
#include "sampler/processes.h"
#include "sampler/reader_link.h"
#include "sampler/sampler.h"

struct bytes;
struct cursor;

enum {
    LINK_VERSION = 1,
    LINK_MAX_REQUEST_BYTES = 1 << 14,
    LINK_MAX_ANSWER_BYTES = 1 << 26,
    LINK_MAX_WORDS = 1 << 16, /* of a command line */
    LINK_HEAD_BYTES = 8,
};

/* Each kind, and what it asks for. */
#define LINK_REQUESTS(X)                                                     \
    X(START) /* a session with these options */                              \
    X(STOP)  /* like those up to JOIN, of a session */                       \
    X(PAUSE)                                                                 \
    X(SET_RATE)                                                              \
    X(SET_CPU)                                                               \
    X(RECORD_NATIVE)                                                         \
    X(JOIN)                                                                  \
    X(CHECK_ENGINE) /* could a session with these options have an engine? */ \
    X(ADMIT)        /* may this process be read? */                          \
    X(LIST)         /* the Python processes */                               \
    X(READ)         /* the source file of functions of a session */          \
    X(USAGE)        /* of the sampling process itself */                     \
    X(PING)         /* nothing: it is taken, and not answered */

enum link_kind {
    LINK_NONE,
#define X(name) LINK_##name,
    LINK_REQUESTS(X)
#undef X
        LINK_KINDS
};

struct link_request {
    enum link_kind kind;
    uint64_t session;               /* of STOP to JOIN, and READ */
    struct sampler_options options; /* of START and CHECK_ENGINE */
    bool paused;                    /* of PAUSE */
    double value;                   /* of SET_RATE and SET_CPU */
    pid_t pid;                      /* of JOIN and ADMIT */
    const void *source;             /* of READ: what the server's source/ makes of it */
    size_t source_bytes;
};

void link_request_encode(const struct link_request *request, struct bytes *out);
/* ERR_INVALID. */
MUST_CHECK enum err_code link_request_decode(struct cursor *cursor, struct link_request *out,
                                             struct err *err);

/* The head of an answer: how it went, and how many bytes follow.  It needs no memory. */
void link_head_encode(enum err_code code, size_t bytes, unsigned char out[LINK_HEAD_BYTES]);
MUST_CHECK enum err_code link_head_decode(const unsigned char head[LINK_HEAD_BYTES],
                                          enum err_code *code_out, size_t *bytes_out,
                                          struct err *err);

/* The contents of an answer that says why not; without any, the code says it. */
void link_err_encode(const struct err *err, struct bytes *out);
void link_err_decode(struct cursor *cursor, enum err_code code, struct err *out);

/* Says which process has no file descriptors left, if that is what is wrong. */
void link_name_files(struct err *err, const char *process);

/* The contents of the answer to START. */
struct link_started {
    uint64_t session;
    uint64_t created_ns; /* CLOCK_MONOTONIC */
    enum sampler_engine engine;
};

void link_started_encode(const struct link_started *started, struct bytes *out);
MUST_CHECK enum err_code link_started_decode(struct cursor *cursor, struct link_started *out,
                                             struct err *err);

/* The answer to LIST is a summary, and each process behind it. */
void link_process_encode(const struct process_info *info, struct bytes *out);
void link_summary_encode(const struct processes_summary *summary, struct bytes *out);
/* visit: NULL: only the summary. */
MUST_CHECK enum err_code link_list_decode(struct cursor *cursor, processes_visitor visit,
                                          void *context, struct processes_summary *out,
                                          struct err *err);

void link_usage_encode(const struct process_usage *usage, struct bytes *out);
MUST_CHECK enum err_code link_usage_decode(struct cursor *cursor, struct process_usage *out,
                                           struct err *err);

void link_double_encode(double value, struct bytes *out);
/* 0 for what is not a finite number. */
double link_double_decode(struct cursor *cursor);
/* NULL is another text than "". */
void link_text_encode(const char *text, struct bytes *out);
const char *link_text_decode(struct cursor *cursor);

#endif /* SAMPLER_LINK_REQUEST_H */
