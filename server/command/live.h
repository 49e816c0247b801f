/*
 * live - the server of a command: its address, its page and API, and the browser that opens it.
 *
 * live_open binds the address before sampling starts, so that a port in use cannot end a run that has
 * begun.
 *
 * Ownership: the caller's storage, which must not move once opened.
 * Threads: the main one.
 */
#ifndef SERVER_COMMAND_LIVE_H
#define SERVER_COMMAND_LIVE_H

#include "server/access/systemd.h"
#include "server/api/pipeline.h"
#include "server/command/process/credentials.h"
#include "server/command/process/prepared_child.h"
#include "server/http/listen.h"

struct http;
struct options;
struct sessions;
struct signals;

struct live {
    struct listener listener;
    struct pipeline pipeline;
    struct sessions *sessions;
    struct http *http;
    struct systemd systemd;
    bool is_passed;                /* systemd passed the socket */
    const char *shows;             /* id of the session that the URL opens; NULL: the list */
    const char *tls_cert;          /* a file, borrowed; NULL: no TLS */
    struct tls tls;                /* until live_start */
    struct prepared_child browser; /* waits for the URL */
};

/* A zeroed live may be closed. */
MUST_CHECK enum err_code live_open(struct live *live, const struct options *options,
                                   const struct signals *signals, struct err *err);
/* Opens without an address: nobody but this process asks. */
MUST_CHECK enum err_code live_open_alone(struct live *live, const struct options *options,
                                         struct err *err);
void live_close(struct live *live);

/* Answers requests from now on. */
MUST_CHECK enum err_code live_start(struct live *live, struct err *err);
/* Prints the URL, and opens it in a browser if --browser was given. */
MUST_CHECK enum err_code live_say_url(struct live *live, const struct options *options,
                                      struct err *err);
/* Prints why sampling has ended, and that the page stays. */
void live_say_ended(const struct live *live, const char *reason);

#endif /* SERVER_COMMAND_LIVE_H */
