/*
 * kernel_feed - turns the records of the kernel engine into samples of a session's targets.
 *
 * A record of a running thread is one sample.  A thread that left its processor stands still: the
 * record of its leaving counts as often as instants pass until it returns.  A thread that slept before
 * the session began has left no record; its stack is read from outside until it moves.
 *
 * What a thread does counts in full though records of it are lost: those samples are of an unknown stack.
 *
 * Where context switches are a measure, each record of leaving is one more sample, of that; of very many, one at random stands for several.
 *
 * A record of memory is as many samples of its measure as it stands for pages.  What the process has grown by, or
 * given back, beside that is not attributed (growth.h).
 *
 * Ownership: kernel_feed_create makes, kernel_feed_destroy frees; NULL is fine.  Borrows the engine and
 * the targets, which leave with kernel_feed_remove before they are closed.
 * Threads: the profile's writer.
 * Limits: KERNEL_MAX_PROCESSES, KERNEL_MAX_THREADS.
 */
#ifndef SAMPLER_SESSION_KERNEL_KERNEL_FEED_H
#define SAMPLER_SESSION_KERNEL_KERNEL_FEED_H

#include <stdbool.h>
#include <stdint.h>

#include "sampler/base/err.h"
#include "sampler/profile/measure.h"

struct kernel;
struct kernel_feed;
struct kernel_paths;
struct quality;
struct target;
struct thread;

/* measures: that the engine was started for.  paths: what threads do in the kernel becomes those, and they are the
 * feed's from now on; NULL: it is not wanted. */
MUST_CHECK enum err_code kernel_feed_create(struct kernel *kernel, measure_set measures,
                                            struct kernel_paths *paths,
                                            struct kernel_feed **out, struct err *err);
void kernel_feed_destroy(struct kernel_feed *feed);

MUST_CHECK enum err_code kernel_feed_add(struct kernel_feed *feed, struct target *target,
                                         struct err *err);
/* Counts what was lost of the target.  Errors as those of kernel_feed_drain; the target is removed all the same. */
enum err_code kernel_feed_remove(struct kernel_feed *feed, struct target *target);

/* Counts what the engine has recorded.  ERR_NOMEM, ERR_LIMIT: the profile takes no more. */
MUST_CHECK enum err_code kernel_feed_drain(struct kernel_feed *feed);
/* How often to call kernel_feed_drain.  While a session is young, what threads that have not moved yet do
 * becomes known only by it. */
double kernel_feed_drain_hz(const struct kernel_feed *feed, uint64_t now_ns);
/* Sleeps until the instant, or until records have to be taken sooner.  Returns when to take them. */
uint64_t kernel_feed_wait(struct kernel_feed *feed, uint64_t until_ns);
/* Forgets what the engine has recorded while targets were searched for. */
void kernel_feed_begin(struct kernel_feed *feed);
/* Forgets what the engine has recorded since the last call: the session is paused until
 * kernel_feed_drain. */
void kernel_feed_skip(struct kernel_feed *feed);
/* kernel_feed_drain, and counts the threads that still wait, the instants, and what was lost; call before the
 * profile is sealed.  The last time, no record is left: what takes too long to read counts with an unknown stack. */
MUST_CHECK enum err_code kernel_feed_flush(struct kernel_feed *feed, struct quality *quality,
                                           uint64_t now_ns, bool is_last);

/* As stands_since and check_stands of engine.h. */
uint64_t kernel_feed_stands_since(const struct kernel_feed *feed, const struct target *target,
                                  const struct thread *thread);
MUST_CHECK enum err_code kernel_feed_check_stands(struct kernel_feed *feed,
                                                  const struct target *target,
                                                  const struct thread *thread, uint64_t now_ns,
                                                  bool *stands_out);

/* The instants that have passed since the last call; none in a pause. */
uint64_t kernel_feed_ticks(struct kernel_feed *feed, uint64_t now_ns);
void kernel_feed_set_rate(struct kernel_feed *feed, double rate_hz);

#endif /* SAMPLER_SESSION_KERNEL_KERNEL_FEED_H */
