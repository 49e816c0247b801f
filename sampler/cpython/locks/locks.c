#include "sampler/cpython/locks/locks.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sampler/base/hash.h"
#include "sampler/cpython/objects/code_bytecode.h"
#include "sampler/cpython/objects/code_place.h"
#include "sampler/cpython/objects/dict.h"

enum {
    WORD = sizeof(uint64_t),
    MAX_BLOCKS = LOCKS_MAX_BLOCKS, /* CO_MAXBLOCKS */
    MAX_INNER = 4,                 /* locks in one another */
    MAX_CODE_BYTES = 8 << 20,      /* read for one thread */
    MAX_TYPE_BYTES = 64,
};

static const uint64_t TAG_MASK = 7;

/* Offsets in objects of builds with a GIL, the same from 3.8 to 3.15 (Include/cpython/methodobject.h, classobject.h,
 * Modules/_threadmodule.c). */
enum { BOUND_SELF = 24, RECURSIVE_OWNER = 24 };

/* A semaphore of multiprocessing (Modules/_multiprocessing/semaphore.c) has the thread of this process that took it last, how often
 * this process has it and how often it can be had (int each), and whether it is recursive (int 0). */
enum { SEMAPHORE_OWNER = 24, SEMAPHORE_COUNTS = 32, SEMAPHORE_KIND = 40 };

/* A frame of 3.8 to 3.10 (Include/cpython/frameobject.h): its value stack, how many blocks are active, and its first variable.
 * Blocks come before the variables. */
struct old_frame {
    uint32_t values, block_count, blocks, variables;
};
enum { OLD_BLOCK_BYTES = 12, OLD_BLOCK_LEVEL = 8 };
static const struct old_frame FRAME_38 = { 64, 112, 120, 360 },
                              FRAME_310 = { 64, 104, 112, 352 };

/* How a type of the target is known, and what it is called. */
static const struct known_type {
    const char *type, *name;
    const char *inner; /* the attribute with the lock that it takes; NULL: it is one */
    const char *owner; /* the attribute that says who has it; NULL: none */
    const char
        *mark; /* an attribute that other types of that name lack; NULL: there are none */
    enum {
        OWNER_NONE,
        OWNER_RECURSIVE,
        OWNER_SEMAPHORE
    } structure; /* in C, with the owner's number */
} types[] = {
    { .type = "_thread.lock", .name = "threading.Lock" },
    { .type = "_thread.RLock", .name = "threading.RLock", .structure = OWNER_RECURSIVE },
    { .type = "_RLock", .name = "threading.RLock", .owner = "_owner" },
    { .type = "Condition",
      .name = "multiprocessing.Condition",
      .inner = "_lock",
      .mark = "_sleeping_count" },
    { .type = "Condition", .name = "threading.Condition", .inner = "_lock" },
    { .type = "Semaphore",
      .name = "multiprocessing.Semaphore",
      .inner = "_semlock",
      .mark = "_semlock" },
    { .type = "Semaphore", .name = "threading.Semaphore" },
    { .type = "BoundedSemaphore",
      .name = "multiprocessing.BoundedSemaphore",
      .inner = "_semlock",
      .mark = "_semlock" },
    { .type = "BoundedSemaphore", .name = "threading.BoundedSemaphore" },
    { .type = "Lock", .name = "multiprocessing.Lock", .inner = "_semlock" },
    { .type = "RLock", .name = "multiprocessing.RLock", .inner = "_semlock" },
    { .type = "_multiprocessing.SemLock",
      .name = "multiprocessing.Lock",
      .structure = OWNER_SEMAPHORE },
    { .type = "_queue.SimpleQueue", .name = "queue.SimpleQueue" },
    { .type = "_ModuleLockManager", .name = "import of a module", .inner = "_lock" },
    { .type = "_ModuleLock", .name = "import of a module", .owner = "owner" },
};

/* Methods of the standard library that wait for their object.  Until 3.10 code has no qualified names. */
static const struct waiting_function {
    const char *file; /* its end */
    const char *class, *method;
    const char *module;
    bool is_joined; /* a thread that is waited for until it ends */
} functions[] = {
    { "threading.py", "Condition", "wait", "threading", false },
    { "threading.py", "Condition", "wait_for", "threading", false },
    { "threading.py", "Condition", "__enter__", "threading", false },
    { "threading.py", "Semaphore", "acquire", "threading", false },
    { "threading.py", "Event", "wait", "threading", false },
    { "threading.py", "Barrier", "wait", "threading", false },
    { "threading.py", "Barrier", "_wait", "threading", false },
    { "threading.py", "Thread", "join", "threading", true },
    { "threading.py", "Thread", "_wait_for_tstate_lock", "threading", true },
    { "/queue.py", "Queue", "get", "queue", false },
    { "/queue.py", "Queue", "put", "queue", false },
    { "/queue.py", "Queue", "join", "queue", false },
    { "concurrent/futures/_base.py", "Future", "result", "concurrent.futures", false },
    { "concurrent/futures/_base.py", "Future", "exception", "concurrent.futures", false },
    { "multiprocessing/synchronize.py", "SemLock", "__enter__", "multiprocessing", false },
    { "multiprocessing/synchronize.py", "Condition", "__enter__", "multiprocessing", false },
    { "multiprocessing/synchronize.py", "Condition", "wait", "multiprocessing", false },
    { "multiprocessing/synchronize.py", "Condition", "wait_for", "multiprocessing", false },
    { "multiprocessing/synchronize.py", "Event", "wait", "multiprocessing", false },
    { "multiprocessing/queues.py", "Queue", "get", "multiprocessing", false },
    { "multiprocessing/queues.py", "Queue", "put", "multiprocessing", false },
    { "multiprocessing/queues.py", "SimpleQueue", "get", "multiprocessing", false },
    { "multiprocessing/queues.py", "JoinableQueue", "join", "multiprocessing", false },
    { "multiprocessing/connection.py", "_ConnectionBase", "recv", "multiprocessing", false },
    { "multiprocessing/connection.py", "_ConnectionBase", "recv_bytes", "multiprocessing",
      false },
    { "multiprocessing/connection.py", "Connection", "_recv_bytes", "multiprocessing", false },
    { "multiprocessing/connection.py", "Connection", "_recv", "multiprocessing", false },
    { "multiprocessing/process.py", "BaseProcess", "join", "multiprocessing", false },
    { "multiprocessing/popen_fork.py", "Popen", "wait", "multiprocessing", false },
    { "multiprocessing/popen_fork.py", "Popen", "poll", "multiprocessing", false },
    { "multiprocessing/pool.py", "ApplyResult", "get", "multiprocessing", false },
    { "multiprocessing/pool.py", "ApplyResult", "wait", "multiprocessing", false },
    { "multiprocessing/pool.py", "IMapIterator", "next", "multiprocessing", false },
    { "/subprocess.py", "Popen", "wait", "subprocess", false },
    { "/subprocess.py", "Popen", "_wait", "subprocess", false },
    { "/subprocess.py", "Popen", "_try_wait", "subprocess", false },
    { "<frozen importlib._bootstrap>", "_ModuleLock", "acquire", "importlib", false },
};

void locks_init(struct locks *locks, struct code_table *codes, struct strtab *strings,
                const struct thread_list *threads, const struct leaves *leaves)
{
    *locks = (struct locks){
        .codes = codes, .strings = strings, .threads = threads, .leaves = leaves
    };
}

void locks_deinit(struct locks *locks)
{
    code_bytecode_deinit(&locks->room);
    free(locks->places);
    *locks = (struct locks){ .codes = locks->codes };
}

static uint32_t shifted(const struct locks *locks, uint32_t offset)
{
    return offset + layout_object_shift(locks->codes->layout);
}

static bool read_word(const struct locks *locks, remote_addr addr, uint64_t *out)
{
    return addr && !memory_read_u64(locks->codes->memory, addr, out);
}

/* The name of an object's type; *out is empty if there is none. */
static void read_type(const struct locks *locks, remote_addr object, char out[MAX_TYPE_BYTES])
{
    const struct layout *const layout = locks->codes->layout;
    uint64_t type, name;
    if (!object || !read_word(locks, object + layout->object_type, &type) ||
        !read_word(locks, type + layout->type_name, &name) ||
        object_read_text(locks->codes->memory, name, out, MAX_TYPE_BYTES))
        *out = '\0';
}

static const struct known_type *find_type(const struct locks *locks, remote_addr object,
                                          const char *type)
{
    remote_addr value;
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (strcmp(types[i].type, type) == 0 &&
            (!types[i].mark || !object_attribute(locks->codes->memory, locks->codes->layout,
                                                 object, types[i].mark, &value)))
            return &types[i];
    return NULL;
}

/* The lock that a value of the value stack stands for: the object that a function is bound to,
 * or itself. NULL: no lock. */
static const struct known_type *find_lock(const struct locks *locks, uint64_t value,
                                          remote_addr *out)
{
    char type[MAX_TYPE_BYTES];
    *out = value & ~TAG_MASK;
    read_type(locks, *out, type);
    if (strcmp(type, "method") == 0 || strcmp(type, "builtin_function_or_method") == 0 ||
        strcmp(type, "builtin_method") == 0) {
        if (!read_word(locks, *out + shifted(locks, BOUND_SELF), out))
            return NULL;
        read_type(locks, *out, type);
    }
    return find_type(locks, *out, type);
}

/* The thread with this ident. */
static int32_t tid_of(const struct locks *locks, uint64_t ident)
{
    for (size_t i = 0; i < locks->threads->count; i++)
        if (locks->threads->items[i]->head.ident == ident)
            return locks->threads->items[i]->host_tid;
    return 0;
}

static void read_owner(const struct locks *locks, remote_addr object, const char *attribute,
                       struct lock_use *use)
{
    uint64_t ident = 0;
    remote_addr owner;
    if (object_attribute(locks->codes->memory, locks->codes->layout, object, attribute, &owner))
        return;
    use->has_owner = true;
    if (!object_read_int(locks->codes->memory, locks->codes->layout, owner, &ident))
        use->owner_tid = tid_of(locks, ident);
}

/* A semaphore does not say by which class of multiprocessing the program made it. */
static const char *name_taken(const struct locks *locks, remote_addr object,
                              const struct known_type *type)
{
    uint64_t counts, kind;
    if (type->structure != OWNER_SEMAPHORE ||
        !read_word(locks, object + shifted(locks, SEMAPHORE_COUNTS), &counts) ||
        !read_word(locks, object + shifted(locks, SEMAPHORE_KIND), &kind))
        return type->name;
    return (uint32_t)kind == 0 ? "multiprocessing.RLock"
           : counts >> 32 == 1 ? "multiprocessing.Lock"
                               : "multiprocessing.Semaphore";
}

/* false: its class has the name of one that is a lock, but is another one. */
static bool describe_lock(const struct locks *locks, remote_addr object,
                          const struct known_type *type, struct lock_use *use)
{
    uint64_t ident, counts;
    use->object = use->lock = object;
    for (int i = 0; i < MAX_INNER && type && type->inner; i++) {
        char name[MAX_TYPE_BYTES];
        remote_addr inner;
        if (object_attribute(locks->codes->memory, locks->codes->layout, use->lock, type->inner,
                             &inner))
            return false;
        read_type(locks, inner, name);
        use->lock = inner;
        type = find_type(locks, inner, name);
    }
    if (type && type->structure == OWNER_RECURSIVE &&
        read_word(locks, use->lock + shifted(locks, RECURSIVE_OWNER), &ident)) {
        use->has_owner = true;
        use->owner_tid = ident ? tid_of(locks, ident) : 0;
    }
    /* One that can be had once is held by this thread, or by another process. */
    if (type && type->structure == OWNER_SEMAPHORE &&
        read_word(locks, use->lock + shifted(locks, SEMAPHORE_OWNER), &ident) &&
        read_word(locks, use->lock + shifted(locks, SEMAPHORE_COUNTS), &counts) &&
        counts >> 32 == 1) {
        use->has_owner = true;
        use->owner_tid = (uint32_t)counts ? tid_of(locks, ident) : 0;
    }
    if (type && type->owner)
        read_owner(locks, use->lock, type->owner, use);
    return true;
}

static enum err_code add_use(struct locks *locks, const struct walk_frame *frame,
                             const char *name, struct lock_use use, struct lock_use *uses,
                             size_t *count)
{
    const struct code *const code = code_at(locks->codes, frame->code);
    const struct code_place *const place = code_place(locks->codes, frame->code, frame->instr);
    if (*count == LOCK_USES_MAX)
        return ERR_OK;
    if (!place)
        return ERR_NOMEM;
    use.function = code->name;
    use.file = code->file;
    use.line = place->location.line;
    const enum err_code rc = strtab_intern(locks->strings, name, strlen(name), &use.type, NULL);
    if (!rc)
        uses[(*count)++] = use;
    return rc == ERR_LIMIT ? ERR_OK : rc;
}

static const struct old_frame *old_frame_of(const struct layout *layout)
{
    return LAYOUT_MINOR(layout->version) >= 10 ? &FRAME_310 : &FRAME_38;
}

static remote_addr variables_of(const struct locks *locks, const struct walk_frame *frame)
{
    const struct layout *const layout = locks->codes->layout;
    return layout->has_heap_frames ? frame->addr + old_frame_of(layout)->variables
                                   : frame->addr + layout->frame_bytes - WORD;
}

/* The values at which the exit functions of the active `with` blocks lie, the innermost first. */
static size_t find_old_blocks(const struct locks *locks, const struct walk_frame *frame,
                              remote_addr out[MAX_BLOCKS])
{
    const struct old_frame *const at = old_frame_of(locks->codes->layout);
    unsigned char blocks[MAX_BLOCKS * OLD_BLOCK_BYTES];
    uint64_t values, counted;
    if (!read_word(locks, frame->addr + at->values, &values) ||
        !read_word(locks, frame->addr + at->block_count, &counted) ||
        memory_read(locks->codes->memory, frame->addr + at->blocks, blocks, sizeof blocks))
        return 0;
    const uint32_t count = (uint32_t)counted <= MAX_BLOCKS ? (uint32_t)counted : 0;
    size_t found = 0;
    for (uint32_t i = count; i-- > 0;) {
        const uint32_t level = field_u32(blocks, i * OLD_BLOCK_BYTES + OLD_BLOCK_LEVEL);
        if (level > 0)
            out[found++] = values + (remote_addr)(level - 1) * WORD;
    }
    return found;
}

static remote_addr value_at(const struct locks *locks, const struct walk_frame *frame,
                            uint32_t depth)
{
    const struct code *const code = code_at(locks->codes, frame->code);
    return variables_of(locks, frame) + ((remote_addr)code_variables(code) + depth) * WORD;
}

static uint32_t unit_of(const struct locks *locks, const struct walk_frame *frame)
{
    const struct code *const code = code_at(locks->codes, frame->code);
    return (uint32_t)((frame->instr - code->instructions) / CODE_UNIT_BYTES);
}

/* A hostile program may have code of any size on its stack. */
static bool read_code(struct locks *locks, const struct walk_frame *frame, struct bytecode *out)
{
    const struct code *const code = code_at(locks->codes, frame->code);
    if (!locks->budget || !locks->codes->opcodes || !code_holds(code, frame->instr) ||
        code_bytecode_read(locks->codes->memory, locks->codes->layout, code,
                           locks->codes->opcodes, true, &locks->room, out))
        return false;
    const size_t bytes = (size_t)out->unit_count * BYTECODE_UNIT_BYTES + out->handler_bytes;
    locks->budget -= bytes < locks->budget ? bytes : locks->budget;
    return true;
}

/* NULL: out of memory. */
static const struct locks_place *find_place(struct locks *locks, const struct walk_frame *frame)
{
    const uint32_t unit = unit_of(locks, frame);
    if (!locks->places)
        locks->places = calloc(LOCKS_PLACES, sizeof *locks->places);
    if (!locks->places)
        return NULL;
    struct locks_place *const place =
        &locks->places[hash_mix(frame->code, unit) % LOCKS_PLACES];
    struct bytecode bytecode;
    if (place->is_known && place->code == frame->code && place->unit == unit &&
        locks->clears == locks->codes->counters.clears)
        return place;
    if (locks->clears != locks->codes->counters.clears)
        memset(locks->places, 0, LOCKS_PLACES * sizeof *locks->places);
    locks->clears = locks->codes->counters.clears;
    *place = (struct locks_place){ .code = frame->code, .unit = unit };
    place->is_known = read_code(locks, frame, &bytecode);
    if (place->is_known)
        place->count = bytecode_with_blocks(&bytecode, unit, place->depths, MAX_BLOCKS);
    return place;
}

static size_t find_blocks(struct locks *locks, const struct walk_frame *frame,
                          remote_addr out[MAX_BLOCKS])
{
    if (locks->codes->layout->has_heap_frames)
        return find_old_blocks(locks, frame, out);
    const struct locks_place *const place = find_place(locks, frame);
    const size_t count = place ? place->count : 0;
    for (size_t i = 0; i < count; i++)
        out[i] = value_at(locks, frame, place->depths[i] - (place->depths[i] > 0));
    return count;
}

/* From 3.14 on the value is the object itself, or NULL, and the function is below it. */
static const struct known_type *find_held(const struct locks *locks, remote_addr at,
                                          remote_addr *out)
{
    uint64_t value;
    if (!read_word(locks, at, &value))
        return NULL;
    const struct known_type *const type = find_lock(locks, value, out);
    if (type || value & ~TAG_MASK || !read_word(locks, at - WORD, &value))
        return type;
    return find_lock(locks, value, out);
}

/* The values of the call, or of the `with`, that the innermost frame is at.  false: it is at neither. */
static bool measure_call(struct locks *locks, const struct walk_frame *frame,
                         struct leaf_call *out)
{
    struct bytecode bytecode;
    struct instruction at;
    if (!read_code(locks, frame, &bytecode) ||
        bytecode_position(&bytecode, bytecode_start(&bytecode, unit_of(locks, frame)), &at))
        return false;
    *out = (struct leaf_call){ .depth = at.depth, .values = 1 };
    return (leaf_measure_call(locks->leaves, &at, out) ||
            strcmp(locks->codes->opcodes[at.opcode].name, "BEFORE_WITH") == 0) &&
           out->values > 0 && out->depth >= out->values;
}

/* The lock that the innermost frame calls, or enters by `with`. */
static const struct known_type *find_taken(struct locks *locks, const struct walk_frame *frame,
                                           remote_addr *out)
{
    /* The callable and what it is bound to, in either order; until 3.10 there may be an iterator before them. */
    enum { CALLED = 2, OLD_VALUES = 4 };
    const struct layout *const layout = locks->codes->layout;
    remote_addr blocks[MAX_BLOCKS], at;
    uint64_t values[OLD_VALUES];
    uint32_t count = OLD_VALUES;
    struct leaf_call call;
    if (layout->has_heap_frames) {
        /* The value stack is as high as the innermost block, and what was put on it since. */
        if (find_old_blocks(locks, frame, blocks))
            at = blocks[0] + WORD;
        else if (!read_word(locks, frame->addr + old_frame_of(layout)->values, &at))
            return NULL;
    } else {
        if (!measure_call(locks, frame, &call))
            return NULL;
        count = call.values < CALLED ? 1 : CALLED;
        at = value_at(locks, frame, (uint32_t)(call.depth - call.values));
    }
    if (memory_read(locks->codes->memory, at, values, count * WORD))
        return NULL;
    for (uint32_t i = 0; i < count; i++) {
        const struct known_type *const type =
            values[i] & ~TAG_MASK ? find_lock(locks, values[i], out) : NULL;
        if (type)
            return type;
    }
    return NULL;
}

static bool ends_with(const char *text, const char *end)
{
    const size_t length = strlen(text), bytes = strlen(end);
    return length >= bytes && strcmp(text + length - bytes, end) == 0;
}

static const struct waiting_function *find_function(const struct locks *locks,
                                                    const struct walk_frame *frame)
{
    const struct code *const code = code_at(locks->codes, frame->code);
    const char *const file = strtab_get(locks->strings, code->file).text;
    const char *const function = strtab_get(locks->strings, code->name).text;
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
        const struct waiting_function *const row = &functions[i];
        const size_t length = strlen(row->class);
        const bool is_method = locks->codes->layout->has_heap_frames
                                   ? strcmp(function, row->method) == 0
                                   : strncmp(function, row->class, length) == 0 &&
                                         function[length] == '.' &&
                                         strcmp(function + length + 1, row->method) == 0;
        if (is_method && ends_with(file, row->file))
            return row;
    }
    return NULL;
}

/* A class of the library has its module before its name; one derived from it is known by its own name. */
static void name_waited(const struct waiting_function *waiting, const char *type,
                        char out[2 * MAX_TYPE_BYTES])
{
    bool is_of_library = false;
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
        is_of_library |= strcmp(functions[i].module, waiting->module) == 0 &&
                         strcmp(functions[i].class, type) == 0;
    snprintf(out, 2 * MAX_TYPE_BYTES, "%s%s%s", is_of_library ? waiting->module : "",
             is_of_library ? "." : "", type);
}

/* Finds the outermost of the innermost frames that is one of these functions. */
static enum err_code add_wait(struct locks *locks, const struct thread *thread,
                              struct lock_use *uses, size_t *count)
{
    const struct stack *const stack = &thread->stack;
    const struct waiting_function *waiting = NULL;
    size_t at = stack->count;
    remote_addr object = 0;
    while (at > 0) {
        const struct waiting_function *const function =
            find_function(locks, &stack->frames[at - 1]);
        if (!function)
            break;
        waiting = function;
        at--;
    }
    struct lock_use use = { .is_waited = true };
    const struct known_type *const taken =
        find_taken(locks, &stack->frames[stack->count - 1], &object);
    if (!waiting) {
        if (!taken || !describe_lock(locks, object, taken, &use))
            return ERR_OK;
        use.may_be_held = true;
        return add_use(locks, &stack->frames[stack->count - 1],
                       name_taken(locks, object, taken), use, uses, count);
    }
    uint64_t self = 0;
    if (!read_word(locks, variables_of(locks, &stack->frames[at]), &self))
        return ERR_OK;
    self &= ~TAG_MASK;
    char type[MAX_TYPE_BYTES], name[2 * MAX_TYPE_BYTES];
    read_type(locks, self, type);
    const struct known_type *const known = find_type(locks, self, type);
    if (known)
        snprintf(name, sizeof name, "%s", known->name);
    else
        name_waited(waiting, type, name);
    (void)describe_lock(locks, self, known, &use);
    if (waiting->is_joined) {
        use.is_joined = true;
        read_owner(locks, self, "_ident", &use);
    } else if (taken && object != use.lock) {
        /* A lock that only this wait knows: who has it means nothing. */
        use.lock = self;
        use.has_owner = false;
        use.owner_tid = 0;
    } else {
        use.may_be_held = taken != NULL;
    }
    return add_use(locks, &stack->frames[at > 0 ? at - 1 : 0], name, use, uses, count);
}

/* The lock of the condition that a thread waits for: it has let that go.  0: none. */
static uint64_t find_let_go(const struct locks *locks, const struct lock_use *wait)
{
    char type[MAX_TYPE_BYTES];
    struct lock_use whole = { 0 };
    read_type(locks, wait->object, type);
    const struct known_type *const known = find_type(locks, wait->object, type);
    if (!known || !known->inner || wait->lock != wait->object)
        return 0;
    return describe_lock(locks, wait->object, known, &whole) ? whole.lock : 0;
}

/* Adds what the `with` blocks of a frame hold, but for `let_go`. */
static enum err_code add_held(struct locks *locks, const struct walk_frame *frame,
                              uint64_t let_go, struct lock_use *uses, size_t *count)
{
    remote_addr blocks[MAX_BLOCKS];
    const size_t found = find_blocks(locks, frame, blocks);
    enum err_code rc = ERR_OK;
    for (size_t i = 0; i < found && !rc; i++) {
        remote_addr object;
        struct lock_use use = { 0 };
        const struct known_type *const type = find_held(locks, blocks[i], &object);
        if (type && describe_lock(locks, object, type, &use) && use.lock != let_go)
            rc = add_use(locks, frame, type->name, use, uses, count);
    }
    return rc;
}

enum err_code locks_read(struct locks *locks, const struct thread *thread,
                         enum three_valued runs, struct lock_use *uses, size_t *count_out)
{
    const struct stack *const stack = &thread->stack;
    size_t count = 0;
    *count_out = 0;
    if (!stack->count || stack->certainty == STACK_TRUNCATED)
        return ERR_OK;
    locks->budget = MAX_CODE_BYTES;
    enum err_code rc = runs == VALUE_YES ? ERR_OK : add_wait(locks, thread, uses, &count);
    const uint64_t let_go = count ? find_let_go(locks, &uses[0]) : 0;
    const size_t frames = stack->count < LOCKS_MAX_FRAMES ? stack->count : LOCKS_MAX_FRAMES;
    for (size_t i = stack->count; i-- > stack->count - frames && !rc && count < LOCK_USES_MAX;)
        rc = add_held(locks, &stack->frames[i], let_go, uses, &count);
    *count_out = count;
    return rc;
}

/* Sets the frame's instruction to where it is by now.  false: another frame is there. */
static bool follow_frame(const struct locks *locks, struct walk_frame *frame)
{
    const struct layout *const layout = locks->codes->layout;
    const struct code *const code = code_at(locks->codes, frame->code);
    uint64_t addr;
    if (!read_word(locks, frame->addr + layout->frame_executable, &addr) ||
        (addr & ~TAG_MASK) != code->addr)
        return false;
    /* Until 3.10 the frame has its blocks itself. */
    return layout->has_heap_frames ||
           (read_word(locks, frame->addr + layout->frame_instr, &frame->instr) &&
            code_holds(code, frame->instr));
}

enum err_code locks_read_moving(struct locks *locks, const struct thread *thread,
                                struct lock_use *uses, size_t *count_out)
{
    const struct stack *const stack = &thread->stack;
    const size_t frames =
        stack->count < LOCKS_MAX_MOVING_FRAMES ? stack->count : LOCKS_MAX_MOVING_FRAMES;
    enum err_code rc = ERR_OK;
    size_t count = 0;
    locks->budget = MAX_CODE_BYTES;
    for (size_t i = stack->count;
         i-- > stack->count - frames && !rc && count < LOCK_USES_MAX;) {
        struct walk_frame frame = stack->frames[i];
        remote_addr before[MAX_BLOCKS], after[MAX_BLOCKS];
        const size_t held = count;
        if (!follow_frame(locks, &frame))
            continue;
        const size_t blocks = find_blocks(locks, &frame, before);
        rc = blocks ? add_held(locks, &frame, 0, uses, &count) : ERR_OK;
        if (count > held &&
            (!follow_frame(locks, &frame) || find_blocks(locks, &frame, after) != blocks ||
             memcmp(before, after, blocks * sizeof *before) != 0))
            count = held;
    }
    *count_out = count;
    return rc;
}
