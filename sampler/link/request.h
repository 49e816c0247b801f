/*
 * request - what the HTTP process asks the sampling process, and how it is answered.
 *
 * A request is one message of a socket pair (SOCK_SEQPACKET), with at most one descriptor: the pipe for
 * the answer.  An answer is a head and its contents; what START has started follows in the same pipe, as a live
 * capture (capture/growing.h) whose CAPTURE_STATE blocks are those of state.h.
 *
 * Both processes are one program of one build, so structs go as they lie in memory, without their pointers.  Neither
 * trusts the other, which may have been taken over: the sampling process by what it has read of a target, the HTTP
 * process by a client.  So the receiver checks each length, number, choice and text before it uses it, and takes no pointer.
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
#include "sampler/session.h"

struct buffer;
struct byte_reader;

enum {
    LINK_MAX_REQUEST_BYTES = 1 << 14,
    LINK_MAX_ANSWER_BYTES = 1 << 26,
    LINK_MAX_WORDS = 1 << 16, /* of a command line */
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
    X(FACTS)        /* what the kernel says of it */                         \
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
    pid_t pid;                      /* of JOIN, ADMIT and FACTS */
    uint64_t session;               /* of STOP to JOIN, and READ */
    struct session_options options; /* of START and CHECK_ENGINE */
    bool paused;                    /* of PAUSE */
    double value;                   /* of SET_RATE and SET_CPU */
    const void *source; /* of READ, behind the struct: what the server's source/ makes of it */
    size_t source_bytes;
};

void link_request_encode(const struct link_request *request, struct buffer *out);
/* ERR_INVALID. */
MUST_CHECK enum err_code link_request_decode(const void *message, size_t bytes,
                                             struct link_request *out, struct err *err);

/* The head of an answer: how it went, and how many bytes follow: a struct link_failure, if it did not go well. */
struct link_head {
    uint32_t code, bytes;
};

struct link_failure {
    int32_t sys;                                    /* errno; 0: none */
    char message[sizeof((struct err *)0)->message]; /* "": that of the code */
};

MUST_CHECK enum err_code link_head_check(const struct link_head *head, struct err *err);
/* Sets the error that the contents of an answer say, and returns the code. */
enum err_code link_fail(enum err_code code, const struct buffer *contents, struct err *err);

/* Says which process has no file descriptors left, if that is what is wrong. */
void link_name_files(struct err *err, const char *process);

/* The contents of the answer to START. */
struct link_started {
    uint64_t session;
    uint64_t created_ns; /* CLOCK_MONOTONIC */
    uint64_t engine;     /* enum session_engine */
};

/* Reads the contents of an answer that are such a struct.  ERR_CORRUPT: they have another length. */
MUST_CHECK enum err_code link_take(const struct buffer *contents, void *out, size_t bytes,
                                   struct err *err);

/* The answer to LIST is a struct processes_summary, and each process behind it. */
void link_process_encode(const struct process_info *info, struct buffer *out);
/* visit: NULL: only the summary. */
MUST_CHECK enum err_code link_list_decode(const struct buffer *contents,
                                          processes_visitor visit, void *context,
                                          struct processes_summary *out, struct err *err);

/* Copies the struct that comes next.  false: it is bad. */
bool link_take_struct(struct byte_reader *in, void *out, size_t bytes);
/* 0 for what is not a finite number. */
double link_finite(double value);
/* NULL is another text than "". */
void link_text_encode(const char *text, struct buffer *out);
const char *link_text_decode(struct byte_reader *in);

#endif /* SAMPLER_LINK_REQUEST_H */
