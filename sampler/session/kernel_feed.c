#include "sampler/session/kernel_feed.h"

#include <stdlib.h>
#include <string.h>

#include "sampler/base/clock.h"
#include "sampler/base/hash.h"
#include "sampler/base/idmap.h"
#include "sampler/base/random.h"
#include "sampler/base/vec.h"
#include "sampler/cpython/python.h"
#include "sampler/kernel/copy_memory.h"
#include "sampler/kernel/engine.h"
#include "sampler/profile/quality.h"
#include "sampler/session/target.h"

/* How often the lists of threads are compared with the interpreter's, if nothing else calls for it. */
static const uint64_t LIST_AGAIN_NS = NS_PER_S;

/* A thread that the engine knows. */
struct fed_thread {
    int32_t tid;
    struct target *target;
    struct thread *thread;
    remote_addr tstate;
    bool is_listed;
    bool has_moved;      /* the engine has seen it */
    uint64_t left_ns;    /* when it left its processor; 0: it runs, or has not been seen */
    uint64_t counted_ns; /* up to here, its absence has been counted; at first its listing */
    uint32_t flags;      /* of the record of its leaving */
    size_t copy_bytes, copy_room;
    unsigned char *copy; /* its spans */
};

struct fed_target {
    struct target *target;
    uint64_t listed_ns;
    bool is_old; /* its list of threads */
};

struct kernel_feed {
    struct kernel *kernel;
    struct copy_memory copy;
    struct fed_target *targets;
    size_t target_count, target_room;
    struct fed_thread *threads;
    size_t thread_count, thread_room;
    struct idmap index; /* of threads by tid */
    struct random random;
    uint64_t ticked_ns, begun_ns;
    bool is_paused;
    struct kernel_counts counts;
    uint64_t damaged; /* samples whose copy makes no sense */
    uint64_t missed;  /* instants at which a thread was away; its leaving is not recorded */
};

enum err_code kernel_feed_create(struct kernel *kernel, struct kernel_feed **out,
                                 struct err *err)
{
    struct kernel_feed *const feed = calloc(1, sizeof *feed);
    if (!feed)
        return err_nomem(err);
    feed->kernel = kernel;
    feed->begun_ns = feed->ticked_ns = clock_now_ns();
    copy_memory_init(&feed->copy);
    idmap_init(&feed->index);
    random_init_any(&feed->random);
    *out = feed;
    return ERR_OK;
}

static void drop_thread(struct kernel_feed *feed, size_t index)
{
    struct fed_thread *const thread = &feed->threads[index];
    kernel_remove_thread(feed->kernel, thread->tid);
    free(thread->copy);
    *thread = feed->threads[--feed->thread_count];
}

void kernel_feed_destroy(struct kernel_feed *feed)
{
    if (!feed)
        return;
    while (feed->target_count)
        kernel_feed_remove(feed, feed->targets[0].target);
    idmap_deinit(&feed->index);
    free(feed->threads);
    free(feed->targets);
    free(feed);
}

static struct fed_thread *find(const struct kernel_feed *feed, int32_t tid)
{
    struct idmap_slot *at;
    IDMAP_FIND(at, &feed->index, hash_mix((uint64_t)tid, 0), feed->threads[at->id].tid == tid);
    return at ? &feed->threads[at->id] : NULL;
}

static enum err_code index_threads(struct kernel_feed *feed)
{
    enum err_code rc = ERR_OK;
    idmap_clear(&feed->index);
    for (uint32_t i = 0; i < feed->thread_count && !rc; i++)
        rc = idmap_add(&feed->index, hash_mix((uint64_t)feed->threads[i].tid, 0), i, NULL);
    return rc;
}

/* Gives the engine a thread that is new, or whose state lies elsewhere now. */
static enum err_code put_thread(struct kernel_feed *feed, struct target *target,
                                struct thread *thread)
{
    struct fed_thread *known = find(feed, thread->host_tid);
    if (!known) {
        if (!VEC_RESERVE(feed->threads, feed->thread_room, feed->thread_count + 1))
            return ERR_NOMEM;
        known = &feed->threads[feed->thread_count];
        *known = (struct fed_thread){ .tid = thread->host_tid, .counted_ns = clock_now_ns() };
        const enum err_code rc = idmap_add(&feed->index, hash_mix((uint64_t)known->tid, 0),
                                           (uint32_t)feed->thread_count, NULL);
        if (rc)
            return rc;
        feed->thread_count++;
    }
    known->target = target;
    known->thread = thread;
    known->is_listed = true;
    if (known->tstate == thread->head.addr)
        return ERR_OK;
    struct kernel_thread description;
    known->tstate = thread->head.addr;
    known->left_ns = 0;
    target_describe_thread(target, thread, &description);
    return kernel_add_thread(feed->kernel, known->tid, &description);
}

/* The thread of a record; NULL: it has ended, or its number is another process's now. */
static struct fed_thread *find_of(const struct kernel_feed *feed,
                                  const struct kernel_record *record)
{
    struct fed_thread *const fed = find(feed, (int32_t)record->tid);
    return fed && (uint32_t)fed->target->process.pid == record->pid ? fed : NULL;
}

/* Compares the engine's threads of the target with the interpreter's. */
static enum err_code list_threads(struct kernel_feed *feed, struct fed_target *fed)
{
    struct target *const target = fed->target;
    enum err_code rc = ERR_OK;
    size_t count;
    bool changed;
    fed->listed_ns = clock_now_ns();
    fed->is_old = python_list_threads(target->python, &changed) != ERR_OK;
    struct thread *const *const threads = python_threads(target->python, &count);
    for (size_t i = 0; i < feed->thread_count; i++)
        if (feed->threads[i].target == target)
            feed->threads[i].is_listed = false;
    for (size_t i = 0; i < count && !rc; i++)
        /* Of the states of one thread, the innermost one runs. */
        if (threads[i]->host_tid > 0 && !threads[i]->inner &&
            (target->options->all_threads || threads[i]->is_main))
            rc = put_thread(feed, target, threads[i]);
    const size_t before = feed->thread_count;
    for (size_t i = feed->thread_count; i-- > 0;)
        if (feed->threads[i].target == target && !feed->threads[i].is_listed)
            drop_thread(feed, i);
    if (!rc && before != feed->thread_count)
        rc = index_threads(feed);
    return rc;
}

enum err_code kernel_feed_add(struct kernel_feed *feed, struct target *target, struct err *err)
{
    struct kernel_process description;
    if (!VEC_RESERVE(feed->targets, feed->target_room, feed->target_count + 1))
        return err_nomem(err);
    target_describe(target, &description);
    enum err_code rc = kernel_add_process(feed->kernel, target->process.pid, &description);
    if (rc)
        return err_set(err, rc, "the kernel engine takes no more processes");
    struct fed_target *const fed = &feed->targets[feed->target_count++];
    *fed = (struct fed_target){ .target = target };
    rc = list_threads(feed, fed);
    if (rc)
        kernel_feed_remove(feed, target);
    return rc ? err_set(err, rc, "the kernel engine takes no more threads") : ERR_OK;
}

void kernel_feed_remove(struct kernel_feed *feed, struct target *target)
{
    kernel_remove_process(feed->kernel, target->process.pid);
    for (size_t i = feed->thread_count; i-- > 0;)
        if (feed->threads[i].target == target)
            drop_thread(feed, i);
    (void)!index_threads(feed);
    for (size_t i = feed->target_count; i-- > 0;)
        if (feed->targets[i].target == target)
            feed->targets[i] = feed->targets[--feed->target_count];
}

/* Counts the copied stack `times` times, at instants from `since_ns` to `now_ns`. */
static enum err_code count_copy(struct kernel_feed *feed, struct fed_thread *fed,
                                const void *spans, size_t bytes, uint32_t flags,
                                struct target_instants instants)
{
    if (copy_memory_show(&feed->copy, spans, bytes)) {
        feed->damaged += instants.times;
        return ERR_OK;
    }
    if (flags & KERNEL_NO_ROOM)
        copy_memory_complete(&feed->copy, &fed->target->process.memory.memory);
    const enum err_code rc = target_take(fed->target, fed->thread, &feed->copy, &instants);
    return rc == ERR_NOMEM || rc == ERR_LIMIT ? rc : ERR_OK;
}

static uint64_t later(uint64_t one_ns, uint64_t other_ns)
{
    return one_ns > other_ns ? one_ns : other_ns;
}

/* A whole number of instants that is right on average. */
static uint32_t instants_in(struct kernel_feed *feed, uint64_t ns)
{
    const uint64_t period_ns = kernel_period_ns(feed->kernel);
    return (uint32_t)((ns + random_below(&feed->random, period_ns)) / period_ns);
}

/* Counts a thread's absence from where it was counted last up to `until_ns`. */
static enum err_code count_absence(struct kernel_feed *feed, struct fed_thread *fed,
                                   uint64_t until_ns, uint32_t times)
{
    const struct target_instants instants = {
        .since_ns = fed->counted_ns,
        .until_ns = until_ns,
        .times = times,
        .runs = fed->flags & KERNEL_RUNNABLE ? VALUE_YES : VALUE_NO,
        .runnable = fed->flags & KERNEL_RUNNABLE ? VALUE_YES : VALUE_NO,
    };
    fed->counted_ns = until_ns;
    return times ? count_copy(feed, fed, fed->copy, fed->copy_bytes, fed->flags, instants)
                 : ERR_OK;
}

static enum err_code leave(const struct kernel_feed *feed, struct fed_thread *fed,
                           const struct kernel_record *record, const void *spans)
{
    fed->left_ns = 0;
    if (!VEC_RESERVE(fed->copy, fed->copy_room, record->bytes))
        return ERR_NOMEM;
    memcpy(fed->copy, spans, record->bytes);
    fed->copy_bytes = record->bytes;
    fed->flags = record->flags;
    fed->left_ns = record->time_ns;
    fed->counted_ns = later(record->time_ns, feed->begun_ns);
    return ERR_OK;
}

/* The engine reports a short absence as often as an instant falls into it. */
static enum err_code come_back(struct kernel_feed *feed, struct fed_thread *fed,
                               const struct kernel_record *record)
{
    const uint64_t away_ns = record->time_ns - record->left_ns;
    const bool is_known = fed->left_ns == record->left_ns;
    /* What lies before counted_ns was before the session, or in a pause. */
    const uint64_t since_ns =
        is_known ? fed->counted_ns : later(record->left_ns, fed->counted_ns);
    fed->left_ns = 0;
    if (record->time_ns < since_ns)
        return ERR_OK;
    const bool is_by_chance =
        away_ns < kernel_min_away_ns(feed->kernel) && away_ns < kernel_period_ns(feed->kernel);
    const uint32_t times = is_by_chance ? 1 : instants_in(feed, record->time_ns - since_ns);
    if (is_known)
        return count_absence(feed, fed, record->time_ns, times);
    feed->missed += times;
    return ERR_OK;
}

static enum err_code skip_record(void *context, const struct kernel_record *record,
                                 const void *spans)
{
    struct kernel_feed *const feed = context;
    struct fed_thread *const fed = find_of(feed, record);
    if (!fed || record->kind == KERNEL_UNKNOWN)
        return ERR_OK;
    fed->has_moved = true;
    fed->left_ns = 0;
    return record->kind == KERNEL_LEFT ? leave(feed, fed, record, spans) : ERR_OK;
}

static enum err_code take_record(void *context, const struct kernel_record *record,
                                 const void *spans)
{
    struct kernel_feed *const feed = context;
    if (record->kind == KERNEL_UNKNOWN) {
        struct fed_thread *const known = find_of(feed, record);
        /* It has ended, and a new one has its number. */
        if (known)
            known->tstate = 0;
        for (size_t i = 0; i < feed->target_count; i++)
            if ((uint32_t)feed->targets[i].target->process.pid == record->pid)
                feed->targets[i].is_old = true;
        return ERR_OK;
    }
    struct fed_thread *const fed = find_of(feed, record);
    if (!fed)
        return ERR_OK;
    if (record->time_ns < feed->begun_ns)
        return skip_record(feed, record, spans);
    /* It slept, or waited for a processor, from its listing or the last flush on; nobody knows where. */
    if (!fed->has_moved &&
        record->time_ns > fed->counted_ns + kernel_min_away_ns(feed->kernel)) {
        feed->missed += instants_in(feed, record->time_ns - fed->counted_ns);
        fed->counted_ns = record->time_ns;
    }
    fed->has_moved = true;
    switch (record->kind) {
    case KERNEL_TICK:
        fed->left_ns = 0;
        return count_copy(feed, fed, spans, record->bytes, record->flags,
                          (struct target_instants){ .since_ns = record->time_ns,
                                                    .until_ns = record->time_ns,
                                                    .times = 1,
                                                    .runs = VALUE_YES,
                                                    .runnable = VALUE_NO });
    case KERNEL_LEFT: return leave(feed, fed, record, spans);
    case KERNEL_RETURNED: return come_back(feed, fed, record);
    default: return ERR_OK;
    }
}

enum err_code kernel_feed_drain(struct kernel_feed *feed)
{
    const uint64_t now_ns = clock_now_ns();
    feed->is_paused = false;
    for (size_t i = 0; i < feed->target_count; i++)
        python_begin_copies(feed->targets[i].target->python);
    enum err_code rc = kernel_drain(feed->kernel, take_record, feed);
    for (size_t i = 0; i < feed->target_count && !rc; i++) {
        struct fed_target *const fed = &feed->targets[i];
        if (fed->is_old || now_ns - fed->listed_ns > LIST_AGAIN_NS)
            rc = list_threads(feed, fed);
    }
    return rc;
}

void kernel_feed_skip(struct kernel_feed *feed)
{
    const uint64_t now_ns = clock_now_ns();
    (void)!kernel_drain(feed->kernel, skip_record, feed);
    kernel_count(feed->kernel, &feed->counts);
    feed->is_paused = true;
    feed->ticked_ns = now_ns;
    for (size_t i = 0; i < feed->thread_count; i++)
        feed->threads[i].counted_ns = now_ns;
}

void kernel_feed_begin(struct kernel_feed *feed)
{
    kernel_feed_skip(feed);
    feed->is_paused = false;
    feed->begun_ns = clock_now_ns();
}

/* A thread that the engine has not seen yet: it has slept since before it was added. */
static enum err_code count_sleeper(struct kernel_feed *feed, struct fed_thread *fed,
                                   uint64_t now_ns)
{
    const uint64_t since_ns = fed->counted_ns;
    if (now_ns <= since_ns)
        return ERR_OK;
    const struct target_instants instants = {
        .since_ns = since_ns,
        .until_ns = now_ns,
        .times = instants_in(feed, now_ns - since_ns),
        .runs = VALUE_NO,
        .runnable = VALUE_NO,
    };
    fed->counted_ns = now_ns;
    const enum err_code rc =
        instants.times ? target_read_waiting(fed->target, fed->thread, &instants) : ERR_OK;
    return rc == ERR_NOMEM || rc == ERR_LIMIT ? rc : ERR_OK;
}

static void count_losses(struct kernel_feed *feed, struct quality *quality)
{
    struct kernel_counts counts;
    kernel_count(feed->kernel, &counts);
    quality->missed_ticks += feed->missed + counts.lost - feed->counts.lost;
    quality->failed_fault += counts.faulted - feed->counts.faulted;
    quality->failed_corrupt += feed->damaged + counts.damaged - feed->counts.damaged;
    feed->damaged = feed->missed = 0;
    feed->counts = counts;
}

enum err_code kernel_feed_flush(struct kernel_feed *feed, struct quality *quality,
                                uint64_t now_ns)
{
    if (feed->is_paused) {
        kernel_feed_skip(feed);
        return ERR_OK;
    }
    enum err_code rc = kernel_feed_drain(feed);
    count_losses(feed, quality);
    quality->ticks += kernel_feed_ticks(feed, now_ns);
    for (size_t i = 0; i < feed->thread_count && !rc; i++) {
        struct fed_thread *const fed = &feed->threads[i];
        if (!fed->has_moved) {
            rc = count_sleeper(feed, fed, now_ns);
        } else if (fed->left_ns && now_ns > fed->counted_ns &&
                   now_ns - fed->left_ns >= kernel_min_away_ns(feed->kernel)) {
            /* It may have come back without a word. */
            if (kernel_left_ns(feed->kernel, fed->tid) != fed->left_ns)
                fed->left_ns = 0;
            else
                rc = count_absence(feed, fed, now_ns,
                                   instants_in(feed, now_ns - fed->counted_ns));
        }
    }
    return rc;
}

uint64_t kernel_feed_ticks(struct kernel_feed *feed, uint64_t now_ns)
{
    const uint64_t period_ns = kernel_period_ns(feed->kernel);
    const uint64_t ticks =
        now_ns > feed->ticked_ns ? (now_ns - feed->ticked_ns) / period_ns : 0;
    feed->ticked_ns += ticks * period_ns;
    return ticks;
}

void kernel_feed_set_rate(struct kernel_feed *feed, double rate_hz)
{
    kernel_set_rate(feed->kernel, rate_hz);
}
