/*
 * pipeline - the request pipeline: the same steps for every request.
 *
 *     Host -> refusals -> login -> scope -> route -> change marks -> handler -> validator,
 *     compression, security headers
 *
 * If there is a base path, every route works with and without it, because some proxies remove it.
 *
 * It knows no sockets: http.c calls it from several threads, tests call it directly.
 *
 * Ownership: the pipeline owns its parts and borrows the sessions.
 * Threads: any, after pipeline_init.
 */
#ifndef SERVER_API_PIPELINE_H
#define SERVER_API_PIPELINE_H

#include "server/access/audit.h"
#include "server/access/auth.h"
#include "server/access/hosts.h"
#include "server/api/headlines.h"
#include "server/http/http.h"
#include "server/http/response_cache.h"
#include "server/http/traffic.h"

struct dashboard;
struct logins;
struct push_counters;
struct request;
struct response;
struct sessions;
struct shares;
struct source_links;

struct pipeline {
    struct response_cache cache;
    struct auth auth;
    struct hosts hosts;
    struct sessions *sessions;
    struct logins *logins;
    struct shares *shares;
    const char *base_path; /* "": none */
    const struct source_links *links;
    struct audit audit;
    struct traffic traffic;
    struct headlines headlines;
    struct dashboard *dashboard;               /* NULL: none */
    const struct push_counters *push_counters; /* NULL: profiles are not pushed */
};

struct pipeline_options {
    struct sessions *sessions;
    struct dashboard *dashboard;
    unsigned port;
    bool needs_token;
    const char *token; /* NULL: a random one */
    bool is_tls;
    const char *base_path;            /* as in "/pyrometer", borrowed; NULL or "": none */
    const char *shares_file;          /* NULL: shares end with the program */
    const char *audit_file;           /* NULL: none; "-": standard error */
    audit_say *audit_say;             /* NULL with audit_file NULL */
    const struct source_links *links; /* borrowed; NULL: none */
};

MUST_CHECK enum err_code pipeline_init(struct pipeline *pipeline,
                                       const struct pipeline_options *options, struct err *err);
void pipeline_deinit(struct pipeline *pipeline);

/* Fills an initialised response and removes the base path from the request.  `pipeline` is a
 * struct pipeline; http.h wants a void pointer. */
void pipeline_answer(void *pipeline, struct request *request, struct response *response);
/* Opens the file for an uploaded capture; -1: none, and pipeline_answer says why. */
int pipeline_admit(void *pipeline, struct request *request, size_t *most_out);
/* Answers as pipeline_answer does, but leaves a request that must wait for its turn (http.h). */
enum http_turn pipeline_answer_at_once(void *pipeline, struct request *request,
                                       struct response *response);
/* Says who the client is, by the token, cookie or share of the request. */
void pipeline_identify(void *pipeline, const struct request *request, struct client *out);

#endif /* SERVER_API_PIPELINE_H */
