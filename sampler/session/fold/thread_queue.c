#include "sampler/session/fold/thread_queue.h"

#include <stddef.h>

#include "sampler/base/clock.h"

/* More time without a processor than this is not caught up with. */
static const uint64_t MAX_QUEUED_NS = NS_PER_S;

/* Where less than this share of time is lacked, processors are free now and then. */
static const double CROWDED_SHARE = 0.1;
static const uint64_t CROWDED_NS = 500 * NS_PER_MS;

void thread_queue_note(struct thread_queue *queue, uint64_t queued_ns, uint64_t now_ns)
{
    queue->lacked_ns += queued_ns;
    /* Of a shorter time, one late wakeup would be much. */
    if (queue->noted_ns && now_ns - queue->noted_ns < THREAD_QUEUE_ACCOUNT_NS)
        return;
    const uint64_t others_ns =
        queue->lacked_ns > queue->held_ns ? queue->lacked_ns - queue->held_ns : 0;
    if (queue->noted_ns &&
        (double)others_ns > CROWDED_SHARE * (double)(now_ns - queue->noted_ns))
        queue->crowded_ns = now_ns;
    queue->noted_ns = now_ns;
    queue->held_ns = queue->lacked_ns = 0;
}

bool thread_queue_is_crowded(const struct thread_queue *queue, uint64_t now_ns)
{
    return queue->crowded_ns && now_ns - queue->crowded_ns < CROWDED_NS;
}

void thread_queue_add(struct thread_queue *queue, uint64_t queued_ns)
{
    const uint64_t room_ns = MAX_QUEUED_NS - queue->queued_ns;
    queue->queued_ns += queued_ns < room_ns ? queued_ns : room_ns;
    queue->is_known = true;
}

void thread_queue_read(struct thread_queue *queue, struct cpu_meter *meter, uint64_t now_ns)
{
    uint64_t queued_ns;
    queue->asked_ns = now_ns;
    if (!meter || !cpu_meter_read(meter, NULL, &queued_ns))
        return;
    thread_queue_note(queue, queued_ns, now_ns);
    thread_queue_add(queue, queued_ns);
}

void thread_queue_read_at_times(struct thread_queue *queue, struct cpu_meter *meter,
                                uint64_t now_ns)
{
    if (!queue->is_known || now_ns - queue->asked_ns >= THREAD_QUEUE_ACCOUNT_NS)
        thread_queue_read(queue, meter, now_ns);
}

uint32_t thread_queue_take(uint64_t *queued_ns, uint64_t step_ns, uint32_t samples)
{
    const uint64_t due = *queued_ns / step_ns;
    const uint32_t queued = due < samples ? (uint32_t)due : samples;
    *queued_ns -= queued * step_ns;
    return queued;
}
