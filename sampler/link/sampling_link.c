#include "sampler/sampling_link.h"

#include <pthread.h>

#include "sampler/base/buffer.h"
#include "sampler/link/link.h"
#include "sampler/link/remote_session.h"
#include "sampler/link/request.h"
#include "sampler/process_tree.h"
#include "sampler/processes.h"
#include "sampler/session_ops.h"

enum { USAGE_MS = 200 };

enum err_code sampling_link_admits(pid_t pid, struct err *err)
{
    const struct link_request request = { .kind = LINK_ADMIT, .pid = pid };
    struct buffer answer = { 0 };
    const enum err_code rc = link_ask(&request, -1, LINK_WAIT_MS, &answer, err);
    buffer_deinit(&answer);
    return rc;
}

enum err_code sampling_link_read(struct session *session, const void *source,
                                 size_t source_bytes, int cancel_fd, struct buffer *answer,
                                 struct err *err)
{
    const struct link_request request = { .kind = LINK_READ,
                                          .session = remote_session_number(session),
                                          .source = source,
                                          .source_bytes = source_bytes };
    return link_ask(&request, cancel_fd, LINK_WAIT_MS, answer, err);
}

/* The CPU time and memory that sampling processes have used. */
static struct {
    pthread_mutex_t lock;
    struct process_usage last;        /* by the last one, as far as it is known */
    double ended_user_s, ended_sys_s; /* by those before it */
} used = { .lock = PTHREAD_MUTEX_INITIALIZER };

void sampling_link_usage(struct process_usage *out)
{
    const struct link_request request = { .kind = LINK_USAGE };
    struct buffer answer = { 0 };
    struct process_usage now;
    enum err_code rc = link_ask(&request, -1, USAGE_MS, &answer, NULL);
    if (!rc)
        rc = link_take(&answer, &now, sizeof now, NULL);
    if (!rc) {
        now.cpu_user_s = link_finite(now.cpu_user_s);
        now.cpu_sys_s = link_finite(now.cpu_sys_s);
    }
    buffer_deinit(&answer);
    /* Each sampling process begins at 0: the sum never falls, also while one does not answer. */
    pthread_mutex_lock(&used.lock);
    if (!rc && (now.cpu_user_s < used.last.cpu_user_s || now.cpu_sys_s < used.last.cpu_sys_s)) {
        used.ended_user_s += used.last.cpu_user_s;
        used.ended_sys_s += used.last.cpu_sys_s;
    }
    if (!rc)
        used.last = now;
    *out = (struct process_usage){ .cpu_user_s = used.ended_user_s + used.last.cpu_user_s,
                                   .cpu_sys_s = used.ended_sys_s + used.last.cpu_sys_s,
                                   .rss_bytes = rc ? 0 : now.rss_bytes,
                                   .rss_peak_bytes = rc ? 0 : now.rss_peak_bytes };
    pthread_mutex_unlock(&used.lock);
}

static enum err_code check_engine(const struct session_options *options, struct err *err)
{
    const struct link_request request = { .kind = LINK_CHECK_ENGINE, .options = *options };
    struct buffer answer = { 0 };
    const enum err_code rc = link_ask(&request, -1, LINK_WAIT_MS, &answer, err);
    buffer_deinit(&answer);
    return rc;
}

static enum err_code list(processes_visitor visit, void *context, struct processes_summary *out,
                          struct err *err)
{
    const struct link_request request = { .kind = LINK_LIST };
    struct buffer answer = { 0 };
    enum err_code rc = link_ask(&request, -1, LINK_WAIT_MS, &answer, err);
    if (!rc)
        rc = link_list_decode(&answer, visit, context, out, err);
    buffer_deinit(&answer);
    return rc;
}

static enum err_code read_facts(pid_t pid, struct process_facts *out)
{
    const struct link_request request = { .kind = LINK_FACTS, .pid = pid };
    struct buffer answer = { 0 };
    enum err_code rc = link_ask(&request, -1, LINK_WAIT_MS, &answer, NULL);
    if (!rc)
        rc = link_take(&answer, out, sizeof *out, NULL);
    if (rc)
        *out = (struct process_facts){ .state = '?', .rank = -1 };
    out->name[sizeof out->name - 1] = out->wait[sizeof out->wait - 1] = '\0';
    buffer_deinit(&answer);
    return rc == ERR_GONE ? rc : ERR_OK;
}

/* The sampling process has engines of its own. */
static enum err_code open_engines(size_t count, struct kernel_engine_pool **out,
                                  struct err *err)
{
    (void)count, (void)err;
    *out = NULL;
    return ERR_OK;
}

void sampling_link_use(int socket, struct pulse *pulse)
{
    static const struct session_provider provider = { remote_session_start, check_engine,
                                                      open_engines };
    link_open(socket, pulse);
    session_provide(&provider);
    processes_provide(list);
    process_facts_provide(read_facts);
}

bool sampling_link_is_used(void)
{
    return link_is_open();
}
