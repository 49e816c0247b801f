#include "server/sessions/lock_graph.h"

#include <stdlib.h>
#include <string.h>

#include "sampler/base/hash.h"
#include "sampler/base/vec.h"
#include "sampler/session.h"

/* Slots that are searched for the holder of a lock; those of other locks may lie among its own. */
enum { MAX_HOLDERS = 4096 };

void lock_graph_deinit(struct lock_graph *graph)
{
    for (size_t i = 0; i < graph->count; i++)
        free(graph->items[i].uses);
    free(graph->items);
    free(graph->notes);
    idmap_deinit(&graph->by_lock);
    *graph = (struct lock_graph){ .items = NULL };
}

static bool is_before(const struct lock_thread *thread, pid_t pid, int32_t tid)
{
    return thread->pid != pid ? thread->pid < pid : thread->tid < tid;
}

static size_t place_of(const struct lock_graph *graph, pid_t pid, int32_t tid)
{
    size_t at;
    LOWER_BOUND(at, graph->count, is_before(&graph->items[at], pid, tid));
    return at;
}

const struct lock_thread *lock_graph_find(const struct lock_graph *graph, pid_t pid,
                                          int32_t tid)
{
    const size_t at = place_of(graph, pid, tid);
    return at < graph->count && graph->items[at].pid == pid && graph->items[at].tid == tid
               ? &graph->items[at]
               : NULL;
}

static uint32_t hash_lock(pid_t pid, uint64_t lock, bool is_waited)
{
    return hash_mix(lock, (uint64_t)pid << 1 | is_waited);
}

/* Notes once that the thread waits for the lock or holds it.  Its uses say whether that is still so. */
static bool note_lock(struct lock_graph *graph, pid_t pid, int32_t tid,
                      const struct lock_use *use)
{
    const uint64_t lock = use->lock;
    const uint32_t hash = hash_lock(pid, lock, use->is_waited);
    struct idmap_slot *at;
    IDMAP_FIND(at, &graph->by_lock, hash,
               graph->notes[at->id].pid == pid && graph->notes[at->id].tid == tid &&
                   graph->notes[at->id].lock == lock &&
                   graph->notes[at->id].is_waited == use->is_waited);
    if (at)
        return true;
    if (!VEC_RESERVE(graph->notes, graph->note_room, graph->note_count + 1) ||
        idmap_add(&graph->by_lock, hash, (uint32_t)graph->note_count, NULL))
        return false;
    graph->notes[graph->note_count++] = (struct lock_note){ lock, pid, tid, use->is_waited };
    return true;
}

void lock_graph_note(struct lock_graph *graph, const struct lock_report *report,
                     uint64_t from_ns, uint64_t to_ns)
{
    const size_t at = place_of(graph, report->pid, report->tid);
    const bool is_known = lock_graph_find(graph, report->pid, report->tid) != NULL;
    const size_t bytes = report->count * sizeof *report->uses;
    struct lock_use *const uses = malloc(bytes + 1);
    if (graph->count == LOCK_GRAPH_MAX_THREADS && !is_known) {
        free(uses);
        return;
    }
    if (!uses || !VEC_RESERVE(graph->items, graph->room, graph->count + 1)) {
        free(uses);
        graph->lacks_memory = true;
        return;
    }
    if (bytes)
        memcpy(uses, report->uses, bytes);
    if (is_known) {
        free(graph->items[at].uses);
    } else {
        memmove(graph->items + at + 1, graph->items + at,
                (graph->count - at) * sizeof *graph->items);
        graph->count++;
    }
    graph->items[at] =
        (struct lock_thread){ report->pid, report->tid, uses, report->count, from_ns, to_ns };
    for (size_t i = 0; i < report->count; i++)
        if (!note_lock(graph, report->pid, report->tid, &uses[i]))
            graph->lacks_memory = true;
}

void lock_graph_take(struct lock_graph *graph, const struct session_locks *locks)
{
    for (size_t i = 0; i < locks->thread_count; i++) {
        const struct session_lock_thread *const thread = &locks->threads[i];
        const struct lock_report report = { thread->pid, thread->tid,
                                            locks->uses + thread->first_use, thread->use_count,
                                            0 };
        lock_graph_note(graph, &report, thread->from_ns, thread->to_ns);
    }
}

bool lock_thread_stays(const struct lock_thread *thread)
{
    return thread->from_ns < thread->to_ns;
}

const struct lock_use *lock_thread_wait(const struct lock_thread *thread)
{
    return thread->count && thread->uses[0].is_waited ? &thread->uses[0] : NULL;
}

static const struct lock_use *held_by(const struct lock_thread *thread, uint64_t lock)
{
    for (size_t i = 0; i < thread->count; i++)
        if (!thread->uses[i].is_waited && thread->uses[i].lock == lock)
            return &thread->uses[i];
    return NULL;
}

struct lock_holder lock_graph_holder(const struct lock_graph *graph,
                                     const struct lock_thread *thread)
{
    const struct lock_use *const wait = lock_thread_wait(thread);
    struct lock_holder holder = { .thread = NULL };
    if (!wait)
        return holder;
    if (wait->has_owner) {
        holder.tid = wait->owner_tid;
        holder.thread =
            wait->owner_tid ? lock_graph_find(graph, thread->pid, wait->owner_tid) : NULL;
        if (holder.thread)
            holder.use = held_by(holder.thread, wait->lock);
        return holder;
    }
    const uint32_t hash = hash_lock(thread->pid, wait->lock, false);
    /* Memory that a program has made up may say that all threads hold it. */
    size_t tries = MAX_HOLDERS;
    for (const struct idmap_slot *at = idmap_first(&graph->by_lock, hash); at && tries > 0;
         at = idmap_next(&graph->by_lock, at), tries--) {
        const struct lock_note *const note = &graph->notes[at->id];
        if (at->hash != hash || note->is_waited || note->lock != wait->lock ||
            note->pid != thread->pid || (holder.thread && note->tid > holder.tid))
            continue;
        const struct lock_thread *const other = lock_graph_find(graph, note->pid, note->tid);
        const struct lock_use *const use = other ? held_by(other, wait->lock) : NULL;
        if (use)
            holder = (struct lock_holder){ other, use, other->tid };
    }
    return holder;
}

bool lock_graph_is_wanted(const struct lock_graph *graph, const struct lock_thread *thread,
                          const struct lock_use *use)
{
    const uint32_t hash = hash_lock(thread->pid, use->lock, true);
    for (const struct idmap_slot *at = idmap_first(&graph->by_lock, hash); at;
         at = idmap_next(&graph->by_lock, at)) {
        const struct lock_note *const note = &graph->notes[at->id];
        if (at->hash != hash || !note->is_waited || note->lock != use->lock ||
            note->pid != thread->pid)
            continue;
        const struct lock_thread *const other = lock_graph_find(graph, note->pid, note->tid);
        const struct lock_use *const wait = other ? lock_thread_wait(other) : NULL;
        if (wait && other != thread && wait->lock == use->lock)
            return true;
    }
    return false;
}

size_t lock_graph_cycle(const struct lock_graph *graph, const struct lock_thread *first,
                        const struct lock_thread **out, size_t most)
{
    const struct lock_thread *at = first;
    uint64_t from_ns = 0, to_ns = UINT64_MAX;
    size_t count = 0;
    while (at && count < most) {
        const struct lock_use *const wait = lock_thread_wait(at);
        from_ns = at->from_ns > from_ns ? at->from_ns : from_ns;
        to_ns = at->to_ns < to_ns ? at->to_ns : to_ns;
        if (!wait || wait->is_timed || from_ns >= to_ns || at->tid < first->tid)
            return 0;
        out[count++] = at;
        at = lock_graph_holder(graph, at).thread;
        if (at == first)
            return count;
    }
    return 0;
}

size_t lock_graph_count_cycles(const struct lock_graph *graph)
{
    const struct lock_thread *cycle[LOCK_GRAPH_MAX_CYCLE];
    size_t count = 0;
    for (size_t i = 0; i < graph->count; i++)
        count += lock_graph_cycle(graph, &graph->items[i], cycle, LOCK_GRAPH_MAX_CYCLE) > 0;
    return count;
}
