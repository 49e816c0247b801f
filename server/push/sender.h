/*
 * sender - sends the bodies of one endpoint, in order, on a thread of its own.
 *
 * A request that fails is sent again, after pauses that grow up to SENDER_MAX_PAUSE_NS, or when the receiver says.  A
 * request that the receiver answers with an error of its own is sent for SENDER_MAX_ERROR_NS at most, and a request that
 * it refuses is not sent again.  A request without an answer may have been taken, so it may arrive twice, with the same
 * bytes.
 *
 * A receiver that has too much to do may have taken a part of the request.  So each series is then sent as a request
 * of its own, and so are those of the following SENDER_DIVIDING_NS.
 *
 * Ownership: sender_create makes, sender_destroy frees.
 * Threads: its own; sender_add: any; the others: the one that made it.
 */
#ifndef SERVER_PUSH_SENDER_H
#define SERVER_PUSH_SENDER_H

#include <stdint.h>

#include "sampler/base/err.h"
#include "server/push/protocol.h"

struct push_endpoint_counters;
struct push_endpoint_setting;
struct sender;

enum { SENDER_MAX_HEADERS = 32 };
#define SENDER_MAX_PAUSE_NS       60000000000ull
#define SENDER_MAX_RETRY_AFTER_NS 600000000000ull
#define SENDER_MAX_ERROR_NS       300000000000ull
#define SENDER_DIVIDING_NS        600000000000ull

/* Receives a sentence; on any thread. */
typedef void push_say(void *context, const char *what);

struct sender_settings {
    const struct push_endpoint_setting *endpoint;
    const char *headers; /* lines "Name: value"; NULL: none */
    uint64_t spool_bytes;
    uint64_t error_ns; /* instead of SENDER_MAX_ERROR_NS; 0: that */
    struct push_endpoint_counters *counters;
    push_say *say;
    void *say_context;
};

/* ERR_INVALID: a header is malformed; ERR_UNSUPPORTED: built without libcurl. */
MUST_CHECK enum err_code sender_create(const struct sender_settings *settings,
                                       struct sender **out, struct err *err);
/* Its thread must have ended.  NULL is fine. */
void sender_destroy(struct sender *sender);
const struct push_protocol *sender_protocol(const struct sender *sender);
/* "pyroscope://127.0.0.1:4040" */
const char *sender_url(const struct sender *sender);

MUST_CHECK enum err_code sender_start(struct sender *sender, struct err *err);
/* A push_take. */
enum err_code sender_add(void *sender, const struct buffer *body, struct err *err);
/* Sends what waits until that time (clock_now_ns) or until hurries() says so, loses what is left then, and ends the
 * thread. */
void sender_finish(struct sender *sender, uint64_t until_ns, bool (*hurries)(void));

/* A push_take without the thread: returns when the body is sent.  ERR_SYS: it is refused, or the receiver
 * does not take it within SENDER_NOW_NS; both have been said. */
enum err_code sender_send_now(void *sender, const struct buffer *body, struct err *err);
#define SENDER_NOW_NS 60000000000ull

#endif /* SERVER_PUSH_SENDER_H */
