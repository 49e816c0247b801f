#include "sampler/cpython/python_tick.h"

#include "sampler/base/clock.h"
#include "sampler/cpython/contexts/contexts.h"
#include "sampler/cpython/python_parts.h"
#include "sampler/cpython/threads/sub_interpreter_stacks.h"

/* The interval of full checks of the thread list.  Between them, the heads of the lists show new
 * threads, and the readings of the threads show ended ones. */
static const uint64_t LIST_AGAIN_NS = 100 * NS_PER_MS;

static enum err_code choose_threads(struct python *python, bool all_threads)
{
    if (!all_threads) {
        /* The main thread, in all interpreters that it has entered. */
        struct thread *at = python_main(python);
        while (at && at->earlier)
            at = at->earlier;
        python->chosen_count = 0;
        for (; at && python->chosen_count < PYTHON_MAX_THREADS_PER_TICK; at = at->later)
            python->chosen[python->chosen_count++] = at;

        return python->chosen_count ? ERR_OK : ERR_GONE;
    }
    if (python->threads.count > PYTHON_MAX_THREADS_PER_TICK) {
        /* Consecutive threads from a random start, wrapping around: all threads are equally likely. */
        const size_t count = python->threads.count;
        const size_t start = python->takes_turns ? python->turn % count
                                                 : (size_t)random_below(&python->random, count);
        python->turn = start + PYTHON_MAX_THREADS_PER_TICK;
        for (size_t i = 0; i < PYTHON_MAX_THREADS_PER_TICK; i++)
            python->chosen[i] = python->threads.items[(start + i) % count];
        python->chosen_count = PYTHON_MAX_THREADS_PER_TICK;
        return ERR_OK;
    }
    /* The list gets another order when a state turns out to be another thread's. */
    python->chosen_count = python->threads.count;
    for (size_t i = 0; i < python->chosen_count; i++)
        python->chosen[i] = python->threads.items[i];
    return ERR_OK;
}

void python_take_turns(struct python *python)
{
    python->takes_turns = true;
}

enum err_code python_choose(struct python *python, bool all_threads)
{
    const uint64_t now_ns = clock_now_ns();
    enum err_code rc = ERR_OK;
    python_clear_if_needed(python, now_ns);
    if (python->list_is_old || now_ns - python->list_checked_ns > LIST_AGAIN_NS) {
        rc = python_refresh_threads(python, !all_threads, now_ns);
        python->list_is_old = rc;
        python->list_checked_ns = now_ns;
    }
    if (!rc && python->contexts) {
        contexts_locate(python->contexts, now_ns);
        contexts_read_places(python->contexts);
    }
    if (!rc)
        rc = choose_threads(python, all_threads);
    python->list_is_old = python->list_is_old || rc;
    return rc;
}

struct thread *const *python_chosen(const struct python *python, size_t *count_out)
{
    *count_out = python->chosen_count;
    return python->chosen;
}

double python_weight(const struct python *python)
{
    return python->chosen_count == PYTHON_MAX_THREADS_PER_TICK
               ? (double)python->threads.count / PYTHON_MAX_THREADS_PER_TICK
               : 1;
}

size_t python_threads_per_tick(const struct python *python, bool all_threads)
{
    const size_t count = all_threads ? python->threads.count : 1;
    return count < 1                             ? 1
           : count < PYTHON_MAX_THREADS_PER_TICK ? count
                                                 : PYTHON_MAX_THREADS_PER_TICK;
}

static enum err_code report(struct python *python, struct thread *thread, enum err_code rc,
                            python_sample_fn on_sample, void *context)
{
    if (rc == ERR_NOMEM || (rc == ERR_GONE && thread->is_main))
        return rc;
    const bool is_sample = sub_stacks_innermost(&python->threads, thread) == thread &&
                           (rc || !sub_stacks_is_spare(thread));
    return is_sample ? on_sample(context, thread, rc) : ERR_OK;
}

/* Threads to read, in as few calls as possible. */
struct batch {
    struct thread *const *threads;
    size_t count;
};

/* Adds the plans of the threads to the call, as many as leave room for `rest` spans.  Returns 0 if the
 * first stack is too deep for one call; the caller reads that one by itself. */
static size_t plan_threads(struct python *python, struct batch batch, size_t rest,
                           size_t *span_count)
{
    size_t threads = 0;
    for (size_t i = 0; i < batch.count; i++) {
        struct stack *const stack = &batch.threads[i]->stack;
        if (*span_count + stack_plan_count(stack) + rest > MEMORY_MAX_SPANS)
            break;
        *span_count += stack_plan(stack, python->spans + *span_count);
        threads++;
    }
    return threads;
}

static size_t bytes_of(const struct memory_span *spans, size_t count)
{
    size_t bytes = 0;
    for (size_t i = 0; i < count; i++)
        bytes += spans[i].bytes;
    return bytes;
}

/* Gives states that have just been read to the threads that they run in. */
static enum err_code place_threads(struct python *python, struct batch batch,
                                   enum err_code outcomes[])
{
    enum err_code rc = ERR_OK;
    bool have_any_moved = false;
    for (size_t i = 0; i < batch.count && !rc; i++) {
        struct stack *const stack = &batch.threads[i]->stack;
        bool has_moved = false;
        if (!outcomes[i])
            rc = os_threads_place(&python->os_threads, batch.threads[i], &has_moved);
        have_any_moved |= has_moved;
        /* Another thread has been stopped for it. */
        if (has_moved && stack->copy.is_still && !rc) {
            stack->copy.is_still = false;
            outcomes[i] = stack_read(stack, &python->codes);
        }
    }
    if (have_any_moved)
        sub_stacks_find(&python->threads);
    return rc;
}

/* A wrong prediction ends the call early; the threads after it are read one by one.  Which of several states of a
 * thread is its sample, and whose a state is that is lent, shows once all have been read. */
static enum err_code finish_threads(struct python *python, struct batch batch,
                                    const struct memory_span *spans, size_t arrived,
                                    python_sample_fn on_sample, void *context)
{
    enum err_code outcomes[MEMORY_MAX_SPANS], rc = ERR_OK;
    const bool are_held = os_threads_may_lend(&python->os_threads);
    for (size_t i = 0; i < batch.count && !rc; i++) {
        struct thread *const thread = batch.threads[i];
        const size_t count = thread->stack.copy.plan_spans;
        const size_t bytes = bytes_of(spans, count);
        thread_list_set_generation(&python->threads, thread);
        const enum err_code outcome =
            arrived || !count
                ? stack_finish(&thread->stack, &python->codes, spans, count, arrived)
                : stack_read(&thread->stack, &python->codes);
        arrived = arrived > bytes ? arrived - bytes : 0;
        spans += count;
        python->list_is_old = python->list_is_old || outcome == ERR_GONE;
        outcomes[i] = outcome;
        if (!are_held)
            rc = report(python, thread, outcome, on_sample, context);
    }
    if (are_held)
        rc = place_threads(python, batch, outcomes);
    for (size_t i = 0; i < batch.count && are_held && !rc; i++)
        rc = report(python, batch.threads[i], outcomes[i], on_sample, context);
    return rc;
}

/* The heads of the lists come after the threads' spans; a call that ended early did not read them. */
static enum err_code see_heads(struct python *python, const struct memory_span *spans,
                               size_t arrived)
{
    const size_t count = thread_list_plan_count(&python->threads);
    enum err_code rc = ERR_OK;
    if (arrived < bytes_of(spans, count))
        rc = memory_readv(&python->process->memory.memory, spans, count, &arrived);
    if (!rc && !thread_list_heads_same(&python->threads))
        python->list_is_old = true;
    return rc;
}

static size_t beyond(size_t arrived, size_t bytes)
{
    return arrived > bytes ? arrived - bytes : 0;
}

/* One call reads as many threads as it holds, and then the heads of the lists.  So the generation of
 * code objects, which is among the heads, is read after all frames.  Without a generation the call
 * ends with code objects that the stacks are likely to have.  *done_out counts the sampled threads;
 * new threads are sampled from the next tick on. */
static enum err_code scan_batch(struct python *python, struct batch batch, size_t *done_out,
                                python_sample_fn on_sample, void *context)
{
    enum { MOST_REST = 2 * CODE_MAX_PREDICTIONS };
    size_t spans = 0, arrived = 0;
    const size_t heads = thread_list_plan_count(&python->threads);
    const size_t threads = plan_threads(python, batch, heads + MOST_REST, &spans);
    struct memory_span *const at_heads = python->spans + spans, *const rest = at_heads + heads;
    const bool is_counted = python->runtime.layout.interp_code_generation;
    thread_list_plan(&python->threads, at_heads);
    const size_t checks = is_counted ? 0 : code_plan_checks(&python->codes, rest);
    const size_t bytes = bytes_of(python->spans, spans);
    const size_t head_bytes = bytes_of(at_heads, heads);
    enum err_code rc = memory_readv(&python->process->memory.memory, python->spans,
                                    spans + heads + checks, &arrived);
    if (rc && rc != ERR_FAULT)
        return rc;
    rc = see_heads(python, at_heads, beyond(arrived, bytes));
    if (rc)
        return rc;
    if (!is_counted)
        code_settle_checks(&python->codes, beyond(arrived, bytes + head_bytes));
    *done_out = threads;
    if (threads)
        return finish_threads(python, (struct batch){ batch.threads, threads }, python->spans,
                              arrived, on_sample, context);
    struct thread *const deep = batch.threads[0];
    enum err_code outcome = stack_read(&deep->stack, &python->codes);
    *done_out = 1;
    if (os_threads_may_lend(&python->os_threads))
        rc = place_threads(python, (struct batch){ batch.threads, 1 }, &outcome);
    return rc ? rc : report(python, deep, outcome, on_sample, context);
}

enum err_code python_sample(struct python *python, struct thread *const *threads, size_t count,
                            python_sample_fn on_sample, void *context)
{
    enum err_code rc = ERR_OK;
    size_t done = 0;
    for (size_t i = 0; i < count && !rc; i += done)
        rc = scan_batch(python, (struct batch){ threads + i, count - i }, &done, on_sample,
                        context);
    python->list_is_old = python->list_is_old || rc;
    return rc;
}

void python_forget_stack(struct python *python, struct thread *thread)
{
    thread_list_clear_stack(&python->threads, thread);
}

enum err_code python_tick(struct python *python, bool all_threads, python_sample_fn on_sample,
                          void *context)
{
    const enum err_code rc = python_choose(python, all_threads);
    return rc ? rc
              : python_sample(python, python->chosen, python->chosen_count, on_sample, context);
}
