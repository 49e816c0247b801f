/*
 * live - one session on the web: what attach and run have in common.
 *
 * live_open takes the address before anything is sampled or started, so that a taken port costs
 * nobody a run; live_start shows a sampler there.
 *
 * Ownership: live owns everything it was given.
 * Threads: the main one.
 * Depends on: options, recording, signals, listen, site, http, sessions.
 */
#ifndef SERVER_COMMAND_LIVE_H
#define SERVER_COMMAND_LIVE_H

#include "server/access/systemd.h"
#include "server/api/pipeline.h"
#include "server/command/process/child.h"
#include "server/http/listen.h"

struct capture_output;
struct http;
struct options;
struct run_summary;
struct sampler;
struct session;
struct sessions;
struct signals;

struct live {
    struct listener listener;
    struct pipeline pipeline;
    struct sessions *sessions;
    struct http *http;
    struct systemd systemd;
    bool is_passed;                 /* the socket, by systemd */
    const char *shows;              /* id of the session that the URL opens; NULL: none */
    const char *tls_cert, *tls_key; /* files, borrowed; NULL: no TLS */
    struct child_later browser;     /* waits for the URL */
};

/* A zeroed live may be closed. */
MUST_CHECK enum err_code live_open(struct live *live, const struct options *options,
                                   const struct signals *signals, struct err *err);
void live_close(struct live *live);

/* Takes the sampler, also where it fails, serves it, and prints the URL. */
MUST_CHECK enum err_code live_start(struct live *live, const struct options *options,
                                    struct sampler *sampler, struct err *err);

/* Serves the sessions that are there, and prints the URL. */
MUST_CHECK enum err_code live_show(struct live *live, const struct options *options,
                                   struct err *err);

/* The session that live_start made. */
struct session *live_session(const struct live *live);

/* Sampling has ended by itself: finishes the recording and the capture and says that the page is still there.  An
 * error is said at once, as the page is served on; it is returned too. */
enum err_code live_finish(const struct live *live, struct run_summary *summary,
                          struct capture_output *capture, struct err *err);

#endif /* SERVER_COMMAND_LIVE_H */
