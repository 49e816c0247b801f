/*
 * kernel_absence - the time that threads are away from their processors, and what was lost of them.  It shares its state with
 * kernel_feed, which takes the records.
 *
 * Ownership: see kernel_feed.h.
 * Threads: the profile's writer.
 */
#ifndef SAMPLER_SESSION_KERNEL_KERNEL_ABSENCE_H
#define SAMPLER_SESSION_KERNEL_KERNEL_ABSENCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sampler/base/err.h"
#include "sampler/base/random.h"
#include "sampler/kernel/engine.h"
#include "sampler/profile/measure.h"
#include "sampler/session/kernel/kernel_stack.h"
#include "sampler/session/kernel/kernel_threads.h"
#include "sampler/session/native/native_copies.h"

struct kernel_record;
struct kernel_instants;

struct kernel_feed {
    struct kernel *kernel;
    measure_set measures;
    struct kernel_stacks stacks;
    struct kernel_paths *paths; /* NULL: what threads do in the kernel is not wanted */
    struct kernel_threads threads;
    struct native_copies waiting; /* of a thread that has slept since before the session */
    struct random random;
    uint64_t ticked_ns, begun_ns, drained_ns;
    bool is_paused;
    struct kernel_counts counts;
    uint64_t missed;      /* instants before the first record of a thread */
    uint64_t seen_ns;     /* the time of the newest record */
    uint64_t lost;        /* records, when what was lost of each thread was counted last */
    uint64_t lost_ns;     /* when that was */
    bool has_unseen_left; /* a thread has left its processor, and its record may still come */
    /* The switches of threads that one which is counted stands for. */
    uint32_t switch_gap;
    uint64_t switches, switches_since_ns; /* those since then, counted or not */
};

static inline uint64_t kernel_absence_later(uint64_t one_ns, uint64_t other_ns)
{
    return one_ns > other_ns ? one_ns : other_ns;
}

/* A whole number of instants that is right on average. */
uint32_t kernel_absence_instants(struct kernel_feed *feed, uint64_t ns);
/* Counts instants of a thread whose records were lost. */
MUST_CHECK enum err_code kernel_absence_count_unseen(struct fed_thread *fed,
                                                     const struct kernel_instants *instants);

/* A record has come of a thread that leaves its processor. */
void kernel_absence_begin(const struct kernel_feed *feed, struct fed_thread *fed,
                          const struct kernel_record *record, kernel_path_id in_kernel,
                          bool lacks_stack);
/* Counts an absence in which the thread has lacked nothing but a processor since woken_ns; 0: since it left, or not yet. */
MUST_CHECK enum err_code kernel_absence_count(struct kernel_feed *feed, struct fed_thread *fed,
                                              uint64_t woken_ns, uint64_t until_ns,
                                              uint32_t times);
/* A record has come of a thread that has got its processor back. */
MUST_CHECK enum err_code kernel_absence_come_back(struct kernel_feed *feed,
                                                  struct fed_thread *fed,
                                                  const struct kernel_record *record);
/* The thread has come back, and nothing says when: if that was lost, all of its absence is still to be counted. */
void kernel_absence_end(const struct kernel_feed *feed, struct fed_thread *fed);

/* Says that samples of the measure stand for pages of the target; the others of it are to be found. */
void kernel_absence_attribute(struct fed_target *target, enum measure measure, uint32_t pages);

/* Counts the instants whose records had no room in the ring buffer as samples of their threads. */
MUST_CHECK enum err_code kernel_losses_count(struct kernel_feed *feed, uint64_t now_ns);
/* Leaves them out. */
void kernel_losses_skip(struct kernel_feed *feed, uint64_t now_ns);

#endif /* SAMPLER_SESSION_KERNEL_KERNEL_ABSENCE_H */
