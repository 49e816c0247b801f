#include "server/sessions/sessions.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sampler/base/clock.h"
#include "sampler/profile/profile.h"

struct sessions {
    pthread_mutex_t lock;
    pthread_cond_t idle; /* nobody works */
    struct session *items[SESSIONS_MAX];
    size_t count, next_id, workers;
    struct session *removed; /* but still held */
    struct session_rules rules;
    size_t most_running; /* 0: no limit */
    double max_cpu_percent;
};

enum err_code sessions_create(struct sessions **out, struct err *err)
{
    struct sessions *const sessions = calloc(1, sizeof *sessions);
    if (!sessions)
        return err_nomem(err);
    pthread_mutex_init(&sessions->lock, NULL);
    pthread_cond_init(&sessions->idle, NULL);
    *out = sessions;
    return ERR_OK;
}

void sessions_destroy(struct sessions *sessions)
{
    if (!sessions)
        return;

    pthread_mutex_lock(&sessions->lock);
    for (size_t i = 0; i < sessions->count; i++)
        session_stop(sessions->items[i]);
    while (sessions->workers > 0)
        pthread_cond_wait(&sessions->idle, &sessions->lock);
    pthread_mutex_unlock(&sessions->lock);

    for (size_t i = 0; i < sessions->count; i++)
        session_destroy(sessions->items[i]);
    for (struct session *next, *at = sessions->removed; at; at = next) {
        next = at->next_removed;
        session_destroy(at);
    }
    pthread_cond_destroy(&sessions->idle);
    pthread_mutex_destroy(&sessions->lock);
    free(sessions);
}

void sessions_hide_source(struct sessions *sessions)
{
    sessions->rules.hides_source = true;
}

void sessions_omit_texts(struct sessions *sessions)
{
    sessions->rules.omits_texts = true;
}

void sessions_limit(struct sessions *sessions, size_t running, double max_cpu_percent)
{
    sessions->most_running = running;
    sessions->max_cpu_percent = max_cpu_percent;
}

/* Sessions that use the processor; of the user's own, or all. */
static size_t count_running(const struct sessions *sessions)
{
    size_t count = 0;
    for (size_t i = 0; i < sessions->count; i++)
        count +=
            sessions->items[i]->source == SESSION_LIVE && !session_is_over(sessions->items[i]);
    return count;
}

static void take_out(struct sessions *sessions, size_t index)
{
    sessions->count--;
    memmove(&sessions->items[index], &sessions->items[index + 1],
            (sessions->count - index) * sizeof *sessions->items);
}

/* Takes out the oldest session that has ended and that nobody holds, for the caller to free; NULL: there is none. */
static struct session *make_room(struct sessions *sessions)
{
    for (size_t i = 0; i < sessions->count; i++) {
        struct session *const session = sessions->items[i];
        if (session->references > 0 || !session_is_over(session))
            continue;
        take_out(sessions, i);
        return session;
    }
    return NULL;
}

static enum err_code append_session(struct sessions *sessions, struct session *session,
                                    bool is_counted, struct err *err)
{
    struct session *left = NULL;
    enum err_code rc = ERR_OK;
    pthread_mutex_lock(&sessions->lock);
    if (sessions->count == SESSIONS_MAX && !(left = make_room(sessions)))
        rc = err_set(err, ERR_LIMIT, "%d sessions run or are in use: stop one", SESSIONS_MAX);
    else if (is_counted && sessions->most_running &&
             count_running(sessions) >= sessions->most_running)
        rc =
            err_set(err, ERR_LIMIT,
                    "%zu %s running: stop one, or start pyrometer with a higher --max-sessions",
                    sessions->most_running,
                    sessions->most_running == 1 ? "session is" : "sessions are");
    if (!rc) {
        session->owner = sessions;
        sessions->items[sessions->count++] = session;
        snprintf(session->id, sizeof session->id, "%zu", ++sessions->next_id);
    }
    pthread_mutex_unlock(&sessions->lock);
    if (left)
        session_destroy(left);
    return rc;
}

static enum err_code add_session(struct sessions *sessions, struct session *session,
                                 struct session **out, struct err *err)
{
    session->references = 1;
    const enum err_code rc = append_session(sessions, session, false, err);
    if (!rc) {
        *out = session;
        return rc;
    }
    /* They stay the caller's. */
    session->sampler = NULL;
    session->opened = NULL;
    session_destroy(session);
    return rc;
}

enum err_code sessions_add(struct sessions *sessions, struct sampler *sampler,
                           const struct frame_filters *filters, struct session **out,
                           struct err *err)
{
    struct session *session = NULL;
    const enum err_code rc =
        session_create(SESSION_LIVE, &sessions->rules, filters, &session, err);
    if (rc)
        return rc;
    session->sampler = sampler;
    session_open_files(session, sampler);
    return add_session(sessions, session, out, err);
}

enum err_code sessions_add_loaded(struct sessions *sessions, struct open_capture *opened,
                                  struct session **out, struct err *err)
{
    struct session *session = NULL;
    const enum err_code rc =
        session_create(SESSION_CAPTURE, &sessions->rules, NULL, &session, err);
    if (rc)
        return rc;
    session->opened = opened;
    return add_session(sessions, session, out, err);
}

enum err_code sessions_begin(struct sessions *sessions, enum session_source source,
                             const struct sampler_options *options,
                             const struct frame_filters *filters,
                             const struct session_words *words, struct session **out,
                             struct err *err)
{
    static const struct sampler_options none = { .rate_hz = 0 };
    struct session *session = NULL;
    enum err_code rc = session_create(source, &sessions->rules, filters, &session, err);
    if (rc)
        return rc;
    session->options = options ? *options : none;
    session->options.sink = NULL;
    session->options.is_cancelled = NULL;
    session->words = *words;
    session->target = (struct sampler_target){ .pid = session->options.pids[0],
                                               .executable = "",
                                               .python = "" };
    session->status =
        (struct sampler_status){ .state = SAMPLER_STARTING, .started_at_ns = clock_wall_ns() };
    session->references = 1;
    rc = profile_create(&session->blank, err);
    if (!rc)
        rc = append_session(sessions, session, source == SESSION_LIVE, err);
    if (rc)
        session_destroy(session);
    else
        *out = session;
    return rc;
}

void sessions_work_begin(struct sessions *sessions)
{
    pthread_mutex_lock(&sessions->lock);
    sessions->workers++;
    pthread_mutex_unlock(&sessions->lock);
}

void sessions_work_end(struct sessions *sessions)
{
    pthread_mutex_lock(&sessions->lock);
    if (--sessions->workers == 0)
        pthread_cond_broadcast(&sessions->idle);
    pthread_mutex_unlock(&sessions->lock);
}

struct session *sessions_at(struct sessions *sessions, size_t index)
{
    pthread_mutex_lock(&sessions->lock);
    struct session *const session = index < sessions->count ? sessions->items[index] : NULL;
    if (session)
        session->references++;
    pthread_mutex_unlock(&sessions->lock);
    return session;
}

typedef bool (*is_wanted)(struct session *session, const char *text);

static struct session *find_session(struct sessions *sessions, is_wanted wanted,
                                    const char *text)
{
    struct session *found = NULL;
    pthread_mutex_lock(&sessions->lock);
    for (size_t i = 0; i < sessions->count && !found; i++)
        if (wanted(sessions->items[i], text))
            found = sessions->items[i];
    if (found)
        found->references++;
    pthread_mutex_unlock(&sessions->lock);
    return found;
}

static bool has_id(struct session *session, const char *id)
{
    return strcmp(session->id, id) == 0;
}

static bool has_capture(struct session *session, const char *capture)
{
    pthread_mutex_lock(&session->lock);
    const bool has = strcmp(session->words.capture, capture) == 0;
    pthread_mutex_unlock(&session->lock);
    return has;
}

struct session *sessions_find(struct sessions *sessions, const char *id)
{
    return find_session(sessions, has_id, id);
}

struct session *sessions_of_capture(struct sessions *sessions, const char *capture)
{
    return find_session(sessions, has_capture, capture);
}

void session_release(struct session *session)
{
    if (!session)
        return;
    struct sessions *const sessions = session->owner;
    pthread_mutex_lock(&sessions->lock);
    const bool is_last = --session->references == 0 && session->is_removed;
    if (is_last) {
        struct session **at = &sessions->removed;
        while (*at != session)
            at = &(*at)->next_removed;
        *at = session->next_removed;
    }
    pthread_mutex_unlock(&sessions->lock);
    if (is_last)
        session_destroy(session);
}

void sessions_remove(struct sessions *sessions, struct session *session)
{
    session_stop(session);
    pthread_mutex_lock(&sessions->lock);
    size_t i = 0;
    while (i < sessions->count && sessions->items[i] != session)
        i++;
    if (i < sessions->count) {
        take_out(sessions, i);
        session->is_removed = true;
        session->next_removed = sessions->removed;
        sessions->removed = session;
    }
    pthread_mutex_unlock(&sessions->lock);
}

void sessions_share(struct sessions *sessions)
{
    if (sessions->max_cpu_percent <= 0)
        return;
    pthread_mutex_lock(&sessions->lock);
    const size_t running = count_running(sessions);
    for (size_t i = 0; i < sessions->count; i++) {
        struct session *const session = sessions->items[i];
        const double percent = sessions->max_cpu_percent / (double)(running | !running);
        const double own = session->options.max_cpu_percent;
        struct sampler *const sampler = session->sampler;
        if (sampler && session->source == SESSION_LIVE && !session_is_over(session))
            sampler_set_max_cpu(sampler, own > 0 && own < percent ? own : percent);
    }
    pthread_mutex_unlock(&sessions->lock);
}
