/*
 * audit - one line for each thing that somebody started, changed, stopped, took away or shared, or
 * tried to: who, from where, what, and what came of it.
 *
 *     {"at":"2026-01-31T10:00:00Z","action":"start","status":202,"who":"operator","share":null,
 *      "address":"127.0.0.1","method":"POST","path":"/api/v1/sessions","body":"{\"pids\":[4711]}"}
 *
 * JSON lines, each written whole.  No token is ever in one.
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
    const char *body;    /* what it was about; NULL: nothing */
};

enum { AUDIT_MAX_BODY = 512 };

struct audit {
    int fd; /* -1: no audit */
};

/* file NULL: none; "-": standard error; else it is added to, and made for its owner only. */
MUST_CHECK enum err_code audit_open(const char *file, struct audit *out, struct err *err);
void audit_close(struct audit *audit);

void audit_write(const struct audit *audit, const char *action, const struct identity *who,
                 const struct request *request, int status);
/* The same line, without status, method and format; its address is "local:uid=N". */
void audit_write_event(const struct audit *audit, const struct audit_event *event);

#endif /* SERVER_ACCESS_AUDIT_H */
