#include "server/http/turns.h"

#include "sampler/base/clock.h"
#include "sampler/base/memory_limit.h"
#include "sampler/base/thread.h"
#include "server/http/traffic.h"

void turns_init(struct turns *turns, const struct turns_calls *calls, struct traffic *traffic)
{
    *turns = (struct turns){ .calls = calls, .traffic = traffic };
    pthread_mutex_init(&turns->lock, NULL);
    pthread_cond_init(&turns->changed, NULL);
}

void turns_deinit(struct turns *turns)
{
    pthread_cond_destroy(&turns->changed);
    pthread_mutex_destroy(&turns->lock);
}

/* Copies the counters.  The lock is held. */
static void count(const struct turns *turns)
{
    struct traffic *const traffic = turns->traffic;
    for (size_t i = 0; traffic && i <= CLIENT_OPERATOR; i++) {
        atomic_store(&traffic->turns[i][TRAFFIC_WAITS], turns->queue.waits[i]);
        atomic_store(&traffic->turns[i][TRAFFIC_RUNS], turns->queue.runs[i]);
    }
}

/* Takes the next turn.  The lock is held.  NULL: none may run. */
static struct fair_turn *take_next(struct turns *turns)
{
    struct fair_turn *const turn = fair_queue_next(&turns->queue);
    count(turns);
    return turn;
}

static void answer(struct turns *turns, struct fair_turn *turn, int refusal)
{
    turns->calls->answer(turn, refusal);
    pthread_mutex_lock(&turns->lock);
    fair_queue_leave(&turns->queue, turn);
    count(turns);
    pthread_mutex_unlock(&turns->lock);
    turns->calls->resume(turn);
}

static void wake_worker(struct turns *turns);

/* Answers requests in turn.  A thread is idle when it begins. */
static void *work(void *argument)
{
    struct turns *const turns = argument;
    pthread_mutex_lock(&turns->lock);
    for (;;) {
        struct fair_turn *const turn = take_next(turns);
        if (turn) {
            const bool is_alone = !turns->queue.running->next;
            turns->idle--;
            if (turns->queue.waiting)
                wake_worker(turns);
            pthread_mutex_unlock(&turns->lock);
            /* All memory that was taken is in use while nobody else answers. */
            memory_limit_renew(is_alone);
            const bool is_late =
                atomic_load(&turns->is_ending) || fair_turn_is_late(turn, clock_now_ns());
            answer(turns, turn, is_late ? 503 : 0);
            pthread_mutex_lock(&turns->lock);
            turns->idle++;
        } else if (atomic_load(&turns->is_ending)) {
            break;
        } else {
            pthread_cond_wait(&turns->changed, &turns->lock);
        }
    }
    turns->workers--;
    turns->idle--;
    pthread_cond_broadcast(&turns->changed);
    pthread_mutex_unlock(&turns->lock);
    return NULL;
}

/* Wakes or starts a thread.  The lock is held, and a turn waits, which may run or not. */
static void wake_worker(struct turns *turns)
{
    if (turns->idle > 0) {
        pthread_cond_signal(&turns->changed);
    } else if (turns->workers < FAIR_QUEUE_RUNNING) {
        memory_limit_add(THREAD_STACK_BYTES);
        const bool has_started = thread_start(NULL, work, turns) == 0;
        turns->workers += has_started;
        turns->idle += has_started;
        if (!has_started)
            memory_limit_renew(false);
    }
}

enum fair_answer turns_enter(struct turns *turns, struct fair_turn *turn)
{
    enum fair_answer queued = FAIR_QUEUE_IS_FULL;
    turn->since_ns = clock_now_ns();
    pthread_mutex_lock(&turns->lock);
    if (!atomic_load(&turns->is_ending))
        queued = fair_queue_enter(&turns->queue, turn);
    if (queued == FAIR_WAITS) {
        turns->calls->suspend(turn);
        wake_worker(turns);
    }
    /* Nobody else waits where there is no worker. */
    struct fair_turn *const orphan = turns->workers == 0 ? take_next(turns) : NULL;
    pthread_mutex_unlock(&turns->lock);
    if (orphan)
        answer(turns, orphan, 503);
    return queued;
}

void turns_end(struct turns *turns)
{
    pthread_mutex_lock(&turns->lock);
    atomic_store(&turns->is_ending, true);
    pthread_cond_broadcast(&turns->changed);
    while (turns->workers > 0)
        pthread_cond_wait(&turns->changed, &turns->lock);
    pthread_mutex_unlock(&turns->lock);
}
