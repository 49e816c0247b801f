/*
 * target_list - the targets of a session as texts of a capture, and back.
 *
 * A text is numbers and texts with a unit separator (0x1f) between them: pid, parent, from_ns, to_ns,
 * validated, version of Python, executable, reason, and the words of the command line.  What is known of their
 * services is a list of its own, in the same order: name, namespace, version, container, age_ns, and the warnings.
 *
 * Ownership: the caller's storage; both deinits accept a zeroed one.
 * Limits: SAMPLER_MAX_LISTED processes, TARGET_LIST_MAX_BYTES for each: longer command lines are cut.
 */
#ifndef SERVER_WIRE_TARGET_LIST_H
#define SERVER_WIRE_TARGET_LIST_H

#include <stddef.h>

#include "sampler/base/err.h"
#include "sampler/capture/metadata.h"
#include "sampler/sampler.h"

struct profile_snapshot;

enum { TARGET_LIST_MAX_BYTES = 4096 };

struct target_list_texts {
    size_t count;
    char *items[SAMPLER_MAX_LISTED];
    char *services[SAMPLER_MAX_LISTED];
};

MUST_CHECK enum err_code target_list_write(const struct sampler *sampler,
                                           struct target_list_texts *out, struct err *err);
void target_list_texts_deinit(struct target_list_texts *texts);

struct target_list {
    size_t count;
    struct target_list_item {
        char *text, *service; /* the texts, split into their parts */
        const char **words;
        struct sampler_target target;
    } * items;
};

/* Malformed texts are left out; services may have fewer texts, or none. */
MUST_CHECK enum err_code target_list_read(const struct capture_texts *texts,
                                          const struct capture_texts *services,
                                          struct target_list *out, struct err *err);
/* Reduces each command line to its first word, and forgets the services. */
void target_list_hide_arguments(struct target_list *targets);
/* The targets from the process rows of a profile, if nothing else is known. */
MUST_CHECK enum err_code target_list_read_rows(const struct profile_snapshot *snapshot,
                                               struct target_list *out, struct err *err);
void target_list_deinit(struct target_list *targets);

#endif /* SERVER_WIRE_TARGET_LIST_H */
