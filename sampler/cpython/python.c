#include "sampler/cpython/python.h"

#include <stdlib.h>

#include "sampler/base/clock.h"
#include "sampler/cpython/runtime.h"
#include "sampler/cpython/thread_names.h"

/* A thread is started before it is named, so names are read again after a while. */
static const uint64_t NAMES_AGAIN_NS = NS_PER_S;
/* How often the list is checked while only the main thread, which stays, is looked at. */
static const uint64_t LIST_AGAIN_NS = 100 * NS_PER_MS;

struct python {
    struct process *process;
    struct runtime runtime;
    struct strtab *strings;
    struct code_table codes;
    struct links links;
    struct thread_list threads;
    uint64_t names_read_ns, list_checked_ns;
    struct memory_span spans[MEMORY_MAX_SPANS];
    char version[LAYOUT_VERSION_TEXT];
};

enum err_code python_attach(struct process *process, struct strtab *strings,
                            struct python **out, struct err *err)
{
    struct runtime runtime;
    const enum err_code rc = runtime_find(process, &runtime, err);
    if (rc)
        return rc;
    struct python *const python = calloc(1, sizeof *python);
    if (!python)
        return err_set(err, ERR_NOMEM, "no memory for an interpreter");
    struct memory *const memory = &process->memory.memory;
    python->process = process;
    python->runtime = runtime;
    python->strings = strings;
    layout_version_text(runtime.layout.version, python->version);
    code_table_init(&python->codes, memory, &python->runtime.layout, strings);
    links_init(&python->links);
    thread_list_init(&python->threads, memory, &python->runtime);
    *out = python;
    return ERR_OK;
}

void python_detach(struct python *python)
{
    if (!python)
        return;
    thread_list_deinit(&python->threads);
    links_deinit(&python->links);
    code_table_deinit(&python->codes);
    free(python);
}

static enum err_code refresh_threads(struct python *python, uint64_t now_ns)
{
    bool same = false;
    enum err_code rc = thread_list_check(&python->threads, &same);
    if (rc == ERR_FAULT)
        rc = ERR_OK;
    if (!rc && !same)
        rc = thread_list_walk(&python->threads);
    if (!rc && (!same || now_ns - python->names_read_ns > NAMES_AGAIN_NS)) {
        rc = thread_names_read(&python->threads, python->process->pid, python->strings);
        python->names_read_ns = now_ns;
    }
    return rc;
}

/* `first`: what became of the plan of its copy. */
static enum err_code look_at(struct python *python, struct thread *thread, enum err_code first,
                             python_seen seen, void *context)
{
    const enum err_code rc =
        stack_read_settled(&thread->stack, &python->codes, &python->links, first);
    if (rc == ERR_GONE && thread->is_main)
        return rc;
    return rc == ERR_NOMEM ? rc : seen(context, thread, rc);
}

/* Threads from `from` on whose plans fit into one call; at least one. */
static size_t plan_batch(struct python *python, size_t from, size_t *span_count_out)
{
    size_t threads = 0, spans = 0;
    for (size_t i = from; i < python->threads.count; i++) {
        struct copy *const copy = &python->threads.items[i]->stack.copy;
        const size_t count = copy_plan_count(copy);
        if (spans + count > MEMORY_MAX_SPANS)
            break;
        copy_plan(copy, python->spans + spans);
        spans += count;
        threads++;
    }
    *span_count_out = spans;
    return threads;
}

static size_t bytes_of(const struct memory_span *spans, size_t count)
{
    size_t bytes = 0;
    for (size_t i = 0; i < count; i++)
        bytes += spans[i].bytes;
    return bytes;
}

/* One call for as many threads as it holds.  A prediction that was wrong ends the call early;
 * the threads behind it are read on their own. */
static enum err_code look_at_batch(struct python *python, size_t from, size_t *threads_out,
                                   python_seen seen, void *context)
{
    size_t span_count, arrived = 0, at = 0;
    const size_t threads = plan_batch(python, from, &span_count);
    *threads_out = threads ? threads : 1;
    if (!threads) {
        struct thread *const thread = python->threads.items[from];
        return look_at(python, thread, copy_read(&thread->stack.copy), seen, context);
    }
    enum err_code rc =
        memory_readv(&python->process->memory.memory, python->spans, span_count, &arrived);
    if (rc && rc != ERR_FAULT)
        return rc;
    rc = ERR_OK;
    for (size_t i = 0; i < threads && !rc; i++) {
        struct thread *const thread = python->threads.items[from + i];
        const struct memory_span *const spans = python->spans + at;
        const size_t count = copy_plan_count(&thread->stack.copy);
        const size_t bytes = bytes_of(spans, count);
        const enum err_code first =
            arrived ? copy_settle(&thread->stack.copy, spans, count, arrived)
                    : copy_read(&thread->stack.copy);
        arrived = arrived > bytes ? arrived - bytes : 0;
        at += count;
        rc = look_at(python, thread, first, seen, context);
    }
    return rc;
}

static enum err_code look_at_main(struct python *python, python_seen seen, void *context)
{
    struct thread *const thread = thread_list_main(&python->threads);
    if (!thread)
        return ERR_GONE;
    return look_at(python, thread, copy_read(&thread->stack.copy), seen, context);
}

enum err_code python_tick(struct python *python, bool all_threads, python_seen seen,
                          void *context)
{
    const uint64_t now_ns = clock_now_ns();
    enum err_code rc = ERR_OK;
    if (all_threads || now_ns - python->list_checked_ns > LIST_AGAIN_NS) {
        rc = refresh_threads(python, now_ns);
        python->list_checked_ns = rc ? 0 : now_ns;
    }
    if (rc)
        return rc;
    if (!all_threads) {
        rc = look_at_main(python, seen, context);
        if (rc)
            python->list_checked_ns = 0;
        return rc;
    }
    size_t threads;
    for (size_t from = 0; from < python->threads.count && !rc; from += threads)
        rc = look_at_batch(python, from, &threads, seen, context);
    return rc;
}

struct code_table *python_codes(struct python *python)
{
    return &python->codes;
}

const char *python_version(const struct python *python)
{
    return python->version;
}

bool python_is_validated(const struct python *python)
{
    return python->runtime.layout.validated;
}

remote_addr python_anchor(const struct python *python)
{
    return python->runtime.addr;
}
