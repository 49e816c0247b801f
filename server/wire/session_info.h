/*
 * session_info - what a document says of a session.
 */
#ifndef SERVER_WIRE_SESSION_INFO_H
#define SERVER_WIRE_SESSION_INFO_H

#include <stdbool.h>

#include "sampler/session.h"
#include "server/wire/range_notes.h"

struct frame_filters;
struct profile_snapshot;
struct target_list;

#define SESSION_SOURCES(X) \
    X(LIVE, "live")        \
    X(CAPTURE, "capture")  \
    X(CONTINUOUS, "continuous")

enum session_source {
#define X(name, text) SESSION_##name,
    SESSION_SOURCES(X)
#undef X
};

enum {
    SESSION_MAX_NAME = 120,
    SESSION_MAX_NOTE = 1000,
    SESSION_MAX_CAPTURE = 32,
    SESSION_MAX_FAULT = 200,
    SESSION_EPOCH_BYTES = 17
};

/* Names of the session, and of the capture it is recorded into or was read from; "": none.
 * fault: a sentence where it should be recorded and is not, or no longer. */
struct session_words {
    char name[SESSION_MAX_NAME + 1];
    char note[SESSION_MAX_NOTE + 1];
    char capture[SESSION_MAX_CAPTURE + 1];
    char fault[SESSION_MAX_FAULT + 1];
};

struct session_info {
    const char *id;
    char epoch[SESSION_EPOCH_BYTES];
    char run[SESSION_EPOCH_BYTES]; /* the epoch it began with */
    struct session_status status;
    const struct session_target *target; /* the first */
    const struct session *session;       /* has the other targets; NULL: see targets */
    const struct target_list *targets;   /* of a capture; NULL: there are none */
    const struct session_options *options;
    const struct frame_filters *filters; /* that a view begins with; NULL: none */
    const char *host;                    /* where it was recorded; NULL: here */
    const char *foreign; /* of the metadata of a capture; NULL: recorded by pyrometer */
    const struct profile_snapshot *snapshot; /* generation and quality */
    enum session_source source;
    struct session_words words;
    struct range_notes notes;
    const char *checkout_root; /* the git checkout that your code is in; NULL: none is known */
    const char *checkout_commit; /* its commit */
    bool is_anonymized;          /* report/anonymize.h */
};

#endif /* SERVER_WIRE_SESSION_INFO_H */
