#include "server/mcp/mcp.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <unistd.h>

#include "sampler/base/buffer.h"
#include "server/access/admission.h"
#include "server/command/command.h"
#include "server/command/hosting.h"
#include "server/command/live.h"
#include "server/command/options/options.h"
#include "server/command/output/capture_input.h"
#include "server/command/process/exit.h"
#include "server/command/process/privilege.h"
#include "server/command/process/signals.h"
#include "server/sessions/dashboard.h"
#include "server/sessions/leave.h"
#include "server/sessions/sessions.h"
#include "server/source/helper.h"

/* How often a call that waits asks whether its recording has ended. */
enum { POLL_MS = 100 };
/* The client is gone by then. */
enum { MCP_LEAVE_MS = 700 };
/* A pipe that is ready takes that much without waiting. */
enum { CHUNK_BYTES = 4096 };

struct serving {
    struct live live;
    const struct options *options;
};

static void answer_request(void *context, struct request *request, struct response *response)
{
    struct serving *const serving = context;
    pipeline_answer(&serving->live.pipeline, request, response);
}

static enum err_code open_capture(void *context, const char *path, char id[MCP_ID_BYTES],
                                  struct err *err)
{
    struct serving *const serving = context;
    struct session_entry *entry = NULL;
    const enum err_code rc =
        capture_input_show(serving->live.sessions, serving->options, path, &entry, err);
    if (!rc)
        snprintf(id, MCP_ID_BYTES, "%s", entry->id);
    return rc;
}

/* false: the client reads no longer, or a signal came. */
static bool flush_output(struct buffer *out, const struct signals *signals)
{
    size_t done = 0;
    while (done < out->length) {
        struct pollfd wanted[] = { { signals->fd, POLLIN, 0 }, { STDOUT_FILENO, POLLOUT, 0 } };
        const size_t left = out->length - done;
        if (poll(wanted, 2, -1) < 0 && errno != EINTR)
            return false;
        if (wanted[0].revents)
            return false;
        if (!wanted[1].revents)
            continue;
        const ssize_t written =
            write(STDOUT_FILENO, out->data + done, left < CHUNK_BYTES ? left : CHUNK_BYTES);
        if (written < 0 && errno != EINTR && errno != EAGAIN)
            return false;
        done += written > 0 ? (size_t)written : 0;
    }
    const bool is_whole = !out->failed;
    buffer_clear(out);
    return is_whole;
}

/* Until the client is gone, or a signal comes. */
static void serve_client(struct mcp *mcp, struct buffer *out, struct signals *signals)
{
    char data[CHUNK_BYTES];
    do {
        const int timeout_ms = mcp_is_waiting(mcp) ? POLL_MS : -1;
        const enum signals_event event = signals_wait(signals, STDIN_FILENO, timeout_ms);
        if (event == SIGNALS_STOP)
            return;
        if (event == SIGNALS_READABLE) {
            const ssize_t length = read(STDIN_FILENO, data, sizeof data);
            if (length == 0 || (length < 0 && errno != EINTR && errno != EAGAIN))
                return;
            mcp_take(mcp, data, length > 0 ? (size_t)length : 0);
        }
        mcp_poll(mcp);
    } while (flush_output(out, signals));
}

int command_mcp(const struct options *options)
{
    struct serving serving = { .live.listener.fd = -1, .options = options };
    struct dashboard dashboard = { .processes = NULL };
    const struct mcp_host host = { &serving, answer_request, open_capture };
    struct buffer out = { 0 };
    struct mcp *mcp = NULL;
    struct signals signals;
    struct err err = { 0 };
    admission_use(&options->access.admission);
    enum err_code rc = privilege_prepare(options, &err);
    if (!rc && !options->report.no_source)
        rc = source_helper_start(&err);
    if (!rc)
        rc = signals_init(&signals, &err);
    if (!rc)
        rc = live_open_alone(&serving.live, options, &err);
    if (!rc)
        rc = hosting_open(&dashboard, &serving.live, options, &err);
    if (!rc)
        rc = privilege_drop(options, &err);
    if (!rc)
        rc = mcp_create(&host, &out, &mcp, &err);
    if (!rc) {
        dashboard_begin(&dashboard);
        serve_client(mcp, &out, &signals);
    }
    signals_deinit(&signals);
    const int status = exit_with(rc, &err);
    leave_within(MCP_LEAVE_MS, status);
    mcp_destroy(mcp);
    buffer_deinit(&out);
    live_close(&serving.live);
    dashboard_close(&dashboard);
    return status;
}
