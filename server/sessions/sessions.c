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
    struct session_entry *items[SESSIONS_MAX];
    size_t count, next_id, workers;
    struct session_entry *removed; /* but still held */
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
        session_entry_stop(sessions->items[i]);
    while (sessions->workers > 0)
        pthread_cond_wait(&sessions->idle, &sessions->lock);
    pthread_mutex_unlock(&sessions->lock);

    for (size_t i = 0; i < sessions->count; i++)
        session_entry_destroy(sessions->items[i]);
    for (struct session_entry *next, *at = sessions->removed; at; at = next) {
        next = at->next_removed;
        session_entry_destroy(at);
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
        count += sessions->items[i]->source == SESSION_LIVE &&
                 !session_entry_is_over(sessions->items[i]);
    return count;
}

static void take_out(struct sessions *sessions, size_t index)
{
    sessions->count--;
    memmove(&sessions->items[index], &sessions->items[index + 1],
            (sessions->count - index) * sizeof *sessions->items);
}

/* Takes out the oldest session that has ended and that nobody holds, for the caller to free; NULL: there is none. */
static struct session_entry *make_room(struct sessions *sessions)
{
    for (size_t i = 0; i < sessions->count; i++) {
        struct session_entry *const entry = sessions->items[i];
        if (entry->references > 0 || !session_entry_is_over(entry))
            continue;
        take_out(sessions, i);
        return entry;
    }
    return NULL;
}

static enum err_code append_session(struct sessions *sessions, struct session_entry *entry,
                                    bool is_counted, struct err *err)
{
    struct session_entry *left = NULL;
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
        entry->owner = sessions;
        sessions->items[sessions->count++] = entry;
        snprintf(entry->id, sizeof entry->id, "%zu", ++sessions->next_id);
    }
    pthread_mutex_unlock(&sessions->lock);
    if (left)
        session_entry_destroy(left);
    return rc;
}

static enum err_code add_session(struct sessions *sessions, struct session_entry *entry,
                                 struct session_entry **out, struct err *err)
{
    entry->references = 1;
    const enum err_code rc = append_session(sessions, entry, false, err);
    if (!rc) {
        *out = entry;
        return rc;
    }
    /* They stay the caller's. */
    entry->session = NULL;
    entry->opened = NULL;
    session_entry_destroy(entry);
    return rc;
}

enum err_code sessions_add(struct sessions *sessions, struct session *session,
                           const struct frame_filters *filters, struct session_entry **out,
                           struct err *err)
{
    struct session_entry *entry = NULL;
    const enum err_code rc =
        session_entry_create(SESSION_LIVE, &sessions->rules, filters, &entry, err);
    if (rc)
        return rc;
    entry->session = session;
    session_entry_open_files(entry, session);
    return add_session(sessions, entry, out, err);
}

enum err_code sessions_add_loaded(struct sessions *sessions, struct open_capture *opened,
                                  struct session_entry **out, struct err *err)
{
    struct session_entry *entry = NULL;
    const enum err_code rc =
        session_entry_create(SESSION_CAPTURE, &sessions->rules, NULL, &entry, err);
    if (rc)
        return rc;
    entry->opened = opened;
    return add_session(sessions, entry, out, err);
}

enum err_code sessions_begin(struct sessions *sessions, enum session_source source,
                             const struct session_options *options,
                             const struct frame_filters *filters,
                             const struct session_words *words, struct session_entry **out,
                             struct err *err)
{
    static const struct session_options none = { .rate_hz = 0 };
    struct session_entry *entry = NULL;
    enum err_code rc = session_entry_create(source, &sessions->rules, filters, &entry, err);
    if (rc)
        return rc;
    entry->options = options ? *options : none;
    entry->options.sink = NULL;
    entry->options.is_cancelled = NULL;
    entry->words = *words;
    entry->target = (struct session_target){ .pid = entry->options.pids[0],
                                             .executable = "",
                                             .python = "" };
    entry->status =
        (struct session_status){ .state = SESSION_STARTING, .started_at_ns = clock_wall_ns() };
    entry->references = 1;
    rc = profile_create(&entry->blank, err);
    if (!rc)
        rc = append_session(sessions, entry, source == SESSION_LIVE, err);
    if (rc)
        session_entry_destroy(entry);
    else
        *out = entry;
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

struct session_entry *sessions_at(struct sessions *sessions, size_t index)
{
    pthread_mutex_lock(&sessions->lock);
    struct session_entry *const entry = index < sessions->count ? sessions->items[index] : NULL;
    if (entry)
        entry->references++;
    pthread_mutex_unlock(&sessions->lock);
    return entry;
}

typedef bool (*is_wanted)(struct session_entry *entry, const char *text);

static struct session_entry *find_session(struct sessions *sessions, is_wanted wanted,
                                          const char *text)
{
    struct session_entry *found = NULL;
    pthread_mutex_lock(&sessions->lock);
    for (size_t i = 0; i < sessions->count && !found; i++)
        if (wanted(sessions->items[i], text))
            found = sessions->items[i];
    if (found)
        found->references++;
    pthread_mutex_unlock(&sessions->lock);
    return found;
}

static bool has_id(struct session_entry *entry, const char *id)
{
    return strcmp(entry->id, id) == 0;
}

static bool has_capture(struct session_entry *entry, const char *capture)
{
    pthread_mutex_lock(&entry->lock);
    const bool has = strcmp(entry->words.capture, capture) == 0;
    pthread_mutex_unlock(&entry->lock);
    return has;
}

struct session_entry *sessions_find(struct sessions *sessions, const char *id)
{
    return find_session(sessions, has_id, id);
}

struct session_entry *sessions_of_capture(struct sessions *sessions, const char *capture)
{
    return find_session(sessions, has_capture, capture);
}

void session_release(struct session_entry *entry)
{
    if (!entry)
        return;
    struct sessions *const sessions = entry->owner;
    pthread_mutex_lock(&sessions->lock);
    const bool is_last = --entry->references == 0 && entry->is_removed;
    if (is_last) {
        struct session_entry **at = &sessions->removed;
        while (*at != entry)
            at = &(*at)->next_removed;
        *at = entry->next_removed;
    }
    pthread_mutex_unlock(&sessions->lock);
    if (is_last)
        session_entry_destroy(entry);
}

void sessions_remove(struct sessions *sessions, struct session_entry *entry)
{
    session_entry_stop(entry);
    pthread_mutex_lock(&sessions->lock);
    size_t i = 0;
    while (i < sessions->count && sessions->items[i] != entry)
        i++;
    if (i < sessions->count) {
        take_out(sessions, i);
        entry->is_removed = true;
        entry->next_removed = sessions->removed;
        sessions->removed = entry;
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
        struct session_entry *const entry = sessions->items[i];
        const double percent = sessions->max_cpu_percent / (double)(running | !running);
        const double own = entry->options.max_cpu_percent;
        struct session *const session = entry->session;
        if (session && entry->source == SESSION_LIVE && !session_entry_is_over(entry))
            session_set_max_cpu(session, own > 0 && own < percent ? own : percent);
    }
    pthread_mutex_unlock(&sessions->lock);
}
