#include "sampler/session/fold/thread_wait.h"

#include "sampler/base/clock.h"
#include "sampler/cpython/objects/code.h"
#include "sampler/cpython/threads/thread_state.h"
#include "sampler/session/fold/sample.h"
#include "sampler/session/fold/wait_site.h"

/* Why a thread waits is found again after this time, though it waits at the same place. */
static const uint64_t AGAIN_NS = NS_PER_S;

static bool is_same(const struct system_call *a, const struct system_call *b)
{
    return a->is_known == b->is_known && a->number == b->number && a->args[0] == b->args[0] &&
           a->args[1] == b->args[1];
}

/* Decides by the call alone if the thread waits for the GIL. */
static enum three_valued is_at_gil(const struct sample *sample, const struct system_call *call)
{
    if (!call->is_known)
        return VALUE_UNKNOWN;
    if (system_call_kind(call->number) != CALL_FUTEX)
        return VALUE_NO;
    return sample->threads && thread_state_is_gil(sample->threads, call->args[0], call->sp)
               ? VALUE_YES
               : VALUE_UNKNOWN;
}

void thread_wait_find(struct thread_wait *wait, struct waits *waits,
                      const struct sample *sample, const struct system_call *call,
                      bool is_still, bool is_wanted)
{
    const bool is_same_call = call->is_known ? is_same(&wait->call, call) &&
                                                   sample->now_ns - wait->found_ns < AGAIN_NS &&
                                                   !waits_lacks_peer(waits, wait->mark)
                                             : wait->mark != 0;
    if (is_still && is_same_call)
        return;
    wait->mark = 0;
    wait->call = *call;
    wait->found_ns = sample->now_ns;
    wait->at_gil = is_at_gil(sample, call);
    if (wait->at_gil == VALUE_YES || !waits || !is_wanted || !sample->codes || !call->is_known)
        return;
    const struct wait_site site =
        wait_site_of(sample->stack, sample->leaf, sample->codes, sample->codes->strings,
                     sample->tid == sample->pid, system_call_kind(call->number) == CALL_FUTEX);
    wait->mark = waits_find(waits, sample->pid, sample->tid, sample->codes->memory, call, &site,
                            sample->now_ns);
    if (wait->at_gil == VALUE_UNKNOWN && wait->mark)
        wait->at_gil = waits_cause_of(waits, wait->mark) == WAIT_GIL ? VALUE_YES : VALUE_NO;
}

wait_id thread_wait_mark(struct thread_wait *wait, struct waits *waits, state_bits state,
                         bool in_request, uint32_t samples, uint64_t now_ns)
{
    const enum part part = part_of(state, WAIT_UNKNOWN);
    const bool sleeps =
        part == PART_BLOCKED && waits && waits_cause_of(waits, wait->mark) == WAIT_SLEEP;

    /* A sleeper does little else, as watchers and reporters do, and nobody waits for it.  The samples that are counted now are among those.
     * Waits for the GIL or for a processor are not what it does. */
    const bool is_ready = part == PART_NEEDS_GIL || part == PART_NEEDS_PROCESSOR;
    if (now_ns - wait->recent_ns > THREAD_WAIT_RECENT_NS) {
        wait->recent_ns = now_ns;
        wait->recent /= 2;
        wait->slept /= 2;
    }
    wait->recent += is_ready ? 0 : samples;
    wait->slept += sleeps && !in_request ? samples : 0;
    const bool is_idle = !in_request && wait->slept * 10 >= wait->recent * 9;

    if (part == PART_RUNNING || !waits)
        return 0;
    if (part == PART_NEEDS_GIL || part == PART_NEEDS_PROCESSOR)
        return waits_plain(waits, part == PART_NEEDS_GIL ? WAIT_GIL : WAIT_PROCESSOR);
    return sleeps && !is_idle ? waits_plain(waits, WAIT_PAUSE) : wait->mark;
}
