/*
 * relay - reads source files through the process that holds the targets: this one, or the sampling process.
 *
 * Either way the file and the rights to read it follow from the profile in that process.
 *
 * Threads: any.
 * Limits: as helper; an answer has at most SOURCE_MAX_BYTES of text.
 */
#ifndef SERVER_SOURCE_RELAY_H
#define SERVER_SOURCE_RELAY_H

#include <stddef.h>
#include <stdint.h>

#include "sampler/base/err.h"

struct buffer;
struct buffer;
struct relay_request;
struct session;
struct source_place;

/* Reads as source_helper_read does, with the rights of the processes that the functions come from: the first that has not
 * ended.  ERR_PERM and the like: as file_origins_find. */
MUST_CHECK enum err_code relay_read(struct session *session,
                                    const struct relay_request *request, int cancel_fd,
                                    struct buffer *out, uint64_t *changed_ns_out,
                                    struct source_place *place_out, struct err *err);

/* Answers in the sampling process: `read` of struct sampling_process. */
MUST_CHECK enum err_code relay_answer(void *context, struct session *session,
                                      const void *request, size_t request_bytes,
                                      struct buffer *answer, struct err *err);

#endif /* SERVER_SOURCE_RELAY_H */
