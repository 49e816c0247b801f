#include "sampler/cpython/python.h"

#include <stdlib.h>

#include "sampler/base/clock.h"
#include "sampler/cpython/runtime.h"
#include "sampler/cpython/thread_names.h"

/* A thread is started before it is named, so names are read again after a while. */
static const uint64_t NAMES_AGAIN_NS = NS_PER_S;

struct python {
    struct process *process;
    struct runtime runtime;
    struct strtab *strings;
    struct code_table codes;
    struct links links;
    struct thread_list threads;
    uint64_t names_read_ns;
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

static enum err_code refresh_threads(struct python *python)
{
    bool same = false;
    enum err_code rc = thread_list_check(&python->threads, &same);
    if (rc == ERR_FAULT)
        rc = ERR_OK;
    if (!rc && !same)
        rc = thread_list_walk(&python->threads);
    const uint64_t now = clock_now_ns();
    if (!rc && (!same || now - python->names_read_ns > NAMES_AGAIN_NS)) {
        rc = thread_names_read(&python->threads, python->process->pid, python->strings);
        python->names_read_ns = now;
    }
    return rc;
}

static enum err_code look_at(struct python *python, struct thread *thread, python_seen seen,
                             void *context)
{
    const enum err_code rc = stack_read(&thread->stack, &python->codes, &python->links);
    return rc == ERR_NOMEM ? rc : seen(context, thread, rc);
}

enum err_code python_tick(struct python *python, bool all_threads, python_seen seen,
                          void *context)
{
    enum err_code rc = refresh_threads(python);
    if (rc)
        return rc;
    if (!all_threads) {
        struct thread *const thread = thread_list_main(&python->threads);
        return thread ? look_at(python, thread, seen, context) : ERR_GONE;
    }
    for (size_t i = 0; i < python->threads.count && !rc; i++)
        rc = look_at(python, python->threads.items[i], seen, context);
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
