#include "server/push/push.h"

#include <inttypes.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "sampler/base/clock.h"
#include "sampler/base/random.h"
#include "sampler/base/thread.h"
#include "sampler/profile/profile.h"
#include "server/push/batch.h"
#include "server/sessions/sessions.h"
#include "server/wire/push_counters.h"

_Static_assert((int)PUSH_COUNTERS_MAX == (int)PUSH_MAX_ENDPOINTS,
               "a counter for each endpoint");

enum { HOST_BYTES = 256, NICENESS = 10 };

/* The state of a session that is read may be as old as this on a busy host. */
static const uint64_t CLOCK_SLACK_NS = 30 * NS_PER_S;

struct push {
    struct push_settings settings;
    struct sender *senders[PUSH_MAX_ENDPOINTS];
    size_t count;
    struct push_counters counters;
    push_say *say;
    void *say_context;
    char host[HOST_BYTES];
    struct sessions *sessions;
    enum session_source source;
    struct session_entry *last; /* held: the one that was pushed last; NULL: none */
    char epoch[17];             /* of that one */
    uint64_t began_ns;          /* when that session began; clock_now_ns */
    uint64_t began_at_ns;       /* the same since 1970, as the clock says now */
    uint64_t until_ns;          /* what is before has been pushed; clock_now_ns */
    pthread_t thread;
    bool is_started;
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    bool is_stopping; /* guarded by the mutex */
};

enum err_code push_open(const struct push_settings *settings,
                        char *const headers[PUSH_MAX_ENDPOINTS], push_say *say,
                        void *say_context, struct push **out, struct err *err)
{
    pthread_condattr_t monotonic;
    struct push *const push = calloc(1, sizeof *push);
    enum err_code rc = ERR_OK;
    if (!push)
        return err_nomem(err);
    push->settings = *settings;
    push->say = say;
    push->say_context = say_context;
    if (gethostname(push->host, sizeof push->host - 1) != 0)
        push->host[0] = '\0';
    pthread_mutex_init(&push->mutex, NULL);
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&push->changed, &monotonic);
    pthread_condattr_destroy(&monotonic);
    for (size_t i = 0; i < settings->endpoint_count && !rc; i++) {
        const struct sender_settings wanted = { .endpoint = &push->settings.endpoints[i],
                                                .headers = headers[i],
                                                .spool_bytes = settings->spool_bytes,
                                                .counters = &push->counters.items[i],
                                                .say = say,
                                                .say_context = say_context };
        rc = sender_create(&wanted, &push->senders[i], err);
        push->count += !rc;
    }
    push->counters.count = push->count;
    if (!rc)
        *out = push;
    else
        push_close(push);
    return rc;
}

static bool at_once(void)
{
    return true;
}

void push_close(struct push *push)
{
    if (!push)
        return;
    push_end(push, at_once);
    for (size_t i = 0; i < push->count; i++)
        sender_destroy(push->senders[i]);
    pthread_cond_destroy(&push->changed);
    pthread_mutex_destroy(&push->mutex);
    free(push);
}

const struct push_counters *push_counters(const struct push *push)
{
    return &push->counters;
}

static bool is_over(struct session_entry *entry)
{
    const enum session_state state = session_entry_state(entry);
    return state == SESSION_ENDED || state == SESSION_FAILED;
}

/* Held; NULL: none.  One that has ended counts if there is no other: its last batch may be left. */
static struct session_entry *find_session(const struct push *push)
{
    struct session_entry *entry = NULL, *ended = NULL;
    for (size_t i = 0; (entry = sessions_at(push->sessions, i)); i++) {
        const bool is_wanted =
            entry->source == push->source && session_entry_state(entry) != SESSION_STARTING;
        if (is_wanted && !is_over(entry)) {
            session_release(ended);
            return entry;
        }
        if (is_wanted && !ended)
            ended = entry;
        else
            session_release(entry);
    }
    return ended;
}

/* Pushes what the session has sampled since the last call. */
static void push_session(struct push *push, struct session_entry *entry)
{
    struct profile_snapshot snapshot;
    struct session_info info;
    if (profile_snapshot(session_entry_profile(entry), &snapshot, NULL))
        return;
    session_entry_describe(entry, &snapshot, &info);
    if (strcmp(push->epoch, entry->epoch) != 0) {
        const uint64_t now_ns = clock_now_ns();
        memcpy(push->epoch, entry->epoch, sizeof push->epoch);
        push->began_ns = now_ns > info.status.elapsed_ns ? now_ns - info.status.elapsed_ns : 0;
        push->began_at_ns = info.status.started_at_ns;
    }

    /* When the session began, since 1970: the clock may have been set meanwhile, or the host have
     * slept, and servers refuse profiles of another time. */
    const bool goes_on =
        info.status.state == SESSION_RUNNING || info.status.state == SESSION_PAUSED;
    const uint64_t began_ns = clock_wall_ns() - info.status.elapsed_ns;
    const uint64_t known_ns = push->began_at_ns;
    const uint64_t off_ns = began_ns > known_ns ? began_ns - known_ns : known_ns - began_ns;
    if (goes_on && off_ns > CLOCK_SLACK_NS)
        push->began_at_ns = began_ns;
    info.status.started_at_ns = push->began_at_ns;

    const uint64_t from_ns =
        push->until_ns > push->began_ns ? push->until_ns - push->began_ns : 0;
    if (snapshot.end_ns > from_ns) {
        /* Encodes it for each endpoint. */
        const uint64_t to_ns = snapshot.end_ns;
        struct push_batch batch;
        const enum err_code rc =
            push_batch_init(&batch, &info, from_ns, to_ns, push->host, &push->settings, NULL);
        for (size_t i = 0; i < push->count; i++) {
            struct sender *const sender = push->senders[i];
            if (rc || sender_protocol(sender)->encode(&batch, sender_add, sender, NULL))
                atomic_fetch_add(&push->counters.items[i].failed, 1);
        }
        if (!rc)
            push_batch_deinit(&batch);

        push->until_ns = push->began_ns + snapshot.end_ns;
    }
    profile_snapshot_release(&snapshot);
}

static void push_now(struct push *push)
{
    struct session_entry *const entry = find_session(push);
    if (push->last && push->last != entry)
        push_session(push, push->last);
    if (entry)
        push_session(push, entry);
    session_release(push->last);
    push->last = entry;
}

/* The first batch is shorter, each time by another part, so that many hosts do not push at once. */
static void *run_push(void *context)
{
    struct push *const push = context;
    const uint64_t batch_ns = push->settings.batch_ns;
    struct random random;
    (void)setpriority(PRIO_PROCESS, 0, NICENESS);
    random_init_any(&random);
    uint64_t next_ns = clock_now_ns() + batch_ns - random_below(&random, batch_ns / 2);
    for (;;) {
        const struct timespec until = clock_timespec(next_ns);
        int rc = 0;
        pthread_mutex_lock(&push->mutex);
        while (!push->is_stopping && rc == 0)
            rc = pthread_cond_timedwait(&push->changed, &push->mutex, &until);
        const bool is_stopping = push->is_stopping;
        pthread_mutex_unlock(&push->mutex);
        if (is_stopping)
            break;
        const uint64_t now_ns = clock_now_ns();
        push_now(push);
        next_ns += batch_ns;
        if (next_ns < now_ns)
            next_ns = now_ns + batch_ns;
    }

    /* Its newest samples become a part of the profile only when it ends. */
    struct session_entry *const entry = find_session(push);
    struct session *const session = entry ? entry->session : NULL;
    if (session && !is_over(entry)) {
        struct pollfd end = { .fd = session_end_fd(session), .events = POLLIN };
        session_entry_stop(entry);
        (void)poll(&end, 1, PUSH_STOP_MS);
    }
    session_release(entry);

    push_now(push);
    session_release(push->last);
    push->last = NULL;
    return NULL;
}

enum err_code push_begin(struct push *push, struct sessions *sessions,
                         enum session_source source, struct err *err)
{
    enum err_code rc = ERR_OK;
    push->sessions = sessions;
    push->source = source;
    for (size_t i = 0; i < push->count && !rc; i++)
        rc = sender_start(push->senders[i], err);
    if (rc)
        return rc;
    const int sys = thread_start(&push->thread, run_push, push);
    if (sys)
        return err_sys(err, sys, "cannot start a thread");
    push->is_started = true;
    return ERR_OK;
}

void push_end(struct push *push, bool (*hurries)(void))
{
    if (!push)
        return;
    const uint64_t end_ns = clock_now_ns() + PUSH_END_MS * NS_PER_MS;
    if (push->is_started) {
        pthread_mutex_lock(&push->mutex);
        push->is_stopping = true;
        pthread_cond_signal(&push->changed);
        pthread_mutex_unlock(&push->mutex);
        pthread_join(push->thread, NULL);
        push->is_started = false;
    }
    for (size_t i = 0; i < push->count; i++)
        sender_finish(push->senders[i], end_ns, hurries);
}

enum err_code push_check(const struct push *push, struct err *err)
{
    enum err_code rc = ERR_OK;
    for (size_t i = 0; push && i < push->count; i++) {
        const struct push_endpoint_counters *const item = &push->counters.items[i];
        const uint64_t lost = atomic_load(&item->lost), refused = atomic_load(&item->refused);
        const uint64_t failed = atomic_load(&item->failed);
        char text[PUSH_MAX_URL + 256];
        if (lost + refused + failed == 0)
            continue;
        snprintf(text, sizeof text,
                 "%s did not take all: %" PRIu64 " requests sent, %" PRIu64 " lost, %" PRIu64
                 " refused, %" PRIu64 " batches not encoded",
                 item->endpoint, atomic_load(&item->sent), lost, refused, failed);
        if (push->say)
            push->say(push->say_context, text);
        rc = err_set(err, ERR_SYS, "not all of what was sampled was pushed");
    }
    return rc;
}

enum err_code push_whole(struct push *push, const struct session_info *info,
                         uint64_t *samples_out, struct err *err)
{
    const uint64_t end_ns = info->snapshot->end_ns, batch_ns = push->settings.batch_ns;
    enum err_code rc = ERR_OK;
    *samples_out = 0;
    for (uint64_t from_ns = 0; from_ns < end_ns && !rc; from_ns += batch_ns) {
        const uint64_t to_ns = from_ns + batch_ns < end_ns ? from_ns + batch_ns : end_ns;

        struct push_batch batch;
        rc = push_batch_init(&batch, info, from_ns, to_ns, info->host ? info->host : push->host,
                             &push->settings, err);
        if (rc)
            return rc;
        for (size_t i = 0; i < push->count && !rc; i++)
            rc = sender_protocol(push->senders[i])
                     ->encode(&batch, sender_send_now, push->senders[i], err);
        *samples_out += batch.samples;
        push_batch_deinit(&batch);
    }
    return rc;
}
