#include "sampler/session/target.h"

#include <stdlib.h>

#include "sampler/base/clock.h"
#include "sampler/cpython/python.h"
#include "sampler/process/stopper.h"
#include "sampler/profile/profile.h"
#include "sampler/session/origins.h"
#include "sampler/session/thread_cpu.h"

/* An interpreter that cannot be read for so long while its process runs has ended. */
static const uint64_t GIVE_UP_NS = NS_PER_S;
/* How long a thread may take to stop. */
static const uint64_t STOP_DEADLINE_NS = 10 * NS_PER_MS;

static enum err_code check_mode(const struct member *member, enum sampler_mode mode,
                                struct err *err)
{
    const bool is_gil = mode == SAMPLER_MODE_GIL && !python_tells_gil(member->python);
    if (!is_gil && (mode != SAMPLER_MODE_EXCEPTION || python_tells_exceptions(member->python)))
        return ERR_OK;
    return err_set(err, ERR_INVALID,
                   "process %d runs Python %s, which does not tell which threads %s: mode %s "
                   "needs a newer one (3.12), use mode wall",
                   member->process.pid, python_version(member->python),
                   is_gil ? "hold the GIL" : "handle an exception",
                   is_gil ? "gil" : "exception");
}

enum err_code member_open(int pid, enum runtime_effort effort, enum sampler_mode mode,
                          const atomic_bool *is_cancelled, struct strtab *strings,
                          struct member **out, struct err *err)
{
    struct member *const member = calloc(1, sizeof *member);
    if (!member)
        return err_set(err, ERR_NOMEM, "no memory for a process");
    member->process.pidfd = member->process.space_fd = -1;
    enum err_code rc = process_open(&member->process, pid, err);
    member->process.is_cancelled = is_cancelled;
    if (!rc)
        rc = python_attach(&member->process, effort, strings, &member->python, err);
    member->process.is_cancelled = NULL;
    if (!rc)
        rc = check_mode(member, mode, err);
    if (rc)
        member_close(member);
    else
        *out = member;
    return rc;
}

void member_close(struct member *member)
{
    if (!member)
        return;
    task_fold_deinit(&member->tasks);
    python_detach(member->python);
    process_close(&member->process);
    free(member);
}

enum err_code member_join(struct member *member, struct profile *profile, struct lanes *lanes,
                          struct origins *origins, const struct sampler_options *options,
                          struct err *err)
{
    struct process *const process = &member->process;
    const char *const name = process->argc ? process->argv[0] : "";
    member->options = options;
    const enum err_code rc = fold_init(&member->fold, profile, python_leaves(member->python),
                                       lanes, options, process->pid, name, err);
    if (rc)
        return rc;
    member->fold.origins = origins;
    member->fold.origin = origins_add(origins, process, python_anchor(member->python));
    if (options->async == SAMPLER_ASYNC_OFF)
        return rc;
    member->fold.tasks = &member->tasks;
    const enum err_code made =
        task_fold_init(&member->tasks, &member->fold, python_tasks(member->python),
                       options->async == SAMPLER_ASYNC_ALL, err);
    member->tasks.is_each = options->tasks_each;
    return made;
}

static void count_reads(struct member *member)
{
    struct quality *const quality = profile_quality(member->fold.profile);
    struct code_counters *const codes = &python_codes(member->python)->counters;
    struct memory *const memory = &member->process.memory.memory;
    quality->reads += memory->reads;
    quality->read_bytes += memory->read_bytes;
    quality->code_hits += codes->hits;
    quality->code_misses += codes->misses;
    quality->code_stale += codes->stale;
    quality->code_clears += codes->clears;
    memory->reads = memory->read_bytes = 0;
    *codes = (struct code_counters){ 0 };
}

enum err_code member_flush(struct member *member, uint64_t now_ns)
{
    count_reads(member);
    return member->fold.tasks ? task_fold_flush(&member->tasks, now_ns) : ERR_OK;
}

enum err_code member_leave(struct member *member, uint64_t now_ns)
{
    const enum err_code rc = member_flush(member, now_ns);
    return rc ? rc : lanes_drop(member->fold.lanes, member->process.pid, now_ns);
}

size_t member_looks(const struct member *member)
{
    return python_looks(member->python, member->options->all_threads);
}

/* One look at one member. */
struct sight {
    struct member *member;
    struct glance *glance;
};

/* A whole number that is `weight` on average. */
static uint32_t whole(struct glance *glance, double weight)
{
    const uint32_t floor = (uint32_t)weight;
    return weight > floor ? floor + (random_fraction(&glance->random) < weight - floor) : floor;
}

static enum err_code seen(void *context, struct thread *thread, enum err_code failure)
{
    const struct sight *const sight = context;
    struct fold *const fold = &sight->member->fold;
    struct glance *const glance = sight->glance;
    thread->looked_ns = glance->now_ns;
    const struct thread_facts facts = python_facts(sight->member->python, thread);
    const double weight = python_weight(sight->member->python) * glance->weight;
    const uint32_t times = whole(glance, weight);
    enum err_code rc = fold_thread(fold, thread, facts, failure, glance->now_ns);
    /* It stands for threads that were not looked at. */
    for (uint32_t i = 1; i < times && !rc && !failure; i++) {
        thread->stack.is_unchanged = true;
        rc = fold_thread(fold, thread, facts, failure, glance->now_ns);
        profile_quality(fold->profile)->stood_in++;
    }
    return rc;
}

/* Stops the threads that are to be looked at.  Whether one runs is asked before any of them is
 * stopped: afterwards none does. */
static enum err_code stop_threads(const struct member *member, struct stopper *stopper)
{
    int32_t tids[STOPPER_MAX_THREADS];
    size_t count, stopped = 0;
    struct thread *const *const threads = python_threads(member->python, &count);
    for (size_t i = 0; i < count; i++) {
        struct thread *const thread = threads[i];
        thread->is_stopped = (member->options->all_threads || thread->is_main) &&
                             thread->host_tid > 0 && stopped < STOPPER_MAX_THREADS;
        if (!thread->is_stopped)
            continue;
        tids[stopped++] = thread->host_tid;
        thread->runs = lanes_ask(member->fold.lanes, thread->tag - 1u, member->process.pid,
                                 thread->host_tid);
    }
    if (stopped == 0)
        return ERR_OK;
    const enum err_code rc =
        stopper_stop(stopper, tids, stopped, clock_now_ns() + STOP_DEADLINE_NS);
    for (size_t i = 0; i < count && !rc; i++)
        if (threads[i]->is_stopped && threads[i]->runs == FACT_YES &&
            stopper_has_interrupted_wait(threads[i]->host_tid))
            threads[i]->runs = FACT_NO;
    return rc;
}

/* That tasks cannot be read is no reason not to look at threads. */
static enum err_code look_at_tasks(struct member *member, uint64_t now_ns)
{
    if (!member->fold.tasks || !task_fold_is_due(&member->tasks, now_ns))
        return ERR_OK;
    const enum err_code rc = python_look_at_tasks(member->python, now_ns);
    if (rc)
        return rc == ERR_NOMEM ? rc : ERR_OK;
    return task_fold_count(&member->tasks);
}

enum err_code member_look(struct member *member, struct glance *glance)
{
    struct sight sight = { member, glance };
    enum err_code rc = ERR_OK;
    if (glance->stopper)
        rc = stop_threads(member, glance->stopper);
    if (!rc || rc == ERR_GONE) {
        rc = look_at_tasks(member, clock_now_ns());
        glance->now_ns = clock_now_ns();
        if (!rc)
            rc = python_tick(member->python, member->options->all_threads, seen, &sight);
        if (member->fold.tasks)
            task_fold_settle(&member->tasks, glance->now_ns);
    }
    if (glance->stopper) {
        stopper_resume(glance->stopper);
        profile_quality(member->fold.profile)->stopped_ns = glance->stopper->stopped_ns;
    }
    if (!rc)
        member->failing_since_ns = 0;
    return rc;
}

/* Always false, so that ending is one statement. */
static bool end(struct ending *out, enum sampler_state state, bool is_of_all,
                const char *reason)
{
    *out = (struct ending){ state, reason, is_of_all };
    return false;
}

bool member_bears(struct member *member, enum err_code rc, uint64_t now_ns, struct ending *out)
{
    if (rc == ERR_NOMEM)
        return end(out, SAMPLER_FAILED, true, "out of memory");
    if (rc == ERR_LIMIT)
        return end(out, SAMPLER_FAILED, true, "a table of the profile is full");
    if (rc == ERR_PERM && member->options->blocking)
        return end(out, SAMPLER_FAILED, false,
                   "the kernel refuses to stop the target (is it being traced already?)");
    if (!member_runs(member, out))
        return false;
    if (!member->failing_since_ns)
        member->failing_since_ns = now_ns;
    if (now_ns - member->failing_since_ns > GIVE_UP_NS)
        return end(out, SAMPLER_ENDED, false, "the target's interpreter has ended");
    return true;
}

bool member_runs(struct member *member, struct ending *out)
{
    switch (process_fate(&member->process, python_anchor(member->python))) {
    case PROCESS_EXITED: return end(out, SAMPLER_ENDED, false, "the target exited");
    case PROCESS_REPLACED:
        return end(out, SAMPLER_ENDED, false,
                   "the target replaced itself with another program (exec)");
    case PROCESS_RUNS: break;
    }
    return true;
}
