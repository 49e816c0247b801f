/*
 * relay - reads source files through the process that holds the targets: this one, or the reader process.
 *
 * Threads: any.
 * Limits: as helper; an answer has at most SOURCE_MAX_BYTES of text.
 * Depends on: helper, sampler.h, reader_link, bytes.
 */
#ifndef SERVER_SOURCE_RELAY_H
#define SERVER_SOURCE_RELAY_H

#include <stddef.h>
#include <stdint.h>

#include "sampler/base/err.h"
#include "sampler/profile/profile.h"

struct buffer;
struct bytes;
struct sampler;
struct source_place;
struct source_wish;

/* As source_helper_read, with the rights of a process of this origin. */
MUST_CHECK enum err_code relay_read(struct sampler *sampler, profile_origin origin,
                                    const struct source_wish *wish, int cancel_fd,
                                    struct buffer *out, uint64_t *changed_ns_out,
                                    struct source_place *place_out, struct err *err);

/* In the reader process: `read` of struct reader_process. */
MUST_CHECK enum err_code relay_answer(void *context, struct sampler *sampler,
                                      profile_origin origin, const void *wish,
                                      size_t wish_bytes, struct bytes *answer, struct err *err);

#endif /* SERVER_SOURCE_RELAY_H */
