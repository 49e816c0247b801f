#include "sampler/cpython/locks/lock_waits.h"

#include <stdio.h>
#include <string.h>

#include "sampler/cpython/asyncio/tasks.h"
#include "sampler/cpython/locks/lock_frames.h"
#include "sampler/cpython/objects/dict.h"

enum { WORD = sizeof(uint64_t) };

static const struct waiting_function functions[] = {
    { "threading.py", "Condition", "wait", "threading", WAITS_FOR_OBJECT },
    { "threading.py", "Condition", "wait_for", "threading", WAITS_FOR_OBJECT },
    { "threading.py", "Condition", "__enter__", "threading", WAITS_FOR_OBJECT },
    { "threading.py", "Semaphore", "acquire", "threading", WAITS_FOR_OBJECT },
    { "threading.py", "Event", "wait", "threading", WAITS_FOR_OBJECT },
    { "threading.py", "Barrier", "wait", "threading", WAITS_FOR_OBJECT },
    { "threading.py", "Barrier", "_wait", "threading", WAITS_FOR_OBJECT },
    { "threading.py", "Thread", "join", "threading", WAITS_FOR_THREAD },
    { "threading.py", "Thread", "_wait_for_tstate_lock", "threading", WAITS_FOR_THREAD },
    { "/queue.py", "Queue", "get", "queue", WAITS_FOR_OBJECT },
    { "/queue.py", "Queue", "put", "queue", WAITS_FOR_OBJECT },
    { "/queue.py", "Queue", "join", "queue", WAITS_FOR_OBJECT },
    { "concurrent/futures/_base.py", "Future", "result", "concurrent.futures",
      WAITS_FOR_FUTURE },
    { "concurrent/futures/_base.py", "Future", "exception", "concurrent.futures",
      WAITS_FOR_FUTURE },
    { "multiprocessing/synchronize.py", "SemLock", "__enter__", "multiprocessing",
      WAITS_FOR_OBJECT },
    { "multiprocessing/synchronize.py", "Condition", "__enter__", "multiprocessing",
      WAITS_FOR_OBJECT },
    { "multiprocessing/synchronize.py", "Condition", "wait", "multiprocessing",
      WAITS_FOR_OBJECT },
    { "multiprocessing/synchronize.py", "Condition", "wait_for", "multiprocessing",
      WAITS_FOR_OBJECT },
    { "multiprocessing/synchronize.py", "Event", "wait", "multiprocessing", WAITS_FOR_OBJECT },
    { "multiprocessing/queues.py", "Queue", "get", "multiprocessing", WAITS_FOR_OBJECT },
    { "multiprocessing/queues.py", "Queue", "put", "multiprocessing", WAITS_FOR_OBJECT },
    { "multiprocessing/queues.py", "SimpleQueue", "get", "multiprocessing", WAITS_FOR_OBJECT },
    { "multiprocessing/queues.py", "JoinableQueue", "join", "multiprocessing",
      WAITS_FOR_OBJECT },
    { "multiprocessing/connection.py", "_ConnectionBase", "recv", "multiprocessing",
      WAITS_FOR_OBJECT },
    { "multiprocessing/connection.py", "_ConnectionBase", "recv_bytes", "multiprocessing",
      WAITS_FOR_OBJECT },
    { "multiprocessing/connection.py", "Connection", "_recv_bytes", "multiprocessing",
      WAITS_FOR_OBJECT },
    { "multiprocessing/connection.py", "Connection", "_recv", "multiprocessing",
      WAITS_FOR_OBJECT },
    { "multiprocessing/process.py", "BaseProcess", "join", "multiprocessing",
      WAITS_FOR_OBJECT },
    { "multiprocessing/popen_fork.py", "Popen", "wait", "multiprocessing", WAITS_FOR_OBJECT },
    { "multiprocessing/popen_fork.py", "Popen", "poll", "multiprocessing", WAITS_FOR_OBJECT },
    { "multiprocessing/pool.py", "ApplyResult", "get", "multiprocessing", WAITS_FOR_OBJECT },
    { "multiprocessing/pool.py", "ApplyResult", "wait", "multiprocessing", WAITS_FOR_OBJECT },
    { "multiprocessing/pool.py", "IMapIterator", "next", "multiprocessing", WAITS_FOR_OBJECT },
    { "/subprocess.py", "Popen", "wait", "subprocess", WAITS_FOR_OBJECT },
    { "/subprocess.py", "Popen", "_wait", "subprocess", WAITS_FOR_OBJECT },
    { "/subprocess.py", "Popen", "_try_wait", "subprocess", WAITS_FOR_OBJECT },
    { "<frozen importlib._bootstrap>", "_ModuleLock", "acquire", "importlib",
      WAITS_FOR_OBJECT },
    { "<frozen importlib._bootstrap>", "", "_get_module_lock", "importlib", WAITS_FOR_IMPORTS },
    { "<frozen importlib._bootstrap>", "_ImportLockContext", "__enter__", "importlib",
      WAITS_FOR_IMPORTS },
    { "asyncio/locks.py", "Lock", "acquire", "asyncio", WAITS_FOR_OBJECT },
    { "asyncio/locks.py", "Semaphore", "acquire", "asyncio", WAITS_FOR_OBJECT },
    { "asyncio/locks.py", "_ContextManagerMixin", "__aenter__", "asyncio", WAITS_FOR_OBJECT },
    { "asyncio/locks.py", "Condition", "wait", "asyncio", WAITS_FOR_OBJECT },
    { "asyncio/locks.py", "Condition", "wait_for", "asyncio", WAITS_FOR_OBJECT },
    { "asyncio/locks.py", "Event", "wait", "asyncio", WAITS_FOR_OBJECT },
    { "asyncio/locks.py", "Barrier", "wait", "asyncio", WAITS_FOR_OBJECT },
    { "asyncio/locks.py", "Barrier", "_wait", "asyncio", WAITS_FOR_OBJECT },
    { "asyncio/locks.py", "Barrier", "_block", "asyncio", WAITS_FOR_OBJECT },
    { "asyncio/locks.py", "Barrier", "__aenter__", "asyncio", WAITS_FOR_OBJECT },
    { "asyncio/queues.py", "Queue", "get", "asyncio", WAITS_FOR_OBJECT },
    { "asyncio/queues.py", "Queue", "put", "asyncio", WAITS_FOR_OBJECT },
    { "asyncio/queues.py", "Queue", "join", "asyncio", WAITS_FOR_OBJECT },
    { "asyncio/tasks.py", "", "wait_for", "asyncio", AWAITS_ONE },
    { "asyncio/tasks.py", "", "_wait", "asyncio", AWAITS_SET },
    { "asyncio/taskgroups.py", "TaskGroup", "__aexit__", "asyncio", AWAITS_GROUP },
    { "asyncio/taskgroups.py", "TaskGroup", "_aexit", "asyncio", AWAITS_GROUP },
};

static bool ends_with(const char *text, const char *end)
{
    const size_t length = strlen(text), bytes = strlen(end);
    return length >= bytes && strcmp(text + length - bytes, end) == 0;
}

const struct waiting_function *locks_waiting_function(const struct locks *locks,
                                                      const struct walk_frame *frame)
{
    const struct code *const code = code_at(locks->codes, frame->code);
    const char *const file = strtab_get(locks->strings, code->file).text;
    const char *const function = strtab_get(locks->strings, code->name).text;
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
        const struct waiting_function *const row = &functions[i];
        const size_t length = strlen(row->class);
        const bool is_plain = locks->codes->layout->has_heap_frames || length == 0;
        const bool is_named = is_plain ? strcmp(function, row->name) == 0
                                       : strncmp(function, row->class, length) == 0 &&
                                             function[length] == '.' &&
                                             strcmp(function + length + 1, row->name) == 0;
        if (is_named && ends_with(file, row->file))
            return row;
    }
    return NULL;
}

void locks_name_waited(const struct waiting_function *waiting, const char *type,
                       char out[LOCK_NAME_BYTES])
{
    bool is_of_library = false;
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
        is_of_library |= strcmp(functions[i].module, waiting->module) == 0 &&
                         strcmp(functions[i].class, type) == 0;
    snprintf(out, LOCK_NAME_BYTES, "%s%s%s", is_of_library ? waiting->module : "",
             is_of_library ? "." : "", type);
}

/* The values of the call, or of the `with`, that the innermost frame is at.  false: it is at neither. */
static bool measure_call(struct locks *locks, const struct walk_frame *frame,
                         struct leaf_call *out)
{
    struct bytecode bytecode;
    struct instruction at;
    if (!locks_read_code(locks, frame, &bytecode) ||
        bytecode_position(&bytecode, bytecode_start(&bytecode, locks_unit(locks, frame)), &at))
        return false;
    *out = (struct leaf_call){ .depth = at.depth, .values = 1 };
    return (leaf_measure_call(locks->leaves, &at, out) ||
            strcmp(locks->codes->opcodes[at.opcode].name, "BEFORE_WITH") == 0) &&
           out->values > 0 && out->depth >= out->values;
}

/* The lock that the innermost frame calls, or enters by `with`. */
static const struct lock_kind *find_taken(struct locks *locks, const struct walk_frame *frame,
                                          remote_addr *out)
{
    /* The callable and what it is bound to, in either order; until 3.10 there may be an iterator before them. */
    enum { CALLED = 2, OLD_VALUES = 4 };
    uint64_t values[OLD_VALUES];
    uint32_t count = OLD_VALUES;
    struct leaf_call call;
    remote_addr at;
    if (locks->codes->layout->has_heap_frames) {
        if (!locks_old_values(locks, frame, &at))
            return NULL;
    } else {
        if (!measure_call(locks, frame, &call))
            return NULL;
        count = call.values < CALLED ? 1 : CALLED;
        at = locks_value(locks, frame, (uint32_t)(call.depth - call.values));
    }
    if (memory_read(locks->codes->memory, at, values, count * WORD))
        return NULL;
    for (uint32_t i = 0; i < count; i++) {
        *out = values[i] & ~LOCK_TAG_MASK ? lock_object_bound(locks, values[i]) : 0;
        const struct lock_kind *const kind = *out ? lock_object_kind(locks, *out) : NULL;
        if (kind)
            return kind;
    }
    return NULL;
}

/* Finds the task that sets a future: asyncio chains the two by a function that the future calls at its end, and that has the
 * task among its free variables (asyncio/futures.py, _chain_future). */
static void find_task(const struct locks *locks, remote_addr future, struct lock_use *use)
{
    enum { MAX_CALLBACKS = 8, MAX_CELLS = 8, ITEMS = 8, CLOSURE_38 = 48, CLOSURE = 72 };
    const struct layout *const layout = locks->codes->layout;
    struct memory *const memory = locks->codes->memory;
    const uint32_t head = object_first_field(layout);
    const uint32_t closure_at =
        lock_object_shifted(locks, LAYOUT_MINOR(layout->version) >= 10 ? CLOSURE : CLOSURE_38);
    remote_addr list, items, functions_of[MAX_CALLBACKS] = { 0 };
    uint64_t count;
    if (object_attribute(memory, layout, future, "_done_callbacks", &list) ||
        !lock_object_word(locks, list + head, &count) ||
        !lock_object_word(locks, list + head + ITEMS, &items) || !count ||
        memory_read(memory, items, functions_of,
                    (count < MAX_CALLBACKS ? (size_t)count : MAX_CALLBACKS) * WORD))
        return;
    for (size_t i = 0; i < MAX_CALLBACKS && functions_of[i]; i++) {
        char type[LOCK_TYPE_BYTES];
        remote_addr closure, cells[MAX_CELLS] = { 0 };
        uint64_t size;
        lock_object_type(locks, functions_of[i], type);
        if (strcmp(type, "function") != 0 ||
            !lock_object_word(locks, functions_of[i] + closure_at, &closure) ||
            !lock_object_word(locks, closure + head, &size) || size > MAX_CELLS ||
            memory_read(memory, closure + object_tuple_items(layout), cells,
                        (size_t)size * WORD))
            continue;
        for (size_t k = 0; k < size; k++) {
            remote_addr source;
            const struct task *const task = lock_object_word(locks, cells[k] + head, &source)
                                                ? task_table_find(&locks->tasks->table, source)
                                                : NULL;
            const struct thread *const thread = task ? tasks_thread(locks->tasks, task) : NULL;
            if (!task)
                continue;
            use->has_owner = use->is_joined = true;
            use->owner_task = task->addr;
            use->owner_tid = thread ? thread->host_tid : 0;
            return;
        }
    }
}

enum err_code locks_add_wait(struct locks *locks, const struct thread *thread,
                             struct lock_use *uses, size_t *count)
{
    const struct stack *const stack = &thread->stack;
    const struct waiting_function *waiting = NULL;
    size_t at = stack->count;
    remote_addr object = 0;
    /* The outermost of the innermost frames that wait is the one that the program has called. */
    while (at > 0) {
        const struct waiting_function *const function =
            locks_waiting_function(locks, &stack->frames[at - 1]);
        if (!function || function->kind >= AWAITS_ONE)
            break;
        waiting = function;
        at--;
    }
    struct lock_use use = { .is_waited = true };
    const struct lock_kind *const taken =
        find_taken(locks, &stack->frames[stack->count - 1], &object);
    if (!waiting) {
        if (!taken)
            return ERR_OK;
        lock_object_describe(locks, object, taken, &use);
        use.may_be_held = true;
        return locks_add_use(locks, &stack->frames[stack->count - 1], NULL,
                             lock_object_name_taken(locks, object, taken), use, uses, count);
    }
    uint64_t self = 0;
    if (!lock_object_word(locks, locks_variables(locks, &stack->frames[at]), &self))
        return ERR_OK;
    self &= ~LOCK_TAG_MASK;
    char type[LOCK_TYPE_BYTES], name[LOCK_NAME_BYTES];
    lock_object_type(locks, self, type);
    const struct lock_kind *const kind = waiting->kind == WAITS_FOR_IMPORTS
                                             ? lock_object_import_kind()
                                             : lock_object_kind(locks, self);
    lock_object_describe(locks, self, kind, &use);
    if (kind)
        lock_object_name(locks, kind, &use, name);
    else
        locks_name_waited(waiting, type, name);
    if (waiting->kind == WAITS_FOR_THREAD) {
        use.is_joined = true;
        lock_object_read_owner(locks, self, "_ident", &use);
    } else if (kind && kind->imports) {
        use.may_be_held = true;
    } else if (taken && object != use.lock) {
        /* A lock that only this wait knows: who has it means nothing. */
        use.lock = self;
        use.semaphore = 0;
        use.has_owner = false;
        use.owner_tid = 0;
        if (waiting->kind == WAITS_FOR_FUTURE)
            find_task(locks, self, &use);
    } else {
        use.may_be_held = taken != NULL;
    }
    if (kind && kind->imports)
        return locks_add_use(locks, &stack->frames[locks_importer(locks, stack->frames, at)],
                             &locks_no_text, name, use, uses, count);
    return locks_add_use(locks, &stack->frames[at > 0 ? at - 1 : 0], NULL, name, use, uses,
                         count);
}
