#include "sampler/cpython/threads/os_threads.h"

#include "sampler/base/clock.h"
#include "sampler/base/hash.h"
#include "sampler/cpython/objects/object.h"
#include "sampler/cpython/threads/sub_interpreter_stacks.h"
#include "sampler/cpython/threads/threads.h"

/* The offset of the id in the C library's structure of a thread. 720 and 208 are those of glibc
 * on x86-64 and ARM64; in musl it is at 48. */
enum {
    EXAMINED_BYTES = 1024,
#if defined __aarch64__
    OF_GLIBC = 208,
#else
    OF_GLIBC = 720,
#endif
    STEP = sizeof(uint32_t),
    MAX_EXAMINED = 64, /* structures, for the offset */
};

/* States without a thread, of which so many are tried at once: a program has few, unless it is hostile. */
enum { MAX_UNKNOWN = 4096 };

/* C stacks are read again when frames are on none that is known; each time in vain doubles the interval. */
static const uint64_t STACKS_AGAIN_NS = 50 * NS_PER_MS, MAX_STACKS_AGAIN_NS = 10 * NS_PER_S;

/* A thread id that cannot be read. */
enum { NO_ID = -1 };

void os_threads_init(struct os_threads *threads, struct thread_list *list, int pid)
{
    *threads = (struct os_threads){ .list = list };
    thread_ids_init(&threads->ids, pid);
    idmap_init(&threads->claimed);
}

void os_threads_deinit(struct os_threads *threads)
{
    thread_ids_deinit(&threads->ids);
    idmap_deinit(&threads->claimed);
    c_stacks_deinit(&threads->stacks);
}

/* The offset at which the structure has this id; 0: nowhere. */
static uint32_t find_offset_in(struct memory *memory, uint64_t pthread, uint32_t tid)
{
    unsigned char bytes[EXAMINED_BYTES];
    if (!pthread || memory_read(memory, pthread, bytes, sizeof bytes))
        return 0;
    if (field_u32(bytes, OF_GLIBC) == tid)
        return OF_GLIBC;
    for (uint32_t at = STEP; at < EXAMINED_BYTES; at += STEP)
        if (field_u32(bytes, at) == tid)
            return at;
    return 0;
}

/* The id of the first thread is that of the process.  The first thread is the main one, unless another one has called
 * fork. */
static void find_offset(struct os_threads *threads)
{
    const struct thread_list *const list = threads->list;
    const struct thread *const main = thread_list_main(list);
    const uint32_t first = (uint32_t)thread_ids_inner_pid(threads->ids.pid);
    threads->has_searched = true;
    if (main)
        threads->tid_offset = find_offset_in(list->memory, main->head.ident, first);
    for (size_t i = 0; i < list->count && i < MAX_EXAMINED && !threads->tid_offset; i++)
        threads->tid_offset = find_offset_in(list->memory, list->items[i]->head.ident, first);
}

/* The id that the C library has for the thread; 0: the thread has ended; NO_ID: unknown. */
static int32_t read_pthread_tid(const struct os_threads *threads, const struct thread *thread)
{
    uint32_t tid;
    if (!threads->tid_offset || !thread->head.ident ||
        memory_read(threads->list->memory, thread->head.ident + threads->tid_offset, &tid,
                    sizeof tid))
        return NO_ID;
    /* musl has -1 for the threads that a fork left behind. */
    return tid > INT32_MAX ? 0 : (int32_t)tid;
}

static void set_host_tid(struct thread *thread, int32_t host_tid)
{
    if (thread->host_tid == host_tid)
        return;
    thread->host_tid = host_tid;
    thread->is_lent = false;
    thread->c_stack = thread->c_stack_end = 0;
    /* The thread has another row of the profile from now on, and perhaps another name. */
    thread->tag = 0;
    thread->names_read = 0;
}

/* The state that has been given this thread, in any interpreter, or in this one. */
static struct idmap_slot *find_claim(const struct os_threads *threads, int32_t host_tid,
                                     remote_addr interp)
{
    struct thread *const *const items = threads->list->items;
    struct idmap_slot *at;
    IDMAP_FIND(at, &threads->claimed, hash_mix((uint64_t)host_tid, 0),
               items[at->id]->host_tid == host_tid &&
                   (!interp || items[at->id]->head.interp == interp));
    return at;
}

/* A thread inside several interpreters has a state in each of them. */
static enum err_code claim_thread(struct os_threads *threads, size_t index)
{
    const struct thread *const thread = threads->list->items[index];
    threads->claimed_count += !find_claim(threads, thread->host_tid, 0);
    return idmap_add(&threads->claimed, hash_mix((uint64_t)thread->host_tid, 0),
                     (uint32_t)index, NULL);
}

/* Gives the thread of this id to the state, if the process has it.  Of two states that name it, the one whose structure
 * does so too gets it, or else the first one. */
static enum err_code try_id(struct os_threads *threads, size_t index, int32_t tid)
{
    struct thread *const thread = threads->list->items[index];
    const int32_t host_tid = thread_ids_find(&threads->ids, tid);
    if (!host_tid)
        return ERR_OK;
    struct idmap_slot *const held = find_claim(threads, host_tid, thread->head.interp);
    if (!held) {
        set_host_tid(thread, host_tid);
        return claim_thread(threads, index);
    }
    struct thread *const holder = threads->list->items[held->id];
    if (read_pthread_tid(threads, thread) != tid || read_pthread_tid(threads, holder) == tid)
        return ERR_OK;
    set_host_tid(holder, 0);
    set_host_tid(thread, host_tid);
    held->id = (uint32_t)index;
    return ERR_OK;
}

static enum err_code match_thread(struct os_threads *threads, size_t index)
{
    const struct thread *const thread = threads->list->items[index];
    enum err_code rc = ERR_OK;
    if (thread->head.tid)
        rc = try_id(threads, index, thread->head.tid);
    if (rc || thread->host_tid)
        return rc;
    if (!threads->tid_offset && !threads->has_searched)
        find_offset(threads);
    return try_id(threads, index, read_pthread_tid(threads, thread));
}

/* Is the thread of this state gone?  Yes if the C library says so, or if all threads of the process, `count`, have other
 * states. */
static bool is_gone(struct os_threads *threads, const struct thread *thread, size_t count)
{
    const int32_t pthread_tid = read_pthread_tid(threads, thread);
    /* An id that another thread state has too identifies neither. */
    if (thread_ids_find(&threads->ids, thread->head.tid) ||
        thread_ids_find(&threads->ids, pthread_tid))
        return false;
    return (count && threads->claimed_count >= count) || (thread->head.tid && pthread_tid == 0);
}

static enum err_code match_all(struct os_threads *threads)
{
    enum { PASSES = 2 /* a state may lose its thread to one that comes after it */ };
    const struct thread_list *const list = threads->list;
    size_t unknown = 0;
    enum err_code rc = ERR_OK;
    idmap_clear(&threads->claimed);
    threads->claimed_count = 0;
    threads->has_searched = false;
    for (size_t i = 0; i < list->count && !rc; i++)
        if (list->items[i]->host_tid)
            rc = claim_thread(threads, i);
    for (unsigned pass = 0; pass < PASSES; pass++)
        for (size_t i = 0; i < list->count && unknown < MAX_UNKNOWN && !rc; i++) {
            if (list->items[i]->host_tid)
                continue;
            rc = match_thread(threads, i);
            unknown += !list->items[i]->host_tid;
        }
    return rc;
}

/* Forgets the threads that have ended; returns how many states lack one. */
static size_t count_unknown(const struct os_threads *threads)
{
    const struct thread_list *const list = threads->list;
    size_t count = 0;
    for (size_t i = 0; i < list->count; i++) {
        struct thread *const thread = list->items[i];
        if (thread->host_tid && !thread_ids_has(threads->ids.pid, thread->host_tid))
            set_host_tid(thread, 0);
        count += !thread->host_tid;
    }
    return count;
}

enum err_code os_threads_match(struct os_threads *threads)
{
    threads->unknown_count = count_unknown(threads);
    if (!threads->unknown_count)
        return ERR_OK;
    thread_ids_begin(&threads->ids);
    const enum err_code rc = match_all(threads);
    if (rc)
        return rc;

    struct thread_list *const list = threads->list;
    const size_t count = thread_ids_count(&threads->ids);
    size_t tried = 0;
    threads->unknown_count = 0;
    for (size_t i = 0; i < list->count; i++) {
        struct thread *const thread = list->items[i];
        if (thread->host_tid)
            continue;
        thread->is_gone = tried++ < MAX_UNKNOWN && is_gone(threads, thread, count);
        threads->unknown_count += !thread->is_gone;
    }
    thread_list_drop_gone(list);

    sub_stacks_find(threads->list);
    return ERR_OK;
}

bool os_threads_may_lend(const struct os_threads *threads)
{
    return threads->unknown_count || threads->list->has_lent ||
           threads->list->interpreter_count > 1;
}

/* The thread whose pthread_t the state has; 0: that of another thread, or unknown. */
static int32_t own_thread(struct os_threads *threads, const struct thread *thread)
{
    return thread->host_tid &&
                   thread_ids_find(&threads->ids, read_pthread_tid(threads, thread)) ==
                       thread->host_tid
               ? thread->host_tid
               : 0;
}

static enum err_code read_stacks(struct os_threads *threads)
{
    const struct thread_list *const list = threads->list;
    struct maps maps = { .count = 0 };
    int32_t first = 0;
    enum err_code rc = maps_read(&maps, threads->ids.pid, NULL);
    if (rc)
        return rc == ERR_NOMEM ? rc : ERR_OK;
    if (!threads->tid_offset)
        find_offset(threads);
    thread_ids_begin(&threads->ids);
    c_stacks_clear(&threads->stacks);
    for (size_t i = 0; i < list->count && !rc; i++) {
        const int32_t tid = own_thread(threads, list->items[i]);
        if (tid == thread_ids_first(threads->ids.pid))
            first = tid;
        else if (tid)
            rc = c_stacks_add(&threads->stacks, list->items[i]->head.ident, tid);
    }
    if (!rc)
        rc = c_stacks_place(&threads->stacks, &maps, first);
    maps_deinit(&maps);
    return rc;
}

static bool is_alive(const struct os_threads *threads, const struct c_stack *stack)
{
    return stack && thread_ids_has(threads->ids.pid, stack->host_tid);
}

/* *out: NULL: it is on none. */
static enum err_code find_stack(struct os_threads *threads, remote_addr place,
                                const struct c_stack **out)
{
    const uint64_t now_ns = clock_now_ns();
    *out = c_stacks_find(&threads->stacks, place);
    if (is_alive(threads, *out))
        return ERR_OK;
    *out = NULL;
    if (threads->stacks_ns && now_ns - threads->stacks_ns < threads->stacks_again_ns)
        return ERR_OK;
    const enum err_code rc = read_stacks(threads);
    const struct c_stack *const found = c_stacks_find(&threads->stacks, place);
    const uint64_t twice_ns = 2 * threads->stacks_again_ns;
    *out = is_alive(threads, found) ? found : NULL;
    threads->stacks_ns = now_ns;
    threads->stacks_again_ns = *out || !twice_ns                ? STACKS_AGAIN_NS
                               : twice_ns < MAX_STACKS_AGAIN_NS ? twice_ns
                                                                : MAX_STACKS_AGAIN_NS;
    return rc;
}

/* The thread whose C stack the frames of a state were called from; 0: unknown. */
static enum err_code find_runner(struct os_threads *threads, struct thread *thread,
                                 int32_t *host_tid_out)
{
    const remote_addr place = sub_stacks_place(threads->list, thread);
    const struct c_stack *stack;
    *host_tid_out = thread->host_tid;
    if (!place || (thread->c_stack <= place && place < thread->c_stack_end))
        return ERR_OK;
    const enum err_code rc = find_stack(threads, place, &stack);

    if (rc || !stack)
        return rc;
    /* A fork that Python does not know of leaves the states of the parent's threads behind, and a new thread may have got the C stack
     * of one of them: its frames were called from where those are. */
    const struct thread_list *const list = threads->list;
    for (size_t i = 0; i < list->count; i++)
        if (list->items[i] != thread && list->items[i]->host_tid == stack->host_tid &&
            sub_stacks_place(list, list->items[i]) == place)
            return rc;

    *host_tid_out = stack->host_tid;
    if (thread->host_tid == stack->host_tid) {
        thread->c_stack = stack->from;
        thread->c_stack_end = stack->to;
    }
    return ERR_OK;
}

enum err_code os_threads_place(struct os_threads *threads, struct thread *thread,
                               bool *has_moved_out)
{
    int32_t runner;
    const enum err_code rc = find_runner(threads, thread, &runner);
    *has_moved_out = !rc && runner != thread->host_tid;
    if (!*has_moved_out)
        return rc;
    threads->unknown_count -= !thread->host_tid && threads->unknown_count;
    set_host_tid(thread, runner);
    thread->is_lent = own_thread(threads, thread) == 0;
    threads->list->has_lent = true;
    return ERR_OK;
}

enum err_code os_threads_note_place(struct os_threads *threads, struct thread *thread)
{
    int32_t runner;
    const enum err_code rc = find_runner(threads, thread, &runner);
    threads->list->has_lent |= !rc && runner != thread->host_tid;
    return rc;
}
