#include "server/sessions/dump_merge.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "sampler/base/hash.h"
#include "sampler/base/vec.h"

enum { MAX_RANGES = 24 };

enum err_code dump_merge_init(struct dump_merge *merge, struct err *err)
{
    *merge = (struct dump_merge){ .line_count = 1 };
    idmap_init(&merge->by_line);
    idmap_init(&merge->by_stack);
    if (!VEC_RESERVE(merge->lines, merge->line_room, 1))
        return err_nomem(err);
    merge->lines[0] = (struct merged_line){ .outer = 0 };
    const enum err_code rc = shared_locks_init(&merge->shared, err);
    return rc ? rc : strtab_init(&merge->strings, err);
}

void dump_merge_deinit(struct dump_merge *merge)
{
    strtab_deinit(&merge->strings);
    idmap_deinit(&merge->by_line);
    idmap_deinit(&merge->by_stack);
    free(merge->processes);
    free(merge->lines);
    free(merge->stacks);
    free(merge->threads);
    buffer_deinit(&merge->deadlocks);
    shared_locks_deinit(&merge->shared);
    memset(merge, 0, sizeof *merge);
}

size_t dump_pool_length(const char *name, size_t length)
{
    static const char separators[] = "-_ #.:", digits[] = "0123456789";
    size_t end = length;
    while (end > 0 && (strchr(digits, name[end - 1]) || strchr(separators, name[end - 1])))
        end--;
    const bool is_numbered = end < length && strchr(digits, name[length - 1]) != NULL;
    return is_numbered && end > 0 ? end : length;
}

static enum err_code keep_text(struct dump_merge *merge, const char *text, size_t length,
                               str_id *out, struct err *err)
{
    return strtab_intern(&merge->strings, text, length, out, err);
}

enum err_code dump_merge_process(struct dump_merge *merge, pid_t pid, int32_t rank,
                                 const char *python, const char *what, struct err *err)
{
    struct merged_process process = { .pid = pid, .rank = rank };
    enum err_code rc =
        python ? keep_text(merge, python, strlen(python), &process.python, err) : ERR_OK;
    if (!rc && what)
        rc = keep_text(merge, what, strlen(what), &process.what, err);
    if (!rc && !VEC_RESERVE(merge->processes, merge->process_room, merge->process_count + 1))
        rc = err_nomem(err);
    if (rc)
        return rc;
    merge->processes[merge->process_count++] = process;
    merge->python_count += python != NULL;
    return ERR_OK;
}

void dump_merge_deadlocks(struct dump_merge *merge, const char *lines)
{
    const pid_t pid = merge->processes[merge->process_count - 1].pid;
    while (*lines) {
        const size_t length = strcspn(lines, "\n");
        buffer_printf(&merge->deadlocks, "process %d: ", (int)pid);
        buffer_append(&merge->deadlocks, lines, length);
        buffer_char(&merge->deadlocks, '\n');
        lines += length + (lines[length] != '\0');
    }
}

static enum err_code add_line(struct dump_merge *merge, uint32_t outer, str_id text,
                              uint32_t *out, struct err *err)
{
    const uint32_t hash = (uint32_t)hash_mix(outer, text);
    struct idmap_slot *at;
    IDMAP_FIND(at, &merge->by_line, hash,
               merge->lines[at->id].outer == outer && merge->lines[at->id].text == text);
    if (at) {
        *out = at->id;
        return ERR_OK;
    }
    if (!VEC_RESERVE(merge->lines, merge->line_room, merge->line_count + 1))
        return err_nomem(err);
    *out = (uint32_t)merge->line_count;
    merge->lines[merge->line_count] = (struct merged_line){ outer, text };
    const enum err_code rc = idmap_add(&merge->by_line, hash, *out, err);
    merge->line_count += !rc;
    return rc;
}

/* From the outermost line, which is the last one. */
static enum err_code add_lines(struct dump_merge *merge, const char *lines, uint32_t *out,
                               struct err *err)
{
    size_t end = strlen(lines);
    enum err_code rc = ERR_OK;
    *out = 0;
    while (end > 0 && !rc) {
        size_t from = end - 1;
        str_id text = 0;
        while (from > 0 && lines[from - 1] != '\n')
            from--;
        rc = keep_text(merge, lines + from, end - 1 - from, &text, err);
        if (!rc)
            rc = add_line(merge, *out, text, out, err);
        end = from;
    }
    return rc;
}

static bool is_same(const struct merged_stack *a, const struct merged_stack *b)
{
    return a->innermost == b->innermost && a->role == b->role && a->state == b->state &&
           a->is_main == b->is_main && a->is_idle_worker == b->is_idle_worker;
}

static enum err_code find_stack(struct dump_merge *merge, const struct merged_stack *wanted,
                                uint32_t *out, struct err *err)
{
    const uint32_t hash =
        (uint32_t)hash_mix(hash_mix(wanted->innermost, wanted->role), wanted->state);
    struct idmap_slot *at;
    IDMAP_FIND(at, &merge->by_stack, hash, is_same(&merge->stacks[at->id], wanted));
    if (at) {
        *out = at->id;
        return ERR_OK;
    }
    if (!VEC_RESERVE(merge->stacks, merge->stack_room, merge->stack_count + 1))
        return err_nomem(err);
    *out = (uint32_t)merge->stack_count;
    merge->stacks[merge->stack_count] = *wanted;
    const enum err_code rc = idmap_add(&merge->by_stack, hash, *out, err);
    merge->stack_count += !rc;
    return rc;
}

enum err_code dump_merge_thread(struct dump_merge *merge,
                                const struct dump_merge_thread *thread, struct err *err)
{
    struct merged_stack stack = { .is_main = thread->is_main,
                                  .is_idle_worker = thread->is_idle_worker };
    struct merged_thread row = { .process = (uint32_t)merge->process_count - 1 };
    const size_t length = strlen(thread->name);
    if (merge->thread_count == DUMP_MERGE_MAX_THREADS ||
        strtab_bytes(&merge->strings) + merge->line_count * sizeof *merge->lines >
            DUMP_MERGE_MAX_BYTES) {
        merge->left_out++;
        return ERR_OK;
    }
    enum err_code rc = keep_text(merge, thread->name, length, &row.name, err);
    if (!rc)
        rc = keep_text(merge, thread->name, dump_pool_length(thread->name, length), &stack.role,
                       err);
    if (!rc)
        rc = keep_text(merge, thread->state, strlen(thread->state), &stack.state, err);
    if (!rc)
        rc = add_lines(merge, thread->lines, &stack.innermost, err);
    if (!rc)
        rc = find_stack(merge, &stack, &row.stack, err);
    if (!rc && !VEC_RESERVE(merge->threads, merge->thread_room, merge->thread_count + 1))
        rc = err_nomem(err);
    if (rc)
        return rc;
    struct merged_stack *const found = &merge->stacks[row.stack];
    if (thread->detailed && !found->detailed) {
        found->first = (uint32_t)merge->thread_count;
        rc = add_lines(merge, thread->detailed, &found->detailed, err);
    }
    merge->threads[merge->thread_count++] = row;
    found->threads++;
    found->processes += found->last_process != row.process + 1;
    found->last_process = row.process + 1;
    return rc;
}

static const char *text_of(const struct dump_merge *merge, str_id id)
{
    return strtab_get(&merge->strings, id).text;
}

/* Numbers within a name by their value, as far as names of a pool differ in them. */
static int compare_names(const char *a, const char *b)
{
    const size_t left = strlen(a), right = strlen(b);
    return left != right ? (left > right) - (left < right) : strcmp(a, b);
}

static int compare_lines(const struct dump_merge *merge, uint32_t a, uint32_t b)
{
    while (a != b && a && b) {
        const int order =
            strcmp(text_of(merge, merge->lines[a].text), text_of(merge, merge->lines[b].text));
        if (order)
            return order;
        a = merge->lines[a].outer;
        b = merge->lines[b].outer;
    }
    return (a != 0) - (b != 0);
}

/* The odd ones first; the order does not depend on that of the processes. */
static int by_rarity(const void *left, const void *right, void *context)
{
    const struct dump_merge *const merge = context;
    const struct merged_stack *const a = &merge->stacks[*(const uint32_t *)left];
    const struct merged_stack *const b = &merge->stacks[*(const uint32_t *)right];
    if (a->processes != b->processes)
        return a->processes < b->processes ? -1 : 1;
    if (a->is_main != b->is_main)
        return a->is_main ? -1 : 1;
    if (a->threads != b->threads)
        return a->threads < b->threads ? -1 : 1;
    int order = strcmp(text_of(merge, a->role), text_of(merge, b->role));
    if (!order)
        order = strcmp(text_of(merge, a->state), text_of(merge, b->state));
    return order ? order : compare_lines(merge, a->innermost, b->innermost);
}

static int by_stack(const void *left, const void *right)
{
    const struct merged_thread *const a = left, *const b = right;
    if (a->stack != b->stack)
        return a->stack < b->stack ? -1 : 1;
    return (a->process > b->process) - (a->process < b->process);
}

static int by_value(const void *left, const void *right)
{
    const int64_t a = *(const int64_t *)left, b = *(const int64_t *)right;
    return (a > b) - (a < b);
}

/* Writes sorted numbers as "0-40, 42". */
static void put_ranges(struct buffer *out, const int64_t *numbers, size_t count)
{
    size_t written = 0;
    for (size_t i = 0; i < count; written++) {
        size_t last = i;
        while (last + 1 < count && numbers[last + 1] == numbers[last] + 1)
            last++;
        if (written == MAX_RANGES) {
            buffer_printf(out, " and %zu more", count - i);
            return;
        }
        buffer_printf(out, "%s%" PRId64, written ? ", " : "", numbers[i]);
        if (last > i)
            buffer_printf(out, "%s%" PRId64, last > i + 1 ? "-" : ", ", numbers[last]);
        i = last + 1;
    }
}

/* Writes which processes they are: by their ranks, if all have one, and otherwise by their numbers. */
static void put_processes(struct buffer *out, bool has_ranks, const struct dump_merge *merge,
                          const uint32_t *processes, size_t count, int64_t *numbers)
{
    for (size_t i = 0; i < count; i++)
        has_ranks = has_ranks && merge->processes[processes[i]].rank >= 0;
    for (size_t i = 0; i < count; i++) {
        const struct merged_process *const process = &merge->processes[processes[i]];
        numbers[i] = has_ranks ? process->rank : process->pid;
    }
    qsort(numbers, count, sizeof *numbers, by_value);
    buffer_printf(out, "%s%s ", has_ranks ? "rank" : "process",
                  count == 1  ? ""
                  : has_ranks ? "s"
                              : "es");
    put_ranges(out, numbers, count);
}

/* No two processes have the same rank; those that started them may have none. */
static bool has_ranks(const struct dump_merge *merge, int64_t *numbers)
{
    size_t count = 0;
    for (size_t i = 0; i < merge->process_count; i++) {
        if (merge->processes[i].python && merge->processes[i].rank >= 0)
            numbers[count++] = merge->processes[i].rank;
    }
    qsort(numbers, count, sizeof *numbers, by_value);
    for (size_t i = 1; i < count; i++)
        if (numbers[i] == numbers[i - 1])
            return false;
    return count > 0;
}

/* Writes "MainThread", or "ThreadPoolExecutor-0_0 … _7". */
static void put_names(struct buffer *out, const struct dump_merge *merge,
                      const struct merged_thread *threads, size_t count)
{
    const char *first = text_of(merge, threads[0].name), *last = first;
    size_t common = 0, separator = 0;
    for (size_t i = 1; i < count; i++) {
        const char *const name = text_of(merge, threads[i].name);
        first = compare_names(name, first) < 0 ? name : first;
        last = compare_names(name, last) > 0 ? name : last;
    }
    buffer_text(out, *first ? first : "a thread without a name");
    if (strcmp(first, last) == 0)
        return;
    while (first[common] && first[common] == last[common]) {
        if (strchr("-_ #.:", first[common]))
            separator = common;
        common++;
    }
    buffer_printf(out, " … %s", last + separator);
}

static const char *plural(size_t count)
{
    return count == 1 ? "" : "s";
}

/* Python before others, by version; others by what they do. */
static int by_kind(const void *left, const void *right, void *context)
{
    const struct dump_merge *const merge = context;
    const struct merged_process *const a = &merge->processes[*(const uint32_t *)left];
    const struct merged_process *const b = &merge->processes[*(const uint32_t *)right];
    if (!a->python != !b->python)
        return a->python ? -1 : 1;
    const int order = strcmp(text_of(merge, a->python), text_of(merge, b->python));
    return order ? order : strcmp(text_of(merge, a->what), text_of(merge, b->what));
}

/* Tables that a merge is written with: the threads by their stacks, and room for numbers. */
struct writing {
    struct dump_merge *merge;
    struct merged_thread *threads;
    uint32_t *order;     /* of the stacks */
    size_t *first;       /* thread of each stack */
    uint32_t *processes; /* of a stack */
    uint32_t *kinds;     /* all processes, by_kind */
    int64_t *numbers;
    bool has_ranks;
};

/* Writes the versions that there are, and how many processes have each. */
static void put_head(struct buffer *out, const struct writing *writing)
{
    const struct dump_merge *const merge = writing->merge;
    buffer_printf(out, "%zu process%s, Python ", merge->python_count,
                  merge->python_count == 1 ? "" : "es");
    for (size_t i = 0, end; i < merge->python_count; i = end) {
        const str_id python = merge->processes[writing->kinds[i]].python;
        end = i + 1;
        while (end < merge->python_count &&
               merge->processes[writing->kinds[end]].python == python)
            end++;
        buffer_printf(out, "%s%s", i ? ", " : "", text_of(merge, python));
        if (end - i < merge->python_count)
            buffer_printf(out, " (%zu)", end - i);
    }
    buffer_char(out, '\n');
    if (merge->deadlocks.length)
        buffer_append(out, merge->deadlocks.data, merge->deadlocks.length);
    shared_locks_put_deadlocks(&merge->shared, out);
}

static size_t list_processes(const struct writing *writing, const struct merged_thread *threads,
                             size_t count)
{
    size_t found = 0;
    for (size_t i = 0; i < count; i++)
        if (!found || writing->processes[found - 1] != threads[i].process)
            writing->processes[found++] = threads[i].process;
    return found;
}

static enum err_code put_stack(struct buffer *out, const struct writing *writing,
                               uint32_t number, struct err *err)
{
    const struct dump_merge *const merge = writing->merge;
    const struct merged_stack *const stack = &merge->stacks[number];
    const struct merged_thread *const threads = writing->threads + writing->first[number];
    const size_t processes = list_processes(writing, threads, stack->threads);
    buffer_printf(out, "\n%zu of %zu process%s · ", processes, merge->python_count,
                  merge->python_count == 1 ? "" : "es");
    put_names(out, merge, threads, stack->threads);
    if (stack->threads > stack->processes)
        buffer_printf(out, " (%" PRIu32 " threads)", stack->threads);
    buffer_printf(out, ": %s\n  ", text_of(merge, stack->state));
    put_processes(out, writing->has_ranks, merge, writing->processes, processes,
                  writing->numbers);
    buffer_char(out, '\n');
    if (stack->detailed && stack->threads > 1) {
        const struct merged_thread *const first = &merge->threads[stack->first];
        const uint32_t process = first->process;
        buffer_printf(out, "  variables of %s in ", text_of(merge, first->name));
        put_processes(out, writing->has_ranks, merge, &process, 1, writing->numbers);
        buffer_char(out, '\n');
    }
    enum err_code rc = ERR_OK;
    for (uint32_t line = stack->detailed ? stack->detailed : stack->innermost; line && !rc;
         line = merge->lines[line].outer) {
        const char *const text = text_of(merge, merge->lines[line].text);
        rc = shared_locks_fill(&merge->shared, text, strlen(text), out, err);
        buffer_char(out, '\n');
    }
    return rc;
}

static int by_role(const void *left, const void *right, void *context)
{
    const struct dump_merge *const merge = context;
    return strcmp(text_of(merge, merge->stacks[*(const uint32_t *)left].role),
                  text_of(merge, merge->stacks[*(const uint32_t *)right].role));
}

/* Writes a line for each pool that has idle workers.  The order of the stacks is lost. */
static void put_idle(struct buffer *out, const struct writing *writing)
{
    struct dump_merge *const merge = writing->merge;
    size_t count = 0;
    for (uint32_t i = 0; i < merge->stack_count; i++)
        if (merge->stacks[i].is_idle_worker)
            writing->order[count++] = i;
    qsort_r(writing->order, count, sizeof *writing->order, by_role, merge);
    if (count)
        buffer_char(out, '\n');
    for (size_t i = 0, end; i < count; i = end) {
        const str_id role = merge->stacks[writing->order[i]].role;
        size_t threads = 0;
        for (end = i; end < count && merge->stacks[writing->order[end]].role == role; end++)
            threads += merge->stacks[writing->order[end]].threads;
        buffer_printf(out, "%zu thread%s idle in %s: --idle shows %s\n", threads,
                      plural(threads), text_of(merge, role), threads == 1 ? "it" : "them");
    }
}

/* Writes the processes that are no Python, those that do the same in one line. */
static void put_others(struct buffer *out, const struct writing *writing)
{
    const struct dump_merge *const merge = writing->merge;
    if (merge->process_count > merge->python_count)
        buffer_char(out, '\n');
    for (size_t i = merge->python_count, end; i < merge->process_count; i = end) {
        const str_id what = merge->processes[writing->kinds[i]].what;
        end = i + 1;
        while (end < merge->process_count && merge->processes[writing->kinds[end]].what == what)
            end++;
        put_processes(out, false, merge, writing->kinds + i, end - i, writing->numbers);
        buffer_printf(out, ", no Python: %s\n", text_of(merge, what));
    }
}

static enum err_code put_all(struct buffer *out, const struct writing *writing, bool shows_idle,
                             struct err *err)
{
    struct dump_merge *const merge = writing->merge;
    enum err_code rc = shared_locks_solve(&merge->shared, err);
    if (rc)
        return rc;
    put_head(out, writing);
    for (size_t i = 0; i < merge->stack_count && !rc; i++)
        if (shows_idle || !merge->stacks[writing->order[i]].is_idle_worker)
            rc = put_stack(out, writing, writing->order[i], err);
    if (!shows_idle)
        put_idle(out, writing);
    put_others(out, writing);
    if (merge->left_out)
        buffer_printf(out, "\n%zu more thread%s: there is no room for %s\n", merge->left_out,
                      plural(merge->left_out),
                      merge->left_out == 1 ? "its stack" : "their stacks");
    return rc;
}

enum err_code dump_merge_write(struct dump_merge *merge, bool shows_idle, struct buffer *out,
                               struct err *err)
{
    struct writing writing = {
        .merge = merge,
        .threads = malloc((merge->thread_count + 1) * sizeof *writing.threads),
        .order = malloc((merge->stack_count + 1) * sizeof *writing.order),
        .first = malloc((merge->stack_count + 1) * sizeof *writing.first),
        .processes = malloc((merge->process_count + 1) * sizeof *writing.processes),
        .kinds = malloc((merge->process_count + 1) * sizeof *writing.kinds),
        .numbers = malloc((merge->process_count + 1) * sizeof *writing.numbers),
    };
    const bool has_room = writing.threads && writing.order && writing.first &&
                          writing.processes && writing.kinds && writing.numbers;
    enum err_code rc = has_room ? ERR_OK : err_nomem(err);
    if (has_room) {
        for (uint32_t i = 0; i < merge->stack_count; i++)
            writing.order[i] = i;
        if (merge->thread_count)
            memcpy(writing.threads, merge->threads,
                   merge->thread_count * sizeof *merge->threads);
        qsort(writing.threads, merge->thread_count, sizeof *writing.threads, by_stack);
        for (size_t i = merge->thread_count; i-- > 0;)
            writing.first[writing.threads[i].stack] = i;
        qsort_r(writing.order, merge->stack_count, sizeof *writing.order, by_rarity, merge);
        for (uint32_t i = 0; i < merge->process_count; i++)
            writing.kinds[i] = i;
        qsort_r(writing.kinds, merge->process_count, sizeof *writing.kinds, by_kind, merge);
        writing.has_ranks = has_ranks(merge, writing.numbers);
        rc = put_all(out, &writing, shows_idle, err);
    }
    free(writing.threads);
    free(writing.order);
    free(writing.first);
    free(writing.processes);
    free(writing.kinds);
    free(writing.numbers);
    return rc;
}
