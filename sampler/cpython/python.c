#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sampler/base/clock.h"
#include "sampler/base/python_command.h"
#include "sampler/cpython/contexts/contexts.h"
#include "sampler/cpython/contexts/thread_contexts.h"
#include "sampler/cpython/objects/object.h"
#include "sampler/cpython/objects/opcode_check.h"
#include "sampler/cpython/python_parts.h"
#include "sampler/cpython/runtime/runtime.h"
#include "sampler/cpython/runtime/start.h"
#include "sampler/cpython/threads/sub_interpreter_stacks.h"
#include "sampler/cpython/threads/thread_names.h"
#include "sampler/process/maps.h"
#include "sampler/process/thread_ids.h"

/* The names of new threads are read a few times, NAMES_AGAIN_NS apart.  A program may rename its
 * threads, so all names are read again; A_NAME_AGAIN_NS for each thread makes the cost negligible. */
static const uint64_t NAMES_AGAIN_NS = NS_PER_S, A_NAME_AGAIN_NS = 100 * NS_PER_MS;
/* The first interval of checks of the table of opcodes; each is twice as long as the one before. */
static const uint64_t OPCODES_AGAIN_NS = 50 * NS_PER_MS;

/* An interpreter that has just begun has not imported what shows it. */
static void check_opcodes(struct python *python, uint64_t now_ns)
{
    struct code_table *const codes = &python->codes;
    const struct layout *const layout = &python->runtime.layout;
    const struct opcode *const opcodes = opcodes_of(layout->version);
    remote_addr interp;
    const enum three_valued is_right =
        memory_read_u64(codes->memory, python->runtime.addr + layout->runtime_interpreters_head,
                        &interp)
            ? VALUE_UNKNOWN
            : opcode_check(codes, interp, opcodes);
    python->opcodes_due_ns = 0;
    if (is_right == VALUE_UNKNOWN) {
        python->opcodes_due_ns = now_ns + python->opcodes_wait_ns;
        python->opcodes_wait_ns *= 2;
    } else if (is_right == VALUE_YES) {
        codes->opcodes = opcodes;
    }
}

/* 0: unknown. */
static remote_addr first_interpreter(const struct python *python)
{
    const remote_addr head =
        python->runtime.addr + python->runtime.layout.runtime_interpreters_head;
    remote_addr interp;
    return memory_read_u64(&python->process->memory.memory, head, &interp) ? 0 : interp;
}

enum err_code python_attach(struct process *process, enum runtime_effort effort,
                            struct strtab *strings, struct python **out, struct err *err)
{
    struct runtime runtime;
    const enum err_code rc = runtime_find(process, effort, &runtime, err);
    if (rc)
        return rc;
    struct python *const python = calloc(1, sizeof *python);
    if (!python)
        return err_nomem(err);
    struct memory *const memory = &process->memory.memory;
    python->process = process;
    python->runtime = runtime;
    python->strings = strings;
    python->list_is_old = true;
    random_init_any(&python->random);
    layout_name(&runtime.layout, python->version);
    code_table_init(&python->codes, memory, &python->runtime.layout, strings);
    python->codes.interp = first_interpreter(python);
    /* A version that was not released when the tables were made may number its instructions differently. */
    if (!runtime.layout.validated) {
        python->codes.opcodes = NULL;
        python->opcodes_wait_ns = OPCODES_AGAIN_NS;
        check_opcodes(python, clock_now_ns());
    }
    leaves_init(&python->leaves, memory, &python->runtime.layout, &python->codes, strings);
    thread_list_init(&python->threads, memory, &python->runtime);
    os_threads_init(&python->os_threads, &python->threads, process->pid);
    locks_init(&python->locks, &python->codes, strings, &python->threads, &python->tasks,
               &python->leaves);
    locals_init(&python->locals, &python->codes);
    tasks_init(&python->tasks, process->pid, memory, &python->runtime, &python->threads,
               &python->codes, strings);
    if (code_table_set_command(&python->codes, process->argc, process->argv)) {
        python_detach(python);
        return err_nomem(err);
    }
    *out = python;
    return ERR_OK;
}

void python_detach(struct python *python)
{
    if (!python)
        return;
    contexts_destroy(python->contexts);
    thread_contexts_destroy(python->thread_contexts);
    tasks_deinit(&python->tasks);
    locks_deinit(&python->locks);
    locals_deinit(&python->locals);
    os_threads_deinit(&python->os_threads);
    thread_list_deinit(&python->threads);
    leaves_deinit(&python->leaves);
    code_table_deinit(&python->codes);
    free(python);
}

void python_keep_with_threads(struct python *python, size_t bytes)
{
    python->threads.kept_bytes = bytes;
}

void python_find_service(struct python *python)
{
    struct process *const process = python->process;
    struct memory *const memory = &process->memory.memory;
    const struct layout *const layout = &python->runtime.layout;
    struct service *const service = &process->service;
    const remote_addr interp = first_interpreter(python);
    start_read_service(memory, layout, interp, service);
    if (!*service->name)
        start_read_script(memory, layout, interp, service->name);
    if (!*service->name)
        service_keep(python_command_last_part(process->executable),
                     strlen(python_command_last_part(process->executable)), service->name);
}

enum err_code python_refresh_threads(struct python *python, bool only_main, uint64_t now_ns)
{
    bool same = false;
    const bool is_due = now_ns - python->names_read_ns > NAMES_AGAIN_NS;
    enum err_code rc = thread_list_check(&python->threads, &same);
    if (rc == ERR_FAULT)
        rc = ERR_OK;
    /* A thread may seem to be gone only because threads came and went during the walk. */
    if (!rc && (!same || (is_due && python->threads.has_gone)) &&
        !(rc = thread_list_walk(&python->threads)))
        sub_stacks_find(&python->threads);
    if (rc || (same && !is_due))
        return rc;

    const uint64_t all_again_ns = python->threads.count * A_NAME_AGAIN_NS;
    const bool again = now_ns - python->all_named_ns > all_again_ns;
    python->names_read_ns = now_ns;
    if (again)
        python->all_named_ns = now_ns;
    rc = os_threads_match(&python->os_threads);
    if (rc)
        return rc;
    return thread_names_read(&python->threads, python->process->pid, python->strings, only_main,
                             again);
}

/* The main thread; the first thread if there is none, as after a fork that CPython does not know of. */
struct thread *python_main(const struct python *python)
{
    struct thread *main = thread_list_main(&python->threads);
    for (size_t i = 0; i < python->threads.count && !main; i++)
        if (python->threads.items[i]->host_tid == thread_ids_first(python->process->pid))
            main = python->threads.items[i];
    return main;
}

void python_clear_if_needed(struct python *python, uint64_t now_ns)
{
    const struct opcode *const before = python->codes.opcodes;
    if (python->opcodes_due_ns && now_ns >= python->opcodes_due_ns)
        check_opcodes(python, now_ns);
    if (!code_table_is_full(&python->codes) && python->codes.opcodes == before)
        return;
    thread_list_clear_stacks(&python->threads);
    tasks_clear(&python->tasks);
    code_table_clear(&python->codes);
    leaves_clear(&python->leaves);
}

/* A process whose mappings cannot be read has contexts all the same. */
static enum err_code watch_thread_contexts(struct python *python)
{
    struct maps maps = { 0 };
    enum err_code rc = maps_read(&maps, python->process->pid, NULL);
    if (rc)
        return rc == ERR_NOMEM ? rc : ERR_OK;
    rc = thread_contexts_create(&maps, &python->process->memory.memory, clock_now_ns(),
                                &python->thread_contexts);
    maps_deinit(&maps);
    return rc;
}

enum err_code python_watch_context(struct python *python, const char *name, struct err *err)
{
    enum err_code rc =
        contexts_create(name, &python->runtime.layout, &python->threads, &python->contexts);
    if (!rc && !name)
        rc = watch_thread_contexts(python);
    return rc ? err_nomem(err) : ERR_OK;
}

void python_refresh_context(struct python *python, uint64_t now_ns)
{
    if (python->thread_contexts)
        thread_contexts_refresh(python->thread_contexts, now_ns);
}

struct context_value *python_context(struct python *python, const struct thread *thread,
                                     struct memory *memory, enum context_source source,
                                     uint64_t now_ns)
{
    struct context_value *const published =
        python->thread_contexts
            ? thread_contexts_read(python->thread_contexts, thread->head.ident, memory)
            : NULL;
    if (published || !python->contexts)
        return published;
    return contexts_read(python->contexts, thread, memory, source, now_ns);
}

struct context_value *python_task_context(struct python *python, const struct task *task,
                                          uint64_t now_ns)
{
    return python->contexts ? contexts_read_task(python->contexts, task->addr,
                                                 tasks_coroutine_place(&python->tasks), now_ns)
                            : NULL;
}

bool python_knows_gil(const struct python *python)
{
    return thread_state_knows_gil(&python->threads);
}

bool python_knows_exceptions(const struct python *python)
{
    return thread_state_knows_exceptions(&python->threads);
}

const struct thread_list *python_thread_list(const struct python *python)
{
    return &python->threads;
}

struct thread_state python_thread_state(struct python *python, const struct thread *thread)
{
    return thread_state_of(&python->threads, thread);
}

size_t python_unknown_threads(const struct python *python)
{
    return python->os_threads.unknown_count;
}

struct thread *const *python_threads(const struct python *python, size_t *count_out)
{
    *count_out = python->threads.count;
    return python->threads.items;
}

enum err_code python_read_tasks(struct python *python, uint64_t now_ns)
{
    /* Before the first tick. */
    const enum err_code rc =
        python->threads.count ? ERR_OK : python_refresh_threads(python, false, now_ns);
    return rc ? rc : tasks_read(&python->tasks, now_ns);
}

enum err_code python_read_locks(struct python *python, struct thread *thread,
                                enum three_valued runs, const struct system_call *call,
                                struct lock_use *uses, size_t *count_out)
{
    return locks_read(&python->locks, thread, runs, call, uses, count_out);
}

enum err_code python_read_task_locks(struct python *python, const struct task *task,
                                     struct lock_use *uses, size_t *count_out)
{
    return locks_read_task(&python->locks, task, uses, count_out);
}

enum err_code python_read_moving_locks(struct python *python, const struct thread *thread,
                                       struct lock_use *uses, size_t *count_out)
{
    return locks_read_moving(&python->locks, thread, uses, count_out);
}

enum err_code python_read_locals(struct python *python, const struct thread *thread,
                                 const struct locals_request *request, struct buffer *out)
{
    return locals_read(&python->locals, thread, request, out);
}

struct tasks *python_tasks(struct python *python)
{
    return &python->tasks;
}

struct code_table *python_codes(struct python *python)
{
    return &python->codes;
}

struct leaves *python_leaves(struct python *python)
{
    return &python->leaves;
}

uint32_t python_interpreters(const struct python *python)
{
    return (uint32_t)python->threads.interpreter_count;
}

const char *python_version(const struct python *python)
{
    return python->version;
}

enum three_valued python_knows_opcodes(const struct python *python)
{
    if (python->codes.opcodes || python->runtime.layout.validated)
        return VALUE_YES;
    return python->opcodes_due_ns ? VALUE_UNKNOWN : VALUE_NO;
}

bool python_is_validated(const struct python *python)
{
    return python->runtime.layout.validated;
}

const struct runtime *python_runtime(const struct python *python)
{
    return &python->runtime;
}

remote_addr python_anchor(const struct python *python)
{
    return python->runtime.addr;
}

bool python_find_another(struct python *python, char *out, size_t bytes)
{
    struct runtime_list others;
    struct maps maps = { .count = 0 };
    char version[LAYOUT_VERSION_TEXT];
    if (runtime_find_others(python->process, python->runtime.addr, &others, NULL) ||
        !others.count)
        return false;
    const bool is_mapped = !maps_read(&maps, python->process->pid, NULL);
    const char *const path = is_mapped ? maps_file_at(&maps, others.items[0].addr) : NULL;
    layout_name(&others.items[0].layout, version);
    snprintf(out, bytes, "CPython %s in %.150s", version, path ? path : "an unknown file");
    maps_deinit(&maps);
    return true;
}
