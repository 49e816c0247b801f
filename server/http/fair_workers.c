#include "server/http/fair_workers.h"

#include "sampler/base/clock.h"
#include "sampler/base/memory_limit.h"
#include "sampler/base/thread.h"
#include "server/http/traffic.h"

void fair_workers_init(struct fair_workers *workers, const struct fair_workers_calls *calls,
                       struct traffic *traffic)
{
    *workers = (struct fair_workers){ .calls = calls, .traffic = traffic };
    pthread_mutex_init(&workers->lock, NULL);
    pthread_cond_init(&workers->changed, NULL);
}

void fair_workers_deinit(struct fair_workers *workers)
{
    pthread_cond_destroy(&workers->changed);
    pthread_mutex_destroy(&workers->lock);
}

/* Copies the counters.  The lock is held. */
static void count_turns(const struct fair_workers *workers)
{
    struct traffic *const traffic = workers->traffic;
    for (size_t i = 0; traffic && i <= CLIENT_OPERATOR; i++) {
        atomic_store(&traffic->turns[i][TRAFFIC_WAITS], workers->queue.waits[i]);
        atomic_store(&traffic->turns[i][TRAFFIC_RUNS], workers->queue.runs[i]);
    }
}

/* Takes the next turn.  The lock is held.  NULL: none may run. */
static struct fair_turn *take_next(struct fair_workers *workers)
{
    struct fair_turn *const turn = fair_queue_next(&workers->queue);
    count_turns(workers);
    return turn;
}

static void answer_turn(struct fair_workers *workers, struct fair_turn *turn, int refusal)
{
    workers->calls->answer(turn, refusal);
    pthread_mutex_lock(&workers->lock);
    fair_queue_leave(&workers->queue, turn);
    count_turns(workers);
    pthread_mutex_unlock(&workers->lock);
    workers->calls->resume(turn);
}

static void wake_worker(struct fair_workers *workers);

/* Answers requests in turn.  A thread is idle when it begins. */
static void *run_worker(void *argument)
{
    struct fair_workers *const workers = argument;
    pthread_mutex_lock(&workers->lock);
    for (;;) {
        struct fair_turn *const turn = take_next(workers);
        if (turn) {
            const bool is_alone = !workers->queue.running->next;
            workers->idle--;
            if (workers->queue.waiting)
                wake_worker(workers);
            pthread_mutex_unlock(&workers->lock);
            /* All memory that was taken is in use while nobody else answers. */
            memory_limit_renew(is_alone);
            const bool is_late =
                atomic_load(&workers->is_ending) || fair_turn_is_late(turn, clock_now_ns());
            answer_turn(workers, turn, is_late ? 503 : 0);
            pthread_mutex_lock(&workers->lock);
            workers->idle++;
        } else if (atomic_load(&workers->is_ending)) {
            break;
        } else {
            pthread_cond_wait(&workers->changed, &workers->lock);
        }
    }
    workers->workers--;
    workers->idle--;
    pthread_cond_broadcast(&workers->changed);
    pthread_mutex_unlock(&workers->lock);
    return NULL;
}

/* Wakes or starts a thread.  The lock is held, and a turn waits, which may run or not. */
static void wake_worker(struct fair_workers *workers)
{
    if (workers->idle > 0) {
        pthread_cond_signal(&workers->changed);
    } else if (workers->workers < FAIR_QUEUE_RUNNING) {
        memory_limit_add(THREAD_STACK_BYTES);
        const bool has_started = thread_start(NULL, run_worker, workers) == 0;
        workers->workers += has_started;
        workers->idle += has_started;
        if (!has_started)
            memory_limit_renew(false);
    }
}

enum fair_answer fair_workers_enter(struct fair_workers *workers, struct fair_turn *turn)
{
    enum fair_answer queued = FAIR_QUEUE_IS_FULL;
    turn->since_ns = clock_now_ns();
    pthread_mutex_lock(&workers->lock);
    if (!atomic_load(&workers->is_ending))
        queued = fair_queue_enter(&workers->queue, turn);
    if (queued == FAIR_WAITS) {
        workers->calls->suspend(turn);
        wake_worker(workers);
    }
    /* Nobody else waits where there is no worker. */
    struct fair_turn *const orphan = workers->workers == 0 ? take_next(workers) : NULL;
    pthread_mutex_unlock(&workers->lock);
    if (orphan)
        answer_turn(workers, orphan, 503);
    return queued;
}

void fair_workers_end(struct fair_workers *workers)
{
    pthread_mutex_lock(&workers->lock);
    atomic_store(&workers->is_ending, true);
    pthread_cond_broadcast(&workers->changed);
    while (workers->workers > 0)
        pthread_cond_wait(&workers->changed, &workers->lock);
    pthread_mutex_unlock(&workers->lock);
}
