#include "sampler/cpython/threads.h"

#include <stdlib.h>
#include <string.h>

#include "sampler/cpython/object.h"

static size_t head_bytes(const struct layout *layout)
{
    const uint32_t fields[] = { layout->tstate_next, layout->tstate_interp,
                                layout->tstate_thread_id, layout->tstate_native_thread_id };
    uint32_t end = 0;
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
        end = fields[i] > end ? fields[i] : end;
    return end + sizeof(uint64_t);
}

void thread_list_init(struct thread_list *list, struct memory *memory,
                      const struct runtime *runtime)
{
    memset(list, 0, sizeof *list);
    list->memory = memory;
    list->runtime = runtime;
    list->head_bytes = head_bytes(&runtime->layout);
}

static void free_thread(struct thread *thread)
{
    stack_deinit(&thread->stack);
    free(thread);
}

void thread_list_deinit(struct thread_list *list)
{
    for (size_t i = 0; i < list->count; i++)
        free_thread(list->items[i]);
    free(list->items);
    free(list->heads);
    list->items = NULL;
    list->heads = NULL;
    list->count = list->room = list->heads_room = 0;
}

static struct thread_head parse_head(const struct layout *layout, remote_addr addr,
                                     const unsigned char *copy)
{
    return (struct thread_head){
        .addr = addr,
        .next = field_u64(copy, layout->tstate_next),
        .interp = field_u64(copy, layout->tstate_interp),
        .ident = field_u64(copy, layout->tstate_thread_id),
        .tid = (int32_t)field_u64(copy, layout->tstate_native_thread_id),
    };
}

static bool same_thread(const struct thread_head *a, const struct thread_head *b)
{
    return a->addr == b->addr && a->interp == b->interp && a->ident == b->ident &&
           a->tid == b->tid;
}

/* Threads mostly keep their order, so the search begins where the last one ended. */
static struct thread *find(const struct thread_list *list, const struct thread_head *head,
                           size_t *near)
{
    for (size_t i = 0; i < list->count; i++) {
        const size_t at = (*near + i) % list->count;
        if (!same_thread(&list->items[at]->head, head))
            continue;
        *near = at + 1;
        return list->items[at];
    }
    return NULL;
}

static enum err_code append(struct thread_list *list, struct thread *thread)
{
    if (list->count == THREADS_MAX)
        return ERR_LIMIT;
    if (list->count == list->room) {
        const size_t room = list->room ? list->room * 2 : 16;
        struct thread **const more = realloc(list->items, room * sizeof *more);
        if (!more)
            return ERR_NOMEM;
        list->items = more;
        list->room = room;
    }
    list->items[list->count++] = thread;
    return ERR_OK;
}

static enum err_code add(struct thread_list *list, const struct thread_head *head,
                         struct thread **out)
{
    const struct layout *const layout = &list->runtime->layout;
    struct thread *const thread = calloc(1, sizeof *thread);
    if (!thread)
        return ERR_NOMEM;
    const enum err_code rc = append(list, thread);
    if (rc) {
        free(thread);
        return rc;
    }
    thread->head = *head;
    thread->is_new = true;
    const remote_addr generation =
        layout->interp_code_generation ? head->interp + layout->interp_code_generation : 0;
    stack_init(&thread->stack, list->memory, layout, head->addr, generation);
    thread->stack.copy.ident = head->ident;
    *out = thread;
    return ERR_OK;
}

/* The main thread is the one the interpreter names, or the oldest: new ones are put in front. */
static bool is_main(const struct interpreter *interp, remote_addr named,
                    const struct thread_head *head)
{
    return interp->id == 0 && (named ? head->addr == named : head->next == 0);
}

static enum err_code walk_threads(struct thread_list *list, const struct interpreter *interp)
{
    const struct layout *const layout = &list->runtime->layout;
    unsigned char copy[THREADS_HEAD_BYTES];
    remote_addr named = 0;
    size_t near = 0, seen = 0;
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
        struct thread *thread = find(list, &head, &near);
        if (!thread)
            rc = add(list, &head, &thread);
        if (rc)
            break;
        thread->head = head;
        thread->is_main = is_main(interp, named, &head);
        thread->listed = list->listing;
        addr = head.next;
    }
    return rc;
}

static enum err_code walk_once(struct thread_list *list)
{
    const struct layout *const layout = &list->runtime->layout;
    remote_addr addr;
    list->interpreter_count = 0;
    enum err_code rc = memory_read_u64(
        list->memory, list->runtime->addr + layout->runtime_interpreters_head, &addr);
    while (!rc && addr) {
        if (list->interpreter_count == THREADS_MAX_INTERPRETERS)
            return ERR_LIMIT;
        struct interpreter *const interp = &list->interpreters[list->interpreter_count];
        interp->addr = addr;
        rc = memory_read_u64(list->memory, addr + layout->interp_id, &interp->id);
        if (!rc)
            rc = memory_read_u64(list->memory, addr + layout->interp_next, &interp->next);
        if (!rc)
            rc = memory_read_u64(list->memory, addr + layout->interp_threads_head,
                                 &interp->first_thread);
        if (!rc)
            rc = walk_threads(list, interp);
        list->interpreter_count++;
        addr = interp->next;
    }
    return rc;
}

static void drop_unlisted(struct thread_list *list)
{
    size_t kept = 0;
    for (size_t i = 0; i < list->count; i++) {
        if (list->items[i]->listed == list->listing)
            list->items[kept++] = list->items[i];
        else
            free_thread(list->items[i]);
    }
    list->count = kept;
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
    for (int i = 0; i < MAX_ATTEMPTS && (rc == ERR_CORRUPT || rc == ERR_FAULT); i++) {
        list->listing++;
        rc = walk_once(list);
    }
    if (!rc && is_another(main_before, listed_main(list)))
        return ERR_GONE;
    if (!rc)
        drop_unlisted(list);
    return rc;
}

static enum err_code read_heads(struct thread_list *list, size_t from, size_t count)
{
    struct memory_span spans[MEMORY_MAX_SPANS];
    size_t arrived;
    for (size_t i = 0; i < count; i++)
        spans[i] = (struct memory_span){ list->items[from + i]->head.addr,
                                         list->heads + i * list->head_bytes, list->head_bytes };
    return memory_readv(list->memory, spans, count, &arrived);
}

size_t thread_list_plan_count(const struct thread_list *list)
{
    return 1 + 2 * list->interpreter_count;
}

void thread_list_plan(struct thread_list *list, struct memory_span *spans)
{
    const struct layout *const layout = &list->runtime->layout;
    size_t count = 0;
    spans[count++] =
        (struct memory_span){ list->runtime->addr + layout->runtime_interpreters_head,
                              &list->seen_newest, sizeof list->seen_newest };
    for (size_t i = 0; i < list->interpreter_count; i++) {
        const remote_addr addr = list->interpreters[i].addr;
        struct interpreter *const seen = &list->seen[i];
        spans[count++] = (struct memory_span){ addr + layout->interp_threads_head,
                                               &seen->first_thread, sizeof seen->first_thread };
        spans[count++] =
            (struct memory_span){ addr + layout->interp_next, &seen->next, sizeof seen->next };
    }
}

bool thread_list_heads_same(const struct thread_list *list)
{
    bool same = list->interpreter_count && list->seen_newest == list->interpreters[0].addr;
    for (size_t i = 0; i < list->interpreter_count; i++)
        same = same && list->seen[i].first_thread == list->interpreters[i].first_thread &&
               list->seen[i].next == list->interpreters[i].next;
    return same;
}

static enum err_code interpreters_same(struct thread_list *list, bool *same_out)
{
    struct memory_span spans[2 * THREADS_MAX_INTERPRETERS + 1];
    size_t arrived;
    thread_list_plan(list, spans);
    const enum err_code rc =
        memory_readv(list->memory, spans, thread_list_plan_count(list), &arrived);
    if (!rc)
        *same_out = thread_list_heads_same(list);
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
    rc = reserve_heads(list);
    for (size_t from = 0; from < list->count && !rc && *same_out; from += MEMORY_MAX_SPANS) {
        const size_t left = list->count - from;
        const size_t count = left < MEMORY_MAX_SPANS ? left : MEMORY_MAX_SPANS;
        rc = read_heads(list, from, count);
        for (size_t i = 0; i < count && !rc; i++) {
            const struct thread_head *const known = &list->items[from + i]->head;
            const struct thread_head now = parse_head(&list->runtime->layout, known->addr,
                                                      list->heads + i * list->head_bytes);
            *same_out = *same_out && same_thread(known, &now) && known->next == now.next;
        }
    }
    return rc;
}

struct thread *thread_list_main(const struct thread_list *list)
{
    for (size_t i = 0; i < list->count; i++)
        if (list->items[i]->is_main)
            return list->items[i];
    return NULL;
}
