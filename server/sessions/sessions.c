#include "server/sessions/sessions.h"

#include <errno.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "sampler/base/clock.h"
#include "sampler/capture/source_texts.h"
#include "sampler/profile/packages.h"
#include "sampler/profile/profile.h"
#include "sampler/reader_link.h"
#include "server/sessions/open_capture.h"
#include "server/source/helper.h"

struct sessions {
    pthread_mutex_t lock;
    pthread_cond_t idle; /* nobody works */
    struct session *items[SESSIONS_MAX];
    size_t count, next_id, workers;
    struct session *removed; /* but still held */
    bool hides_source, omits_texts;
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

static void free_session(struct session *session)
{
    source_destroy(session->texts);
    sampler_destroy(session->sampler);
    open_capture_destroy(session->opened);
    profile_destroy(session->blank);
    free(session->patterns);
    pthread_mutex_destroy(&session->lock);
    free(session);
}

static void stop_all(struct sessions *sessions)
{
    pthread_mutex_lock(&sessions->lock);
    for (size_t i = 0; i < sessions->count; i++)
        session_stop(sessions->items[i]);
    while (sessions->workers > 0)
        pthread_cond_wait(&sessions->idle, &sessions->lock);
    pthread_mutex_unlock(&sessions->lock);
}

void sessions_destroy(struct sessions *sessions)
{
    if (!sessions)
        return;
    stop_all(sessions);
    for (size_t i = 0; i < sessions->count; i++)
        free_session(sessions->items[i]);
    for (struct session *next, *at = sessions->removed; at; at = next) {
        next = at->next_removed;
        free_session(at);
    }
    pthread_cond_destroy(&sessions->idle);
    pthread_mutex_destroy(&sessions->lock);
    free(sessions);
}

void sessions_hide_source(struct sessions *sessions)
{
    sessions->hides_source = true;
}

void sessions_omit_texts(struct sessions *sessions)
{
    sessions->omits_texts = true;
}

void sessions_limit(struct sessions *sessions, size_t running, double max_cpu_percent)
{
    sessions->most_running = running;
    sessions->max_cpu_percent = max_cpu_percent;
}

static enum err_code make_epoch(struct session *session, struct err *err)
{
    uint64_t epoch = 0;
    if (getrandom(&epoch, sizeof epoch, 0) != (ssize_t)sizeof epoch)
        return err_sys(err, errno, "random bytes for an epoch are unavailable");
    snprintf(session->epoch, sizeof session->epoch, "%016" PRIx64, epoch);
    return ERR_OK;
}

static enum err_code copy_filters(struct session *session, const struct frame_filters *filters,
                                  struct err *err)
{
    size_t bytes = 0;
    for (size_t i = 0; i < filters->count; i++)
        bytes += strlen(filters->items[i].pattern) + 1;
    char *at = session->patterns = malloc(bytes + 1);
    if (!at)
        return err_nomem(err);
    session->filters = *filters;
    for (size_t i = 0; i < filters->count; i++) {
        session->filters.items[i].pattern = at;
        at = stpcpy(at, filters->items[i].pattern) + 1;
    }
    return ERR_OK;
}

static enum err_code make(struct sessions *sessions, enum session_source source,
                          const struct frame_filters *filters, struct session **out,
                          struct err *err)
{
    struct session *const session = calloc(1, sizeof *session);
    if (!session)
        return err_nomem(err);
    session->source = source;
    session->owner = sessions;
    atomic_init(&session->is_cancelled, false);
    pthread_mutex_init(&session->lock, NULL);
    enum err_code rc = make_epoch(session, err);
    if (rc == ERR_OK && filters)
        rc = copy_filters(session, filters, err);
    if (rc != ERR_OK)
        free_session(session);
    else
        *out = session;
    return rc;
}

static bool is_over(enum sampler_state state)
{
    return state == SAMPLER_ENDED || state == SAMPLER_FAILED;
}

/* Sessions that use the processor; of the user's own, or all. */
static size_t count_running(const struct sessions *sessions)
{
    size_t count = 0;
    for (size_t i = 0; i < sessions->count; i++)
        count += sessions->items[i]->source == SESSION_LIVE &&
                 !is_over(session_state(sessions->items[i]));
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
        if (session->references > 0 || !is_over(session_state(session)))
            continue;
        take_out(sessions, i);
        return session;
    }
    return NULL;
}

static enum err_code append(struct sessions *sessions, struct session *session, bool is_counted,
                            struct err *err)
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
    if (rc == ERR_OK) {
        sessions->items[sessions->count++] = session;
        snprintf(session->id, sizeof session->id, "%zu", ++sessions->next_id);
    }
    pthread_mutex_unlock(&sessions->lock);
    if (left)
        free_session(left);
    return rc;
}

static enum err_code add(struct sessions *sessions, struct session *session,
                         struct session **out, struct err *err)
{
    session->references = 1;
    const enum err_code rc = append(sessions, session, false, err);
    if (rc == ERR_OK) {
        *out = session;
        return rc;
    }
    /* They stay the caller's. */
    session->sampler = NULL;
    session->opened = NULL;
    free_session(session);
    return rc;
}

/* A session goes without the text of source files where they cannot be had. */
static void open_files(struct session *session, struct sampler *sampler)
{
    /* The files of all processes of a host are not kept, as nobody has asked for them. */
    const bool keeps = !sampler_options(sampler)->all && session->source == SESSION_LIVE;
    const enum source_keeping keeping = !keeps                        ? SOURCE_KEEPS_NOTHING
                                        : session->owner->omits_texts ? SOURCE_KEEPS_PACKAGES
                                                                      : SOURCE_KEEPS_TEXTS;
    if (session->owner->hides_source || (source_helper_pid() == 0 && !reader_link_is_used()) ||
        source_create(sampler, keeping, &session->texts, NULL) != ERR_OK)
        return;
    session->files = source_reader_of(session->texts);
}

enum err_code sessions_add(struct sessions *sessions, struct sampler *sampler,
                           const struct frame_filters *filters, struct session **out,
                           struct err *err)
{
    struct session *session = NULL;
    const enum err_code rc = make(sessions, SESSION_LIVE, filters, &session, err);
    if (rc != ERR_OK)
        return rc;
    session->sampler = sampler;
    open_files(session, sampler);
    return add(sessions, session, out, err);
}

enum err_code sessions_add_loaded(struct sessions *sessions, struct open_capture *opened,
                                  struct session **out, struct err *err)
{
    struct session *session = NULL;
    const enum err_code rc = make(sessions, SESSION_CAPTURE, NULL, &session, err);
    if (rc != ERR_OK)
        return rc;
    session->opened = opened;
    return add(sessions, session, out, err);
}

enum err_code sessions_begin(struct sessions *sessions, enum session_source source,
                             const struct sampler_options *options,
                             const struct frame_filters *filters,
                             const struct session_words *words, struct session **out,
                             struct err *err)
{
    static const struct sampler_options none = { .rate_hz = 0 };
    struct session *session = NULL;
    enum err_code rc = make(sessions, source, filters, &session, err);
    if (rc != ERR_OK)
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
    if (rc == ERR_OK)
        rc = append(sessions, session, source == SESSION_LIVE, err);
    if (rc != ERR_OK)
        free_session(session);
    else
        *out = session;
    return rc;
}

void session_become(struct session *session, struct sampler *sampler,
                    struct open_capture *opened)
{
    if (sampler)
        open_files(session, sampler);
    pthread_mutex_lock(&session->lock);
    session->opened = opened;
    session->sampler = sampler;
    if (session->is_stopping && sampler)
        sampler_stop(sampler);
    pthread_mutex_unlock(&session->lock);
}

void session_fail(struct session *session, const struct err *err)
{
    const uint64_t now_ns = clock_wall_ns();
    pthread_mutex_lock(&session->lock);
    session->status.state = SAMPLER_FAILED;
    /* The clock may have been set back meanwhile. */
    session->status.ended_at_ns =
        now_ns > session->status.started_at_ns ? now_ns : session->status.started_at_ns;
    snprintf(session->status.reason, sizeof session->status.reason, "%.255s", err->message);
    pthread_mutex_unlock(&session->lock);
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

static struct session *find(struct sessions *sessions, is_wanted wanted, const char *text)
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
    return find(sessions, has_id, id);
}

struct session *sessions_of_capture(struct sessions *sessions, const char *capture)
{
    return find(sessions, has_capture, capture);
}

static void unlink_removed(struct sessions *sessions, const struct session *session)
{
    struct session **at = &sessions->removed;
    while (*at != session)
        at = &(*at)->next_removed;
    *at = session->next_removed;
}

void session_release(struct session *session)
{
    if (!session)
        return;
    struct sessions *const sessions = session->owner;
    pthread_mutex_lock(&sessions->lock);
    const bool is_last = --session->references == 0 && session->is_removed;
    if (is_last)
        unlink_removed(sessions, session);
    pthread_mutex_unlock(&sessions->lock);
    if (is_last)
        free_session(session);
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

void session_stop(struct session *session)
{
    pthread_mutex_lock(&session->lock);
    session->is_stopping = true;
    atomic_store(&session->is_cancelled, true);
    if (session->sampler)
        sampler_stop(session->sampler);
    pthread_mutex_unlock(&session->lock);
}

bool session_is_stopping(struct session *session)
{
    pthread_mutex_lock(&session->lock);
    const bool is_stopping = session->is_stopping;
    pthread_mutex_unlock(&session->lock);
    return is_stopping;
}

static void share_with(struct session *session, double percent)
{
    const double own = session->options.max_cpu_percent;
    struct sampler *const sampler = session->sampler;
    if (sampler && session->source == SESSION_LIVE && !is_over(session_state(session)))
        sampler_set_max_cpu(sampler, own > 0 && own < percent ? own : percent);
}

void sessions_share(struct sessions *sessions)
{
    if (sessions->max_cpu_percent <= 0)
        return;
    pthread_mutex_lock(&sessions->lock);
    const size_t running = count_running(sessions);
    for (size_t i = 0; i < sessions->count; i++)
        share_with(sessions->items[i],
                   sessions->max_cpu_percent / (double)(running | !running));
    pthread_mutex_unlock(&sessions->lock);
}

struct profile *session_profile(const struct session *session)
{
    struct sampler *const sampler = session->sampler;
    struct open_capture *const opened = session->opened;
    if (sampler)
        return sampler_profile(sampler);
    return opened ? open_capture_profile(opened) : session->blank;
}

const struct source_reader *session_files(const struct session *session)
{
    const struct open_capture *const opened = session->opened;
    if (session->owner->hides_source)
        return NULL;
    if (opened)
        return &opened->files;
    return session->sampler && session->texts ? &session->files : NULL;
}

const char *session_source_text(const struct session *session)
{
    const struct sampler *const sampler = session->sampler;
    if (session->owner->hides_source)
        return SOURCE_TEXT_OFF;
    if (session->source == SESSION_CONTINUOUS || (sampler && sampler_options(sampler)->all))
        return SOURCE_TEXT_OF_ALL;
    return session->texts ? SOURCE_TEXT_KEPT : SOURCE_TEXT_NO_READER;
}

enum sampler_state session_state(struct session *session)
{
    struct sampler *const sampler = session->sampler;
    struct open_capture *const opened = session->opened;
    struct sampler_status status;
    if (opened)
        return opened->status.state;
    if (sampler) {
        sampler_status(sampler, &status);
        return status.state;
    }
    pthread_mutex_lock(&session->lock);
    const enum sampler_state state = session->status.state;
    pthread_mutex_unlock(&session->lock);
    return state;
}

void session_words(struct session *session, struct session_words *out)
{
    pthread_mutex_lock(&session->lock);
    *out = session->words;
    pthread_mutex_unlock(&session->lock);
}

void session_rename(struct session *session, const char *name, const char *note)
{
    struct session_words *const words = &session->words;
    pthread_mutex_lock(&session->lock);
    if (name)
        snprintf(words->name, sizeof words->name, "%s", name);
    if (note)
        snprintf(words->note, sizeof words->note, "%s", note);
    pthread_mutex_unlock(&session->lock);
}

void session_notes(struct session *session, struct range_notes *out)
{
    pthread_mutex_lock(&session->lock);
    *out = session->notes;
    pthread_mutex_unlock(&session->lock);
}

void session_set_notes(struct session *session, const struct range_notes *notes)
{
    pthread_mutex_lock(&session->lock);
    session->notes = *notes;
    pthread_mutex_unlock(&session->lock);
}

enum err_code session_add_note(struct session *session, double from_s, double to_s,
                               const char *text, struct range_note *out, struct err *err)
{
    pthread_mutex_lock(&session->lock);
    const enum err_code rc = range_notes_add(&session->notes, from_s, to_s, text, out, err);
    pthread_mutex_unlock(&session->lock);
    return rc;
}

bool session_remove_note(struct session *session, uint32_t id)
{
    pthread_mutex_lock(&session->lock);
    const bool was_there = range_notes_remove(&session->notes, id);
    pthread_mutex_unlock(&session->lock);
    return was_there;
}

void session_set_capture(struct session *session, const char *capture)
{
    pthread_mutex_lock(&session->lock);
    snprintf(session->words.capture, sizeof session->words.capture, "%s", capture);
    pthread_mutex_unlock(&session->lock);
}

bool session_set_fault(struct session *session, const char *fault)
{
    pthread_mutex_lock(&session->lock);
    const bool is_news = session->words.fault[0] == '\0';
    if (is_news)
        snprintf(session->words.fault, sizeof session->words.fault, "%s", fault);
    pthread_mutex_unlock(&session->lock);
    return is_news;
}

void session_epoch(struct session *session, struct profile *profile,
                   char out[SESSION_EPOCH_BYTES])
{
    const uint32_t rows = packages_count(profile_packages(profile));
    pthread_mutex_lock(&session->lock);
    const uint64_t epoch = strtoull(session->epoch, NULL, 16) +
                           epoch_pace_rows(&session->pace, rows, clock_now_ns());
    pthread_mutex_unlock(&session->lock);
    snprintf(out, SESSION_EPOCH_BYTES, "%016" PRIx64, epoch);
}

void session_describe(struct session *session, const struct profile_snapshot *snapshot,
                      struct session_info *out)
{
    struct sampler *const sampler = session->sampler;
    const struct open_capture *const opened = session->opened;
    /* The texts are there when the sampler is. */
    const struct source_checkout *const checkout =
        sampler ? source_checkout(session->texts) : NULL;
    memset(out, 0, sizeof *out);
    if (checkout) {
        out->checkout_root = checkout->root;
        out->checkout_commit = checkout->commit;
    }
    out->id = session->id;
    session_epoch(session, snapshot->profile, out->epoch);
    memcpy(out->run, session->epoch, sizeof out->run);
    out->snapshot = snapshot;
    out->source = session->source;
    out->filters = &session->filters;
    session_words(session, &out->words);
    session_notes(session, &out->notes);
    if (opened) {
        out->target = &opened->target;
        out->targets = &opened->targets;
        out->options = &opened->options;
        out->filters = &opened->filters;
        out->status = opened->status;
        out->host = opened->host;
    } else if (sampler) {
        out->target = sampler_target(sampler);
        out->sampler = sampler;
        out->options = sampler_options(sampler);
        sampler_status(sampler, &out->status);
    } else {
        out->target = &session->target;
        out->options = &session->options;
        pthread_mutex_lock(&session->lock);
        out->status = session->status;
        pthread_mutex_unlock(&session->lock);
    }
}
