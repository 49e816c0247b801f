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
#include "sampler/cpython/threads/thread_names.h"
#include "sampler/process/maps.h"

/* The names of new threads are read a few times, NAMES_AGAIN_NS apart.  A program may rename its
 * threads, so all names are read again; A_NAME_AGAIN_NS for each thread makes the cost negligible. */
static const uint64_t NAMES_AGAIN_NS = NS_PER_S, A_NAME_AGAIN_NS = 100 * NS_PER_MS;
/* The interval of full checks of the thread list.  Between them, the heads of the lists show new
 * threads, and the readings of the threads show ended ones. */
static const uint64_t LIST_AGAIN_NS = 100 * NS_PER_MS;
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
    os_threads_deinit(&python->os_threads);
    thread_list_deinit(&python->threads);
    leaves_deinit(&python->leaves);
    code_table_deinit(&python->codes);
    free(python);
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
        service_keep(last_part(process->executable), strlen(last_part(process->executable)),
                     service->name);
}

static enum err_code refresh_names(struct python *python, bool only_main, uint64_t now_ns)
{
    const uint64_t all_again_ns = python->threads.count * A_NAME_AGAIN_NS;
    const bool again = now_ns - python->all_named_ns > all_again_ns;
    python->names_read_ns = now_ns;
    if (again)
        python->all_named_ns = now_ns;
    const enum err_code rc = os_threads_match(&python->os_threads);
    if (rc)
        return rc;
    return thread_names_read(&python->threads, python->process->pid, python->strings, only_main,
                             again);
}

static enum err_code refresh_threads(struct python *python, bool only_main, uint64_t now_ns)
{
    bool same = false;
    const bool is_due = now_ns - python->names_read_ns > NAMES_AGAIN_NS;
    enum err_code rc = thread_list_check(&python->threads, &same);
    if (rc == ERR_FAULT)
        rc = ERR_OK;
    /* A thread may seem to be gone only because threads came and went during the walk. */
    if (!rc && (!same || (is_due && python->threads.has_gone)))
        rc = thread_list_walk(&python->threads);
    if (!rc && (!same || is_due))
        rc = refresh_names(python, only_main, now_ns);
    return rc;
}

/* Chooses consecutive threads from a random start, wrapping around: all threads are equally likely. */
static void choose_some(struct python *python)
{
    const size_t count = python->threads.count;
    const size_t start = (size_t)random_below(&python->random, count);
    for (size_t i = 0; i < PYTHON_MAX_THREADS_PER_TICK; i++)
        python->chosen[i] = python->threads.items[(start + i) % count];
    python->chosen_count = PYTHON_MAX_THREADS_PER_TICK;
}

/* The main thread; the first thread if there is none, as after a fork that CPython does not know of. */
struct thread *python_main(const struct python *python)
{
    struct thread *main = thread_list_main(&python->threads);
    for (size_t i = 0; i < python->threads.count && !main; i++)
        if (python->threads.items[i]->host_tid == python->process->pid)
            main = python->threads.items[i];
    return main;
}

/* The main thread, in all interpreters that it has entered. */
static void choose_main(struct python *python)
{
    struct thread *at = python_main(python);
    while (at && at->earlier)
        at = at->earlier;
    python->chosen_count = 0;
    for (; at && python->chosen_count < PYTHON_MAX_THREADS_PER_TICK; at = at->later)
        python->chosen[python->chosen_count++] = at;
}

static enum err_code choose_threads(struct python *python, bool all_threads)
{
    if (!all_threads) {
        choose_main(python);
        return python->chosen_count ? ERR_OK : ERR_GONE;
    }
    if (python->threads.count > PYTHON_MAX_THREADS_PER_TICK) {
        choose_some(python);
        return ERR_OK;
    }
    /* The list gets another order when a state turns out to be another thread's. */
    python->chosen_count = python->threads.count;
    for (size_t i = 0; i < python->chosen_count; i++)
        python->chosen[i] = python->threads.items[i];
    return ERR_OK;
}

/* When freed code objects have filled the table, or what is known of code was found out without opcodes, clears the
 * table and everything that stores ids of code. */
static void clear_if_needed(struct python *python, uint64_t now_ns)
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

enum err_code python_choose(struct python *python, bool all_threads)
{
    const uint64_t now_ns = clock_now_ns();
    enum err_code rc = ERR_OK;
    clear_if_needed(python, now_ns);
    if (python->list_is_old || now_ns - python->list_checked_ns > LIST_AGAIN_NS) {
        rc = refresh_threads(python, !all_threads, now_ns);
        python->list_is_old = rc != ERR_OK;
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

enum err_code python_list_threads(struct python *python, bool *changed_out)
{
    const uint64_t listing = python->threads.listing;
    const uint64_t now_ns = clock_now_ns();
    clear_if_needed(python, now_ns);
    const enum err_code rc = refresh_threads(python, false, now_ns);
    if (!rc && python->contexts)
        contexts_locate(python->contexts, now_ns);
    *changed_out = python->threads.listing != listing;
    return rc;
}

uint64_t python_begin_copies(struct python *python)
{
    clear_if_needed(python, clock_now_ns());
    /* Objects that were read before are older than the copies that come now. */
    code_begin_epoch(&python->codes);
    return python->codes.counters.clears;
}

enum err_code python_learn_code(struct python *python, struct memory *memory, remote_addr addr)
{
    return code_learn(&python->codes, memory, addr);
}

bool python_check_code(struct python *python, remote_addr addr)
{
    const code_id id = code_find(&python->codes, addr, 0);
    code_begin_epoch(&python->codes);
    return id != CODE_NONE && code_check(&python->codes, &id, 1);
}

struct thread_windows python_windows(const struct python *python, const struct thread *thread)
{
    const struct thread_list *const list = &python->threads;
    const struct interpreter *const main =
        thread && thread->interp_id ? thread_list_main_interpreter(list) : NULL;
    struct copy copy;
    copy_init(&copy, NULL, &python->runtime.layout, 0, 0);
    return (struct thread_windows){
        .runtime = python->runtime.addr + list->runtime_start,
        .runtime_bytes = list->runtime_bytes,
        .interpreter = thread ? thread->head.interp + list->window_start : 0,
        .interpreter_bytes = thread ? list->window_bytes : 0,
        .main_interpreter = main ? main->addr + list->window_start : 0,
        .tstate_bytes = (uint32_t)copy.tstate_bytes,
    };
}

uint32_t python_window_offset(const struct python *python)
{
    return python->threads.window_start;
}

/* CPython adds interpreters at the head of their list. */
size_t python_searched_interpreters(const struct python *python, remote_addr *out, size_t max)
{
    const struct thread_list *const list = &python->threads;
    size_t count = 0;
    if (!python->runtime.layout.has_state_per_interpreter ||
        list->interpreter_count > max + !list->has_lent)
        return 0;
    for (size_t i = 0; i < list->interpreter_count && count < max; i++)
        if (list->interpreters[i].id || list->has_lent)
            out[count++] = list->interpreters[i].addr;
    return count;
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

void python_search_context(struct python *python, uint64_t now_ns)
{
    if (python->contexts)
        contexts_search(python->contexts, now_ns);
}

bool python_context_trail(const struct python *python, struct contexts_trail *out)
{
    if (python->contexts)
        contexts_trail(python->contexts, out);
    return python->contexts != NULL;
}

void python_refresh_context(struct python *python, uint64_t now_ns)
{
    if (python->thread_contexts)
        thread_contexts_refresh(python->thread_contexts, now_ns);
}

size_t python_span_trails(const struct python *python,
                          struct thread_local_trail out[THREAD_LOCALS_MAX])
{
    return python->thread_contexts ? thread_contexts_trails(python->thread_contexts, out) : 0;
}

struct context_value *python_context(struct python *python, const struct thread *thread,
                                     struct memory *memory, bool is_copy, uint64_t now_ns)
{
    struct context_value *const published =
        python->thread_contexts
            ? thread_contexts_read(python->thread_contexts, thread->head.ident, memory)
            : NULL;
    if (published || !python->contexts)
        return published;
    return contexts_read(python->contexts, thread, memory, is_copy, now_ns);
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

bool python_lends_states(const struct python *python)
{
    return python->threads.has_lent;
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
        python->threads.count ? ERR_OK : refresh_threads(python, false, now_ns);
    return rc ? rc : tasks_read(&python->tasks, now_ns);
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
    const bool is_mapped = maps_read(&maps, python->process->pid, NULL) == ERR_OK;
    const char *const path = is_mapped ? maps_file_at(&maps, others.items[0].addr) : NULL;
    layout_name(&others.items[0].layout, version);
    snprintf(out, bytes, "CPython %s in %.150s", version, path ? path : "an unknown file");
    maps_deinit(&maps);
    return true;
}
