#define _GNU_SOURCE
#include "sampler/loop.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "sampler/base/clock.h"
#include "sampler/budget.h"
#include "sampler/crew.h"
#include "sampler/joining.h"
#include "sampler/profile/profile.h"
#include "sampler/profile/sink.h"
#include "sampler/schedule.h"
#include "sampler/scout.h"
#include "sampler/target/census.h"
#include "sampler/waker.h"

/* A live page is at most this far behind. */
static const uint64_t WINDOW_NS = 250 * NS_PER_MS;
/* Going to sleep and being woken takes longer than this: what is so near is now. */
static const uint64_t NEAR_NS = 8000;
/* Who stops us waits at most so long. */
static const uint64_t SHORT_SLEEP_NS = 20 * NS_PER_MS;

/* So often to see whether there is somebody to look at, where there is nobody. */
static const uint64_t EMPTY_NS = 5 * NS_PER_MS;

struct loop {
    struct sampler_options options;
    struct crew crew;
    struct joining joining;
    struct scout *scout; /* NULL: children are not followed */
    int end_fd;

    pthread_t thread;
    pthread_mutex_t mutex; /* guards what follows */
    pthread_cond_t changed;
    bool stop, paused;
    struct sampler_status status;
    bool has_changed; /* rate or budget */
    double wanted_hz, max_cpu_percent;
    uint64_t created_ns; /* CLOCK_MONOTONIC */
    uint64_t ended_ns;
};

/* What only the thread itself touches. */
struct turn {
    struct loop *loop;
    struct schedule schedule;
    struct waker waker;
    struct budget budget;
    uint64_t sealed_ns;
    uint64_t period_ns; /* what a sample of the open window stands for */
    struct ending ending;
    bool is_deserted; /* it ended as there were no members left */
};

/* Always false, so that ending is one statement. */
static bool end(struct turn *turn, enum sampler_state state, const char *reason)
{
    turn->ending = (struct ending){ .state = state, .reason = reason };
    return false;
}

/* Of several processes the last one's reason is not the whole of it. */
static void tell_reason(struct loop *loop, const struct turn *turn)
{
    struct sampler_processes processes;
    roster_counts(&loop->crew.roster, &processes);
    if (!turn->is_deserted || processes.joined < 2)
        snprintf(loop->status.reason, sizeof loop->status.reason, "%s", turn->ending.reason);
    else
        snprintf(loop->status.reason, sizeof loop->status.reason,
                 "all %" PRIu64 " processes have ended; of the last: %s", processes.joined,
                 turn->ending.reason);
}

/* Comes after the last window has been sealed: who sees the end sees everything. */
static void announce_end(const struct turn *turn)
{
    struct loop *const loop = turn->loop;
    const uint64_t one = 1;
    pthread_mutex_lock(&loop->mutex);
    loop->status.state = turn->ending.state;
    tell_reason(loop, turn);
    loop->status.ended_at_ns = clock_wall_ns();
    loop->ended_ns = clock_now_ns();
    pthread_mutex_unlock(&loop->mutex);
    (void)!write(loop->end_fd, &one, sizeof one);
}

static bool is_stopping(struct loop *loop)
{
    pthread_mutex_lock(&loop->mutex);
    const bool stopping = loop->stop;
    pthread_mutex_unlock(&loop->mutex);
    return stopping;
}

static void sleep_or_change(struct loop *loop, uint64_t deadline_ns)
{
    const struct timespec deadline = clock_timespec(deadline_ns);
    int rc = 0;
    pthread_mutex_lock(&loop->mutex);
    while (!loop->stop && rc == 0)
        rc = pthread_cond_timedwait(&loop->changed, &loop->mutex, &deadline);
    pthread_mutex_unlock(&loop->mutex);
}

/* Sleeps until the deadline.  Returns false when asked to stop. */
static bool sleep_until(struct turn *turn, uint64_t now_ns, uint64_t deadline_ns)
{
    struct loop *const loop = turn->loop;
    if (deadline_ns > now_ns + SHORT_SLEEP_NS)
        sleep_or_change(loop, deadline_ns);
    else if (deadline_ns > now_ns + NEAR_NS)
        waker_sleep(&turn->waker, deadline_ns);
    return !is_stopping(loop);
}

static bool is_paused(struct loop *loop)
{
    pthread_mutex_lock(&loop->mutex);
    const bool paused = loop->paused;
    pthread_mutex_unlock(&loop->mutex);
    return paused;
}

static enum err_code seal(struct turn *turn, uint64_t now_ns)
{
    struct loop *const loop = turn->loop;
    /* Windows keep to whole multiples, so that slots of time have the same number of them. */
    turn->sealed_ns = now_ns - (now_ns - loop->created_ns) % WINDOW_NS;
    const struct sink *const sink = loop->options.sink;
    const uint64_t end_ns = now_ns - loop->created_ns;
    enum err_code rc = crew_flush(&loop->crew, now_ns);
    if (!rc)
        rc = profile_seal(loop->crew.profile, end_ns, NULL);
    if (!rc && sink)
        sink->seal(sink->context, end_ns, turn->period_ns, profile_quality(loop->crew.profile));
    turn->period_ns = (uint64_t)((double)NS_PER_S / turn->budget.rate_hz);
    profile_set_period(loop->crew.profile, turn->period_ns);
    return rc;
}

/* Takes what the scout has found; what cannot join is given back. */
static void grow(struct loop *loop)
{
    struct member *member = NULL;
    while (loop->scout && (member = scout_take(loop->scout)))
        if (crew_add(&loop->crew, member, NULL)) {
            scout_refuse(loop->scout, &member->process);
            member_close(member);
        }
    while ((member = joining_take(&loop->joining)))
        if (crew_add(&loop->crew, member, NULL))
            member_close(member);
}

static bool may_grow(struct loop *loop)
{
    return loop->options.waits || (loop->scout && scout_has_hope(loop->scout));
}

static void tell_left_out(struct loop *loop)
{
    struct scout_counts counts;
    if (!loop->scout)
        return;
    scout_counts(loop->scout, &counts);
    roster_left_out(&loop->crew.roster, counts.over, counts.denied);
}

/* Are there members, or may there yet be?  Returns false when the session is over. */
static bool go_on(struct turn *turn, bool is_well, const struct ending *ending)
{
    const struct crew *const crew = &turn->loop->crew;
    if (!is_well)
        turn->ending = *ending;
    turn->is_deserted = is_well && crew->count == 0 && !may_grow(turn->loop);
    return turn->is_deserted ? end(turn, crew->last.state, crew->last.reason) : is_well;
}

/* One look at all members.  Returns false when the session is over. */
static bool look(struct turn *turn)
{
    struct crew *const crew = &turn->loop->crew;
    struct ending ending;
    bool has_looked;
    const bool is_well = crew_look(crew, &has_looked, &ending);
    if (has_looked) {
        profile_quality(crew->profile)->ticks++;
        quality_note_look(profile_quality(crew->profile), crew->glance.now_ns);
    }
    return go_on(turn, is_well, &ending);
}

static uint64_t thread_cpu_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (uint64_t)t.tv_sec * NS_PER_S + (uint64_t)t.tv_nsec;
}

/* Takes over what was asked for since.  false: nothing. */
static bool take_changes(struct turn *turn)
{
    struct loop *const loop = turn->loop;
    pthread_mutex_lock(&loop->mutex);
    const bool has_changed = loop->has_changed;
    const double share = loop->max_cpu_percent / 100, wanted_hz = loop->wanted_hz;
    loop->has_changed = false;
    pthread_mutex_unlock(&loop->mutex);
    if (has_changed)
        budget_change(&turn->budget, share, wanted_hz);
    return has_changed;
}

/* Lowers or raises the rate as was asked for and the budget allows. */
static void keep_budget(struct turn *turn, uint64_t now_ns)
{
    struct loop *const loop = turn->loop;
    const uint64_t looks = profile_quality(loop->crew.profile)->ticks;
    const uint64_t cpu_ns = thread_cpu_ns() + (loop->scout ? scout_cpu_ns(loop->scout) : 0);
    const bool has_changed = take_changes(turn);
    if (!budget_measure(&turn->budget, cpu_ns, looks) && !has_changed)
        return;
    schedule_set_rate(&turn->schedule, now_ns, turn->budget.rate_hz);
    pthread_mutex_lock(&loop->mutex);
    loop->status.rate_hz = turn->budget.rate_hz;
    pthread_mutex_unlock(&loop->mutex);
}

/* Publishes what there is, now and then.  Returns false when the session is over. */
static bool publish(struct turn *turn, uint64_t now_ns)
{
    struct ending ending;
    if (now_ns - turn->sealed_ns < WINDOW_NS)
        return true;
    keep_budget(turn, now_ns);
    if (seal(turn, now_ns))
        return end(turn, SAMPLER_FAILED, "out of memory");
    tell_left_out(turn->loop);
    const bool is_well = crew_check(&turn->loop->crew, &ending);
    return go_on(turn, is_well, &ending);
}

/* When the session is to end by itself, UINT64_MAX: never. */
static uint64_t over_ns(const struct loop *loop)
{
    const uint64_t duration_ns = loop->options.duration_ns;
    return duration_ns && duration_ns < UINT64_MAX - loop->created_ns
               ? loop->created_ns + duration_ns
               : UINT64_MAX;
}

/* Waits for `instant_ns`, publishing on the way.  Returns false when the session is over. */
static bool wait_for(struct turn *turn, uint64_t instant_ns)
{
    const uint64_t end_ns = over_ns(turn->loop);
    uint64_t now_ns = clock_now_ns();
    for (;;) {
        const uint64_t publish_ns = turn->sealed_ns + WINDOW_NS;
        uint64_t until_ns = publish_ns < instant_ns ? publish_ns : instant_ns;
        if (end_ns < until_ns)
            until_ns = end_ns;
        if (!sleep_until(turn, now_ns, until_ns))
            return end(turn, SAMPLER_ENDED, "stopped");
        now_ns = clock_now_ns();
        if (!publish(turn, now_ns))
            return false;
        if (now_ns >= end_ns)
            return end(turn, SAMPLER_ENDED, "the duration is over");
        if (now_ns + NEAR_NS >= instant_ns)
            return true;
    }
}

/* Where instants follow closely, the timer of the one after next is set before the next has come. */
static void prepare_following(struct turn *turn)
{
    const double period_ns = turn->schedule.period_ns;
    if (period_ns > (double)(4 * NEAR_NS) && period_ns < (double)SHORT_SLEEP_NS)
        waker_prepare(&turn->waker, schedule_following(&turn->schedule));
}

static void run(struct turn *turn)
{
    struct loop *const loop = turn->loop;
    bool was_paused = false;
    for (;;) {
        uint64_t missed;
        grow(loop);
        const uint64_t now_ns = clock_now_ns();
        /* Nobody is there to be looked at: the scout may yet find somebody. */
        const bool paused = is_paused(loop) || loop->crew.count == 0;
        uint64_t instant_ns = schedule_next(&turn->schedule, now_ns, &missed);
        if (!paused)
            prepare_following(turn);
        if (loop->crew.count == 0 && instant_ns < now_ns + EMPTY_NS)
            instant_ns = now_ns + EMPTY_NS;
        if (!paused && !was_paused)
            profile_quality(loop->crew.profile)->missed += missed;
        was_paused = paused;
        if (paused)
            quality_note_pause(profile_quality(loop->crew.profile));
        if (!wait_for(turn, instant_ns) || (!paused && !look(turn)))
            return;
    }
}

static void *main_of_thread(void *context)
{
    struct loop *const loop = context;
    const uint64_t now_ns = clock_now_ns();
    struct turn turn = { .loop = loop, .sealed_ns = now_ns };
    struct random random;
    waker_init(&turn.waker);
    pthread_setname_np(pthread_self(), "sampler");
    /* Deadlines are met to the microsecond or so instead of 50. */
    prctl(PR_SET_TIMERSLACK, 1ul, 0ul, 0ul, 0ul);
    random_init_any(&random);
    schedule_init(&turn.schedule, now_ns, loop->options.rate_hz, random_u64(&random));
    budget_init(&turn.budget, loop->options.max_cpu_percent / 100, loop->options.rate_hz,
                thread_cpu_ns());
    turn.period_ns = (uint64_t)((double)NS_PER_S / loop->options.rate_hz);
    run(&turn);
    waker_deinit(&turn.waker);
    (void)!seal(&turn, clock_now_ns());
    announce_end(&turn);
    return NULL;
}

static enum err_code check_rate(double rate_hz, struct err *err)
{
    return rate_hz >= SAMPLER_MIN_RATE_HZ && rate_hz <= SAMPLER_MAX_RATE_HZ
               ? ERR_OK
               : err_set(err, ERR_INVALID, "the sampling rate must be between 1 Hz and 1 MHz");
}

static enum err_code check_options(const struct sampler_options *options, struct err *err)
{
    if (check_rate(options->rate_hz, err))
        return ERR_INVALID;
    if (!(options->max_cpu_percent >= 0 && options->max_cpu_percent <= 100))
        return err_set(err, ERR_INVALID, "the CPU budget must be between 0 and 100 percent");
    if (options->pid_count > SAMPLER_MAX_PROCESSES)
        return err_set(err, ERR_INVALID, "no more than %d processes at a time",
                       SAMPLER_MAX_PROCESSES);
    if (options->pid_count == 0 && !options->all)
        return err_set(err, ERR_INVALID, "no process is named");
    for (size_t i = 0; i < options->pid_count; i++)
        if (options->pids[i] <= 0)
            return err_set(err, ERR_INVALID, "%d is not a process id", (int)options->pids[i]);
    return ERR_OK;
}

static enum err_code attach_one(struct loop *loop, int pid, struct err *err)
{
    struct member *member = NULL;
    enum err_code rc = member_open(pid, profile_strings(loop->crew.profile), &member, err);
    if (!rc && (rc = crew_add(&loop->crew, member, err)))
        member_close(member);
    if (!rc && loop->scout)
        rc = scout_follow(loop->scout, pid, true, err);
    return rc;
}

/* Every Python process that we may read; what is none, or another's, is passed over. */
static enum err_code attach_all(struct loop *loop, struct err *err)
{
    struct pid_list pids = { 0 };
    uint64_t over = 0;
    enum err_code rc = census_all(&pids, err);
    if (rc)
        return rc;
    for (size_t i = 0; i < pids.count && rc != ERR_NOMEM; i++) {
        rc = pids.items[i] == (int)getpid() ? ERR_OK : attach_one(loop, pids.items[i], NULL);
        over += rc == ERR_LIMIT;
    }
    pid_list_deinit(&pids);
    roster_left_out(&loop->crew.roster, over, 0);
    if (rc == ERR_NOMEM)
        return err_set(err, rc, "no memory for all processes");
    if (loop->crew.count == 0)
        return err_set(err, ERR_NOT_PYTHON, "there is no Python process that we may read");
    return ERR_OK;
}

/* What is no Python may have children that are, where these are wanted. */
static enum err_code attach_named(struct loop *loop, int pid, struct err *err)
{
    struct err own = { 0 };
    enum err_code rc = attach_one(loop, pid, &own);
    if (rc == ERR_NOT_PYTHON && loop->scout)
        return scout_follow(loop->scout, pid, false, err);
    return rc ? err_set(err, rc, "%s", own.message) : ERR_OK;
}

static enum err_code attach_family(struct loop *loop, struct err *err)
{
    scout_look_once(loop->scout);
    grow(loop);
    if (loop->crew.count > 0)
        return ERR_OK;
    return err_set(err, ERR_NOT_PYTHON,
                   "process %d is not a Python process, and has none below it",
                   (int)loop->options.pids[0]);
}

static void give_back(void *context, const struct process *process)
{
    scout_release(context, process);
}

static enum err_code follow(struct loop *loop, struct err *err)
{
    const enum err_code rc =
        scout_create(profile_strings(loop->crew.profile), &loop->scout, err);
    loop->crew.left = rc ? NULL : give_back;
    loop->crew.context = loop->scout;
    return rc;
}

static enum err_code attach(struct loop *loop, struct err *err)
{
    enum err_code rc = crew_init(&loop->crew, &loop->options, err);
    if (!rc && loop->options.subprocesses)
        rc = follow(loop, err);
    if (!rc && loop->options.all)
        rc = attach_all(loop, err);
    for (size_t i = 0; i < loop->options.pid_count && !rc; i++)
        rc = attach_named(loop, loop->options.pids[i], err);
    if (!rc && loop->scout)
        rc = attach_family(loop, err);
    return rc;
}

static void free_loop(struct loop *loop)
{
    scout_destroy(loop->scout);
    joining_deinit(&loop->joining);
    crew_deinit(&loop->crew);
    if (loop->end_fd >= 0)
        close(loop->end_fd);
    pthread_cond_destroy(&loop->changed);
    pthread_mutex_destroy(&loop->mutex);
    free(loop);
}

static struct loop *allocate(const struct sampler_options *options)
{
    pthread_condattr_t monotonic;
    struct loop *const loop = calloc(1, sizeof *loop);
    if (!loop)
        return NULL;
    loop->options = *options;
    loop->wanted_hz = options->rate_hz;
    loop->max_cpu_percent = options->max_cpu_percent;
    loop->end_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    pthread_mutex_init(&loop->mutex, NULL);
    joining_init(&loop->joining);
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&loop->changed, &monotonic);
    pthread_condattr_destroy(&monotonic);
    return loop;
}

/* Signals are the main thread's business. */
static int start_thread(struct loop *loop)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    const int rc = pthread_create(&loop->thread, NULL, main_of_thread, loop);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return rc;
}

enum err_code loop_create(const struct sampler_options *options, struct loop **out,
                          struct err *err)
{
    enum err_code rc = check_options(options, err);
    if (rc)
        return rc;
    struct loop *const loop = allocate(options);
    if (!loop)
        return err_set(err, ERR_NOMEM, "no memory for a session");
    if (loop->end_fd < 0)
        rc = err_sys(err, errno, "cannot make an event descriptor");
    else
        rc = attach(loop, err);
    if (!rc) {
        loop->created_ns = clock_now_ns();
        crew_begin(&loop->crew, loop->created_ns);
        profile_set_memory(loop->crew.profile, options->memory_bytes);
        profile_set_period(loop->crew.profile, (uint64_t)((double)NS_PER_S / options->rate_hz));
        loop->status = (struct sampler_status){ .state = SAMPLER_RUNNING,
                                                .started_at_ns = clock_wall_ns(),
                                                .rate_hz = options->rate_hz };
        if (loop->scout)
            rc = scout_start(loop->scout, err);
        const int sys = rc ? 0 : start_thread(loop);
        if (sys)
            rc = err_sys(err, sys, "cannot start the sampling thread");
    }
    if (rc)
        free_loop(loop);
    else
        *out = loop;
    return rc;
}

void loop_stop(struct loop *loop)
{
    pthread_mutex_lock(&loop->mutex);
    loop->stop = true;
    pthread_cond_signal(&loop->changed);
    pthread_mutex_unlock(&loop->mutex);
}

void loop_destroy(struct loop *loop)
{
    if (!loop)
        return;
    loop_stop(loop);
    pthread_join(loop->thread, NULL);
    free_loop(loop);
}

void loop_pause(struct loop *loop, bool paused)
{
    pthread_mutex_lock(&loop->mutex);
    loop->paused = paused;
    if (loop->status.state == SAMPLER_RUNNING || loop->status.state == SAMPLER_PAUSED)
        loop->status.state = paused ? SAMPLER_PAUSED : SAMPLER_RUNNING;
    pthread_mutex_unlock(&loop->mutex);
}

enum err_code loop_join(struct loop *loop, int pid, struct err *err)
{
    struct member *member = NULL;
    if (loop->options.subprocesses)
        return err_set(err, ERR_INVALID, "the session follows processes itself");
    enum err_code rc = member_open(pid, profile_strings(loop->crew.profile), &member, err);
    if (!rc && (rc = joining_put(&loop->joining, member, err)))
        member_close(member);
    return rc;
}

enum err_code loop_set_rate(struct loop *loop, double rate_hz, struct err *err)
{
    const enum err_code rc = check_rate(rate_hz, err);
    if (rc)
        return rc;
    pthread_mutex_lock(&loop->mutex);
    loop->wanted_hz = loop->status.wanted_hz = rate_hz;
    loop->has_changed = true;
    pthread_mutex_unlock(&loop->mutex);
    return ERR_OK;
}

void loop_set_max_cpu(struct loop *loop, double percent)
{
    pthread_mutex_lock(&loop->mutex);
    loop->max_cpu_percent = percent < 0 ? 0 : percent > 100 ? 100 : percent;
    loop->has_changed = true;
    pthread_mutex_unlock(&loop->mutex);
}

void loop_status(struct loop *loop, struct sampler_status *out)
{
    pthread_mutex_lock(&loop->mutex);
    *out = loop->status;
    const uint64_t now_ns = loop->ended_ns ? loop->ended_ns : clock_now_ns();
    out->elapsed_ns = now_ns - loop->created_ns;
    pthread_mutex_unlock(&loop->mutex);
}

struct profile *loop_profile(struct loop *loop)
{
    return loop->crew.profile;
}

const struct sampler_target *loop_target(const struct loop *loop)
{
    return &loop->crew.roster.items[0];
}

bool loop_target_at(struct loop *loop, size_t index, struct sampler_target *out)
{
    return roster_at(&loop->crew.roster, index, out);
}

void loop_processes(struct loop *loop, struct sampler_processes *out)
{
    roster_counts(&loop->crew.roster, out);
}

const struct sampler_options *loop_options(const struct loop *loop)
{
    return &loop->options;
}

int loop_end_fd(const struct loop *loop)
{
    return loop->end_fd;
}
