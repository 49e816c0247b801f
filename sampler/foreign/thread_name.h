/*
 * thread_name - threads as tools name them in one text: `Thread 4712 "worker"` of py-spy, `worker (4712)` and `thread 4712` of ours,
 * `Thread-4712` of Tachyon.
 */
#ifndef SAMPLER_FOREIGN_THREAD_NAME_H
#define SAMPLER_FOREIGN_THREAD_NAME_H

#include <stdint.h>

#include "sampler/base/err.h"
#include "sampler/foreign/gather.h"

/* pid 0: unknown, unless the text has one. */
MUST_CHECK enum err_code thread_name_gather(struct gather *gather, struct gather_text text,
                                            int64_t pid, thread_id *out, struct err *err);

#endif /* SAMPLER_FOREIGN_THREAD_NAME_H */
