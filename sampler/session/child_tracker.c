#define _GNU_SOURCE
#include "sampler/session/child_tracker.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sampler/base/clock.h"
#include "sampler/process/process_scan.h"
#include "sampler/sampler.h"
#include "sampler/session/adopted_child.h"
#include "sampler/session/child_table.h"
#include "sampler/session/target.h"

/* How often to ask whether there are new processes. */
static const uint64_t POLL_NS = 15 * NS_PER_MS;
/* What has just been forked is about to become another program, or is not. */
static const uint64_t SETTLE_NS = 20 * NS_PER_MS;
/* A new process has its number before it is listed as a child. */
static const uint64_t LISTED_NS = 50 * NS_PER_MS;
/* Between the first two looks at all processes for strays; each pause is twice the one before. */
static const uint64_t STRAYS_NS = 30 * NS_PER_MS;
/* Children are listed so often where the newest process's number does not tell, and at least so
 * often where it seems to. */
static const uint64_t BLIND_NS = 80 * NS_PER_MS, ANYWAY_NS = NS_PER_S;
/* An interpreter may appear in a program late (one that embeds Python), but seldom does. */
static const uint64_t FIRST_PAUSE_NS = 10 * NS_PER_MS, LAST_PAUSE_NS = 30 * NS_PER_S;

/* Whoever destroys it waits at most so long for what it is looking into. */
static const uint64_t STOP_NS = 250 * NS_PER_MS;

enum { SHARE = 100, TRY_SHARE = 20, AGE_SHARE = 4, STRAY_LOOKS = 5, SETTLING_LOOKS = 2 };

struct released {
    int pid;
    uint64_t start_time;
    bool is_refused;
};

struct scout {
    struct strtab *strings;
    enum sampler_mode mode;
    pthread_t thread;
    bool has_thread;
    atomic_bool has_ready, is_ending;

    pthread_mutex_t mutex; /* guards what follows */
    pthread_cond_t changed;
    bool stop, has_ended;
    bool is_left; /* who destroyed it did not wait: its thread frees it */
    struct member *ready[SAMPLER_MAX_PROCESSES];
    size_t ready_count;
    struct released released[SAMPLER_MAX_PROCESSES];
    size_t released_count;
    bool is_settling; /* what was given back may have left others behind */
    size_t members;   /* made and not released, those at the start too */
    size_t others;    /* that are followed and no members */
    struct scout_counts counts;

    /* Of its thread only. */
    struct kin_table kin;
    struct stray_forebears forebears;
    enum census_way way;
    bool adopts;
    pid_t helper;
    int newest_fd; /* /proc/loadavg; -1: there is none */
    char newest[16];
    struct stray_search {
        int known[STRAY_LOOKS]; /* the newest process at the last looks, the last one first */
        int looks_left;         /* a new process has its number before it is listed */
        int settling; /* looks until what was given back is known to have left no others */
        uint64_t last_ns, cost_ns, next_ns;
    } strays;
    bool is_blind;          /* new processes do not show there */
    uint64_t list_until_ns; /* there are new processes, and until then they may yet be listed */
    uint64_t listed_ns, looked_ns, cost_ns;
};

static uint64_t cpu_ns(clockid_t clock)
{
    struct timespec t;
    if (clock_gettime(clock, &t))
        return 0;
    return (uint64_t)t.tv_sec * NS_PER_S + (uint64_t)t.tv_nsec;
}

/* Has the host new processes since the last time it was asked? */
static bool has_newer(struct scout *scout)
{
    char text[128];
    const ssize_t length =
        scout->newest_fd < 0 ? -1 : pread(scout->newest_fd, text, sizeof text - 1, 0);
    if (length <= 0) {
        scout->is_blind = true;
        return false;
    }
    text[length] = '\0';
    const char *const last = strrchr(text, ' ');
    if (!last || strncmp(scout->newest, last, sizeof scout->newest - 1) == 0)
        return false;
    snprintf(scout->newest, sizeof scout->newest, "%s", last);
    return true;
}

static uint64_t stray_pause_ns(const struct stray_search *strays)
{
    const uint64_t pause_ns = STRAYS_NS << (STRAY_LOOKS - strays->looks_left);
    return pause_ns < strays->cost_ns * SHARE ? strays->cost_ns * SHARE : pause_ns;
}

static void begin_strays(struct stray_search *strays)
{
    strays->looks_left = STRAY_LOOKS;
    strays->next_ns = strays->last_ns + stray_pause_ns(strays);
}

/* The sampling thread has given members back. */
static void take_released(struct scout *scout, uint64_t now_ns)
{
    pthread_mutex_lock(&scout->mutex);
    for (size_t i = 0; i < scout->released_count; i++) {
        struct kin *const kin = kin_find(&scout->kin, scout->released[i].pid);
        if (kin && kin->identity.start_time == scout->released[i].start_time) {
            kin->is_member = false;
            kin->since_ns = now_ns;
            kin->try_ns = now_ns + (scout->released[i].is_refused ? LAST_PAUSE_NS : 0);
        }
    }
    if (scout->released_count > 0) {
        scout->is_settling = true;
        scout->strays.settling = SETTLING_LOOKS;
        begin_strays(&scout->strays);
    }
    scout->released_count = 0;
    pthread_mutex_unlock(&scout->mutex);
}

static bool is_over(const struct procfs_identity *identity)
{
    return identity->state == 'Z' || identity->state == 'X';
}

/* Drops what has ended; what is another program now is tried again. */
static void refresh(struct scout *scout, uint64_t now_ns)
{
    for (size_t i = scout->kin.count; i-- > 0;) {
        struct kin *const kin = &scout->kin.items[i];
        struct procfs_identity identity;
        if (kin->is_member)
            continue;
        if (procfs_identify(kin->pid, &identity, NULL) || is_over(&identity) ||
            identity.start_time != kin->identity.start_time) {
            stray_remember(&scout->forebears, &kin->identity);
            kin_drop(&scout->kin, kin);
            continue;
        }
        if (identity.stack_start != kin->identity.stack_start ||
            identity.code_start != kin->identity.code_start)
            kin->since_ns = kin->try_ns = now_ns;
        kin->identity = identity;
    }
}

static void count(struct scout *scout, struct kin *kin, uint64_t *counter)
{
    if (kin && kin->is_counted)
        return;
    if (kin)
        kin->is_counted = true;
    pthread_mutex_lock(&scout->mutex);
    ++*counter;
    pthread_mutex_unlock(&scout->mutex);
}

/* true: it is followed from now on. */
static bool meet(struct scout *scout, int pid, uint64_t now_ns, uint64_t settle_ns)
{
    struct kin kin = { .pid = pid, .since_ns = now_ns, .try_ns = now_ns + settle_ns };
    if (pid == (int)getpid() || (pid_t)pid == scout->helper || kin_find(&scout->kin, pid) ||
        procfs_identify(pid, &kin.identity, NULL) || is_over(&kin.identity))
        return false;
    const enum err_code rc = kin_add(&scout->kin, &kin);
    if (rc == ERR_LIMIT)
        count(scout, NULL, &scout->counts.over);
    return !rc;
}

/* Numbers are given in order and begin anew behind the highest. */
static bool is_newer(const struct scout *scout, int pid)
{
    const int known = scout->strays.known[STRAY_LOOKS - 1], newest = atoi(scout->newest);
    return known <= newest ? pid > known && pid <= newest : pid > known || pid <= newest;
}

/* Of the processes that are new on this host, those that were forked by what is followed and have
 * another parent by now. */
static void discover_strays(struct scout *scout, uint64_t now_ns, uint64_t settle_ns)
{
    struct pid_list pids = { 0 };
    struct procfs_identity identity;
    if (census_all(&pids, NULL))
        pids.count = 0;
    for (size_t i = 0; i < pids.count; i++) {
        const int pid = pids.items[i];
        if (is_newer(scout, pid) && !kin_find(&scout->kin, pid) &&
            !procfs_identify(pid, &identity, NULL) &&
            stray_has_forebear(&scout->forebears, &scout->kin, &identity) &&
            stray_is_random(pid))
            (void)meet(scout, pid, now_ns, settle_ns);
    }
    pid_list_deinit(&pids);
}

/* All processes of the host are listed for it, so it has a hundredth of a core of its own. */
static void look_for_strays(struct scout *scout, uint64_t now_ns, uint64_t settle_ns)
{
    struct stray_search *const strays = &scout->strays;
    if (!strays->looks_left || now_ns < strays->next_ns)
        return;
    const uint64_t began_ns = cpu_ns(CLOCK_THREAD_CPUTIME_ID);
    discover_strays(scout, now_ns, settle_ns);
    memmove(strays->known + 1, strays->known, sizeof strays->known - sizeof *strays->known);
    strays->known[0] = atoi(scout->newest);
    strays->cost_ns = cpu_ns(CLOCK_THREAD_CPUTIME_ID) - began_ns;
    strays->last_ns = now_ns;
    strays->looks_left--;
    strays->settling -= strays->settling > 0;
    strays->next_ns = now_ns + stray_pause_ns(strays);
}

/* Children of all that is followed, and theirs.  Returns how many are new. */
static size_t discover(struct scout *scout, uint64_t now_ns, uint64_t settle_ns)
{
    struct pid_list parents = { 0 }, children = { 0 };
    size_t found = 0;
    for (size_t i = 0; i < scout->kin.count; i++)
        if (pid_list_add(&parents, scout->kin.items[i].pid))
            break;
    if (scout->adopts)
        (void)!pid_list_add(&parents, (int)getpid());
    while (parents.count > 0) {
        (void)!census_children(scout->way, parents.items, parents.count, &children);
        parents.count = 0;
        for (size_t i = 0; i < children.count; i++)
            if (meet(scout, children.items[i], now_ns, settle_ns) &&
                !pid_list_add(&parents, children.items[i]))
                found++;
        children.count = 0;
    }
    pid_list_deinit(&parents);
    pid_list_deinit(&children);
    return found;
}

/* Hands a member over unless there are too many.  true: it has been taken. */
static bool hand_over(struct scout *scout, struct member *member)
{
    pthread_mutex_lock(&scout->mutex);
    /* So that those given back have room too. */
    const bool has_room = scout->members + scout->released_count < SAMPLER_MAX_PROCESSES;
    if (has_room) {
        scout->members++;
        scout->ready[scout->ready_count++] = member;
        atomic_store(&scout->has_ready, true);
    }
    pthread_mutex_unlock(&scout->mutex);
    return has_room;
}

/* Later and later while it stays the program it is, and never so often that it costs much. */
static uint64_t pause_after(const struct kin *kin, uint64_t now_ns, uint64_t cost_ns)
{
    uint64_t pause_ns = (now_ns - kin->since_ns) / AGE_SHARE;
    if (pause_ns < cost_ns * TRY_SHARE)
        pause_ns = cost_ns * TRY_SHARE;
    if (pause_ns < FIRST_PAUSE_NS)
        pause_ns = FIRST_PAUSE_NS;
    return pause_ns < LAST_PAUSE_NS ? pause_ns : LAST_PAUSE_NS;
}

static void try_one(struct scout *scout, struct kin *kin)
{
    const uint64_t began_ns = clock_now_ns();
    struct member *member = NULL;
    const enum err_code rc = member_open(kin->pid, RUNTIME_QUICK, scout->mode,
                                         &scout->is_ending, scout->strings, &member, NULL);
    if (rc == ERR_PERM || rc == ERR_UNSUPPORTED || rc == ERR_INVALID)
        count(scout, kin, &scout->counts.denied);
    if (!rc && member->process.start_time == kin->identity.start_time) {
        /* Whoever is followed is of the family; who started the first of it is not. */
        const int parent = kin->identity.parent;
        member->parent = kin_find(&scout->kin, parent) ? parent : 0;
        if (hand_over(scout, member)) {
            kin->is_member = true;
            return;
        }
        count(scout, kin, &scout->counts.over);
    }
    member_close(member);
    const uint64_t now_ns = clock_now_ns();
    kin->try_ns = now_ns + pause_after(kin, now_ns, now_ns - began_ns);
}

static void try_all(struct scout *scout, uint64_t now_ns)
{
    for (size_t i = 0; i < scout->kin.count; i++) {
        struct kin *const kin = &scout->kin.items[i];
        if (!kin->is_member && kin->try_ns <= now_ns)
            try_one(scout, kin);
    }
}

static bool is_time_to_list(struct scout *scout, uint64_t now_ns)
{
    if (has_newer(scout)) {
        scout->list_until_ns = now_ns + LISTED_NS;
        begin_strays(&scout->strays);
    }
    return now_ns < scout->list_until_ns ||
           now_ns - scout->listed_ns >= (scout->is_blind ? BLIND_NS : ANYWAY_NS);
}

static void look(struct scout *scout, uint64_t now_ns, uint64_t settle_ns)
{
    const uint64_t began_ns = cpu_ns(CLOCK_THREAD_CPUTIME_ID);
    take_released(scout, now_ns);
    refresh(scout, now_ns);
    if (is_time_to_list(scout, now_ns)) {
        const bool is_expected = now_ns < scout->list_until_ns;
        scout->is_blind |= discover(scout, now_ns, settle_ns) > 0 && !is_expected;
        scout->listed_ns = now_ns;
    }
    scout->looked_ns = clock_now_ns();
    scout->cost_ns = cpu_ns(CLOCK_THREAD_CPUTIME_ID) - began_ns;
    look_for_strays(scout, now_ns, settle_ns);
    try_all(scout, scout->looked_ns);
    size_t others = 0;
    for (size_t i = 0; i < scout->kin.count; i++)
        others += !scout->kin.items[i].is_member;
    pthread_mutex_lock(&scout->mutex);
    scout->others = others;
    scout->is_settling = scout->strays.settling > 0;
    pthread_mutex_unlock(&scout->mutex);
}

static uint64_t next_look_ns(const struct scout *scout)
{
    const uint64_t pause_ns = scout->cost_ns * SHARE;
    const uint64_t least_ns = pause_ns < POLL_NS ? POLL_NS : pause_ns;
    return scout->looked_ns + (least_ns < BLIND_NS ? least_ns : BLIND_NS);
}

/* false: asked to stop. */
static bool wait_until(struct scout *scout, uint64_t deadline_ns)
{
    const struct timespec deadline = clock_timespec(deadline_ns);
    int rc = 0;
    pthread_mutex_lock(&scout->mutex);
    while (!scout->stop && rc == 0)
        rc = pthread_cond_timedwait(&scout->changed, &scout->mutex, &deadline);
    const bool goes_on = !scout->stop;
    pthread_mutex_unlock(&scout->mutex);
    return goes_on;
}

static void free_scout(struct scout *scout)
{
    for (size_t i = 0; i < scout->ready_count; i++)
        member_close(scout->ready[i]);
    if (scout->newest_fd >= 0)
        close(scout->newest_fd);
    kin_deinit(&scout->kin);
    pthread_cond_destroy(&scout->changed);
    pthread_mutex_destroy(&scout->mutex);
    free(scout);
}

static void *main_of_thread(void *context)
{
    struct scout *const scout = context;
    pthread_setname_np(pthread_self(), "scout");
    while (wait_until(scout, next_look_ns(scout)))
        look(scout, clock_now_ns(), SETTLE_NS);
    pthread_mutex_lock(&scout->mutex);
    const bool is_left = scout->is_left;
    scout->has_ended = true;
    pthread_cond_broadcast(&scout->changed);
    pthread_mutex_unlock(&scout->mutex);
    if (is_left)
        free_scout(scout);
    return NULL;
}

enum err_code scout_create(struct strtab *strings, enum sampler_mode mode, bool adopts,
                           pid_t helper, struct scout **out, struct err *err)
{
    pthread_condattr_t monotonic;
    struct scout *const scout = calloc(1, sizeof *scout);
    if (!scout)
        return err_set(err, ERR_NOMEM, "no memory to follow processes");
    scout->strings = strings;
    atomic_init(&scout->is_ending, false);
    scout->mode = mode;
    scout->way = census_way();
    scout->adopts = adopts;
    scout->helper = helper;
    scout->newest_fd = open("/proc/loadavg", O_RDONLY | O_CLOEXEC);
    /* Whoever is newer than this is looked at. */
    (void)has_newer(scout);
    for (int i = 0; i < STRAY_LOOKS; i++)
        scout->strays.known[i] = atoi(scout->newest);
    scout->newest[0] = '\0';
    kin_init(&scout->kin, SCOUT_MAX_KIN);
    pthread_mutex_init(&scout->mutex, NULL);
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&scout->changed, &monotonic);
    pthread_condattr_destroy(&monotonic);
    *out = scout;
    return ERR_OK;
}

/* false: its thread hangs in the kernel, on a process that it looks into. */
static bool stop(struct scout *scout)
{
    const struct timespec deadline = clock_timespec(clock_now_ns() + STOP_NS);
    int rc = 0;
    pthread_mutex_lock(&scout->mutex);
    scout->stop = true;
    atomic_store(&scout->is_ending, true);
    pthread_cond_broadcast(&scout->changed);
    while (scout->has_thread && !scout->has_ended && rc == 0)
        rc = pthread_cond_timedwait(&scout->changed, &scout->mutex, &deadline);
    scout->is_left = scout->has_thread && !scout->has_ended;
    const bool is_left = scout->is_left;
    if (is_left)
        pthread_detach(scout->thread);
    pthread_mutex_unlock(&scout->mutex);
    return !is_left;
}

void scout_destroy(struct scout *scout)
{
    if (!scout || !stop(scout))
        return;
    if (scout->has_thread)
        pthread_join(scout->thread, NULL);
    free_scout(scout);
}

enum err_code scout_follow(struct scout *scout, int pid, bool is_member, struct err *err)
{
    struct kin kin = { .pid = pid, .is_member = is_member, .since_ns = clock_now_ns() };
    enum err_code rc = procfs_identify(pid, &kin.identity, err);
    kin.try_ns = kin.since_ns;
    if (!rc && (rc = kin_add(&scout->kin, &kin)))
        return err_set(err, rc, "process %d cannot be followed: %s", pid, err_text(rc));
    scout->members += !rc && is_member;
    return rc;
}

void scout_look_once(struct scout *scout)
{
    look(scout, clock_now_ns(), 0);
}

/* Signals are the main thread's business. */
enum err_code scout_start(struct scout *scout, struct err *err)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    const int sys = pthread_create(&scout->thread, NULL, main_of_thread, scout);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    scout->has_thread = sys == 0;
    return sys ? err_sys(err, sys, "cannot start the thread that follows processes") : ERR_OK;
}

struct member *scout_take(struct scout *scout)
{
    struct member *member = NULL;
    if (!atomic_load_explicit(&scout->has_ready, memory_order_relaxed))
        return NULL;
    pthread_mutex_lock(&scout->mutex);
    if (scout->ready_count > 0)
        member = scout->ready[--scout->ready_count];
    atomic_store(&scout->has_ready, scout->ready_count > 0);
    pthread_mutex_unlock(&scout->mutex);
    return member;
}

static void give_back(struct scout *scout, const struct process *process, bool is_refused)
{
    pthread_mutex_lock(&scout->mutex);
    scout->released[scout->released_count++] =
        (struct released){ process->pid, process->start_time, is_refused };
    scout->members--;
    scout->counts.over += is_refused;
    pthread_mutex_unlock(&scout->mutex);
}

void scout_release(struct scout *scout, const struct process *process)
{
    give_back(scout, process, false);
}

void scout_refuse(struct scout *scout, const struct process *process)
{
    give_back(scout, process, true);
}

bool scout_has_hope(struct scout *scout)
{
    pthread_mutex_lock(&scout->mutex);
    const bool has_hope = scout->others > 0 || scout->ready_count > 0 ||
                          scout->released_count > 0 || scout->is_settling;
    pthread_mutex_unlock(&scout->mutex);
    return has_hope;
}

void scout_counts(struct scout *scout, struct scout_counts *out)
{
    pthread_mutex_lock(&scout->mutex);
    *out = scout->counts;
    pthread_mutex_unlock(&scout->mutex);
}

uint64_t scout_cpu_ns(struct scout *scout)
{
    clockid_t clock;
    return scout->has_thread && !pthread_getcpuclockid(scout->thread, &clock) ? cpu_ns(clock)
                                                                              : 0;
}
