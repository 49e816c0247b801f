/*
 * target_list - the targets of a session as texts of a capture (sampler/capture/target_record.h), and back.
 *
 * Ownership: the caller's storage; both deinits accept a zeroed one.
 * Limits: SESSION_MAX_LISTED processes; words of a command line beyond TARGET_LIST_WORD_BYTES are left out.
 */
#ifndef SERVER_WIRE_TARGET_LIST_H
#define SERVER_WIRE_TARGET_LIST_H

#include <stdbool.h>
#include <stddef.h>

#include "sampler/base/buffer.h"
#include "sampler/base/err.h"
#include "sampler/capture/metadata.h"
#include "sampler/session.h"

struct profile_snapshot;

enum { TARGET_LIST_WORD_BYTES = 4096 };

struct target_list_texts {
    size_t count;
    const char *items[SESSION_MAX_LISTED];
    struct buffer text;
};

MUST_CHECK enum err_code target_list_write(const struct session *session,
                                           struct target_list_texts *out, struct err *err);
void target_list_texts_deinit(struct target_list_texts *texts);

struct target_list {
    size_t count;
    struct target_record *items;
};

/* Does the capture say which targets there were?  One that was cut does not. */
bool target_list_is_known(const struct capture_metadata *metadata);
/* Malformed texts are left out. */
MUST_CHECK enum err_code target_list_read(const struct capture_metadata *metadata,
                                          struct target_list *out, struct err *err);
/* Reduces each command line to its first word, and forgets the services. */
void target_list_hide_arguments(struct target_list *targets);
/* The targets from the process rows of a profile, if nothing else is known. */
MUST_CHECK enum err_code target_list_read_rows(const struct profile_snapshot *snapshot,
                                               struct target_list *out, struct err *err);
void target_list_deinit(struct target_list *targets);

#endif /* SERVER_WIRE_TARGET_LIST_H */
