#include "server/sessions/trouble.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sampler/base/clock.h"
#include "sampler/process_tree.h"
#include "sampler/profile/part.h"
#include "sampler/profile/views/own_code.h"
#include "sampler/profile/wait.h"
#include "sampler/session.h"
#include "server/sessions/lock_graph.h"
#include "server/sessions/recent.h"

const char *const trouble_texts[] = {
#define X(name, text) text,
    TROUBLES(X)
#undef X
        NULL,
};

/* A trouble that comes again within that time is the same one. */
static const uint64_t OVER_NS = 10 * NS_PER_S;

static void take_run(void *context, const struct run *run)
{
    struct trouble *const trouble = context;
    recent_add(trouble->recent, run);
}

static void take_seal(void *context, uint64_t end_ns, uint64_t period_ns,
                      const struct quality *quality)
{
    struct trouble *const trouble = context;
    recent_seal(trouble->recent, end_ns, period_ns, quality);
}

enum err_code trouble_init(struct trouble *trouble, const struct trouble_limits *limits,
                           uint64_t span_ns, struct err *err)
{
    *trouble =
        (struct trouble){ .limits = *limits,
                          .sink = { .context = trouble, .count = take_run, .seal = take_seal },
                          .span_ns = span_ns };
    return recent_create(span_ns, &trouble->recent, err);
}

enum err_code trouble_renew(struct trouble *trouble, struct err *err)
{
    struct recent *recent = NULL;
    const enum err_code rc = recent_create(trouble->span_ns, &recent, err);
    if (rc)
        return rc;
    recent_destroy(trouble->recent);
    trouble->recent = recent;
    /* Threads and functions have other numbers in the next session. */
    free(trouble->loops);
    trouble->loops = NULL;
    trouble->loop_count = 0;
    trouble->begin_ns = trouble->seen_ns;
    return ERR_OK;
}

void trouble_deinit(struct trouble *trouble)
{
    if (!trouble->recent)
        return;
    recent_destroy(trouble->recent);
    free(trouble->loops);
    *trouble = (struct trouble){ 0 };
}

/* Does the thread run your code, or would it if it had a processor?  Once the profile is full, your code may have no name in it.
 * Then every thread that runs counts, because a false stall is worse than a missed one. */
static bool is_progress(const struct profile_snapshot *snapshot, const unsigned char *own,
                        const struct run *run)
{
    const frame_id leaf = profile_node_at(snapshot, run->node).frame;
    struct wait_text wait = { .cause = WAIT_UNKNOWN };
    (void)wait_of_function(snapshot, profile_frame_at(snapshot, leaf).function, &wait);
    const enum part part = part_of(run->state, wait.cause);
    if (part != PART_RUNNING && part != PART_NEEDS_PROCESSOR)
        return false;
    for (node_id node = run->node; node != 0; node = profile_node_at(snapshot, node).parent) {
        const frame_id frame = profile_node_at(snapshot, node).frame;
        if (own[profile_frame_at(snapshot, frame).function] & 1)
            return true;
    }
    return profile_is_full(snapshot->profile);
}

static bool is_text(const struct profile_snapshot *snapshot, str_id id, const char *text)
{
    return strcmp(profile_string(snapshot, id).text, text) == 0;
}

/* Ends asyncio/events.py, whose Handle._run calls each callback of the loop. */
static bool is_callback_caller(const struct profile_snapshot *snapshot, function_id id)
{
    static const char end[] = "asyncio/events.py";
    const struct profile_function function = profile_function_at(snapshot, id);
    const struct strtab_string file = profile_string(snapshot, function.file);
    return is_text(snapshot, function.name, "Handle._run") ||
           (is_text(snapshot, function.name, "_run") && file.length >= sizeof end - 1 &&
            strcmp(file.text + file.length - (sizeof end - 1), end) == 0);
}

/* The function that the event loop of this stack has called; 0: it is in none. */
static function_id find_callback(const struct profile_snapshot *snapshot, node_id node)
{
    function_id callee = 0, callback = 0;
    for (; node != 0; node = profile_node_at(snapshot, node).parent) {
        const function_id function =
            profile_frame_at(snapshot, profile_node_at(snapshot, node).frame).function;
        if (is_callback_caller(snapshot, function))
            callback = callee;
        callee = function;
    }
    return callback;
}

/* Follows the callback that the thread is in; threads beyond TROUBLE_MAX_LOOPS are not followed. */
static enum err_code follow_loop(struct trouble *trouble, const struct run *run,
                                 function_id callback, struct err *err)
{
    const uint64_t last_ns = run->first_ns + (run->count - 1) * run->step_ns;
    if (run->thread >= TROUBLE_MAX_LOOPS || (!callback && run->thread >= trouble->loop_count))
        return ERR_OK;
    if (run->thread >= trouble->loop_count) {
        const size_t count = run->thread + 1;
        struct trouble_loop *const loops = realloc(trouble->loops, count * sizeof *loops);
        if (!loops)
            return err_nomem(err);
        memset(loops + trouble->loop_count, 0, (count - trouble->loop_count) * sizeof *loops);
        trouble->loops = loops;
        trouble->loop_count = count;
    }
    struct trouble_loop *const loop = &trouble->loops[run->thread];
    if (callback != loop->callback)
        *loop = (struct trouble_loop){ callback, run->first_ns, last_ns };
    loop->until_ns = last_ns;
    return ERR_OK;
}

/* The memory of the processes that are sampled now. */
static uint64_t count_rss(struct session *session)
{
    struct session_target target;
    uint64_t bytes = 0;
    for (size_t i = 0; session_target_at(session, i, &target); i++) {
        uint64_t rss_bytes = 0;
        if (!target.reason && process_rss(target.pid, &rss_bytes))
            bytes += rss_bytes;
    }
    return bytes;
}

/* Finds the loop that is blocked for the longest time. */
static const struct trouble_loop *find_blocked_loop(const struct trouble *trouble)
{
    const struct trouble_loop *longest = NULL;
    for (size_t i = 0; i < trouble->loop_count; i++) {
        const struct trouble_loop *const loop = &trouble->loops[i];
        const uint64_t ns = loop->callback ? loop->until_ns - loop->since_ns : 0;
        if (ns >= trouble->limits.loop_blocked_ns &&
            (!longest || ns > longest->until_ns - longest->since_ns))
            longest = loop;
    }
    return longest;
}

static double seconds(uint64_t ns)
{
    return (double)ns / (double)NS_PER_S;
}

static bool find_stall(struct trouble *trouble, char *text)
{
    if (!trouble->limits.stalled_ns ||
        trouble->seen_ns < trouble->progress_ns + trouble->limits.stalled_ns)
        return false;
    snprintf(text, TROUBLE_TEXT_BYTES, "no thread has run your code for %.3g s",
             seconds(trouble->seen_ns - trouble->progress_ns));
    return true;
}

static enum err_code find_deadlock(const struct trouble *trouble, struct session *session,
                                   char *text, bool *is_on, struct err *err)
{
    struct session_locks locks = { 0 };
    struct lock_graph graph = { 0 };
    if (!trouble->limits.deadlock)
        return ERR_OK;
    const enum err_code rc = session_locks(session, &locks, err);
    if (rc)
        return rc;
    lock_graph_take(&graph, &locks);
    const size_t cycles = lock_graph_count_cycles(&graph);
    snprintf(text, TROUBLE_TEXT_BYTES, "threads wait for each other: %zu deadlock%s", cycles,
             cycles == 1 ? "" : "s");
    *is_on = cycles > 0;
    lock_graph_deinit(&graph);
    session_locks_deinit(&locks);
    return ERR_OK;
}

static bool find_block(struct trouble *trouble, const struct profile_snapshot *snapshot,
                       char *text)
{
    const struct trouble_loop *const loop =
        trouble->limits.loop_blocked_ns ? find_blocked_loop(trouble) : NULL;
    if (!loop || loop->callback >= snapshot->sizes.functions)
        return false;
    const struct profile_function function = profile_function_at(snapshot, loop->callback);
    snprintf(text, TROUBLE_TEXT_BYTES, "an event loop has been in %.80s for %.3g s",
             profile_string(snapshot, function.name).text,
             seconds(loop->until_ns - loop->since_ns));
    return true;
}

static bool find_growth(struct trouble *trouble, struct session *session, char *text)
{
    const uint64_t bytes = trouble->limits.rss_bytes ? count_rss(session) : 0;
    if (!bytes || bytes < trouble->limits.rss_bytes)
        return false;
    snprintf(text, TROUBLE_TEXT_BYTES, "%" PRIu64 " MiB of memory are resident", bytes >> 20);
    return true;
}

enum err_code trouble_check(struct trouble *trouble, struct session *session,
                            struct trouble_event out[TROUBLE_KINDS], size_t *count_out,
                            struct err *err)
{
    char texts[TROUBLE_KINDS][TROUBLE_TEXT_BYTES];
    struct recent_window *windows[RECENT_MAX_WINDOWS];
    struct profile_snapshot snapshot;
    bool has_deadlock = false;
    *count_out = 0;
    /* Before the snapshot, which then has all rows of the samples. */
    const size_t count =
        recent_take(trouble->recent, trouble->seen_ns - trouble->begin_ns, windows);
    enum err_code rc = profile_snapshot(session_profile(session), &snapshot, err);
    const bool has_snapshot = !rc;
    if (!rc) {
        struct own_code levels;
        unsigned char *const own = calloc(snapshot.sizes.functions + 1, sizeof *own);
        rc = own ? own_code_find(&snapshot, &levels, own, err) : err_nomem(err);
        for (size_t i = 0; i < count && !rc; i++) {
            const struct recent_window *const window = windows[i];
            trouble->seen_ns = trouble->begin_ns + window->end_ns;
            for (size_t k = 0; k < window->count && !rc; k++) {
                const struct run *const run = &window->runs[k];
                if (trouble->progress_ns < trouble->seen_ns && is_progress(&snapshot, own, run))
                    trouble->progress_ns = trouble->seen_ns;
                if (trouble->limits.loop_blocked_ns)
                    rc = follow_loop(trouble, run, find_callback(&snapshot, run->node), err);
            }
        }
        free(own);
    }
    for (size_t i = 0; i < count; i++)
        recent_release(windows[i]);
    if (!rc)
        rc = find_deadlock(trouble, session, texts[TROUBLE_DEADLOCK], &has_deadlock, err);

    if (!rc) {
        const bool is_on[TROUBLE_KINDS] = {
            [TROUBLE_STALLED] = find_stall(trouble, texts[TROUBLE_STALLED]),
            [TROUBLE_DEADLOCK] = has_deadlock,
            [TROUBLE_BLOCKED] = find_block(trouble, &snapshot, texts[TROUBLE_BLOCKED]),
            [TROUBLE_RSS] = find_growth(trouble, session, texts[TROUBLE_RSS]),
        };
        for (size_t kind = 0; kind < TROUBLE_KINDS; kind++) {
            if (!is_on[kind])
                continue;
            if (!trouble->until_ns[kind] ||
                trouble->seen_ns > trouble->until_ns[kind] + OVER_NS) {
                struct trouble_event *const event = &out[(*count_out)++];
                event->kind = (enum trouble_kind)kind;
                memcpy(event->text, texts[kind], TROUBLE_TEXT_BYTES);
            }
            trouble->until_ns[kind] = trouble->seen_ns ? trouble->seen_ns : 1;
        }
    }
    if (has_snapshot)
        profile_snapshot_release(&snapshot);
    return rc;
}
