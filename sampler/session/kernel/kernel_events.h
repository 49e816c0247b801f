/*
 * kernel_events - samples of what happens at an instant: page faults, pages that are given back, switches.  It shares its state with
 * kernel_feed (kernel_absence.h), which takes the records.
 *
 * Ownership: see kernel_feed.h.
 * Threads: the profile's writer.
 */
#ifndef SAMPLER_SESSION_KERNEL_KERNEL_EVENTS_H
#define SAMPLER_SESSION_KERNEL_KERNEL_EVENTS_H

#include <stdbool.h>
#include <stdint.h>

#include "sampler/base/err.h"
#include "sampler/session/kernel/kernel_reading.h"

struct fed_thread;
struct kernel_feed;
struct kernel_record;

/* Counts instants at the stack of their record, with what the thread does in the kernel; without a stack that makes sense, as
 * unseen. */
MUST_CHECK enum err_code kernel_events_count_record(struct kernel_feed *feed,
                                                    struct fed_thread *fed,
                                                    const struct kernel_record *record,
                                                    const void *spans,
                                                    struct kernel_instants instants);

/* Counts the pages of a record.  spans NULL: its stack is not read. */
MUST_CHECK enum err_code kernel_events_count_pages(struct kernel_feed *feed,
                                                   struct fed_thread *fed,
                                                   const struct kernel_record *record,
                                                   const void *spans);

/* Counts that the thread has left its processor, at the stack that is kept of it.  Of many a second, one at random stands for several. */
MUST_CHECK enum err_code kernel_events_count_switch(struct kernel_feed *feed,
                                                    struct fed_thread *fed,
                                                    const struct kernel_record *record);
/* Decides for how many switches the next ones stand; call at each drain. */
void kernel_events_pace_switches(struct kernel_feed *feed, uint64_t now_ns);

/* Counts what the targets have grown by and given back beside what was sampled.  One that has ended shows nothing. */
MUST_CHECK enum err_code kernel_events_count_growth(struct kernel_feed *feed, uint64_t now_ns,
                                                    bool is_last);

#endif /* SAMPLER_SESSION_KERNEL_KERNEL_EVENTS_H */
