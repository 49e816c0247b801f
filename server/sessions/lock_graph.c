#include "server/sessions/lock_graph.h"

#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "sampler/base/hash.h"
#include "sampler/base/lock_user.h"
#include "sampler/base/vec.h"
#include "sampler/session.h"

/* Slots that are searched for those that hold a lock or wait for it: memory that a program has made up may say that all threads do. */
enum { MAX_TRIES = 4096 };

void lock_graph_deinit(struct lock_graph *graph)
{
    for (size_t i = 0; i < graph->count; i++)
        free(graph->items[i].uses);
    free(graph->items);
    free(graph->notes);
    idmap_deinit(&graph->by_lock);
    *graph = (struct lock_graph){ .items = NULL };
}

static int compare_to(const struct lock_thread *thread, struct lock_user user)
{
    return lock_user_compare(
        (struct lock_user){ thread->pid, thread->tid, thread->task.address }, user);
}

/* The index of the thread or task, or of where it would be. */
static size_t find_place(const struct lock_graph *graph, struct lock_user user)
{
    size_t at;
    LOWER_BOUND(at, graph->count, compare_to(&graph->items[at], user) < 0);
    return at;
}

const struct lock_thread *lock_graph_find_task(const struct lock_graph *graph, pid_t pid,
                                               int32_t tid, uint64_t task)
{
    const struct lock_user user = { pid, tid, task };
    const size_t at = find_place(graph, user);
    return at < graph->count && compare_to(&graph->items[at], user) == 0 ? &graph->items[at]
                                                                         : NULL;
}

const struct lock_thread *lock_graph_find(const struct lock_graph *graph, pid_t pid,
                                          int32_t tid)
{
    return lock_graph_find_task(graph, pid, tid, 0);
}

/* A lock that processes share has the same hash in all of them. */
static uint32_t hash_lock(const struct lock_graph *graph, pid_t pid, const struct lock_use *use,
                          bool is_waited)
{
    const struct lock_place *const place = &use->place;
    const uint64_t lock = place->inode
                              ? hash_word(place->offset, hash_word(place->inode, place->device))
                              : use->lock;
    return hash_mix(lock,
                    graph->secret ^ ((uint64_t)(place->inode ? 0 : pid) << 1 | is_waited));
}

static bool is_same_lock(pid_t pid, const struct lock_use *use, pid_t other_pid,
                         const struct lock_use *other)
{
    return use->place.inode || other->place.inode
               ? lock_place_is_same(&use->place, &other->place)
               : pid == other_pid && use->lock == other->lock;
}

static bool is_noted(const struct lock_note *note, pid_t pid, const struct lock_use *use,
                     bool is_waited)
{
    const struct lock_use noted = { .lock = note->lock, .place = note->place };
    return note->is_waited == is_waited && is_same_lock(note->pid, &noted, pid, use);
}

/* Notes once that the thread waits for the lock or holds it.  Its uses say whether that is still so. */
static bool note_lock(struct lock_graph *graph, const struct lock_report *report,
                      const struct lock_use *use)
{
    const pid_t pid = report->pid;
    const int32_t tid = report->tid;
    const uint64_t task = report->task.address;
    const uint32_t hash = hash_lock(graph, pid, use, use->is_waited);
    struct idmap_slot *at;
    IDMAP_FIND(at, &graph->by_lock, hash,
               graph->notes[at->id].pid == pid && graph->notes[at->id].tid == tid &&
                   graph->notes[at->id].task == task &&
                   is_noted(&graph->notes[at->id], pid, use, use->is_waited));
    if (at)
        return true;
    if (!VEC_RESERVE(graph->notes, graph->note_room, graph->note_count + 1) ||
        idmap_add(&graph->by_lock, hash, (uint32_t)graph->note_count, NULL))
        return false;
    graph->notes[graph->note_count++] =
        (struct lock_note){ use->lock, use->place, pid, tid, task, use->is_waited };
    return true;
}

void lock_graph_note(struct lock_graph *graph, const struct lock_report *report,
                     uint64_t from_ns, uint64_t to_ns)
{
    const struct lock_user user = { report->pid, report->tid, report->task.address };
    const size_t at = find_place(graph, user);
    const bool is_known = at < graph->count && compare_to(&graph->items[at], user) == 0;
    const size_t bytes = report->count * sizeof *report->uses;
    struct lock_use *const uses = malloc(bytes + 1);
    /* A program chooses the addresses of its locks, but not their hashes. */
    if (graph->note_count == 0)
        (void)!getrandom(&graph->secret, sizeof graph->secret, 0);
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
    graph->items[at] = (struct lock_thread){ .pid = report->pid,
                                             .tid = report->tid,
                                             .task = report->task,
                                             .uses = uses,
                                             .count = report->count,
                                             .from_ns = from_ns,
                                             .switches = report->switches,
                                             .to_ns = to_ns };
    for (size_t i = 0; i < report->count; i++)
        if (!note_lock(graph, report, &uses[i]))
            graph->lacks_memory = true;
}

void lock_graph_take(struct lock_graph *graph, const struct session_locks *locks)
{
    for (size_t i = 0; i < locks->thread_count; i++) {
        const struct session_lock_thread *const thread = &locks->threads[i];
        const struct lock_report report = { .pid = thread->pid,
                                            .tid = thread->tid,
                                            .uses = locks->uses + thread->first_use,
                                            .count = thread->use_count,
                                            .switches = thread->switches,
                                            .task = thread->task };
        lock_graph_note(graph, &report, thread->from_ns, thread->to_ns);
    }
    lock_graph_solve(graph);
}

bool lock_thread_stays(const struct lock_thread *thread)
{
    return thread->from_ns < thread->to_ns;
}

const struct lock_use *lock_thread_wait(const struct lock_thread *thread)
{
    return thread->count && thread->uses[0].is_waited ? &thread->uses[0] : NULL;
}

static const struct lock_use *held_by(const struct lock_thread *thread, pid_t pid,
                                      const struct lock_use *wait)
{
    for (size_t i = 0; i < thread->count; i++)
        if (!thread->uses[i].is_waited &&
            is_same_lock(thread->pid, &thread->uses[i], pid, wait))
            return &thread->uses[i];
    return NULL;
}

/* Gets one that holds what is waited for. */
typedef void holder_found(void *context, struct lock_holder holder);

static void find_holders(const struct lock_graph *graph, pid_t pid, const struct lock_use *wait,
                         holder_found *found, void *context)
{
    struct lock_holder holder = { .tid = wait->owner_tid, .task = wait->owner_task };
    if (wait->has_owner && !lock_holder_is_none(&holder)) {
        holder.thread = lock_graph_find_task(graph, pid, holder.tid, holder.task);
        if (holder.thread && !wait->is_joined)
            holder.use = held_by(holder.thread, pid, wait);
        found(context, holder);
        return;
    }
    /* The object says that nobody of this process has it. */
    if (wait->has_owner && !wait->place.inode)
        return;
    const uint32_t hash = hash_lock(graph, pid, wait, false);
    size_t tries = MAX_TRIES;
    for (const struct idmap_slot *at = idmap_first(&graph->by_lock, hash); at && tries > 0;
         at = idmap_next(&graph->by_lock, at), tries--) {
        const struct lock_note *const note = &graph->notes[at->id];
        if (at->hash != hash || !is_noted(note, pid, wait, false))
            continue;
        const struct lock_thread *const other =
            lock_graph_find_task(graph, note->pid, note->tid, note->task);
        const struct lock_use *const use = other ? held_by(other, pid, wait) : NULL;
        if (use)
            found(context, (struct lock_holder){ other, use, other->tid, other->task.address });
    }
}

static void keep_first(void *context, struct lock_holder holder)
{
    struct lock_holder *const first = context;
    if (lock_holder_is_none(first) || holder.thread < first->thread)
        *first = holder;
}

struct lock_holder lock_graph_find_holder(const struct lock_graph *graph, pid_t pid,
                                          const struct lock_use *wait)
{
    struct lock_holder holder = { .thread = NULL };
    find_holders(graph, pid, wait, keep_first, &holder);
    return holder;
}

struct lock_holder lock_graph_holder(const struct lock_graph *graph,
                                     const struct lock_thread *thread)
{
    const struct lock_use *const wait = lock_thread_wait(thread);
    return wait ? lock_graph_find_holder(graph, thread->pid, wait)
                : (struct lock_holder){ .thread = NULL };
}

bool lock_graph_is_wanted(const struct lock_graph *graph, const struct lock_thread *thread,
                          const struct lock_use *use)
{
    const uint32_t hash = hash_lock(graph, thread->pid, use, true);
    size_t tries = MAX_TRIES;
    for (const struct idmap_slot *at = idmap_first(&graph->by_lock, hash); at && tries > 0;
         at = idmap_next(&graph->by_lock, at), tries--) {
        const struct lock_note *const note = &graph->notes[at->id];
        if (at->hash != hash || !is_noted(note, thread->pid, use, true))
            continue;
        const struct lock_thread *const other =
            lock_graph_find_task(graph, note->pid, note->tid, note->task);
        const struct lock_use *const wait = other ? lock_thread_wait(other) : NULL;
        if (wait && other != thread && is_same_lock(other->pid, wait, thread->pid, use))
            return true;
    }
    return false;
}

/* One that waits for another. */
struct edge {
    uint32_t from, to;
    uint32_t next; /* edge to the same one, plus 1; 0: none */
    bool is_of_loop;
};

/* The search for those that are stuck: all are taken to be, until something is found that lets them go on. */
struct solving {
    struct lock_graph *graph;
    struct edge *edges;
    size_t count, room;
    uint32_t *first; /* edge to each item, plus 1; 0: none */
    uint32_t *queue; /* items that go on */
    size_t queued;
    bool *waits_for_ever, *loop_stands; /* of each item, as far as is known */
    uint32_t from;                      /* whose edges are added */
    bool lacks_room;
};

static void add_edge(struct solving *solving, const struct lock_thread *to, bool is_of_loop)
{
    const uint32_t at = (uint32_t)(to - solving->graph->items);
    if (solving->count == LOCK_GRAPH_MAX_EDGES ||
        !VEC_RESERVE(solving->edges, solving->room, solving->count + 1)) {
        solving->lacks_room = true;
        return;
    }
    solving->edges[solving->count++] =
        (struct edge){ solving->from, at, solving->first[at], is_of_loop };
    solving->first[at] = (uint32_t)solving->count;
}

/* A task of which nothing is known goes on unless the thread of its loop is stuck. */
static void add_holder(void *context, struct lock_holder holder)
{
    struct solving *const solving = context;
    const struct lock_thread *const thread = &solving->graph->items[solving->from];
    const struct lock_thread *const to =
        holder.thread ? holder.thread
                      : lock_graph_find(solving->graph, thread->pid, holder.tid);
    if (to)
        add_edge(solving, to, false);
}

/* Adds the edges of an item, and says whether its wait may last for ever. */
static bool add_waits(struct solving *solving, uint32_t index)
{
    const struct lock_thread *const thread = &solving->graph->items[index];
    bool may_last =
        lock_thread_wait(thread) && lock_thread_stays(thread) && !thread->task.is_running;
    solving->from = index;
    for (size_t i = 0; i < thread->count && thread->uses[i].is_waited && may_last; i++) {
        const size_t before = solving->count;
        find_holders(solving->graph, thread->pid, &thread->uses[i], add_holder, solving);
        may_last = solving->count > before && !thread->uses[i].is_timed;
    }
    return may_last;
}

static void go_on(struct solving *solving, uint32_t index)
{
    struct lock_thread *const thread = &solving->graph->items[index];
    if (!thread->is_stuck || solving->waits_for_ever[index] || solving->loop_stands[index])
        return;
    thread->is_stuck = false;
    solving->queue[solving->queued++] = index;
}

/* Tasks awaited by one that gives up after a time are cancelled then. */
static void cancel_awaited(struct solving *solving)
{
    struct lock_graph *const graph = solving->graph;
    size_t queued = 0;
    for (uint32_t i = 0; i < graph->count; i++)
        if (graph->items[i].task.address && lock_thread_wait(&graph->items[i]) &&
            graph->items[i].uses[0].is_timed)
            solving->queue[queued++] = i;
    for (size_t i = 0; i < queued; i++) {
        const struct lock_thread *const thread = &graph->items[solving->queue[i]];
        for (size_t k = 0; k < thread->count && thread->uses[k].is_waited; k++) {
            const struct lock_use *const use = &thread->uses[k];
            const struct lock_thread *const to =
                use->owner_task
                    ? lock_graph_find_task(graph, thread->pid, use->owner_tid, use->owner_task)
                    : NULL;
            const size_t at = to ? (size_t)(to - graph->items) : 0;
            if (!to || !solving->waits_for_ever[at])
                continue;
            solving->waits_for_ever[at] = false;
            solving->queue[queued++] = (uint32_t)at;
        }
    }
}

/* The one that a stuck one waits for: the thread of its loop before all else. */
static void find_next(const struct solving *solving)
{
    struct lock_graph *const graph = solving->graph;
    for (size_t i = solving->count; i-- > 0;) {
        const struct edge *const edge = &solving->edges[i];
        struct lock_thread *const thread = &graph->items[edge->from];
        if (!thread->is_stuck || (thread->is_stuck_in_thread && !edge->is_of_loop) ||
            (edge->is_of_loop && !graph->items[edge->to].is_stuck))
            continue;
        thread->next = edge->to;
        thread->is_stuck_in_thread = edge->is_of_loop;
    }
}

void lock_graph_solve(struct lock_graph *graph)
{
    struct solving solving = { .graph = graph };
    const size_t room = graph->count + 1;
    solving.first = calloc(room, sizeof *solving.first);
    /* An item may be queued once as cancelled and once as going on. */
    solving.queue = calloc(2 * room, sizeof *solving.queue);
    solving.waits_for_ever = calloc(room, sizeof *solving.waits_for_ever);
    solving.loop_stands = calloc(room, sizeof *solving.loop_stands);
    bool is_solved =
        solving.first && solving.queue && solving.waits_for_ever && solving.loop_stands;
    for (uint32_t i = 0; i < graph->count && is_solved && !solving.lacks_room; i++) {
        const struct lock_thread *const item = &graph->items[i];
        const struct lock_thread *const loop =
            item->task.address && item->tid ? lock_graph_find(graph, item->pid, item->tid)
                                            : NULL;
        solving.waits_for_ever[i] = add_waits(&solving, i);
        solving.loop_stands[i] = loop != NULL;
        if (loop)
            add_edge(&solving, loop, true);
    }
    is_solved = is_solved && !solving.lacks_room;
    for (uint32_t i = 0; i < graph->count; i++) {
        graph->items[i].is_stuck = is_solved;
        graph->items[i].is_stuck_in_thread = false;
    }
    if (is_solved)
        cancel_awaited(&solving);
    for (uint32_t i = 0; i < graph->count && is_solved; i++)
        go_on(&solving, i);
    for (size_t i = 0; i < solving.queued; i++)
        for (uint32_t at = solving.first[solving.queue[i]]; at;
             at = solving.edges[at - 1].next) {
            const struct edge *const edge = &solving.edges[at - 1];
            (edge->is_of_loop ? solving.loop_stands : solving.waits_for_ever)[edge->from] =
                false;
            go_on(&solving, edge->from);
        }
    if (is_solved)
        find_next(&solving);
    free(solving.edges);
    free(solving.first);
    free(solving.queue);
    free(solving.waits_for_ever);
    free(solving.loop_stands);
}

size_t lock_graph_cycle(const struct lock_graph *graph, const struct lock_thread *first,
                        const struct lock_thread **out, size_t most)
{
    const struct lock_thread *at = first;
    uint64_t from_ns = 0, to_ns = UINT64_MAX;
    size_t count = 0;
    while (at->is_stuck && at >= first && count < most) {
        /* A task need not wait for anything while the thread of its loop does. */
        if (!at->is_stuck_in_thread) {
            from_ns = at->from_ns > from_ns ? at->from_ns : from_ns;
            to_ns = at->to_ns < to_ns ? at->to_ns : to_ns;
        }
        out[count++] = at;
        at = &graph->items[at->next];
        if (at == first)
            return from_ns < to_ns ? count : 0;
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
