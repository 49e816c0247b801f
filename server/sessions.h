/*
 * sessions - the profiling sessions this server shows.
 *
 * Ids count from 1 and are never used again.  The epoch is a random name for one run of one
 * session: a client that finds another one drops all it has.
 *
 * A session is live and has a sampler, or was loaded from a capture and has ended.
 *
 * Ownership: the table owns its sessions, a session owns what is behind it.  Sessions live as long as
 * the table.
 * Threads: any; create and destroy from one.
 * Limits: SESSIONS_MAX, then ERR_LIMIT.
 * Depends on: sampler.h, err, loaded, source, wire/session.
 */
#ifndef SERVER_SESSIONS_H
#define SERVER_SESSIONS_H

#include <stddef.h>

#include "sampler/base/err.h"
#include "server/source.h"

struct loaded;
struct profile;
struct profile_snapshot;
struct sampler;
struct session_facts;
struct sessions;

enum { SESSIONS_MAX = 1024 };

struct session {
    char id[12];
    char epoch[17];
    struct sampler *sampler;  /* NULL: loaded from a capture */
    struct loaded *loaded;    /* NULL: live */
    struct source_root files; /* of the target, as it sees them */
};

MUST_CHECK enum err_code sessions_create(struct sessions **out, struct err *err);
void sessions_destroy(struct sessions *sessions);
/* Sessions added from now on have no text of source files to show. */
void sessions_hide_source(struct sessions *sessions);

/* Takes the sampler; on failure it stays the caller's. */
MUST_CHECK enum err_code sessions_add(struct sessions *sessions, struct sampler *sampler,
                                      struct session **out, struct err *err);
/* Takes the capture; on failure it stays the caller's. */
MUST_CHECK enum err_code sessions_add_loaded(struct sessions *sessions, struct loaded *loaded,
                                             struct session **out, struct err *err);
/* NULL: none of that id. */
struct session *sessions_find(struct sessions *sessions, const char *id);
/* NULL: fewer than index + 1. */
struct session *sessions_at(struct sessions *sessions, size_t index);

struct profile *session_profile(const struct session *session);

/* What the session is right now; borrows from both. */
void session_describe(struct session *session, const struct profile_snapshot *snapshot,
                      struct session_facts *out);

#endif /* SERVER_SESSIONS_H */
