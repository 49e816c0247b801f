#include "sampler/cpython/locks/locks.h"

#include <stdlib.h>
#include <string.h>

#include "sampler/cpython/locks/lock_frames.h"
#include "sampler/cpython/locks/lock_objects.h"
#include "sampler/cpython/locks/lock_waits.h"
#include "sampler/cpython/locks/native_waits.h"

void locks_init(struct locks *locks, struct code_table *codes, struct strtab *strings,
                const struct thread_list *threads, const struct tasks *tasks,
                const struct leaves *leaves)
{
    *locks = (struct locks){
        .codes = codes, .strings = strings, .threads = threads, .tasks = tasks, .leaves = leaves
    };
}

void locks_deinit(struct locks *locks)
{
    code_bytecode_deinit(&locks->room);
    free(locks->places);
    *locks = (struct locks){ .codes = locks->codes };
}

/* Adds what a thread waits for.  One that got the lock of a call may need the GIL to return from it. */
static enum err_code add_wait(struct locks *locks, struct thread *thread, bool runs,
                              const struct system_call *call, struct lock_use *uses,
                              size_t *count)
{
    enum err_code rc = locks_add_gil_wait(locks, thread, call, uses, count);
    if (!rc && !*count && !runs && thread->stack.count)
        rc = locks_add_wait(locks, thread, uses, count);
    if (!rc && !*count && !runs)
        rc = locks_add_mutex_wait(locks, thread, call, uses, count);
    /* Who waits for the GIL wakes up now and then, and goes on waiting. */
    if (!rc && *count)
        uses[0].is_timed = call->is_timed && !uses[0].gil_turn;
    return rc;
}

enum err_code locks_read(struct locks *locks, struct thread *thread, enum three_valued runs,
                         const struct system_call *call, struct lock_use *uses,
                         size_t *count_out)
{
    const struct stack *const stack = &thread->stack;
    size_t count = 0;
    bool is_timed = false;
    *count_out = 0;
    if (stack->certainty == STACK_TRUNCATED)
        return ERR_OK;
    locks->budget = LOCKS_MAX_CODE_BYTES;
    enum err_code rc = add_wait(locks, thread, runs == VALUE_YES, call, uses, &count);
    if (!rc)
        rc = locks_add_gil(locks, thread, uses, &count);
    const uint64_t let_go = count && uses[0].is_waited ? locks_find_let_go(locks, &uses[0]) : 0;
    const size_t frames = stack->count < LOCKS_MAX_FRAMES ? stack->count : LOCKS_MAX_FRAMES;
    for (size_t i = stack->count;
         i-- > stack->count - frames && !rc && count < LOCK_USES_MAX;) {
        rc = locks_add_held(locks, stack->frames, i, let_go, uses, &count, &is_timed);
        if (!rc)
            rc = locks_add_import(locks, thread, i, uses, &count);
    }
    *count_out = count;
    return rc;
}

/* Sets the frame's instruction to where it is by now.  false: another frame is there. */
static bool follow_frame(const struct locks *locks, struct walk_frame *frame)
{
    const struct layout *const layout = locks->codes->layout;
    const struct code *const code = code_at(locks->codes, frame->code);
    uint64_t addr;
    if (!lock_object_word(locks, frame->addr + layout->frame_executable, &addr) ||
        (addr & ~LOCK_TAG_MASK) != code->addr)
        return false;
    /* Until 3.10 the frame has its blocks itself. */
    return layout->has_heap_frames ||
           (lock_object_word(locks, frame->addr + layout->frame_instr, &frame->instr) &&
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
    locks->budget = LOCKS_MAX_CODE_BYTES;
    for (size_t i = stack->count;
         i-- > stack->count - frames && !rc && count < LOCK_USES_MAX;) {
        struct walk_frame frame = stack->frames[i];
        struct locks_block before[LOCKS_MAX_BLOCKS], after[LOCKS_MAX_BLOCKS];
        bool is_timed = false;
        const size_t held = count;
        if (!follow_frame(locks, &frame))
            continue;
        const size_t blocks = locks_find_blocks(locks, &frame, before);
        rc = blocks ? locks_add_held(locks, &frame, 0, 0, uses, &count, &is_timed) : ERR_OK;
        if (count > held && (!follow_frame(locks, &frame) ||
                             locks_find_blocks(locks, &frame, after) != blocks ||
                             memcmp(before, after, blocks * sizeof *before) != 0))
            count = held;
    }
    *count_out = count;
    return rc;
}
