#include "server/sessions/session.h"

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

void session_destroy(struct session *session)
{
    if (!session)
        return;
    source_destroy(session->texts);
    sampler_destroy(session->sampler);
    open_capture_destroy(session->opened);
    profile_destroy(session->blank);
    free(session->patterns);
    pthread_mutex_destroy(&session->lock);
    free(session);
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

enum err_code session_create(enum session_source source, const struct session_rules *rules,
                             const struct frame_filters *filters, struct session **out,
                             struct err *err)
{
    struct session *const session = calloc(1, sizeof *session);
    if (!session)
        return err_nomem(err);
    session->source = source;
    session->rules = rules;
    atomic_init(&session->is_cancelled, false);
    pthread_mutex_init(&session->lock, NULL);
    enum err_code rc = make_epoch(session, err);
    if (!rc && filters)
        rc = copy_filters(session, filters, err);
    if (rc)
        session_destroy(session);
    else
        *out = session;
    return rc;
}

/* A session goes without the text of source files where they cannot be had. */
void session_open_files(struct session *session, struct sampler *sampler)
{
    /* The files of all processes of a host are not kept, as nobody has asked for them. */
    const bool keeps = !sampler_options(sampler)->all && session->source == SESSION_LIVE;
    const enum source_keeping keeping = !keeps                        ? SOURCE_KEEPS_NOTHING
                                        : session->rules->omits_texts ? SOURCE_KEEPS_PACKAGES
                                                                      : SOURCE_KEEPS_TEXTS;
    if (session->rules->hides_source || (source_helper_pid() == 0 && !reader_link_is_used()) ||
        source_create(sampler, keeping, &session->texts, NULL) != ERR_OK)
        return;
    session->files = source_reader_of(session->texts);
}

void session_become(struct session *session, struct sampler *sampler,
                    struct open_capture *opened)
{
    if (sampler)
        session_open_files(session, sampler);
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
    if (session->rules->hides_source)
        return NULL;
    if (opened)
        return &opened->files;
    return session->sampler && session->texts ? &session->files : NULL;
}

const char *session_source_text(const struct session *session)
{
    const struct sampler *const sampler = session->sampler;
    if (session->rules->hides_source)
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

bool session_is_over(struct session *session)
{
    const enum sampler_state state = session_state(session);
    return state == SAMPLER_ENDED || state == SAMPLER_FAILED;
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
