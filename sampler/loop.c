#define _GNU_SOURCE
#include "sampler/loop.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <unistd.h>

#include "sampler/base/clock.h"
#include "sampler/budget.h"
#include "sampler/cpython/python.h"
#include "sampler/fold.h"
#include "sampler/profile/profile.h"
#include "sampler/profile/sink.h"
#include "sampler/schedule.h"
#include "sampler/target/process.h"
#include "sampler/target/stopper.h"

/* A live page is at most this far behind. */
static const uint64_t WINDOW_NS = 250 * NS_PER_MS;
/* An interpreter that cannot be read for so long while its process runs has ended. */
static const uint64_t GIVE_UP_NS = NS_PER_S;
/* Going to sleep and being woken takes longer than this: what is so near is now. */
static const uint64_t NEAR_NS = 8000;
/* Who stops us waits at most so long. */
static const uint64_t SHORT_SLEEP_NS = 20 * NS_PER_MS;
/* How long a thread may take to stop. */
static const uint64_t STOP_DEADLINE_NS = 10 * NS_PER_MS;

struct loop {
    struct sampler_options options;
    struct process process;
    struct python *python;
    struct profile *profile;
    struct fold fold;
    struct sampler_target target;
    int end_fd;

    pthread_t thread;
    pthread_mutex_t mutex; /* guards what follows */
    pthread_cond_t changed;
    bool stop, paused;
    struct sampler_status status;
    uint64_t created_ns; /* CLOCK_MONOTONIC */
    uint64_t ended_ns;
};

/* What only the thread itself touches. */
struct turn {
    struct loop *loop;
    struct schedule schedule;
    struct budget budget;
    struct stopper stopper;
    uint64_t random;
    uint64_t sealed_ns;
    uint64_t period_ns;        /* what a sample of the open window stands for */
    uint64_t now_ns;           /* of the present look */
    uint64_t failing_since_ns; /* 0: the last look succeeded */
    enum sampler_state end_state;
    const char *end_reason;
};

/* Always false, so that ending is one statement. */
static bool end(struct turn *turn, enum sampler_state state, const char *reason)
{
    turn->end_state = state;
    turn->end_reason = reason;
    return false;
}

/* Comes after the last window has been sealed: who sees the end sees everything. */
static void announce_end(const struct turn *turn)
{
    struct loop *const loop = turn->loop;
    const uint64_t one = 1;
    pthread_mutex_lock(&loop->mutex);
    loop->status.state = turn->end_state;
    snprintf(loop->status.reason, sizeof loop->status.reason, "%s", turn->end_reason);
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

/* A short sleep is a plain one: waiting for a change as well costs a second system call. */
static void sleep_shortly(uint64_t deadline_ns)
{
    const struct timespec deadline = clock_timespec(deadline_ns);
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &deadline, NULL) == EINTR) {
    }
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
static bool sleep_until(struct loop *loop, uint64_t now_ns, uint64_t deadline_ns)
{
    if (deadline_ns > now_ns + SHORT_SLEEP_NS)
        sleep_or_change(loop, deadline_ns);
    else if (deadline_ns > now_ns + NEAR_NS)
        sleep_shortly(deadline_ns);
    return !is_stopping(loop);
}

static bool is_paused(struct loop *loop)
{
    pthread_mutex_lock(&loop->mutex);
    const bool paused = loop->paused;
    pthread_mutex_unlock(&loop->mutex);
    return paused;
}

static void count_reads(struct loop *loop)
{
    struct quality *const quality = profile_quality(loop->profile);
    const struct code_counters *const codes = &python_codes(loop->python)->counters;
    quality->reads = loop->process.memory.memory.reads;
    quality->read_bytes = loop->process.memory.memory.read_bytes;
    quality->code_hits = codes->hits;
    quality->code_misses = codes->misses;
    quality->code_stale = codes->stale;
    quality->code_clears = codes->clears;
}

static enum err_code seal(struct turn *turn, uint64_t now_ns)
{
    struct loop *const loop = turn->loop;
    /* Windows keep to whole multiples, so that slots of time have the same number of them. */
    turn->sealed_ns = now_ns - (now_ns - loop->created_ns) % WINDOW_NS;
    const struct sink *const sink = loop->options.sink;
    const uint64_t end_ns = now_ns - loop->created_ns;
    count_reads(loop);
    enum err_code rc = fold_flush(&loop->fold, now_ns);
    if (!rc)
        rc = profile_seal(loop->profile, end_ns, NULL);
    if (!rc && sink)
        sink->seal(sink->context, end_ns, turn->period_ns, profile_quality(loop->profile));
    turn->period_ns = (uint64_t)((double)NS_PER_S / turn->budget.rate_hz);
    profile_set_period(loop->profile, turn->period_ns);
    return rc;
}

/* A whole number that is `weight` on average. */
static uint32_t whole(struct turn *turn, double weight)
{
    const uint32_t floor = (uint32_t)weight;
    turn->random = turn->random * 6364136223846793005u + 1442695040888963407u;
    const double fraction = (double)(turn->random >> 11) / 9007199254740992.0;
    return floor + (fraction < weight - floor);
}

static enum err_code seen(void *context, struct thread *thread, enum err_code failure)
{
    struct turn *const turn = context;
    struct loop *const loop = turn->loop;
    const struct thread_facts facts = python_facts(loop->python, thread);
    const uint32_t times = whole(turn, python_weight(loop->python));
    enum err_code rc = fold_thread(&loop->fold, thread, facts, failure, turn->now_ns);
    /* It stands for threads that were not looked at. */
    for (uint32_t i = 1; i < times && !rc && !failure; i++) {
        thread->stack.is_unchanged = true;
        rc = fold_thread(&loop->fold, thread, facts, failure, turn->now_ns);
        profile_quality(loop->profile)->stood_in++;
    }
    return rc;
}

/* What became of the target; NULL: it runs. */
static const char *fate(struct loop *loop)
{
    switch (process_fate(&loop->process, python_anchor(loop->python))) {
    case PROCESS_EXITED: return "the target exited";
    case PROCESS_REPLACED: return "the target replaced itself with another program (exec)";
    case PROCESS_RUNS: break;
    }
    return NULL;
}

/* A look that failed as a whole: is that the end?  Returns false when the session is over. */
static bool bear_failure(struct turn *turn, enum err_code rc)
{
    const uint64_t now_ns = clock_now_ns();
    if (rc == ERR_NOMEM)
        return end(turn, SAMPLER_FAILED, "out of memory");
    if (rc == ERR_LIMIT)
        return end(turn, SAMPLER_FAILED, "a table of the profile is full");
    const char *const reason = fate(turn->loop);
    if (reason)
        return end(turn, SAMPLER_ENDED, reason);
    if (!turn->failing_since_ns)
        turn->failing_since_ns = now_ns;
    if (now_ns - turn->failing_since_ns > GIVE_UP_NS)
        return end(turn, SAMPLER_ENDED, "the target's interpreter has ended");
    return true;
}

/* Stops the threads that are to be looked at. */
static enum err_code stop_target(struct turn *turn)
{
    const struct loop *const loop = turn->loop;
    int32_t tids[STOPPER_MAX_THREADS];
    const size_t count =
        python_tids(loop->python, loop->options.all_threads, tids, STOPPER_MAX_THREADS);
    if (count == 0)
        return ERR_OK;
    return stopper_stop(&turn->stopper, tids, count, clock_now_ns() + STOP_DEADLINE_NS);
}

static enum err_code tick(struct turn *turn)
{
    struct loop *const loop = turn->loop;
    enum err_code rc = ERR_OK;
    if (loop->options.blocking)
        rc = stop_target(turn);
    if (!rc || rc == ERR_GONE) {
        turn->now_ns = clock_now_ns();
        rc = python_tick(loop->python, loop->options.all_threads, seen, turn);
    }
    if (loop->options.blocking) {
        stopper_resume(&turn->stopper);
        profile_quality(loop->profile)->stopped_ns = turn->stopper.stopped_ns;
    }
    return rc;
}

/* One look at the target.  Returns false when the session is over. */
static bool look(struct turn *turn)
{
    struct loop *const loop = turn->loop;
    const enum err_code rc = tick(turn);
    if (rc == ERR_PERM && loop->options.blocking)
        return end(turn, SAMPLER_FAILED,
                   "the kernel refuses to stop the target (is it being traced already?)");
    if (rc)
        return bear_failure(turn, rc);
    profile_quality(loop->profile)->ticks++;
    quality_note_look(profile_quality(loop->profile), turn->now_ns);
    turn->failing_since_ns = 0;
    return true;
}

static uint64_t thread_cpu_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (uint64_t)t.tv_sec * NS_PER_S + (uint64_t)t.tv_nsec;
}

/* Lowers or raises the rate as the budget allows. */
static void keep_budget(struct turn *turn, uint64_t now_ns)
{
    struct loop *const loop = turn->loop;
    const uint64_t looks = profile_quality(loop->profile)->ticks;
    if (!budget_measure(&turn->budget, thread_cpu_ns(), looks))
        return;
    schedule_set_rate(&turn->schedule, now_ns, turn->budget.rate_hz);
    pthread_mutex_lock(&loop->mutex);
    loop->status.rate_hz = turn->budget.rate_hz;
    pthread_mutex_unlock(&loop->mutex);
}

/* Publishes what there is, now and then.  Returns false when the session is over. */
static bool publish(struct turn *turn, uint64_t now_ns)
{
    if (now_ns - turn->sealed_ns < WINDOW_NS)
        return true;
    keep_budget(turn, now_ns);
    if (seal(turn, now_ns))
        return end(turn, SAMPLER_FAILED, "out of memory");
    const char *const reason = fate(turn->loop);
    return reason ? end(turn, SAMPLER_ENDED, reason) : true;
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
        if (!sleep_until(turn->loop, now_ns, until_ns))
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

static void run(struct turn *turn)
{
    struct loop *const loop = turn->loop;
    bool was_paused = false;
    for (;;) {
        uint64_t missed;
        const uint64_t instant_ns = schedule_next(&turn->schedule, clock_now_ns(), &missed);
        const bool paused = is_paused(loop);
        if (!paused && !was_paused)
            profile_quality(loop->profile)->missed += missed;
        was_paused = paused;
        if (paused)
            quality_note_pause(profile_quality(loop->profile));
        if (!wait_for(turn, instant_ns) || (!paused && !look(turn)))
            return;
    }
}

static void *main_of_thread(void *context)
{
    struct loop *const loop = context;
    const uint64_t now_ns = clock_now_ns();
    struct turn turn = { .loop = loop, .sealed_ns = now_ns, .random = now_ns };
    uint64_t seed = now_ns;
    pthread_setname_np(pthread_self(), "sampler");
    /* Deadlines are met to the microsecond or so instead of 50. */
    prctl(PR_SET_TIMERSLACK, 1ul, 0ul, 0ul, 0ul);
    (void)!getrandom(&seed, sizeof seed, GRND_NONBLOCK);
    schedule_init(&turn.schedule, now_ns, loop->options.rate_hz, seed);
    budget_init(&turn.budget, loop->options.max_cpu_percent / 100, loop->options.rate_hz,
                thread_cpu_ns());
    turn.period_ns = (uint64_t)((double)NS_PER_S / loop->options.rate_hz);
    stopper_init(&turn.stopper);
    run(&turn);
    stopper_deinit(&turn.stopper);
    (void)!seal(&turn, clock_now_ns());
    announce_end(&turn);
    return NULL;
}

static enum err_code check_options(const struct sampler_options *options, struct err *err)
{
    if (!(options->rate_hz >= SAMPLER_MIN_RATE_HZ && options->rate_hz <= SAMPLER_MAX_RATE_HZ))
        return err_set(err, ERR_INVALID, "the sampling rate must be between 1 Hz and 1 MHz");
    if (!(options->max_cpu_percent >= 0 && options->max_cpu_percent <= 100))
        return err_set(err, ERR_INVALID, "the CPU budget must be between 0 and 100 percent");
    if (options->pid <= 0)
        return err_set(err, ERR_INVALID, "%d is not a process id", (int)options->pid);
    return ERR_OK;
}

static enum err_code attach(struct loop *loop, struct err *err)
{
    enum err_code rc = process_open(&loop->process, loop->options.pid, err);
    if (rc)
        return rc;
    rc = profile_create(&loop->profile, err);
    if (!rc)
        rc = python_attach(&loop->process, profile_strings(loop->profile), &loop->python, err);
    if (rc)
        return rc;
    const char *const name = loop->process.argc ? loop->process.argv[0] : "";
    loop->target = (struct sampler_target){
        .pid = loop->options.pid,
        .argc = loop->process.argc,
        .argv = (const char *const *)loop->process.argv,
        .executable = loop->process.executable,
        .python = python_version(loop->python),
        .validated = python_is_validated(loop->python),
    };
    return fold_init(&loop->fold, loop->profile, python_leaves(loop->python), &loop->options,
                     name, err);
}

static void free_loop(struct loop *loop)
{
    fold_deinit(&loop->fold);
    python_detach(loop->python);
    profile_destroy(loop->profile);
    process_close(&loop->process);
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
    loop->process.pidfd = loop->process.space_fd = -1;
    loop->end_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    pthread_mutex_init(&loop->mutex, NULL);
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
        loop->fold.lanes.created_ns = loop->created_ns;
        profile_set_memory(loop->profile, options->memory_bytes);
        profile_set_period(loop->profile, (uint64_t)((double)NS_PER_S / options->rate_hz));
        loop->fold.lanes.sink = options->sink;
        loop->status = (struct sampler_status){ .state = SAMPLER_RUNNING,
                                                .started_at_ns = clock_wall_ns(),
                                                .rate_hz = options->rate_hz };
        const int sys = start_thread(loop);
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
    return loop->profile;
}

const struct sampler_target *loop_target(const struct loop *loop)
{
    return &loop->target;
}

const struct sampler_options *loop_options(const struct loop *loop)
{
    return &loop->options;
}

int loop_end_fd(const struct loop *loop)
{
    return loop->end_fd;
}
