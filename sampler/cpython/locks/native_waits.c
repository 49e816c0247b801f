#include "sampler/cpython/locks/native_waits.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "sampler/cpython/locks/lock_frames.h"
#include "sampler/cpython/threads/thread_state.h"

enum { NAME_BYTES = 64 };

/* Adds a use at the innermost frame, if there is one. */
static enum err_code add_use(struct locks *locks, const struct thread *thread, const char *name,
                             struct lock_use use, struct lock_use *uses, size_t *count)
{
    const struct stack *const stack = &thread->stack;
    if (stack->count)
        return locks_add_use(locks, &stack->frames[stack->count - 1], &locks_no_text, name, use,
                             uses, count);
    if (*count == LOCK_USES_MAX)
        return ERR_OK;
    use.text = locks_no_text;
    const enum err_code rc = strtab_intern(locks->strings, name, strlen(name), &use.type, NULL);
    if (!rc)
        uses[(*count)++] = use;
    return rc == ERR_LIMIT ? ERR_OK : rc;
}

static enum err_code add_gil(struct locks *locks, const struct thread *thread,
                             const struct gil *gil, bool is_waited, struct lock_use *uses,
                             size_t *count)
{
    char name[NAME_BYTES];
    struct lock_use use = { .object = gil->addr,
                            .lock = gil->addr,
                            .is_waited = is_waited,
                            .has_owner = true,
                            .gil_turn = gil->switches + 1 };
    for (size_t i = 0; i < locks->threads->count && gil->holder; i++)
        if (locks->threads->items[i]->head.addr == gil->holder)
            use.owner_tid = locks->threads->items[i]->host_tid;
    if (gil->interp_id)
        snprintf(name, sizeof name, "the GIL of interpreter %" PRIu64, gil->interp_id);
    else
        snprintf(name, sizeof name, "the GIL");
    return add_use(locks, thread, name, use, uses, count);
}

static bool waits_in_futex(const struct system_call *call)
{
    return call->is_known && system_call_kind(call->number) == CALL_FUTEX;
}

enum err_code locks_add_gil_wait(struct locks *locks, struct thread *thread,
                                 const struct system_call *call, struct lock_use *uses,
                                 size_t *count)
{
    struct gil gil = { .addr = 0 };
    const bool waits =
        call->is_known
            ? waits_in_futex(call) &&
                  thread_state_waited_gil(locks->threads, call->args[0], call->sp, &gil)
            : thread->waited_gil &&
                  thread_state_read_gil(locks->threads, thread->waited_gil, &gil) &&
                  gil.switches == thread->waited_switches;
    /* A thread that has let it go may wait there until another one has taken it. */
    const bool is_taken = waits && gil.holder != 0 && gil.holder != thread->head.addr;
    thread->waited_gil = is_taken ? gil.addr : 0;
    thread->waited_switches = gil.switches;
    if (!is_taken)
        return ERR_OK;
    return add_gil(locks, thread, &gil, true, uses, count);
}

enum err_code locks_add_gil(struct locks *locks, const struct thread *thread,
                            struct lock_use *uses, size_t *count)
{
    struct gil gil;
    return thread_state_held_gil(locks->threads, thread, &gil)
               ? add_gil(locks, thread, &gil, false, uses, count)
               : ERR_OK;
}

/* The thread that has the mutex whose word this is, in its own PID namespace; 0: unknown.  glibc's mutex begins with the word, which is
 * 2 while others wait, and has the owner behind a counter (struct __pthread_mutex_s); with musl, and for priority inheritance, the
 * owner is in the word, with the highest bit while others wait. */
static int32_t read_mutex_owner(struct memory *memory, remote_addr word)
{
    enum { LOCK, COUNT, OWNER, FIELDS };
    enum { CONTENDED = 2 };
    static const uint32_t WAITERS = UINT32_C(1) << 31, TID_MASK = (UINT32_C(1) << 30) - 1;
    uint32_t fields[FIELDS];
    if (memory_read(memory, word, fields, sizeof fields))
        return 0;
    return fields[LOCK] == CONTENDED ? (int32_t)fields[OWNER]
           : fields[LOCK] & WAITERS && fields[LOCK] & TID_MASK
               ? (int32_t)(fields[LOCK] & TID_MASK)
               : 0;
}

enum err_code locks_add_mutex_wait(struct locks *locks, const struct thread *thread,
                                   const struct system_call *call, struct lock_use *uses,
                                   size_t *count)
{
    const int32_t owner =
        waits_in_futex(call) ? read_mutex_owner(locks->codes->memory, call->args[0]) : 0;
    struct lock_use use = {
        .object = call->args[0], .lock = call->args[0], .is_waited = true, .has_owner = true
    };
    /* Other words may look like that by chance: a mutex is one that another thread of the interpreter has. */
    for (size_t i = 0; i < locks->threads->count && owner > 0; i++) {
        const struct thread *const other = locks->threads->items[i];
        /* Until 3.10 the interpreter does not know the number in the thread's own namespace. */
        if ((other->head.tid ? other->head.tid : other->host_tid) == owner)
            use.owner_tid = other->host_tid;
    }
    return use.owner_tid && use.owner_tid != thread->host_tid
               ? add_use(locks, thread, "pthread_mutex_t", use, uses, count)
               : ERR_OK;
}
