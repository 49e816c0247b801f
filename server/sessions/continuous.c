#include "server/sessions/continuous.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "sampler/base/clock.h"
#include "sampler/base/thread.h"
#include "sampler/processes.h"
#include "sampler/session.h"
#include "server/sessions/dashboard.h"
#include "server/sessions/last_activity.h"
#include "server/sessions/scan_pace.h"
#include "server/sessions/sessions.h"

/* How old a process should be: most of those that are just starting are about to become another program. */
static const uint64_t AGE_NS = NS_PER_S;

struct continuous {
    struct dashboard *dashboard;
    struct continuous_settings settings;
    pthread_t thread;
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    bool is_stopping;           /* guarded by the mutex */
    struct session_entry *now;  /* held; NULL: none */
    struct session_entry *next; /* held, is to take the place of it; NULL: none */
    bool is_shared;             /* both sample, each within half of the budget */
    size_t launches;
    struct scan_pace pace;
    uint64_t examined_ns;               /* of CPU, that others have taken for scans so far */
    uint64_t rest_ns;                   /* until the next scan */
    uint64_t since_ns;                  /* of the last launch */
    pid_t found[SESSION_MAX_PROCESSES]; /* that may be read */
    size_t count;
};

static void note_process(void *context, const struct process_info *info)
{
    struct continuous *const continuous = context;
    if (!info->reason && info->python && info->uptime_ns >= AGE_NS &&
        continuous->count < SESSION_MAX_PROCESSES)
        continuous->found[continuous->count++] = info->pid;
}

static void join_new(const struct continuous *continuous, struct session_entry *entry)
{
    struct session *const session = entry->session;
    for (size_t i = 0; session && i < continuous->count; i++) {
        const pid_t pid = continuous->found[i];
        struct session_target target;
        bool is_sampled = false;
        for (size_t k = 0; !is_sampled && session_target_at(session, k, &target); k++)
            is_sampled = target.pid == pid && target.to_ns == 0;
        if (!is_sampled)
            (void)!session_join(session, pid, NULL);
    }
}

static void drop_session(struct continuous *continuous, struct session_entry **entry)
{
    if (!*entry)
        return;
    sessions_remove(continuous->dashboard->sessions, *entry);
    session_release(*entry);
    *entry = NULL;
}

static double sampling_percent(const struct continuous *continuous)
{
    return continuous->settings.max_cpu_percent * (1 - CONTINUOUS_SCAN_SHARE);
}

static void launch_session(struct continuous *continuous, struct session_entry **out)
{
    struct session_words words = { .name = "all processes" };
    struct session_options options;
    dashboard_defaults(continuous->dashboard, &options);
    /* It begins with one of them, another one each time, and the others join: that one of them
     * ends meanwhile must not keep it from beginning. */
    options.pids[0] = continuous->found[continuous->launches++ % continuous->count];
    options.pid_count = 1;
    if (options.memory_bytes == 0 || options.memory_bytes > CONTINUOUS_MEMORY_BYTES)
        options.memory_bytes = CONTINUOUS_MEMORY_BYTES;
    options.waits = true;
    options.rate_hz = continuous->settings.rate_hz;
    options.max_cpu_percent = sampling_percent(continuous);
    continuous->since_ns = clock_now_ns();
    if (dashboard_launch_continuous(continuous->dashboard, &options, &words, out, NULL))
        *out = NULL;
}

static bool is_over(struct session_entry *entry)
{
    const enum session_state state = session_entry_state(entry);
    return state == SESSION_ENDED || state == SESSION_FAILED;
}

static void take_turns(struct continuous *continuous)
{
    const uint64_t age_ns = clock_now_ns() - continuous->since_ns;
    const uint64_t half_ns = continuous->settings.turn_ns / 2;
    const uint64_t overlap_ns =
        LAST_ACTIVITY_RANGE_NS < half_ns ? LAST_ACTIVITY_RANGE_NS : half_ns;
    const bool is_due = age_ns > continuous->settings.turn_ns;
    if (continuous->now && is_over(continuous->now))
        drop_session(continuous, &continuous->now);
    if (continuous->next && is_over(continuous->next))
        drop_session(continuous, &continuous->next);
    if (continuous->next && continuous->next->session &&
        (!continuous->now || age_ns > overlap_ns)) {
        drop_session(continuous, &continuous->now);
        continuous->now = continuous->next;
        continuous->next = NULL;
    }
    /* Both sample for a while, so that the last minutes are always those of one session. */
    const bool is_shared = continuous->now && continuous->next && continuous->now->session &&
                           continuous->next->session;
    if (is_shared != continuous->is_shared) {
        const double percent = sampling_percent(continuous) / (is_shared ? 2 : 1);
        continuous->is_shared = is_shared;
        if (continuous->now && continuous->now->session)
            session_set_max_cpu(continuous->now->session, percent);
        if (continuous->next && continuous->next->session)
            session_set_max_cpu(continuous->next->session, percent);
    }
    if (continuous->count == 0)
        return;
    if (!continuous->now)
        launch_session(continuous, &continuous->now);
    else if (is_due && !continuous->next)
        launch_session(continuous, &continuous->next);
}

static void scan_processes(struct continuous *continuous)
{
    struct processes_summary summary;
    continuous->count = 0;
    if (processes_visit(continuous->dashboard->processes, note_process, continuous, &summary,
                        NULL))
        return;
    continuous->examined_ns = summary.examined_cpu_ns;
    take_turns(continuous);
    if (continuous->now)
        join_new(continuous, continuous->now);
    if (continuous->next)
        join_new(continuous, continuous->next);
}

static void *run_continuous(void *context)
{
    struct continuous *const continuous = context;
    const double share = continuous->settings.max_cpu_percent / 100 * CONTINUOUS_SCAN_SHARE;
    for (bool is_stopping = false; !is_stopping;) {
        const uint64_t before_ns = clock_thread_ns();
        scan_processes(continuous);
        continuous->rest_ns = scan_pace_rest_ns(
            &continuous->pace, clock_thread_ns() - before_ns, continuous->examined_ns, share);
        const struct timespec until = clock_timespec(clock_now_ns() + continuous->rest_ns);
        int rc = 0;
        pthread_mutex_lock(&continuous->mutex);
        while (!continuous->is_stopping && rc == 0)
            rc = pthread_cond_timedwait(&continuous->changed, &continuous->mutex, &until);
        is_stopping = continuous->is_stopping;
        pthread_mutex_unlock(&continuous->mutex);
    }
    return NULL;
}

static void destroy_continuous(struct continuous *continuous)
{
    session_release(continuous->now);
    session_release(continuous->next);
    pthread_cond_destroy(&continuous->changed);
    pthread_mutex_destroy(&continuous->mutex);
    free(continuous);
}

enum err_code continuous_start(struct dashboard *dashboard,
                               const struct continuous_settings *settings,
                               struct continuous **out, struct err *err)
{
    pthread_condattr_t monotonic;
    struct continuous *const continuous = calloc(1, sizeof *continuous);
    if (!continuous)
        return err_nomem(err);
    continuous->dashboard = dashboard;
    continuous->settings = *settings;
    pthread_mutex_init(&continuous->mutex, NULL);
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&continuous->changed, &monotonic);
    pthread_condattr_destroy(&monotonic);
    const int sys = thread_start(&continuous->thread, run_continuous, continuous);
    if (sys) {
        destroy_continuous(continuous);
        return err_sys(err, sys, "cannot start a thread");
    }
    *out = continuous;
    return ERR_OK;
}

void continuous_halt(struct continuous *continuous)
{
    if (!continuous)
        return;
    pthread_mutex_lock(&continuous->mutex);
    continuous->is_stopping = true;
    pthread_cond_signal(&continuous->changed);
    pthread_mutex_unlock(&continuous->mutex);
}

void continuous_stop(struct continuous *continuous)
{
    if (!continuous)
        return;
    continuous_halt(continuous);
    pthread_join(continuous->thread, NULL);
    destroy_continuous(continuous);
}
