#include "sampler/cpython/threads/threads.h"

#include <stdlib.h>
#include <string.h>

#include "sampler/base/hash.h"
#include "sampler/base/vec.h"
#include "sampler/cpython/objects/object.h"

static size_t head_bytes(const struct layout *layout)
{
    const uint32_t fields[] = { layout->tstate_next, layout->tstate_interp,
                                layout->tstate_thread_id, layout->tstate_native_thread_id };
    uint32_t end = 0;
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
        end = fields[i] > end ? fields[i] : end;
    return end + sizeof(uint64_t);
}

/* The range of bytes that holds all fields of this version (those that are not 0). */
static void span_fields(const uint32_t *fields, size_t count, uint32_t *start_out,
                        uint32_t *bytes_out)
{
    uint32_t start = UINT32_MAX, end = 0;
    for (size_t i = 0; i < count; i++) {
        if (fields[i] && fields[i] < start)
            start = fields[i];
        if (fields[i] && fields[i] + sizeof(uint64_t) > end)
            end = fields[i] + (uint32_t)sizeof(uint64_t);
    }
    *start_out = start;
    *bytes_out = end - start;
}

void thread_list_choose_windows(struct thread_list *list)
{
    const struct layout *const layout = &list->runtime->layout;
    const uint32_t collecting = layout->interp_gc && layout->gc_collecting
                                    ? layout->interp_gc + layout->gc_collecting
                                    : 0;
    const uint32_t gc_frame =
        layout->interp_gc && layout->gc_frame ? layout->interp_gc + layout->gc_frame : 0;
    const uint32_t of_interp[] = { layout->interp_threads_head,
                                   layout->interp_gil_enabled,
                                   layout->interp_gil_locked,
                                   layout->interp_gil_holder,
                                   collecting,
                                   gc_frame,
                                   layout->interp_code_generation };
    const uint32_t of_runtime[] = { layout->runtime_gil_locked, layout->runtime_gil_holder,
                                    layout->runtime_gc_collecting };
    span_fields(of_interp, sizeof of_interp / sizeof *of_interp, &list->window_start,
                &list->window_bytes);
    if (layout->runtime_gil_holder)
        span_fields(of_runtime, sizeof of_runtime / sizeof *of_runtime, &list->runtime_start,
                    &list->runtime_bytes);
}

void thread_list_init(struct thread_list *list, struct memory *memory,
                      const struct runtime *runtime)
{
    memset(list, 0, sizeof *list);
    list->memory = memory;
    list->runtime = runtime;
    list->head_bytes = head_bytes(&runtime->layout);
    idmap_init(&list->index);
    thread_list_choose_windows(list);
}

static void free_thread(struct thread *thread)
{
    if (thread->visit) {
        stack_deinit(&thread->visit->stack);
        free(thread->visit->kept);
    }
    free(thread->visit);
    thread->visit = NULL;

    stack_deinit(&thread->stack);
    free(thread->kept);
    free(thread);
}

void thread_list_deinit(struct thread_list *list)
{
    for (size_t i = 0; i < list->count; i++)
        free_thread(list->items[i]);
    idmap_deinit(&list->index);
    free(list->items);
    free(list->heads);
    free(list->known);
    free(list->interpreters);
    list->interpreters = NULL;
    list->interpreter_count = list->interpreter_room = 0;
    list->items = NULL;
    list->heads = NULL;
    list->known = NULL;
    list->count = list->room = list->heads_room = 0;
    list->known_count = list->known_room = 0;
}

static struct thread_head parse_head(const struct layout *layout, remote_addr addr,
                                     const unsigned char *copy)
{
    return (struct thread_head){
        .addr = addr,
        .next = field_u64(copy, layout->tstate_next),
        .interp = field_u64(copy, layout->tstate_interp),
        .ident = field_u64(copy, layout->tstate_thread_id),
        .tid = layout->tstate_native_thread_id
                   ? (int32_t)field_u64(copy, layout->tstate_native_thread_id)
                   : 0,
    };
}

static bool same_thread(const struct thread_head *a, const struct thread_head *b)
{
    return a->addr == b->addr && a->interp == b->interp && a->ident == b->ident &&
           a->tid == b->tid;
}

static uint32_t hash_of(const struct thread_head *head)
{
    return hash_mix(head->addr, head->ident);
}

static bool is_at(struct thread_list *list, size_t at, const struct thread_head *head)
{
    list->compared++;
    return same_thread(&list->items[at]->head, head);
}

/* Threads rarely change their order, so the next one is likely to be there.  *out: NULL: the thread is new. */
static enum err_code find_thread(struct thread_list *list, const struct thread_head *head,
                                 size_t *next, struct thread **out)
{
    struct idmap_slot *at;
    *out = NULL;
    if (*next < list->count && is_at(list, *next, head)) {
        *out = list->items[(*next)++];
        return ERR_OK;
    }
    for (; list->indexed < list->count; list->indexed++) {
        const enum err_code rc =
            idmap_add(&list->index, hash_of(&list->items[list->indexed]->head),
                      (uint32_t)list->indexed, NULL);
        if (rc)
            return rc;
    }
    IDMAP_FIND(at, &list->index, hash_of(head), is_at(list, at->id, head));
    if (at) {
        *out = list->items[at->id];
        *next = at->id + (size_t)1;
    }
    return ERR_OK;
}

static struct thread *allocate_thread(const struct thread_list *list)
{
    struct thread *const thread = calloc(1, sizeof *thread);
    if (!thread || !list->kept_bytes)
        return thread;
    thread->kept = calloc(1, list->kept_bytes);
    if (!thread->kept) {
        free(thread);
        return NULL;
    }
    return thread;
}

static enum err_code append_thread(struct thread_list *list, struct thread *thread)
{
    if (list->count == THREADS_MAX)
        return ERR_LIMIT;
    if (!VEC_RESERVE(list->items, list->room, list->count + 1))
        return ERR_NOMEM;
    list->items[list->count++] = thread;
    return ERR_OK;
}

static void init_stack(const struct thread_list *list, struct thread *thread)
{
    const struct layout *const layout = &list->runtime->layout;
    const remote_addr generation = layout->interp_code_generation
                                       ? thread->head.interp + layout->interp_code_generation
                                       : 0;
    stack_init(&thread->stack, list->memory, layout, thread->head.addr, generation);
    thread->stack.copy.ident = thread->head.ident;
}

void thread_list_clear_stack(const struct thread_list *list, struct thread *thread)
{
    stack_deinit(&thread->stack);
    init_stack(list, thread);
}

void thread_list_clear_stacks(struct thread_list *list)
{
    for (size_t i = 0; i < list->count; i++) {
        thread_list_clear_stack(list, list->items[i]);
        if (list->items[i]->visit)
            thread_list_clear_stack(list, list->items[i]->visit);
    }
}

static void copy_field(struct thread *thread, uint32_t offset)
{
    const size_t end = offset + sizeof(uint64_t);
    if (thread && thread->stack.copy.tstate_bytes < end)
        thread->stack.copy.tstate_bytes = end;
}

void thread_list_copy_field(struct thread_list *list, uint32_t offset)
{
    for (size_t i = 0; i < list->count; i++) {
        copy_field(list->items[i], offset);
        copy_field(list->items[i]->visit, offset);
    }
}

struct thread *thread_list_visit(const struct thread_list *list, struct thread *thread,
                                 remote_addr tstate, remote_addr interp)
{
    if (!thread->visit)
        thread->visit = allocate_thread(list);
    struct thread *const visit = thread->visit;
    if (!visit)
        return NULL;
    if (visit->head.addr != tstate || visit->head.interp != interp) {
        stack_deinit(&visit->stack);

        struct thread_head head = thread->head;
        for (size_t i = 0; i < list->count && list->has_lent; i++)
            if (list->items[i]->head.addr == tstate)
                head = list->items[i]->head;
        head.addr = tstate;
        head.interp = interp;
        head.next = 0;
        *visit = (struct thread){ .head = head, .kept = visit->kept };

        if (visit->kept)
            memset(visit->kept, 0, list->kept_bytes);
        init_stack(list, visit);
    }
    visit->host_tid = thread->host_tid;
    visit->is_main = thread->is_main;
    visit->name = thread->name;
    visit->tag = thread->tag;
    return visit;
}

static enum err_code add_thread(struct thread_list *list, const struct thread_head *head,
                                struct thread **out)
{
    struct thread *const thread = allocate_thread(list);
    if (!thread)
        return ERR_NOMEM;
    const enum err_code rc = append_thread(list, thread);
    if (rc) {
        free_thread(thread);
        return rc;
    }
    thread->head = *head;
    thread->is_new = true;
    init_stack(list, thread);
    *out = thread;
    return ERR_OK;
}

/* A thread that its parent is about to start has a state, but neither an id nor a stack. */
static bool is_started(const struct layout *layout, const struct thread_head *head)
{
    return head->tid != 0 || !layout->tstate_native_thread_id;
}

static enum err_code walk_threads(struct thread_list *list, const struct interpreter *interp)
{
    const struct layout *const layout = &list->runtime->layout;
    unsigned char copy[THREADS_HEAD_BYTES];
    remote_addr named = 0;
    size_t next = 0, seen = 0;
    if (list->head_bytes > sizeof copy)
        return ERR_UNSUPPORTED;
    enum err_code rc = ERR_OK;
    if (layout->interp_threads_main)
        rc = memory_read_u64(list->memory, interp->addr + layout->interp_threads_main, &named);
    for (remote_addr addr = interp->first_thread; addr && !rc;) {
        rc = memory_read(list->memory, addr, copy, list->head_bytes);
        if (rc)
            break;
        const struct thread_head head = parse_head(layout, addr, copy);
        if (head.interp != interp->addr || ++seen > THREADS_MAX)
            return ERR_CORRUPT;
        addr = head.next;
        if (!VEC_RESERVE(list->known, list->known_room, list->known_count + 1))
            return ERR_NOMEM;
        list->known[list->known_count++] = head;
        if (!is_started(layout, &head))
            continue;
        struct thread *thread;
        rc = find_thread(list, &head, &next, &thread);
        if (!rc && !thread)
            rc = add_thread(list, &head, &thread);
        if (rc)
            break;
        thread->head = head;
        thread->interp_id = interp->id;

        /* The main thread is the one that the interpreter names, or else the last in the list, the
         * oldest. */
        thread->is_main = interp->id == 0 && (named ? head.addr == named : head.next == 0);

        thread->listed = list->listing;
    }
    return rc;
}

static enum err_code walk_once(struct thread_list *list)
{
    const struct layout *const layout = &list->runtime->layout;
    remote_addr addr;
    if (list->window_bytes > THREADS_WINDOW_BYTES || list->runtime_bytes > THREADS_WINDOW_BYTES)
        return ERR_UNSUPPORTED;
    list->interpreter_count = 0;
    list->known_count = 0;
    list->indexed = 0;
    idmap_clear(&list->index);
    enum err_code rc = memory_read_u64(
        list->memory, list->runtime->addr + layout->runtime_interpreters_head, &addr);
    while (!rc && addr) {
        struct interpreter *interp;

        if (list->interpreter_count == THREADS_MAX_INTERPRETERS)
            return ERR_LIMIT;
        if (!VEC_RESERVE(list->interpreters, list->interpreter_room,
                         list->interpreter_count + 1))
            return ERR_NOMEM;
        interp = &list->interpreters[list->interpreter_count++];
        memset(interp, 0, sizeof *interp);
        (interp)->addr = addr;

        rc = memory_read_u64(list->memory, addr + layout->interp_id, &interp->id);
        if (!rc)
            rc = memory_read_u64(list->memory, addr + layout->interp_next, &interp->next);
        if (!rc)
            rc = memory_read_u64(list->memory, addr + layout->interp_threads_head,
                                 &interp->first_thread);
        if (!rc)
            rc = walk_threads(list, interp);
        addr = interp->next;
    }
    return rc;
}

static void drop_unlisted(struct thread_list *list)
{
    size_t kept = 0;
    for (size_t i = 0; i < list->count; i++) {
        if (list->items[i]->listed == list->listing && !list->items[i]->is_gone)
            list->items[kept++] = list->items[i];
        else
            free_thread(list->items[i]);
    }
    list->count = kept;
}

void thread_list_drop_gone(struct thread_list *list)
{
    const size_t before = list->count;
    drop_unlisted(list);
    list->has_gone = list->count < before;
}

static const struct thread *listed_main(const struct thread_list *list)
{
    for (size_t i = 0; i < list->count; i++)
        if (list->items[i]->is_main && list->items[i]->listed == list->listing)
            return list->items[i];
    return NULL;
}

/* A thread state that is just being set up has no identity yet. */
static bool is_another(const struct thread *before, const struct thread *now)
{
    return before && now && before->head.ident && before->head.ident != now->head.ident;
}

enum err_code thread_list_walk(struct thread_list *list)
{
    enum { MAX_ATTEMPTS = 5 };
    enum err_code rc = ERR_CORRUPT;
    const struct thread *const main_before = thread_list_main(list);
    const size_t count_before = list->count;
    for (int i = 0; i < MAX_ATTEMPTS && (rc == ERR_CORRUPT || rc == ERR_FAULT); i++) {
        list->listing++;
        rc = walk_once(list);
        if (!rc && is_another(main_before, listed_main(list)))
            rc = ERR_GONE;
        if (rc) {
            /* Removes the threads that a failed walk added: they may be garbage, and would pile up. */
            while (list->count > count_before)
                free_thread(list->items[--list->count]);
        }
    }
    if (rc) {
        list->known_count = 0;
        return rc;
    }
    drop_unlisted(list);
    list->has_gone = false;
    return ERR_OK;
}

/* CPython adds interpreters at the head of their list too. */
static enum err_code interpreters_same(struct thread_list *list, bool *same_out)
{
    struct memory_span spans[THREADS_MAX_INTERPRETERS + 2];
    remote_addr first;
    size_t arrived;
    const size_t count = thread_list_plan_count(list);
    thread_list_plan(list, spans);
    spans[count] = (struct memory_span){ list->runtime->addr +
                                             list->runtime->layout.runtime_interpreters_head,
                                         &first, sizeof first };
    const enum err_code rc = memory_readv(list->memory, spans, count + 1, &arrived);
    if (!rc)
        *same_out = thread_list_heads_same(list) && list->interpreters[0].addr == first;
    return rc;
}

static enum err_code reserve_heads(struct thread_list *list)
{
    const size_t need = MEMORY_MAX_SPANS * list->head_bytes;
    if (list->heads_room >= need)
        return ERR_OK;
    free(list->heads);
    list->heads = malloc(need);
    list->heads_room = list->heads ? need : 0;
    return list->heads ? ERR_OK : ERR_NOMEM;
}

enum err_code thread_list_check(struct thread_list *list, bool *same_out)
{
    enum err_code rc = interpreters_same(list, same_out);
    if (rc || !*same_out)
        return rc;
    *same_out = list->known_count > 0;
    rc = reserve_heads(list);
    for (size_t from = 0; from < list->known_count && !rc && *same_out;
         from += MEMORY_MAX_SPANS) {
        const size_t left = list->known_count - from;
        const size_t count = left < MEMORY_MAX_SPANS ? left : MEMORY_MAX_SPANS;

        struct memory_span spans[MEMORY_MAX_SPANS];
        size_t arrived;
        for (size_t i = 0; i < count; i++)
            spans[i] =
                (struct memory_span){ list->known[from + i].addr,
                                      list->heads + i * list->head_bytes, list->head_bytes };
        rc = memory_readv(list->memory, spans, count, &arrived);

        for (size_t i = 0; i < count && !rc; i++) {
            const struct thread_head *const known = &list->known[from + i];
            const struct thread_head now = parse_head(&list->runtime->layout, known->addr,
                                                      list->heads + i * list->head_bytes);
            *same_out = *same_out && same_thread(known, &now) && known->next == now.next;
        }
    }
    return rc;
}

size_t thread_list_plan_count(const struct thread_list *list)
{
    return (list->runtime_bytes != 0) + list->interpreter_count;
}

void thread_list_plan(struct thread_list *list, struct memory_span *spans)
{
    size_t count = 0;
    if (list->runtime_bytes)
        spans[count++] = (struct memory_span){ list->runtime->addr + list->runtime_start,
                                               list->runtime_window, list->runtime_bytes };
    for (size_t i = 0; i < list->interpreter_count; i++)
        spans[count++] =
            (struct memory_span){ list->interpreters[i].addr + list->window_start,
                                  list->interpreters[i].window, list->window_bytes };
}

bool thread_list_heads_same(const struct thread_list *list)
{
    const struct layout *const layout = &list->runtime->layout;
    bool same = list->interpreter_count != 0;
    for (size_t i = 0; i < list->interpreter_count; i++)
        same = same &&
               thread_list_u64(list, &list->interpreters[i], layout->interp_threads_head) ==
                   list->interpreters[i].first_thread;
    return same;
}

void thread_list_take_windows(struct thread_list *list, const struct thread *thread,
                              struct memory *copy)
{
    if (list->runtime_bytes)
        (void)!memory_read(copy, list->runtime->addr + list->runtime_start,
                           list->runtime_window, list->runtime_bytes);
    for (size_t i = 0; i < list->interpreter_count; i++)
        if (list->interpreters[i].addr == thread->head.interp || list->interpreters[i].id == 0)
            (void)!memory_read(copy, list->interpreters[i].addr + list->window_start,
                               list->interpreters[i].window, list->window_bytes);
}

const struct interpreter *thread_list_interpreter(const struct thread_list *list,
                                                  const struct thread *thread)
{
    for (size_t i = 0; i < list->interpreter_count; i++)
        if (list->interpreters[i].addr == thread->head.interp)
            return &list->interpreters[i];
    return NULL;
}

const struct interpreter *thread_list_main_interpreter(const struct thread_list *list)
{
    for (size_t i = 0; i < list->interpreter_count; i++)
        if (list->interpreters[i].id == 0)
            return &list->interpreters[i];
    return NULL;
}

void thread_list_set_generation(const struct thread_list *list, struct thread *thread)
{
    const uint32_t offset = list->runtime->layout.interp_code_generation;
    const struct interpreter *const interp = thread_list_interpreter(list, thread);
    if (offset && interp)
        thread->stack.copy.generation = thread_list_u64(list, interp, offset);
}

struct thread *thread_list_main(const struct thread_list *list)
{
    for (size_t i = 0; i < list->count; i++)
        if (list->items[i]->is_main)
            return list->items[i];
    return NULL;
}
