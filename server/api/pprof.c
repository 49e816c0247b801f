/* Samples a process for some seconds and answers with pprof: for `go tool pprof URL`, Parca and others. */
#include <errno.h>
#include <poll.h>
#include <stdatomic.h>

#include "sampler/base/buffer.h"
#include "sampler/base/clock.h"
#include "sampler/permission.h"
#include "sampler/profile/profile.h"
#include "sampler/profile/views/view.h"
#include "sampler/session.h"
#include "server/api/api.h"
#include "server/api/handler_context.h"
#include "server/api/query.h"
#include "server/http/request.h"
#include "server/http/response.h"
#include "server/report/report.h"
#include "server/sessions/dashboard.h"
#include "server/sessions/sessions.h"
#include "server/wire/session.h"

enum {
    PULL_MAX_AT_ONCE = 4,
    PULL_SECONDS = 30,
    PULL_RATE_HZ = 100,
    PULL_MEMORY_BYTES = 64 << 20,
    PULL_POLL_MS = 100,
};

struct pull {
    uint32_t pid, seconds, rate_hz;
    bool hides_arguments;
};

/* Without a pid: the process of the first running session.  A server without a dashboard permits
 * only processes that its sessions sample now: the id of one that has ended may be another's. */
static enum err_code choose_process(const struct handler_context *handler, struct pull *pull,
                                    struct err *err)
{
    struct session_entry *entry = NULL;
    bool is_known = handler->dashboard && pull->pid != 0;
    if (is_known)
        pull->hides_arguments = handler->dashboard->hides_arguments;
    for (size_t i = 0; !is_known && (entry = sessions_at(handler->sessions, i)); i++) {
        struct session *const session = entry->session;
        struct session_target target;
        for (size_t k = 0; session && !is_known && session_target_at(session, k, &target); k++)
            is_known = !target.to_ns && (pull->pid == 0 || (uint32_t)target.pid == pull->pid);
        if (is_known) {
            pull->pid = (uint32_t)target.pid;
            pull->hides_arguments = session_options(session)->hides_arguments;
        }
        session_release(entry);
    }
    if (is_known)
        return permission_ask((pid_t)pull->pid, NULL, err);
    if (pull->pid == 0)
        return err_set(err, ERR_INVALID, "parameter \"pid\" is missing, and no session runs");
    return err_set(err, ERR_PERM, "only processes of this server's sessions can be profiled");
}

static enum err_code send_profile(struct session *session, struct response *response,
                                  struct err *err)
{
    const struct view_query everything = { 0 };
    struct profile_snapshot snapshot;
    struct buffer file = { 0 };
    enum err_code rc = profile_snapshot(session_profile(session), &snapshot, err);
    if (rc)
        return rc;
    struct session_info info = { .id = "0",
                                 .epoch = "",
                                 .target = session_target(session),
                                 .session = session,
                                 .options = session_options(session),
                                 .snapshot = &snapshot };
    session_status(session, &info.status);
    const struct report_source source = { .snapshot = &snapshot,
                                          .query = &everything,
                                          .session = &info };
    const struct report_format *const format = report_find("pprof");
    rc = report_write(format, &source, &file, err);
    if (!rc)
        rc = response_take_buffer(response, format->mime, &file, err);
    buffer_deinit(&file);
    profile_snapshot_release(&snapshot);
    /* It is compressed already, and what fetches it may not expect more. */
    response->is_encoded = true;
    response_set_header(response, "Content-Disposition",
                        "attachment; filename=\"profile.pb.gz\"");
    response_set_header(response, "Cache-Control", "no-store");
    return rc;
}

enum err_code api_pull_pprof(const struct handler_context *handler, struct response *response,
                             struct err *err)
{
    static atomic_int running;
    struct pull wanted;

    struct query query;
    enum err_code rc = query_read(handler->request, QUERY_PULL, &query, err);
    wanted = (struct pull){ .pid = query.pid,
                            .seconds = query.seconds ? query.seconds : PULL_SECONDS,
                            .rate_hz = query.pull_hz ? query.pull_hz : PULL_RATE_HZ };

    if (!rc)
        rc = choose_process(handler, &wanted, err);
    if (rc)
        return rc;
    if (atomic_fetch_add(&running, 1) < PULL_MAX_AT_ONCE) {
        struct session_options options = { .pids = { (pid_t)wanted.pid },
                                           .pid_count = 1,
                                           .rate_hz = (double)wanted.rate_hz,
                                           .duration_ns = wanted.seconds * NS_PER_S,
                                           .all_threads = true,
                                           .hides_arguments = wanted.hides_arguments,
                                           .memory_bytes = PULL_MEMORY_BYTES };
        struct session *session = NULL;
        rc = session_start(&options, &session, err);
        if (!rc) {
            /* Until it has ended by itself, or the server ends. */
            struct pollfd end = { .fd = session_end_fd(session), .events = POLLIN };
            const atomic_bool *const is_ending = handler->request->is_ending;
            while (poll(&end, 1, PULL_POLL_MS) <= 0)
                if (is_ending && atomic_load(is_ending))
                    session_stop(session);
            rc = send_profile(session, response, err);
            session_destroy(session);
        }
    } else {
        response_problem(response, 503, "%d profiles are being taken: retry later",
                         PULL_MAX_AT_ONCE);
        response_set_header(response, "Retry-After", "10");
    }
    atomic_fetch_sub(&running, 1);
    return rc;
}
