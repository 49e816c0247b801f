#include "server/command/live.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sampler/base/memory_limit.h"
#include "server/command/options/options.h"
#include "server/command/process/credentials.h"
#include "server/command/process/exit.h"
#include "server/command/process/limits.h"
#include "server/command/process/prepared_child.h"
#include "server/command/process/standard.h"
#include "server/http/http.h"
#include "server/sessions/sessions.h"
#include "server/source/helper.h"

enum { LIVE_URL_BYTES = 1024 };

enum { NAME_BYTES = 128 };

/* A socket that systemd passes replaces --listen. */
static enum err_code find_listener(struct live *live, const struct options *options,
                                   struct err *err)
{
    int fd = -1;
    enum err_code rc = systemd_take_socket(&fd, err);
    if (!rc && fd < 0) {
        /* If the default port is in use, takes a free one.  A port that the user names is never
         * replaced. */
        struct listen_address address = options->listen;
        struct err first = { 0 };
        rc = listen_open(&address, &live->listener, &first);
        if (!rc)
            return rc;
        if (options->has_listen || first.sys != EADDRINUSE)
            return err_set(err, rc, "%s", first.message);
        address.port = 0;
        return listen_open(&address, &live->listener, err);
    }
    if (!rc && options->has_listen)
        rc = err_set(err, ERR_INVALID, "systemd passes a socket: remove --listen");
    if (!rc)
        rc = listen_adopt(fd, &live->listener, err);
    live->is_passed = true;
    if (rc && fd >= 0)
        close(fd);
    return rc;
}

enum err_code live_open(struct live *live, const struct options *options,
                        const struct signals *signals, struct err *err)
{
    memset(live, 0, sizeof *live);
    live->listener.fd = -1;
    live->tls_cert = options->access.tls_cert;
    systemd_init(&live->systemd);
    enum err_code rc = limits_check_serving(err);
    if (!rc)
        rc = sessions_create(&live->sessions, err);
    if (!rc)
        rc = find_listener(live, options, err);
    if (!rc && options->no_token && !live->listener.is_loopback)
        rc = err_set(
            err, ERR_INVALID,
            "--no-token would give the whole network access: use it with a loopback address");
    if (!rc) {
        char token[AUTH_MAX_TOKEN + 1];
        struct pipeline_options pipeline = { .sessions = live->sessions,
                                             .port = live->listener.port,
                                             .needs_token = !options->no_token,
                                             .is_tls = options->access.tls_cert != NULL,
                                             .base_path = options->access.base_path,
                                             .shares_file = options->access.shares_file,
                                             .audit_file = options->access.audit_file,
                                             .audit_say = say,
                                             .links = &options->report.links };
        /* A team shares the server of a whole host, so its audit log goes to standard error by
         * default. */
        if (!pipeline.audit_file && options->command->bit == COMMAND_SERVE &&
            standard_is_written(STDERR_FILENO))
            pipeline.audit_file = "-";
        if (options->token_file) {
            rc = credentials_read_token(options->token_file, token, err);
            pipeline.token = token;
        }
        if (!rc)
            rc = pipeline_init(&live->pipeline, &pipeline, err);
        if (!rc && !options->listen.is_unix)
            rc = hosts_allow(&live->pipeline.hosts, options->listen.host, err);
        for (size_t i = 0; i < options->allowed_hosts.count && !rc; i++)
            rc = hosts_allow(&live->pipeline.hosts, options->allowed_hosts.items[i], err);
    }
    if (!rc)
        rc = credentials_read_tls(live->tls_cert, options->access.tls_key, &live->tls, err);
    if (!rc && options->opens_browser)
        prepared_child_start(&live->browser, "xdg-open", signals);
    /* The browser has no such limit. */
    memory_limit_begin();
    return rc;
}

enum err_code live_open_alone(struct live *live, const struct options *options, struct err *err)
{
    memset(live, 0, sizeof *live);
    live->listener.fd = -1;
    const enum err_code rc = sessions_create(&live->sessions, err);
    const struct pipeline_options pipeline = { .sessions = live->sessions,
                                               .audit_file = options->access.audit_file,
                                               .audit_say = say };
    return rc ? rc : pipeline_init(&live->pipeline, &pipeline, err);
}

void live_close(struct live *live)
{
    systemd_notify(&live->systemd, "STOPPING=1");
    systemd_deinit(&live->systemd);
    prepared_child_run(&live->browser, NULL);
    source_helper_stop();
    credentials_wipe_tls(&live->tls);
    http_stop(live->http);
    listen_forget(&live->listener);
    if (!live->http && live->listener.fd >= 0)
        close(live->listener.fd);
    /* The audit log is open until the sessions have ended. */
    sessions_destroy(live->sessions);
    pipeline_deinit(&live->pipeline);
    memset(live, 0, sizeof *live);
    live->listener.fd = -1;
}

static void format_url(const struct live *live, const char *token, char *out, size_t bytes)
{
    char address[LIVE_URL_BYTES];
    listen_format(&live->listener, live->tls_cert != NULL, address, sizeof address);
    /* A browser retains the fragment across the redirect that removes the token. */
    snprintf(out, bytes, "%s%s/%s%s%s%s", address, live->pipeline.base_path,
             token && live->pipeline.auth.required ? "?token=" : "",
             token && live->pipeline.auth.required ? token : "",
             live->shows ? "#v=1&session=" : "", live->shows ? live->shows : "");
}

enum err_code live_say_url(struct live *live, const struct options *options, struct err *err)
{
    /* The standard output of a program under `run` is not mixed with ours. */
    FILE *const out = options->command->bit == COMMAND_RUN ? stderr : stdout;
    char url[2 * LIVE_URL_BYTES];
    if (options->listen.port != 0 && options->listen.port != live->listener.port &&
        !live->listener.is_unix && !live->is_passed)
        say("port %u is taken, using %u", options->listen.port, live->listener.port);
    format_url(live, live->pipeline.auth.token, url, sizeof url);
    fprintf(out, "%s\n", url);

    /* How a browser elsewhere comes to an address that only this host has, or that a firewall may
     * hide. */
    const struct listener *const listener = &live->listener;
    if (!live->systemd.is_there && !live->is_passed &&
        (listener->is_unix || listener->is_loopback || getenv("SSH_CONNECTION"))) {
        /* This host, as somebody who has come by SSH reaches it: "CLIENT PORT SERVER PORT". */
        const char *const connection = getenv("SSH_CONNECTION");
        char server[NAME_BYTES] = "", name[NAME_BYTES];
        if (connection && sscanf(connection, "%*s %*s %127s", server) == 1)
            snprintf(name, NAME_BYTES, "%s", server);
        else if (gethostname(name, NAME_BYTES) != 0)
            snprintf(name, NAME_BYTES, "HOST");
        name[NAME_BYTES - 1] = '\0';

        if (listener->is_unix)
            say("from another machine: ssh -N -L %d:%s %s, then this URL at http://localhost:%d",
                LISTEN_DEFAULT_PORT, listener->path, name, LISTEN_DEFAULT_PORT);
        else if (listener->is_loopback)
            say("from another machine: ssh -N -L %u:%s:%u %s, then the same URL",
                listener->port, listener->host, listener->port, name);
        else
            say("from behind a firewall: ssh -N -L %u:%s:%u %s, then this URL at localhost:%u",
                listener->port, listener->host, listener->port, name, listener->port);
    }

    const enum err_code rc = exit_flush(err);
    if (rc)
        return rc;
    format_url(live, live->pipeline.auth.once, url, sizeof url);
    prepared_child_run(&live->browser, url);
    systemd_notify(&live->systemd, "READY=1");
    return ERR_OK;
}

enum err_code live_start(struct live *live, struct err *err)
{
    const struct http_options http = { .listen_fd = live->listener.fd,
                                       .handler = pipeline_answer,
                                       .admit = pipeline_admit,
                                       .answer_at_once = pipeline_answer_at_once,
                                       .identify = pipeline_identify,
                                       .context = &live->pipeline,
                                       .traffic = &live->pipeline.traffic,
                                       .tls_cert = live->tls.cert,
                                       .tls_key = live->tls.key };
    const enum err_code rc = http_start(&http, &live->http, err);
    credentials_wipe_tls(&live->tls);
    return rc;
}

void live_say_ended(const struct live *live, const char *reason)
{
    char url[2 * LIVE_URL_BYTES];
    format_url(live, NULL, url, sizeof url);
    say("%s; the page stays at %s; Ctrl-C to quit", reason, url);
}
