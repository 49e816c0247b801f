#include "sampler/session/fold/lock_board.h"

#include <stdlib.h>
#include <string.h>

#include "sampler/base/clock.h"
#include "sampler/base/vec.h"

/* A thread that stands still is read again after this time, because a short move of it may not have been seen. */
static const uint64_t NOTE_AGAIN_NS = NS_PER_S;

void lock_board_init(struct lock_board *board)
{
    *board = (struct lock_board){ .threads = NULL };
    pthread_mutex_init(&board->mutex, NULL);
}

void lock_board_deinit(struct lock_board *board)
{
    for (size_t i = 0; i < board->count; i++)
        free(board->threads[i].uses);
    free(board->threads);
    free(board->locks);
    free(board->held);
    pthread_mutex_destroy(&board->mutex);
}

static int compare_to(const struct lock_board_thread *thread, struct lock_user user)
{
    return lock_user_compare(
        (struct lock_user){ thread->pid, thread->tid, thread->task.address }, user);
}

/* The index of the thread or task, or of where it would be. */
static size_t find_place(const struct lock_board *board, struct lock_user user)
{
    size_t at;
    LOWER_BOUND(at, board->count, compare_to(&board->threads[at], user) < 0);
    return at;
}

static bool is_at(const struct lock_board *board, size_t at, struct lock_user user)
{
    return at < board->count && compare_to(&board->threads[at], user) == 0;
}

/* NULL: it waits for nothing that is known. */
static const struct lock_use *wait_of(const struct lock_board_thread *thread)
{
    return thread->count && thread->uses[0].is_waited ? &thread->uses[0] : NULL;
}

void lock_board_begin(struct lock_board *board)
{
    board->reading++;
}

bool lock_board_keep(struct lock_board *board, struct lock_user user, uint64_t since_ns,
                     uint64_t now_ns, bool is_late)
{
    const size_t at = find_place(board, user);
    if (!is_at(board, at, user))
        return false;
    struct lock_board_thread *const thread = &board->threads[at];
    const struct lock_use *const wait = wait_of(thread);
    /* The owner of a lock may change while a thread waits for it. */
    const bool is_fresh = now_ns - thread->noted_ns <= NOTE_AGAIN_NS &&
                          !(wait && wait->has_owner && !wait->is_joined);
    if (!since_ns || thread->since_ns != since_ns || (!is_fresh && !is_late))
        return false;
    pthread_mutex_lock(&board->mutex);
    thread->reading = board->reading;
    pthread_mutex_unlock(&board->mutex);
    return true;
}

bool lock_board_is_read(const struct lock_board *board, struct lock_user user)
{
    const size_t at = find_place(board, user);
    return is_at(board, at, user) && board->threads[at].reading == board->reading;
}

/* Makes room for a thread at its place. */
static bool insert(struct lock_board *board, size_t at, struct lock_user user)
{
    if (!VEC_RESERVE(board->threads, board->room, board->count + 1))
        return false;
    memmove(board->threads + at + 1, board->threads + at,
            (board->count - at) * sizeof *board->threads);
    board->threads[at] = (struct lock_board_thread){ .pid = user.pid,
                                                     .tid = user.tid,
                                                     .task.address = user.task };
    board->count++;
    return true;
}

enum err_code lock_board_note(struct lock_board *board, const struct lock_report *report,
                              uint64_t since_ns, uint64_t now_ns)
{
    const struct lock_user user = { report->pid, report->tid, report->task.address };
    const size_t at = find_place(board, user);
    const bool is_known = is_at(board, at, user);
    const size_t bytes = report->count * sizeof *report->uses;
    if (!is_known && board->count == SESSION_MAX_LOCK_THREADS)
        return ERR_OK;
    struct lock_use *const uses = malloc(bytes + 1);
    if (!uses)
        return ERR_NOMEM;
    if (bytes)
        memcpy(uses, report->uses, bytes);
    pthread_mutex_lock(&board->mutex);
    const bool has_room = is_known || insert(board, at, user);
    if (has_room) {
        struct lock_board_thread *const thread = &board->threads[at];

        /* A thread that got the lock and waits for it again has begun to wait once more. */
        const struct lock_use *const wait = wait_of(thread);
        const bool is_same = wait && report->count && report->uses[0].is_waited &&
                             report->uses[0].lock == wait->lock &&
                             report->uses[0].object == wait->object &&
                             report->switches == thread->switches;

        thread->first_noted_ns = is_same ? thread->first_noted_ns : now_ns;
        if (!is_same || thread->since_ns != since_ns) {
            thread->waits_ns = since_ns > board->created_ns ? since_ns : board->created_ns;
            thread->is_new_wait = true;
        }
        free(thread->uses);
        thread->uses = uses;
        thread->task = report->task;
        thread->count = report->count;
        thread->since_ns = since_ns;
        thread->noted_ns = now_ns;
        thread->switches = report->switches;
        thread->reading = board->reading;
        board->read_ns = now_ns;
    }
    pthread_mutex_unlock(&board->mutex);
    if (!has_room)
        free(uses);
    return has_room ? ERR_OK : ERR_NOMEM;
}

static int by_lock(const void *left, const void *right)
{
    const struct lock_board_held *const a = left, *const b = right;
    return a->pid != b->pid ? (a->pid > b->pid) - (a->pid < b->pid)
                            : (a->lock > b->lock) - (a->lock < b->lock);
}

enum err_code lock_board_find_held(struct lock_board *board)
{
    board->held_count = 0;
    for (size_t i = 0; i < board->count; i++) {
        const struct lock_board_thread *const thread = &board->threads[i];
        if (thread->reading != board->reading)
            continue;
        if (!VEC_RESERVE(board->held, board->held_room, board->held_count + thread->count))
            return ERR_NOMEM;
        for (size_t k = 0; k < thread->count; k++)
            if (!thread->uses[k].is_waited)
                board->held[board->held_count++] =
                    (struct lock_board_held){ thread->pid, thread->uses[k].lock,
                                              &thread->uses[k] };
    }
    if (board->held_count)
        qsort(board->held, board->held_count, sizeof *board->held, by_lock);
    return ERR_OK;
}

/* The use that says where the lock is held for which a thread of the process waits; NULL: unknown. */
static const struct lock_use *find_holder(const struct lock_board *board, pid_t pid,
                                          const struct lock_use *wait)
{
    const struct lock_board_held wanted = { pid, wait->lock, NULL };
    const struct lock_board_held *const found =
        board->held_count && !wait->is_joined
            ? bsearch(&wanted, board->held, board->held_count, sizeof *board->held, by_lock)
            : NULL;
    return found ? found->use : NULL;
}

bool lock_board_lacks_holder(const struct lock_board *board, pid_t pid)
{
    for (size_t i = find_place(board, (struct lock_user){ .pid = pid });
         i < board->count && board->threads[i].pid == pid; i++) {
        const struct lock_use *const wait = wait_of(&board->threads[i]);
        if (board->threads[i].reading == board->reading && wait && wait->may_be_held &&
            !find_holder(board, pid, wait))
            return true;
    }
    return false;
}

/* NULL: there is no room. */
static struct session_lock *find_lock(struct lock_board *board,
                                      const struct lock_board_thread *thread,
                                      const struct lock_use *wait, uint64_t now_ns)
{
    for (size_t i = 0; i < board->lock_count; i++) {
        struct session_lock *const lock = &board->locks[i];
        if (lock->object == wait->object && lock->pid == thread->pid &&
            lock->type == wait->type)
            return lock;
    }
    size_t at = board->lock_count;
    if (at == SESSION_MAX_LOCKS) {
        /* The least waited-for lock makes room, unless threads wait for all of them. */
        at = SIZE_MAX;
        for (size_t i = 0; i < board->lock_count; i++)
            if (!board->locks[i].waiting &&
                (at == SIZE_MAX || board->locks[i].waited_ns < board->locks[at].waited_ns))
                at = i;

        board->dropped += at != SIZE_MAX || thread->is_new_wait;
        if (at == SIZE_MAX)
            return NULL;
        board->dropped_ns += board->locks[at].waited_ns;
    } else {
        board->lock_count++;
    }
    board->locks[at] = (struct session_lock){
        .pid = thread->pid, .type = wait->type, .object = wait->object, .first_ns = now_ns
    };
    return &board->locks[at];
}

/* Counts a line, unless it is one too many. */
static void count_line(struct session_lock_line *lines, uint32_t *count,
                       const struct lock_use *use, uint64_t step_ns)
{
    uint32_t i = 0;
    while (i < *count && (lines[i].function != use->function || lines[i].file != use->file ||
                          lines[i].line != use->line))
        i++;
    if (i == SESSION_LOCK_LINES)
        return;
    if (i == *count)
        lines[(*count)++] =
            (struct session_lock_line){ use->function, use->file, use->line, use->text, 0 };
    lines[i].waited_ns += step_ns;
}

static void count_wait(struct lock_board *board, struct lock_board_thread *thread,
                       const struct lock_use *wait, uint64_t now_ns, uint64_t step_ns)
{
    static const struct lock_use nowhere = { .line = 0 };
    struct session_lock *const lock = find_lock(board, thread, wait, now_ns);
    if (!lock) {
        thread->is_new_wait = false;
        board->dropped_ns += step_ns;
        return;
    }
    const struct lock_use *const held = find_holder(board, thread->pid, wait);
    const uint64_t end_ns = now_ns + board->created_ns;
    const uint64_t lasts_ns = end_ns > thread->waits_ns ? end_ns - thread->waits_ns : 0;
    lock->waits += thread->is_new_wait;
    thread->is_new_wait = false;
    lock->waiting++;
    lock->last_ns = now_ns;
    lock->waited_ns += step_ns;
    lock->longest_ns = lasts_ns > lock->longest_ns ? lasts_ns : lock->longest_ns;
    count_line(lock->waiters, &lock->waiter_count, wait, step_ns);
    if (!held && (!wait->has_owner || !wait->owner_tid))
        return;
    lock->held_ns += step_ns;
    count_line(lock->holders, &lock->holder_count, held ? held : &nowhere, step_ns);
}

enum err_code lock_board_count(struct lock_board *board, uint64_t now_ns, uint64_t step_ns)
{
    if (!board->locks) {
        struct session_lock *const locks = calloc(SESSION_MAX_LOCKS, sizeof *locks);
        if (!locks)
            return ERR_NOMEM;
        board->locks = locks;
    }
    pthread_mutex_lock(&board->mutex);
    size_t kept = 0;
    for (size_t i = 0; i < board->count; i++) {
        if (board->threads[i].reading == board->reading)
            board->threads[kept++] = board->threads[i];
        else
            free(board->threads[i].uses);
    }
    board->count = kept;

    for (size_t i = 0; i < board->lock_count; i++)
        board->locks[i].waiting = 0;
    for (size_t i = 0; i < board->count; i++) {
        const struct lock_use *const wait = wait_of(&board->threads[i]);
        /* Samples say more about the GIL. */
        if (wait && !wait->gil_turn)
            count_wait(board, &board->threads[i], wait, now_ns - board->created_ns, step_ns);
    }
    board->measured_ns += step_ns;
    board->read_ns = now_ns;
    pthread_mutex_unlock(&board->mutex);
    return ERR_OK;
}

/* 1: before. */
static uint64_t since_creation(const struct lock_board *board, uint64_t at_ns)
{
    return at_ns > board->created_ns ? at_ns - board->created_ns : 1;
}

enum err_code lock_board_copy(struct lock_board *board, struct session_locks *out,
                              struct err *err)
{
    struct session_locks copy = { .threads = NULL };
    pthread_mutex_lock(&board->mutex);
    for (size_t i = 0; i < board->count; i++)
        copy.use_count += board->threads[i].count;
    copy.threads = malloc((board->count + 1) * sizeof *copy.threads);
    copy.uses = malloc((copy.use_count + 1) * sizeof *copy.uses);
    copy.items = malloc((board->lock_count + 1) * sizeof *copy.items);
    const bool has_room = copy.threads && copy.uses && copy.items;
    copy.use_count = 0;
    for (size_t i = 0; i < board->count && has_room; i++) {
        const struct lock_board_thread *const thread = &board->threads[i];
        copy.threads[copy.thread_count++] =
            (struct session_lock_thread){ .pid = thread->pid,
                                          .tid = thread->tid,
                                          .first_use = (uint32_t)copy.use_count,
                                          .use_count = (uint32_t)thread->count,
                                          .from_ns =
                                              since_creation(board, thread->first_noted_ns),
                                          .to_ns = since_creation(board, thread->noted_ns),
                                          .switches = thread->switches,
                                          .task = thread->task };
        if (thread->count)
            memcpy(copy.uses + copy.use_count, thread->uses,
                   thread->count * sizeof *thread->uses);
        copy.use_count += thread->count;
    }
    if (has_room && board->lock_count)
        memcpy(copy.items, board->locks, board->lock_count * sizeof *copy.items);
    copy.count = board->lock_count;
    if (board->read_ns)
        copy.read_ns = since_creation(board, board->read_ns);
    copy.measured_ns = board->measured_ns;
    copy.dropped = board->dropped;
    copy.dropped_ns = board->dropped_ns;
    pthread_mutex_unlock(&board->mutex);
    if (!has_room) {
        session_locks_deinit(&copy);
        return err_nomem(err);
    }
    *out = copy;
    return ERR_OK;
}
