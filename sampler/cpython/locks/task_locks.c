#include <string.h>

#include "sampler/cpython/asyncio/tasks.h"
#include "sampler/cpython/locks/lock_frames.h"
#include "sampler/cpython/locks/lock_objects.h"
#include "sampler/cpython/locks/lock_waits.h"
#include "sampler/cpython/locks/locks.h"
#include "sampler/cpython/objects/dict.h"

enum {
    WORD = sizeof(uint64_t),
    MAX_AWAITED = LOCK_USES_MAX / 2, /* tasks, so that there is room for what is held */
    MAX_SLOTS = 1 << 12,             /* of a set */
};

/* The tasks that a task waits for, of which there may be more. */
struct awaited {
    remote_addr items[MAX_AWAITED];
    size_t count;
    bool is_cut;
};

static void add_awaited(const struct locks *locks, remote_addr object, struct awaited *awaited)
{
    /* One that has ended is in no table. */
    if (!object || !task_table_find(&locks->tasks->table, object))
        return;
    awaited->is_cut |= awaited->count == MAX_AWAITED;
    if (awaited->count < MAX_AWAITED)
        awaited->items[awaited->count++] = object;
}

/* Adds the members of a list (Include/cpython/listobject.h) or of a set (Include/cpython/setobject.h). */
static void add_members(const struct locks *locks, remote_addr object, bool is_set,
                        struct awaited *awaited)
{
    enum { SIZE, MASK_WORDS = 2, TABLE_WORDS = 3, SET_WORDS = 4, BATCH = 128, STEP_SET = 2 };
    struct memory *const memory = locks->codes->memory;
    const size_t step = is_set ? STEP_SET : 1;
    uint64_t head[SET_WORDS], words[BATCH];
    if (memory_read(memory, object + object_first_field(locks->codes->layout), head,
                    (is_set ? SET_WORDS : 2) * WORD))
        return;
    uint64_t slots = is_set ? head[MASK_WORDS] + 1 : head[SIZE];
    const remote_addr table = is_set ? head[TABLE_WORDS] : head[1];
    awaited->is_cut |= slots > MAX_SLOTS;
    slots = slots > MAX_SLOTS ? MAX_SLOTS : slots;
    for (uint64_t at = 0; at < slots * step; at += BATCH) {
        const size_t some = slots * step - at < BATCH ? (size_t)(slots * step - at) : BATCH;
        if (memory_read(memory, table + at * WORD, words, some * WORD)) {
            awaited->is_cut = true;
            return;
        }
        for (size_t i = 0; i < some; i += step)
            add_awaited(locks, words[i], awaited);
    }
}

/* Is the variable of the frame something else than None? */
static bool is_set(const struct locks *locks, const struct walk_frame *frame, uint32_t variable)
{
    char type[LOCK_TYPE_BYTES];
    uint64_t value;
    if (!lock_object_word(locks, locks_variables(locks, frame) + variable * WORD, &value))
        return false;
    lock_object_type(locks, value & ~LOCK_TAG_MASK, type);
    return *type && strcmp(type, "NoneType") != 0;
}

static bool is_of_asyncio(const struct locks *locks, const struct walk_frame *frame)
{
    const struct code *const code = code_at(locks->codes, frame->code);
    return strstr(strtab_get(locks->strings, code->file).text, "/asyncio/") != NULL;
}

/* The innermost frame of a task that is not asyncio's own. */
static const struct walk_frame *find_caller(const struct locks *locks,
                                            const struct walk_frame *frames, size_t count)
{
    for (size_t i = count; i-- > 0;)
        if (!is_of_asyncio(locks, &frames[i]))
            return &frames[i];
    return &frames[count - 1];
}

/* Adds a wait of a task by its frame.  The text of asyncio's own code is of no use. */
static enum err_code add_use(struct locks *locks, const struct walk_frame *caller,
                             const char *name, struct lock_use use, struct lock_use *uses,
                             size_t *count)
{
    return locks_add_use(locks, caller, is_of_asyncio(locks, caller) ? &locks_no_text : NULL,
                         name, use, uses, count);
}

/* Adds a use for each task that is waited for, or one without an owner. */
static enum err_code add_tasks(struct locks *locks, const struct walk_frame *caller,
                               const char *name, remote_addr object,
                               const struct awaited *awaited, struct lock_use *uses,
                               size_t *count)
{
    struct lock_use use = { .object = object, .lock = object, .is_waited = true };
    enum err_code rc = ERR_OK;
    for (size_t i = 0; i < awaited->count && !rc; i++) {
        const struct task *const task =
            task_table_find(&locks->tasks->table, awaited->items[i]);
        const struct thread *const thread = tasks_thread(locks->tasks, task);
        struct lock_use one = use;
        one.is_joined = one.has_owner = true;
        one.owner_task = task->addr;
        one.owner_tid = thread ? thread->host_tid : 0;
        rc = add_use(locks, caller, name, one, uses, count);
    }
    return rc || (awaited->count && !awaited->is_cut)
               ? rc
               : add_use(locks, caller, name, use, uses, count);
}

/* Adds the tasks that a function of asyncio waits for. */
static enum err_code add_awaited_by(struct locks *locks, const struct waiting_function *waiting,
                                    const struct walk_frame *frame,
                                    const struct walk_frame *caller, struct lock_use *uses,
                                    size_t *count)
{
    struct awaited awaited = { .count = 0 };
    char type[LOCK_TYPE_BYTES];
    uint64_t first;
    remote_addr set;
    if (!lock_object_word(locks, locks_variables(locks, frame), &first))
        return ERR_OK;
    first &= ~LOCK_TAG_MASK;
    lock_object_type(locks, first, type);
    if (waiting->kind == AWAITS_ONE)
        add_awaited(locks, first, &awaited);
    else if (waiting->kind == AWAITS_SET && strcmp(type, "set") == 0)
        add_members(locks, first, true, &awaited);
    else if (waiting->kind == AWAITS_GROUP &&
             !object_attribute(locks->codes->memory, locks->codes->layout, first, "_tasks",
                               &set))
        add_members(locks, set, true, &awaited);
    else
        return ERR_OK;
    const char *const name = waiting->kind == AWAITS_ONE   ? "asyncio.wait_for"
                             : waiting->kind == AWAITS_SET ? "asyncio.wait"
                                                           : "asyncio.TaskGroup";
    return add_tasks(locks, caller, name, first, &awaited, uses, count);
}

/* Adds the future or the tasks that are awaited without a function of asyncio. */
static enum err_code add_future(struct locks *locks, const struct task *task,
                                const struct walk_frame *innermost,
                                const struct walk_frame *caller, struct lock_use *uses,
                                size_t *count)
{
    struct awaited awaited = { .count = 0 };
    char type[LOCK_TYPE_BYTES];
    remote_addr children;
    lock_object_type(locks, task->awaits, type);
    if (task_table_find(&locks->tasks->table, task->awaits)) {
        add_awaited(locks, task->awaits, &awaited);
        return add_tasks(locks, caller, "asyncio.Task", task->awaits, &awaited, uses, count);
    }
    if (strcmp(type, "_GatheringFuture") == 0 &&
        !object_attribute(locks->codes->memory, locks->codes->layout, task->awaits, "_children",
                          &children)) {
        add_members(locks, children, false, &awaited);
        return add_tasks(locks, caller, "asyncio.gather", task->awaits, &awaited, uses, count);
    }
    /* A future of asyncio's own is how it waits for time, a connection and the like. */
    return !is_of_asyncio(locks, innermost) && strstr(type, "Future") != NULL
               ? add_tasks(locks, caller, "asyncio.Future", task->awaits, &awaited, uses, count)
               : ERR_OK;
}

/* Adds what the innermost frames of the task wait for. */
static enum err_code add_wait(struct locks *locks, const struct task *task,
                              const struct walk_frame *frames, size_t frame_count,
                              struct lock_use *uses, size_t *count, bool *is_timed)
{
    const struct walk_frame *const caller = find_caller(locks, frames, frame_count);
    const struct waiting_function *outermost = NULL, *innermost = NULL;
    size_t at = frame_count;
    while (at > 0) {
        const struct waiting_function *const waiting =
            locks_waiting_function(locks, &frames[at - 1]);
        if (!waiting || (innermost && waiting->kind >= AWAITS_ONE))
            break;
        outermost = waiting;
        innermost = innermost ? innermost : waiting;
        at--;
        if (waiting->kind >= AWAITS_ONE)
            break;
    }
    if (!innermost)
        return add_future(locks, task, &frames[frame_count - 1], caller, uses, count);
    if (innermost->kind >= AWAITS_ONE) {
        *is_timed |= innermost->kind != AWAITS_GROUP && is_set(locks, &frames[at], 1);
        return add_awaited_by(locks, innermost, &frames[at], caller, uses, count);
    }
    struct lock_use use = { .is_waited = true };
    char type[LOCK_TYPE_BYTES], name[LOCK_NAME_BYTES];
    uint64_t self;
    if (!lock_object_word(locks, locks_variables(locks, &frames[at]), &self))
        return ERR_OK;
    self &= ~LOCK_TAG_MASK;
    lock_object_type(locks, self, type);
    locks_name_waited(outermost, type, name);
    use.object = use.lock = self;
    use.may_be_held = strcmp(innermost->name, "acquire") == 0;
    /* A condition that was notified waits for its lock; before that, its lock is free. */
    const struct lock_kind *const kind = lock_object_kind(locks, self);
    if (use.may_be_held && kind)
        lock_object_describe(locks, self, kind, &use);
    return add_use(locks, caller, name, use, uses, count);
}

/* Is the coroutine's frame still at this instruction? */
static bool is_same(const struct locks *locks, const struct walk_frame *frame)
{
    const struct layout *const layout = locks->codes->layout;
    const struct code *const code = code_at(locks->codes, frame->code);
    uint64_t executable, instr;
    if (!lock_object_word(locks, frame->addr + layout->frame_executable, &executable) ||
        (executable & ~LOCK_TAG_MASK) != code->addr ||
        !lock_object_word(
            locks,
            frame->addr + (layout->has_heap_frames ? layout->frame_lasti : layout->frame_instr),
            &instr))
        return false;
    const uint64_t step = layout->has_heap_frame_state ? CODE_UNIT_BYTES : 1;
    return layout->has_heap_frames ? code->instructions + (uint32_t)instr * step == frame->instr
                                   : instr == frame->instr;
}

enum err_code locks_read_task(struct locks *locks, const struct task *task,
                              struct lock_use *uses, size_t *count_out)
{
    const struct walk_frame *const frames = locks->tasks->frames + task->first_frame;
    const size_t frame_count = task->frame_count;
    size_t count = 0;
    bool is_timed = false;
    *count_out = 0;
    if (!frame_count || task->is_running || task->is_moving || task->is_truncated)
        return ERR_OK;
    locks->budget = LOCKS_MAX_CODE_BYTES;
    enum err_code rc = add_wait(locks, task, frames, frame_count, uses, &count, &is_timed);
    const size_t waits = count;
    const uint64_t let_go = waits ? locks_find_let_go(locks, &uses[0]) : 0;
    for (size_t i = frame_count; i-- > 0 && !rc && count < LOCK_USES_MAX;)
        rc = locks_add_held(locks, frames, i, let_go, uses, &count, &is_timed);
    for (size_t i = 0; i < frame_count; i++)
        if (!is_same(locks, &frames[i]))
            return rc;
    /* An outer function may end the wait of an inner one after a time, too. */
    for (size_t i = 0; i < frame_count; i++) {
        const struct waiting_function *const waiting =
            locks_waiting_function(locks, &frames[i]);
        is_timed |= waiting && (waiting->kind == AWAITS_ONE || waiting->kind == AWAITS_SET) &&
                    is_set(locks, &frames[i], 1);
    }
    for (size_t i = 0; i < waits; i++)
        uses[i].is_timed = is_timed;
    *count_out = count;
    return rc;
}
