#include "sampler/session/fold/lock_board.h"

#include <stdlib.h>
#include <string.h>

#include "sampler/base/clock.h"
#include "sampler/base/vec.h"

/* Longer than it takes until each of very many threads was sampled. */
static const uint64_t FORGET_NS = 10 * NS_PER_S;

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
    pthread_mutex_destroy(&board->mutex);
}

static bool is_before(const struct lock_board_thread *thread, pid_t pid, int32_t tid)
{
    return thread->pid != pid ? thread->pid < pid : thread->tid < tid;
}

/* The place of the thread, or the one that it would have. */
static size_t find_place(const struct lock_board *board, pid_t pid, int32_t tid)
{
    size_t at;
    LOWER_BOUND(at, board->count, is_before(&board->threads[at], pid, tid));
    return at;
}

static bool is_at(const struct lock_board *board, size_t at, pid_t pid, int32_t tid)
{
    return at < board->count && board->threads[at].pid == pid && board->threads[at].tid == tid;
}

static bool waits_for_same(const struct lock_board_thread *thread,
                           const struct lock_report *report)
{
    return thread->count && thread->uses[0].is_waited && report->count &&
           report->uses[0].is_waited && report->uses[0].lock == thread->uses[0].lock &&
           report->uses[0].object == thread->uses[0].object;
}

/* Makes room for a thread at its place. */
static bool insert(struct lock_board *board, size_t at, pid_t pid, int32_t tid)
{
    if (!VEC_RESERVE(board->threads, board->room, board->count + 1))
        return false;
    memmove(board->threads + at + 1, board->threads + at,
            (board->count - at) * sizeof *board->threads);
    board->threads[at] = (struct lock_board_thread){ .pid = pid, .tid = tid };
    board->count++;
    return true;
}

/* Makes room for another thread. */
static void drop_oldest(struct lock_board *board)
{
    size_t oldest = 0;
    for (size_t i = 1; i < board->count; i++)
        if (board->threads[i].read_ns < board->threads[oldest].read_ns)
            oldest = i;
    free(board->threads[oldest].uses);
    board->count--;
    memmove(board->threads + oldest, board->threads + oldest + 1,
            (board->count - oldest) * sizeof *board->threads);
}

enum err_code lock_board_note(struct lock_board *board, const struct lock_report *report,
                              uint64_t now_ns)
{
    size_t at = find_place(board, report->pid, report->tid);
    const bool is_known = is_at(board, at, report->pid, report->tid);
    const size_t bytes = report->count * sizeof *report->uses;
    struct lock_use *const uses = malloc(bytes + 1);
    if (!uses)
        return ERR_NOMEM;
    if (bytes)
        memcpy(uses, report->uses, bytes);
    pthread_mutex_lock(&board->mutex);
    if (!is_known && board->count == SAMPLER_MAX_LOCK_THREADS) {
        drop_oldest(board);
        at = find_place(board, report->pid, report->tid);
    }
    const bool has_room = is_known || insert(board, at, report->pid, report->tid);
    if (has_room) {
        struct lock_board_thread *const thread = &board->threads[at];
        thread->same_waits = waits_for_same(thread, report) ? thread->same_waits + 1 : 1;
        free(thread->uses);
        thread->uses = uses;
        thread->count = report->count;
        thread->read_ns = board->read_ns = now_ns;
    }
    pthread_mutex_unlock(&board->mutex);
    if (!has_room)
        free(uses);
    return has_room ? ERR_OK : ERR_NOMEM;
}

void lock_board_end_wait(struct lock_board *board, pid_t pid, int32_t tid, uint64_t now_ns)
{
    const size_t at = find_place(board, pid, tid);
    if (!is_at(board, at, pid, tid))
        return;
    struct lock_board_thread *const thread = &board->threads[at];
    pthread_mutex_lock(&board->mutex);
    if (thread->count && thread->uses[0].is_waited) {
        thread->count--;
        memmove(thread->uses, thread->uses + 1, thread->count * sizeof *thread->uses);
    }
    thread->same_waits = 0;
    thread->read_ns = board->read_ns = now_ns;
    pthread_mutex_unlock(&board->mutex);
}

/* Has the thread been read lately? */
static bool is_there(const struct lock_board *board, const struct lock_board_thread *thread)
{
    return thread->read_ns + FORGET_NS >= board->read_ns;
}

enum err_code lock_board_copy(struct lock_board *board, struct sampler_locks *out,
                              struct err *err)
{
    struct sampler_locks copy = { .threads = NULL };
    pthread_mutex_lock(&board->mutex);
    for (size_t i = 0; i < board->count; i++)
        copy.use_count += is_there(board, &board->threads[i]) ? board->threads[i].count : 0;
    copy.threads = malloc((board->count + 1) * sizeof *copy.threads);
    copy.uses = malloc((copy.use_count + 1) * sizeof *copy.uses);
    copy.use_count = 0;
    for (size_t i = 0; i < board->count && copy.threads && copy.uses; i++) {
        const struct lock_board_thread *const thread = &board->threads[i];
        if (!is_there(board, thread))
            continue;
        copy.threads[copy.thread_count++] =
            (struct sampler_lock_thread){ thread->pid, thread->tid, (uint32_t)copy.use_count,
                                          (uint32_t)thread->count, thread->same_waits };
        if (thread->count)
            memcpy(copy.uses + copy.use_count, thread->uses,
                   thread->count * sizeof *thread->uses);
        copy.use_count += thread->count;
    }
    if (board->read_ns)
        copy.read_ns =
            board->read_ns > board->created_ns ? board->read_ns - board->created_ns : 1;
    pthread_mutex_unlock(&board->mutex);
    if (!copy.threads || !copy.uses) {
        sampler_locks_deinit(&copy);
        return err_nomem(err);
    }
    *out = copy;
    return ERR_OK;
}
