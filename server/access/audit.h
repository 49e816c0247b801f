/*
 * audit - a log with one line for each attempt to start, change, stop, delete or share something:
 * who, from where, what, and the result.
 *
 *     {"at":"2026-01-31T10:00:00Z","action":"start","status":202,"who":"operator","share":null,
 *      "address":"127.0.0.1","method":"POST","path":"/api/v1/sessions","format":null,
 *      "body":"{\"pids\":[4711]}"}
 *
 * JSON lines, each written whole.  No line holds a token.
 *
 * Ownership: plain data; audit_close closes a file.
 * Threads: any, once opened.
 * Limits: AUDIT_MAX_BODY bytes of a body.
 * Depends on: err, json, auth, request.
 */
#ifndef SERVER_ACCESS_AUDIT_H
#define SERVER_ACCESS_AUDIT_H

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

struct audit {
    int fd; /* -1: no audit */
};

/* file NULL: no log; "-": standard error; otherwise lines are appended to the file, which is created
 * with mode 0600. */
MUST_CHECK enum err_code audit_open(const char *file, struct audit *out, struct err *err);
void audit_close(struct audit *audit);

void audit_write(const struct audit *audit, const char *action, const struct identity *who,
                 const struct request *request, int status);
/* The same line with null as status, share, method and format; its address is "local:uid=N". */
void audit_write_event(const struct audit *audit, const struct audit_event *event);

#endif /* SERVER_ACCESS_AUDIT_H */
