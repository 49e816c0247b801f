#include "sampler/session/fold/task_fold.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sampler/base/clock.h"
#include "sampler/cpython/python.h"
#include "sampler/session/fold/context_marks.h"
#include "sampler/session/fold/guessed_requests.h"
#include "sampler/session/fold/sampled_thread.h"
#include "sampler/session/fold/thread_cpu.h"

/* Reading the tasks may take one part in COSTS_ONE_IN of the time. */
enum { COSTS_ONE_IN = 20, MAX_MARK_BYTES = 256 };
static const uint64_t SELDOM_NS = 4 * NS_PER_S;

enum err_code task_fold_init(struct task_fold *fold, struct frame_nodes *nodes,
                             struct thread_cpus *cpus, struct tasks *tasks, bool counts_waiting,
                             struct err *err)
{
    *fold = (struct task_fold){ .nodes = nodes,
                                .cpus = cpus,
                                .tasks = tasks,
                                .counts_waiting = counts_waiting,
                                .every_ns = TASK_FOLD_EVERY_NS };
    random_init_any(&fold->random);
    /* Pages that are not written to cost no memory, so nothing is cleared. */
    fold->bases = malloc(TASKS_MAX * sizeof *fold->bases);
    if (!fold->bases)
        return err_nomem(err);
    return frame_nodes_mark(nodes, "<task>", &fold->nameless, err);
}

void task_fold_deinit(struct task_fold *fold)
{
    free(fold->bases);
    fold->bases = NULL;
    fold->base_count = 0;
}

/* Tasks keep their mark in their tag, plus 1. */
static enum err_code mark_of(struct task_fold *fold, struct task *task, frame_id *out)
{
    const struct strtab *const strings = profile_strings(fold->nodes->profile);
    char text[MAX_MARK_BYTES];
    enum err_code rc = ERR_OK;
    if (!task->name) {
        *out = fold->nameless;
        return ERR_OK;
    }
    if (!task->tag) {
        snprintf(text, sizeof text, "<task %.240s>", strtab_get(strings, task->name).text);
        rc = frame_nodes_mark(fold->nodes, text, out, NULL);
        if (rc)
            return rc;
        task->tag = *out + 1;
    }
    *out = task->tag - 1;
    return ERR_OK;
}

/* Not those of a task that moves: whether it waits is unknown. */
static bool lacks_frames(const struct task *task)
{
    return task->is_truncated || (!task->is_read && !task->is_running && !task->is_moving);
}

static enum err_code add_own_frames(struct task_fold *fold, const struct task *task,
                                    node_id *node)
{
    const struct tasks *const all = fold->tasks;
    enum err_code rc = ERR_OK;
    for (uint32_t i = 0; i < task->frame_count && !rc; i++)
        rc = frame_nodes_add(fold->nodes, &all->frames[task->first_frame + i], i == 0, node);
    return !rc && lacks_frames(task)
               ? frame_nodes_add_mark(fold->nodes, fold->nodes->truncated, node)
               : rc;
}

/* A random awaiter, each with the same chance.  NULL: there is none. */
static struct task *choose_awaiter(struct task_fold *fold, const struct task *task)
{
    const struct tasks *const all = fold->tasks;
    if (!task->awaiter_count)
        return NULL;
    const uint64_t chosen = random_below(&fold->random, task->awaiter_count);
    return &all->table.items[all->table.awaiters[task->first_awaiter + chosen]];
}

static struct task_base *base_at(struct task_fold *fold, const struct task *task)
{
    const size_t at = (size_t)(task - fold->tasks->table.items);
    while (fold->base_count <= at)
        fold->bases[fold->base_count++] = (struct task_base){ .node = 0 };
    return &fold->bases[at];
}

/* The task and its awaiters, outwards, until one has a base.  Those beyond TASK_FOLD_MAX_AWAITERS are left out. */
static size_t find_way(struct task_fold *fold, struct task *task,
                       struct task *way[TASK_FOLD_MAX_AWAITERS])
{
    struct quality *const quality = profile_quality(fold->nodes->profile);
    size_t count = 0;
    fold->ways++;
    for (; task; task = choose_awaiter(fold, task)) {
        struct task_base *const base = base_at(fold, task);
        const bool has_base = base->reading == fold->readings;
        /* Tasks may await one another in a circle. */
        if (base->way == fold->ways)
            break;
        if (count + (has_base ? base->depth : 1) > TASK_FOLD_MAX_AWAITERS) {
            quality->awaiters_cut++;
            break;
        }
        base->way = fold->ways;
        way[count++] = task;
        if (has_base)
            break;
    }
    return count;
}

/* The node of the task's mark. */
static enum err_code base_of(struct task_fold *fold, struct task *task, node_id *out)
{
    struct task *way[TASK_FOLD_MAX_AWAITERS];
    node_id node = 0;
    uint32_t depth = 0;
    enum err_code rc = ERR_OK;
    for (size_t i = find_way(fold, task, way); i-- > 0 && !rc;) {
        struct task_base *const base = base_at(fold, way[i]);
        frame_id mark;
        if (base->reading != fold->readings) {
            rc = mark_of(fold, way[i], &mark);
            if (!rc)
                rc = frame_nodes_add_mark(fold->nodes, mark, &node);
            if (rc)
                break;
            base->node = node;
            base->reading = fold->readings;
            base->depth = depth + 1;
        }
        node = base->node;
        depth = base->depth;
        if (i > 0)
            rc = add_own_frames(fold, way[i], &node);
    }
    *out = node;
    return rc;
}

enum err_code task_fold_node(struct task_fold *fold, const struct task *task, node_id *out)
{
    struct tasks *const all = fold->tasks;
    const enum err_code rc = base_of(fold, &all->table.items[task - all->table.items], out);
    return rc ? rc : add_own_frames(fold, task, out);
}

enum err_code task_fold_begin(struct task_fold *fold, const struct stack *stack, size_t *first,
                              node_id *node)
{
    const struct tasks *const all = fold->tasks;
    struct task *innermost = NULL;
    *first = 0;
    *node = 0;
    /* A task may run an event loop of its own. */
    for (size_t i = stack->count; i-- > 0 && (!innermost || fold->is_fresh);) {
        struct task *const task =
            stack->frames[i].is_off_chunk ? tasks_of_frame(all, stack->frames[i].addr) : NULL;
        if (!task)
            continue;
        base_at(fold, task)->run_reading = fold->is_fresh ? fold->readings : 0;
        if (!innermost && !fold->is_beside)
            *first = i;
        innermost = innermost ? innermost : task;
    }
    return innermost && !fold->is_beside ? base_of(fold, innermost, node) : ERR_OK;
}

/* A task that waits where it did may be another one, whose frames lie where those of one that ended were.  left: how many may
 * still be read. */
static void read_context(struct task_fold *fold, struct task *task, uint64_t now_ns,
                         size_t *left)
{
    if (fold->guesses) {
        task->context = guessed_requests_of_task(fold->guesses, task, now_ns);
        task->context_ns = task->since_ns;
        return;
    }
    if (!fold->contexts || !*left)
        return;
    struct context_value *const value = python_task_context(fold->python, task, now_ns);
    (*left)--;
    task->context = value ? context_marks_find(fold->contexts, value) : 0;
    task->context_ns = task->since_ns;
}

static enum err_code count_task(struct task_fold *fold, const struct task *task, uint32_t times,
                                uint64_t now_ns)
{
    struct thread_cpus *const cpus = fold->cpus;
    struct quality *const quality = profile_quality(fold->nodes->profile);
    struct sample sample = { .pid = fold->nodes->pid,
                             .certainty =
                                 lacks_frames(task) ? &quality->truncated : &quality->exact,
                             .spot = PROFILE_NO_SPOT,
                             .now_ns = now_ns };
    enum err_code rc = task_fold_node(fold, task, &sample.node);
    sample.is_overflowed = rc == ERR_LIMIT;
    if (rc && !sample.is_overflowed)
        return rc;
    if (fold->contexts && task->context_ns == task->since_ns)
        sample.node = context_marks_node(fold->contexts, task->context, sample.node);

    static const char name[] = PROFILE_WAITING_TASKS;
    struct profile_thread row = { .process = fold->nodes->process };
    rc = strtab_intern(profile_strings(fold->nodes->profile), name, sizeof name - 1, &row.name,
                       NULL);
    if (!rc)
        rc = profile_thread(fold->nodes->profile, &row, &sample.thread, NULL);

    if (rc)
        return rc;
    quality->extrapolated += times - 1;
    return thread_cpus_add_waiting(cpus, &sample, times, fold->counted_ns);
}

/* A task that awaits others is part of their stacks, unless all of them wait in a circle. */
static bool is_counted(const struct task *task)
{
    return !task->is_running && !task->is_moving &&
           (task->is_awaiter ? task->is_in_circle : task->is_read);
}

enum err_code task_fold_flush(struct task_fold *fold, uint64_t now_ns)
{
    const struct tasks *const all = fold->tasks;
    const double share = all->covered ? (double)all->wanted / (double)all->covered : 1;
    const size_t task_count = all->table.count;
    /* Others come first each time. */
    const size_t first =
        task_count ? (size_t)(fold->readings * TASK_FOLD_CONTEXTS % task_count) : 0;
    double due = 0.5;
    uint64_t counted = 0;
    size_t contexts_left = TASK_FOLD_CONTEXTS;
    enum err_code rc = ERR_OK;
    if (!fold->readings || !fold->owed)
        return ERR_OK;
    for (size_t i = 0; i < task_count && !rc && fold->counts_waiting; i++) {
        struct task *const task = &all->table.items[(first + i) % task_count];
        if (!is_counted(task))
            continue;
        const double stands_for = !task->is_awaiter ? share * task->times
                                  : task_table_chooses(&all->table, task->addr)
                                      ? task_table_scale(&all->table)
                                      : 0;
        due += stands_for * fold->owed;
        const uint32_t times = (uint32_t)((uint64_t)due - counted);
        counted += times;
        if (times)
            read_context(fold, task, now_ns, &contexts_left);
        if (times)
            rc = count_task(fold, task, times, now_ns);
    }
    fold->counted_ns = now_ns;
    fold->owed = 0;
    return rc;
}

void task_fold_settle(struct task_fold *fold, uint64_t now_ns)
{
    struct tasks *const all = fold->tasks;
    if (!fold->is_fresh)
        return;
    fold->is_fresh = false;
    for (size_t i = 0; i < all->table.count; i++) {
        struct task *const task = &all->table.items[i];
        const bool runs = base_at(fold, task)->run_reading == fold->readings;
        if (!task->frame || runs == task->is_running)
            continue;
        const struct thread *const thread = runs ? NULL : tasks_thread(all, task);
        /* Its thread was not sampled at this tick. */
        if (!runs && (!thread || reading_of(thread)->now_ns != now_ns))
            continue;
        profile_quality(fold->nodes->profile)->tasks_moving += !task->is_moving;
        task->is_running = false;
        task->is_moving = true;
        task->is_truncated = false;
        task->frame_count = 0;
    }
}

bool task_fold_is_due(struct task_fold *fold, uint32_t ticks, uint64_t now_ns)
{
    fold->owed += ticks;
    return !fold->readings || fold->is_each || now_ns - fold->read_ns >= fold->every_ns;
}

enum err_code task_fold_count(struct task_fold *fold)
{
    const struct tasks *const all = fold->tasks;
    struct quality *const quality = profile_quality(fold->nodes->profile);
    if (!fold->readings)
        fold->counted_ns = all->table.read_ns;
    fold->readings++;
    fold->is_fresh = true;
    fold->read_ns = all->table.read_ns;
    if (fold->guesses)
        guessed_requests_take_tasks(fold->guesses, fold->read_ns);

    const uint64_t cost_ns = all->cost_ns;
    const uint64_t every_ns = cost_ns * COSTS_ONE_IN;
    fold->every_ns = every_ns < TASK_FOLD_EVERY_NS ? TASK_FOLD_EVERY_NS
                     : every_ns > SELDOM_NS        ? SELDOM_NS
                                                   : every_ns;

    const uint64_t unchosen = all->table.found - all->table.chosen;
    quality->tasks += all->table.count + unchosen;
    quality->tasks_unread += unchosen;
    quality->tasks_cut += all->table.is_cut;
    for (size_t i = 0; i < all->table.count; i++) {
        quality->tasks_moving += all->table.items[i].is_moving;
        quality->tasks_unread += !all->table.items[i].is_read;
    }
    return task_fold_flush(fold, all->table.read_ns);
}
