/*
 * audit - a log with one line for each attempt to start, change, stop, delete or share something:
 * who, from where, what, and the result.
 *
 *     {"at":"2026-01-31T10:00:00Z","action":"start","status":202,"who":"operator","share":null,
 *      "address":"127.0.0.1","method":"POST","path":"/api/v1/sessions","format":null,
 *      "body":"{\"pids\":[4711]}"}
 *
 * JSON lines, each written whole.  No line holds a token.  A line that cannot be written, on a full disk for example, is
 * lost and counted.
 *
 * Ownership: plain data; audit_close closes a file.
 * Threads: any, once opened.
 * Limits: AUDIT_MAX_BODY bytes of a body.
 */
#ifndef SERVER_ACCESS_AUDIT_H
#define SERVER_ACCESS_AUDIT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "sampler/base/err.h"

struct identity;
struct request;

/* An event that no request caused: who is "command line" or "server". */
struct audit_event {
    const char *action, *who;
    const char *session; /* its id; NULL: none */
    const char *body;    /* details; NULL: none */
};

enum { AUDIT_MAX_BODY = 512 };

/* Prints a message for the user. */
typedef void audit_say(const char *format, ...) PRINTF_LIKE(1, 2);

struct audit {
    int fd; /* -1: no audit */
    audit_say *say;
    atomic_bool is_cut;    /* the last line in the file is not whole */
    _Atomic uint64_t lost; /* lines */
};

/* file NULL: no log; "-": standard error; otherwise lines are appended to the file, which is created
 * with mode 0600.  say: is called once, when the first line is lost. */
MUST_CHECK enum err_code audit_open(const char *file, audit_say *say, struct audit *out,
                                    struct err *err);
void audit_close(struct audit *audit);

void audit_write(struct audit *audit, const char *action, const struct identity *who,
                 const struct request *request, int status);
/* Writes an event as a line with null as status, share, method and format; its address is
 * "local:uid=N". */
void audit_write_event(struct audit *audit, const struct audit_event *event);

#endif /* SERVER_ACCESS_AUDIT_H */
