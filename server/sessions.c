#include "server/sessions.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "sampler/profile/profile.h"
#include "sampler/sampler.h"
#include "server/loaded.h"
#include "server/wire/session.h"

struct sessions {
    pthread_mutex_t lock;
    struct session *items[SESSIONS_MAX];
    size_t count;
    bool hides_source;
};

enum err_code sessions_create(struct sessions **out, struct err *err)
{
    struct sessions *const sessions = calloc(1, sizeof *sessions);
    if (!sessions)
        return err_set(err, ERR_NOMEM, "no memory for the sessions");
    pthread_mutex_init(&sessions->lock, NULL);
    *out = sessions;
    return ERR_OK;
}

void sessions_destroy(struct sessions *sessions)
{
    if (!sessions)
        return;
    for (size_t i = 0; i < sessions->count; i++) {
        sampler_destroy(sessions->items[i]->sampler);
        loaded_destroy(sessions->items[i]->loaded);
        source_close(&sessions->items[i]->files);
        free(sessions->items[i]);
    }
    pthread_mutex_destroy(&sessions->lock);
    free(sessions);
}

void sessions_hide_source(struct sessions *sessions)
{
    sessions->hides_source = true;
}

static enum err_code make_epoch(struct session *session, struct err *err)
{
    uint64_t epoch = 0;
    if (getrandom(&epoch, sizeof epoch, 0) != (ssize_t)sizeof epoch)
        return err_sys(err, errno, "no random bytes for an epoch");
    snprintf(session->epoch, sizeof session->epoch, "%016" PRIx64, epoch);
    return ERR_OK;
}

static enum err_code append(struct sessions *sessions, struct session *session, struct err *err)
{
    enum err_code rc = ERR_OK;
    pthread_mutex_lock(&sessions->lock);
    if (sessions->count == SESSIONS_MAX) {
        rc = err_set(err, ERR_LIMIT, "there are %d sessions already", SESSIONS_MAX);
    } else {
        sessions->items[sessions->count++] = session;
        snprintf(session->id, sizeof session->id, "%zu", sessions->count);
    }
    pthread_mutex_unlock(&sessions->lock);
    return rc;
}

/* Takes over what is behind the session, on success. */
static enum err_code add(struct sessions *sessions, const struct session *made,
                         struct session **out, struct err *err)
{
    struct session *const session = malloc(sizeof *session);
    if (!session)
        return err_set(err, ERR_NOMEM, "no memory for a session");
    *session = *made;
    enum err_code rc = make_epoch(session, err);
    if (rc == ERR_OK)
        rc = append(sessions, session, err);
    if (rc == ERR_OK) {
        *out = session;
    } else {
        source_close(&session->files);
        free(session);
    }
    return rc;
}

enum err_code sessions_add(struct sessions *sessions, struct sampler *sampler,
                           struct session **out, struct err *err)
{
    struct session made = { .sampler = sampler };
    /* A session goes without the text of source files where they cannot be had. */
    if (sessions->hides_source ||
        source_open(&made.files, sampler_target(sampler)->pid, NULL) != ERR_OK)
        made.files = (struct source_root)SOURCE_NONE;
    return add(sessions, &made, out, err);
}

enum err_code sessions_add_loaded(struct sessions *sessions, struct loaded *loaded,
                                  struct session **out, struct err *err)
{
    const struct session made = { .loaded = loaded, .files = SOURCE_NONE };
    return add(sessions, &made, out, err);
}

struct profile *session_profile(const struct session *session)
{
    return session->sampler ? sampler_profile(session->sampler)
                            : loaded_profile(session->loaded);
}

struct session *sessions_at(struct sessions *sessions, size_t index)
{
    pthread_mutex_lock(&sessions->lock);
    struct session *const session = index < sessions->count ? sessions->items[index] : NULL;
    pthread_mutex_unlock(&sessions->lock);
    return session;
}

struct session *sessions_find(struct sessions *sessions, const char *id)
{
    struct session *session = NULL;
    for (size_t i = 0; (session = sessions_at(sessions, i)); i++)
        if (strcmp(session->id, id) == 0)
            return session;
    return NULL;
}

void session_describe(struct session *session, const struct profile_snapshot *snapshot,
                      struct session_facts *out)
{
    memset(out, 0, sizeof *out);
    out->id = session->id;
    out->epoch = session->epoch;
    out->snapshot = snapshot;
    if (session->loaded) {
        out->target = &session->loaded->target;
        out->told = &session->loaded->told;
        out->options = &session->loaded->options;
        out->status = session->loaded->status;
        out->host = session->loaded->host;
        return;
    }
    out->target = sampler_target(session->sampler);
    out->sampler = session->sampler;
    out->options = sampler_options(session->sampler);
    sampler_status(session->sampler, &out->status);
}
