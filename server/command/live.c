#include "server/command/live.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sampler/sampler.h"
#include "server/command/capturing.h"
#include "server/command/child.h"
#include "server/command/exit.h"
#include "server/command/options.h"
#include "server/command/recording.h"
#include "server/command/token.h"
#include "server/http.h"
#include "server/sessions.h"

/* The usual port may be taken by another of us; one the user named must be had. */
static enum err_code open_listener(struct live *live, const struct options *options,
                                   struct err *err)
{
    struct listen_address address = options->listen;
    struct err first = { 0 };
    const enum err_code rc = listen_open(&address, &live->listener, &first);
    if (rc == ERR_OK)
        return rc;
    if (options->has_listen || first.sys != EADDRINUSE)
        return err_set(err, rc, "%s", first.message);
    address.port = 0;
    return listen_open(&address, &live->listener, err);
}

static enum err_code allow_hosts(struct live *live, const struct options *options,
                                 struct err *err)
{
    enum err_code rc = hosts_allow(&live->site.hosts, options->listen.host, err);
    for (size_t i = 0; i < options->allowed_host_count && rc == ERR_OK; i++)
        rc = hosts_allow(&live->site.hosts, options->allowed_hosts[i], err);
    return rc;
}

static enum err_code open_site(struct live *live, const struct options *options,
                               struct err *err)
{
    char token[AUTH_MAX_TOKEN + 1];
    struct site_options site = { .sessions = live->sessions,
                                 .port = live->listener.port,
                                 .needs_token = !options->no_token,
                                 .base_path = options->base_path,
                                 .shares_file = options->shares_file };
    enum err_code rc = ERR_OK;
    if (options->token_file) {
        rc = token_read(options->token_file, token, err);
        site.token = token;
    }
    if (rc == ERR_OK)
        rc = site_init(&live->site, &site, err);
    return rc == ERR_OK ? allow_hosts(live, options, err) : rc;
}

enum err_code live_open(struct live *live, const struct options *options, struct err *err)
{
    memset(live, 0, sizeof *live);
    live->listener.fd = -1;
    enum err_code rc = sessions_create(&live->sessions, err);
    if (rc == ERR_OK)
        rc = open_listener(live, options, err);
    if (rc == ERR_OK && options->no_token && !live->listener.is_loopback)
        rc = err_set(
            err, ERR_INVALID,
            "--no-token would let the whole network in: use it with a loopback address");
    return rc == ERR_OK ? open_site(live, options, err) : rc;
}

void live_close(struct live *live)
{
    http_stop(live->http);
    if (!live->http && live->listener.fd >= 0)
        close(live->listener.fd);
    site_deinit(&live->site);
    sessions_destroy(live->sessions);
    memset(live, 0, sizeof *live);
    live->listener.fd = -1;
}

static void format_url(const struct live *live, const char *token, char *out, size_t bytes)
{
    snprintf(out, bytes, "http://%s:%u%s/%s%s", live->listener.host, live->listener.port,
             live->site.base_path, live->site.auth.required ? "?token=" : "",
             live->site.auth.required ? token : "");
}

static void open_browser(const struct live *live, const struct signals *signals)
{
    char url[768];
    char program[] = "xdg-open";
    char *const argv[] = { program, url, NULL };
    format_url(live, live->site.auth.once, url, sizeof url);
    child_start_detached(argv, signals);
}

static void say_started(struct sampler *sampler)
{
    const struct sampler_target *const target = sampler_target(sampler);
    const struct sampler_options *const options = sampler_options(sampler);
    struct sampler_processes processes;
    sampler_processes(sampler, &processes);
    if (processes.joined > 1)
        say("sampling %" PRIu64
            " processes, %d (Python %s) and others, at %.10g Hz, %s; Ctrl-C "
            "to quit",
            processes.joined, (int)target->pid, target->python, options->rate_hz,
            options->all_threads ? "all threads" : "main threads only");
    else
        say("sampling process %d (Python %s) at %.10g Hz, %s; Ctrl-C to quit", (int)target->pid,
            target->python, options->rate_hz,
            options->all_threads ? "all threads" : "main thread only");
    if (processes.over > 0)
        say("%" PRIu64 " more were left out: %d at a time is the limit", processes.over,
            SAMPLER_MAX_PROCESSES);
    if (!target->validated)
        say("Python %s is newer than this program knows; results may be wrong", target->python);
}

static void say_url(struct live *live, const struct options *options,
                    const struct signals *signals)
{
    char url[768];
    if (options->listen.port != 0 && options->listen.port != live->listener.port)
        say("port %u is taken, using %u", options->listen.port, live->listener.port);
    format_url(live, live->site.auth.token, url, sizeof url);
    puts(url);
    fflush(stdout);
    if (options->opens_browser)
        open_browser(live, signals);
}

enum err_code live_show(struct live *live, const struct options *options,
                        const struct signals *signals, struct err *err)
{
    const enum err_code rc =
        http_start(live->listener.fd, site_answer, &live->site, &live->http, err);
    if (rc == ERR_OK)
        say_url(live, options, signals);
    return rc;
}

enum err_code live_start(struct live *live, const struct options *options,
                         struct sampler *sampler, const struct signals *signals,
                         struct err *err)
{
    struct session *session = NULL;
    if (options->report.no_source)
        sessions_hide_source(live->sessions);
    enum err_code rc =
        http_start(live->listener.fd, site_answer, &live->site, &live->http, err);
    if (rc == ERR_OK)
        rc = sessions_add(live->sessions, sampler, &session, err);
    if (rc != ERR_OK)
        return rc;
    say_started(sampler);
    say_url(live, options, signals);
    return ERR_OK;
}

struct session *live_session(const struct live *live)
{
    return sessions_at(live->sessions, 0);
}

enum err_code live_finish(const struct live *live, struct recording *recording,
                          struct capturing *capturing, struct err *err)
{
    struct sampler_status status;
    enum err_code rc = recording_finish(recording, err);
    if (rc == ERR_OK)
        rc = capturing_finish(capturing, err);
    if (rc != ERR_OK)
        say("%s", err->message);
    sampler_status(recording->session->sampler, &status);
    say("%s; the page stays at http://%s:%u%s/; Ctrl-C to quit",
        *status.reason ? status.reason : "sampling ended", live->listener.host,
        live->listener.port, live->site.base_path);
    return rc;
}
