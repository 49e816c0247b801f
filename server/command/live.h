/*
 * live - one session on the web: what attach and run have in common.
 *
 * live_open takes the address before anything is sampled or started, so that a taken port costs
 * nobody a run; live_start shows a sampler there.
 *
 * Ownership: live owns everything it was given.
 * Threads: the main one.
 * Depends on: options, signals, listen, site, http, sessions.
 */
#ifndef SERVER_COMMAND_LIVE_H
#define SERVER_COMMAND_LIVE_H

#include "server/listen.h"
#include "server/site.h"

struct http;
struct options;
struct sampler;
struct sessions;
struct signals;

struct live {
    struct listener listener;
    struct site site;
    struct sessions *sessions;
    struct http *http;
};

/* A zeroed live may be closed. */
MUST_CHECK enum err_code live_open(struct live *live, const struct options *options,
                                   struct err *err);
void live_close(struct live *live);

/* Takes the sampler on success, serves it, and prints the URL. */
MUST_CHECK enum err_code live_start(struct live *live, const struct options *options,
                                    struct sampler *sampler, const struct signals *signals,
                                    struct err *err);

/* Says on standard error how sampling ended, and that the page is still there. */
void live_say_ended(const struct live *live, struct sampler *sampler);

#endif /* SERVER_COMMAND_LIVE_H */
