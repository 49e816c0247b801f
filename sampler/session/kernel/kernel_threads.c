#include "sampler/session/kernel/kernel_threads.h"

#include <stdlib.h>
#include <string.h>

#include "sampler/base/clock.h"
#include "sampler/base/hash.h"
#include "sampler/base/vec.h"
#include "sampler/cpython/python_copies.h"
#include "sampler/process/process.h"
#include "sampler/process/thread_ids.h"
#include "sampler/session/kernel/kernel_describe.h"
#include "sampler/session/target.h"

void kernel_threads_init(struct kernel_threads *threads, struct kernel *kernel)
{
    *threads = (struct kernel_threads){ .kernel = kernel };
    idmap_init(&threads->index);
}

void kernel_threads_deinit(struct kernel_threads *threads)
{
    while (threads->target_count)
        kernel_threads_remove(threads, threads->targets[0].target);
    idmap_deinit(&threads->index);
    free(threads->items);
    free(threads->targets);
}

static void drop_thread(struct kernel_threads *threads, size_t index)
{
    struct fed_thread *const thread = &threads->items[index];
    kernel_remove_thread(threads->kernel, thread->tid);
    kernel_stack_deinit(&thread->stack);
    *thread = threads->items[--threads->count];
}

static struct fed_thread *find_fed(const struct kernel_threads *threads, int32_t tid)
{
    struct idmap_slot *at;
    IDMAP_FIND(at, &threads->index, hash_mix((uint64_t)tid, 0),
               threads->items[at->id].tid == tid);
    return at ? &threads->items[at->id] : NULL;
}

static enum err_code index_threads(struct kernel_threads *threads)
{
    enum err_code rc = ERR_OK;
    idmap_clear(&threads->index);
    for (uint32_t i = 0; i < threads->count && !rc; i++)
        rc = idmap_add(&threads->index, hash_mix((uint64_t)threads->items[i].tid, 0), i, NULL);
    return rc;
}

struct fed_target *kernel_threads_find_target(const struct kernel_threads *threads,
                                              uint32_t pid)
{
    for (size_t i = 0; i < threads->target_count; i++)
        if ((uint32_t)threads->targets[i].target->process.pid == pid)
            return &threads->targets[i];
    return NULL;
}

/* Gives the engine a thread that is new, or whose state lies elsewhere now. */
static enum err_code put_thread(struct kernel_threads *threads, struct target *target,
                                struct thread *thread)
{
    const uint64_t now_ns = clock_now_ns();
    struct fed_thread *known = find_fed(threads, thread->host_tid);
    /* A thread of another target with this number has ended, or this one has since it was listed. */
    if (known && known->target != target &&
        !thread_ids_has(target->process.pid, thread->host_tid))
        return ERR_OK;
    if (!known) {
        if (!VEC_RESERVE(threads->items, threads->room, threads->count + 1))
            return ERR_NOMEM;
        known = &threads->items[threads->count];
        *known = (struct fed_thread){ .tid = thread->host_tid,
                                      .listed_ns = now_ns,
                                      .counted_ns = now_ns };
        const enum err_code rc = idmap_add(&threads->index, hash_mix((uint64_t)known->tid, 0),
                                           (uint32_t)threads->count, NULL);
        if (rc)
            return rc;
        threads->count++;
    }
    known->target = target;
    known->thread = thread;
    if (!known->current || known->current != thread->visit)
        known->current = thread;
    known->is_listed = true;
    if (known->tstate == thread->head.addr)
        return ERR_OK;
    struct kernel_thread description;
    known->tstate = thread->head.addr;
    known->left_ns = known->stack.known_ns = 0;
    known->current = thread;
    kernel_describe_thread(target, thread, &description);
    return kernel_add_thread(threads->kernel, known->tid, &description);
}

struct fed_thread *kernel_threads_find(const struct kernel_threads *threads,
                                       const struct kernel_record *record)
{
    struct fed_thread *const fed = find_fed(threads, (int32_t)record->tid);
    return fed && (uint32_t)fed->target->process.pid == record->pid ? fed : NULL;
}

struct fed_thread *kernel_threads_find_tid(const struct kernel_threads *threads, int32_t tid)
{
    return find_fed(threads, tid);
}

enum err_code kernel_threads_enter(struct fed_thread *fed, const struct kernel_record *record)
{
    fed->current = record->tstate ? python_visit(fed->target->python, fed->thread,
                                                 record->tstate, record->interpreter)
                                  : fed->thread;
    return fed->current ? ERR_OK : ERR_NOMEM;
}

static enum err_code describe_thread(struct kernel_threads *threads, struct fed_target *fed)
{
    kernel_describe_process(fed->target, &fed->described);
    return kernel_add_process(threads->kernel, fed->target->process.pid, &fed->described);
}

/* Gives the engine the interpreters that there are now. */
static enum err_code describe_interpreters(struct kernel_threads *threads,
                                           struct fed_target *fed)
{
    const struct kernel_process *const known = &fed->described;
    uint64_t now[KERNEL_MAX_INTERPRETERS];
    const size_t count =
        python_searched_interpreters(fed->target->python, now, KERNEL_MAX_INTERPRETERS);
    bool is_same = count == known->interpreter_count &&
                   python_lends_states(fed->target->python) == known->lends_states;
    for (size_t i = 0; i < count && is_same; i++)
        is_same = now[i] == known->interpreters[i];
    return is_same ? ERR_OK : describe_thread(threads, fed);
}

enum err_code kernel_threads_update(struct kernel_threads *threads, struct fed_target *fed)
{
    const bool wants_native = fed->target->fold.native_stacks != NULL;
    struct kernel_context now;
    python_search_context(fed->target->python, clock_now_ns());
    kernel_describe_context(fed->target, &now);
    return wants_native == fed->described.wants_native &&
                   memcmp(&now, &fed->described.context, sizeof now) == 0
               ? ERR_OK
               : describe_thread(threads, fed);
}

/* The engine gets, of the states of one thread, the outermost one if it finds the others by
 * itself, or else the innermost one, which runs. Where that is unknown, as before 3.13, it gets
 * that of the main interpreter. */
static bool is_followed(const struct fed_target *fed, const struct thread *thread)
{
    if (fed->described.interpreter_count)
        return !thread->later;
    return !thread->inner && (thread->is_inner || !thread->later);
}

enum err_code kernel_threads_list(struct kernel_threads *threads, struct fed_target *fed)
{
    struct target *const target = fed->target;
    enum err_code rc = ERR_OK;
    size_t count;
    bool changed;
    fed->listed_ns = clock_now_ns();
    fed->is_old = python_list_threads(target->python, &changed);
    /* The threads listed may be those of another process that has got the number. */
    if (process_has_exited(&target->process))
        return ERR_OK;
    struct thread *const *const listed = python_threads(target->python, &count);
    const struct thread *const main = python_main(target->python);
    if (!fed->is_old)
        rc = describe_interpreters(threads, fed);
    if (!rc)
        rc = kernel_threads_update(threads, fed);
    for (size_t i = 0; i < threads->count; i++)
        if (threads->items[i].target == target)
            threads->items[i].is_listed = false;
    for (size_t i = 0; i < count && !rc; i++)
        if (listed[i]->host_tid > 0 && is_followed(fed, listed[i]) &&
            (target->options->all_threads || listed[i] == main))
            rc = put_thread(threads, target, listed[i]);
    const size_t before = threads->count;
    for (size_t i = threads->count; i-- > 0;)
        if (threads->items[i].target == target && !threads->items[i].is_listed)
            drop_thread(threads, i);
    if (!rc && before != threads->count)
        rc = index_threads(threads);
    return rc;
}

enum err_code kernel_threads_add(struct kernel_threads *threads, struct target *target,
                                 struct err *err)
{
    if (!VEC_RESERVE(threads->targets, threads->target_room, threads->target_count + 1))
        return err_nomem(err);
    struct fed_target *const fed = &threads->targets[threads->target_count];
    *fed = (struct fed_target){ .target = target,
                                .returned.is_known = true,
                                .counted_ns = clock_now_ns(),
                                .clears = python_begin_copies(target->python) };
    enum err_code rc = describe_thread(threads, fed);
    if (rc)
        return err_set(err, rc, "the kernel engine takes no more processes");
    threads->target_count++;
    rc = kernel_threads_list(threads, fed);
    if (rc)
        kernel_threads_remove(threads, target);
    return rc ? err_set(err, rc, "the kernel engine takes no more threads") : ERR_OK;
}

void kernel_threads_remove(struct kernel_threads *threads, const struct target *target)
{
    kernel_remove_process(threads->kernel, target->process.pid);
    for (size_t i = threads->count; i-- > 0;)
        if (threads->items[i].target == target)
            drop_thread(threads, i);
    (void)!index_threads(threads);
    for (size_t i = threads->target_count; i-- > 0;)
        if (threads->targets[i].target == target)
            threads->targets[i] = threads->targets[--threads->target_count];
}

void kernel_threads_clear_full(struct kernel_threads *threads, struct fed_target *fed)
{
    const uint64_t clears = python_begin_copies(fed->target->python);
    if (fed->clears != clears && !describe_thread(threads, fed))
        fed->clears = clears;
}
