/*
 * session - the Session document of openapi.json.
 */
#ifndef SERVER_WIRE_SESSION_H
#define SERVER_WIRE_SESSION_H

#include "sampler/sampler.h"
#include "server/wire/range_notes.h"

struct frame_filters;
struct json;
struct profile_snapshot;
struct state_sums;
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
    struct sampler_status status;
    const struct sampler_target *target; /* the first */
    const struct sampler *sampler;       /* has the other targets; NULL: see targets */
    const struct target_list *targets;   /* of a capture; NULL: there are none */
    const struct sampler_options *options;
    const struct frame_filters *filters;     /* that a view begins with; NULL: none */
    const char *host;                        /* where it was recorded; NULL: here */
    const struct profile_snapshot *snapshot; /* generation and quality */
    enum session_source source;
    struct session_words words;
    struct range_notes notes;
    const char *checkout_root; /* the git checkout that your code is in; NULL: none is known */
    const char *checkout_commit; /* its commit */
    bool is_anonymized;          /* report/anonymize.h */
};

/* The members engine and engine_reason, of an object that is open. */
void session_write_engine(struct json *json, const struct session_info *info);

void session_write(struct json *json, const struct session_info *info);

/* Copies process number `index` of the session, in the order in which they were attached; false:
 * there are no more, or none is known. */
bool session_target_at(const struct session_info *info, size_t index,
                       struct sampler_target *out);

/* Does its first process have a GIL?  One without has the GIL in no sample of these. */
bool session_has_gil(const struct session_info *info, const struct state_sums *sums);

/* The requested rate. */
double session_requested_hz(const struct session_info *info);

/* Ticks per second over the whole session. */
double session_achieved_hz(const struct profile_snapshot *snapshot);

#endif /* SERVER_WIRE_SESSION_H */
