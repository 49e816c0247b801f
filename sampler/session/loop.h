/*
 * loop - the sampling thread: looks at the members of the session at every scheduled instant, lets
 * new ones join and ends those that have ended.
 *
 * Ownership: loop_create makes, loop_destroy stops, joins and frees.
 * Threads: the loop runs in its own; everything here may be called from others.
 * Depends on: all of sampler.
 */
#ifndef SAMPLER_SESSION_LOOP_H
#define SAMPLER_SESSION_LOOP_H

#include "sampler/base/err.h"
#include "sampler/sampler.h"

struct loop;

/* Finds the interpreter and starts the thread. */
MUST_CHECK enum err_code loop_create(const struct sampler_options *options, struct loop **out,
                                     struct err *err);
void loop_destroy(struct loop *loop);

void loop_stop(struct loop *loop);
void loop_pause(struct loop *loop, bool paused);
MUST_CHECK enum err_code loop_join(struct loop *loop, int pid, struct err *err);
MUST_CHECK enum err_code loop_set_rate(struct loop *loop, double rate_hz, struct err *err);
void loop_set_max_cpu(struct loop *loop, double percent);
void loop_status(struct loop *loop, struct sampler_status *out);
struct profile *loop_profile(struct loop *loop);
const struct sampler_target *loop_target(const struct loop *loop);
bool loop_target_at(struct loop *loop, size_t index, struct sampler_target *out);
void loop_processes(struct loop *loop, struct sampler_processes *out);
MUST_CHECK enum err_code loop_origin(struct loop *loop, profile_origin number,
                                     struct sampler_origin *out, struct err *err);
const struct sampler_options *loop_options(const struct loop *loop);
MUST_CHECK enum err_code loop_tasks(struct loop *loop, struct sampler_tasks *out,
                                    struct err *err);
/* Readable once the loop has ended. */
int loop_end_fd(const struct loop *loop);

#endif /* SAMPLER_SESSION_LOOP_H */
