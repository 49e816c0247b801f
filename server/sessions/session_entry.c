#include "server/sessions/session_entry.h"

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
#include "sampler/sampling_link.h"
#include "server/sessions/open_capture.h"
#include "server/source/helper.h"

void session_entry_destroy(struct session_entry *entry)
{
    if (!entry)
        return;
    source_destroy(entry->texts);
    session_destroy(entry->session);
    open_capture_destroy(entry->opened);
    profile_destroy(entry->blank);
    free(entry->patterns);
    pthread_mutex_destroy(&entry->lock);
    free(entry);
}

static enum err_code copy_filters(struct session_entry *entry,
                                  const struct frame_filters *filters, struct err *err)
{
    size_t bytes = 0;
    for (size_t i = 0; i < filters->count; i++)
        bytes += strlen(filters->items[i].pattern) + 1;
    char *at = entry->patterns = malloc(bytes + 1);
    if (!at)
        return err_nomem(err);
    entry->filters = *filters;
    for (size_t i = 0; i < filters->count; i++) {
        entry->filters.items[i].pattern = at;
        at = stpcpy(at, filters->items[i].pattern) + 1;
    }
    return ERR_OK;
}

enum err_code session_entry_create(enum session_source source,
                                   const struct session_rules *rules,
                                   const struct frame_filters *filters,
                                   struct session_entry **out, struct err *err)
{
    struct session_entry *const entry = calloc(1, sizeof *entry);
    if (!entry)
        return err_nomem(err);
    entry->source = source;
    entry->rules = rules;
    atomic_init(&entry->is_cancelled, false);
    pthread_mutex_init(&entry->lock, NULL);
    uint64_t epoch = 0;
    enum err_code rc = ERR_OK;
    if (getrandom(&epoch, sizeof epoch, 0) != (ssize_t)sizeof epoch)
        rc = err_sys(err, errno, "random bytes for an epoch are unavailable");
    snprintf(entry->epoch, sizeof entry->epoch, "%016" PRIx64, epoch);
    if (!rc && filters)
        rc = copy_filters(entry, filters, err);
    if (rc)
        session_entry_destroy(entry);
    else
        *out = entry;
    return rc;
}

/* A session goes without the text of source files where they cannot be had. */
void session_entry_open_files(struct session_entry *entry, struct session *session)
{
    /* The files of all processes of a host are not kept, as nobody has asked for them. */
    const bool keeps = !session_options(session)->all && entry->source == SESSION_LIVE;
    const enum source_keeping keeping = !keeps                      ? SOURCE_KEEPS_NOTHING
                                        : entry->rules->omits_texts ? SOURCE_KEEPS_PACKAGES
                                                                    : SOURCE_KEEPS_TEXTS;
    if (entry->rules->hides_source || (source_helper_pid() == 0 && !sampling_link_is_used()) ||
        source_create(session, keeping, &entry->texts, NULL))
        return;
    entry->files = source_reader_of(entry->texts);
}

void session_entry_become(struct session_entry *entry, struct session *session,
                          struct open_capture *opened)
{
    if (session)
        session_entry_open_files(entry, session);
    pthread_mutex_lock(&entry->lock);
    entry->opened = opened;
    entry->session = session;
    if (entry->is_stopping && session)
        session_stop(session);
    pthread_mutex_unlock(&entry->lock);
}

void session_entry_fail(struct session_entry *entry, const struct err *err)
{
    const uint64_t now_ns = clock_wall_ns();
    pthread_mutex_lock(&entry->lock);
    entry->status.state = SESSION_FAILED;
    /* The clock may have been set back meanwhile. */
    entry->status.ended_at_ns =
        now_ns > entry->status.started_at_ns ? now_ns : entry->status.started_at_ns;
    snprintf(entry->status.reason, sizeof entry->status.reason, "%.255s", err->message);
    pthread_mutex_unlock(&entry->lock);
}

void session_entry_stop(struct session_entry *entry)
{
    pthread_mutex_lock(&entry->lock);
    entry->is_stopping = true;
    atomic_store(&entry->is_cancelled, true);
    if (entry->session)
        session_stop(entry->session);
    pthread_mutex_unlock(&entry->lock);
}

bool session_entry_is_stopping(struct session_entry *entry)
{
    pthread_mutex_lock(&entry->lock);
    const bool is_stopping = entry->is_stopping;
    pthread_mutex_unlock(&entry->lock);
    return is_stopping;
}

struct profile *session_entry_profile(const struct session_entry *entry)
{
    struct session *const session = entry->session;
    struct open_capture *const opened = entry->opened;
    if (session)
        return session_profile(session);
    return opened ? open_capture_profile(opened) : entry->blank;
}

const struct source_reader *session_entry_files(const struct session_entry *entry)
{
    const struct open_capture *const opened = entry->opened;
    if (entry->rules->hides_source)
        return NULL;
    if (opened)
        return &opened->files;
    return entry->session && entry->texts ? &entry->files : NULL;
}

const char *session_entry_source_text(const struct session_entry *entry)
{
    const struct session *const session = entry->session;
    if (entry->rules->hides_source)
        return SOURCE_TEXT_OFF;
    if (entry->source == SESSION_CONTINUOUS || (session && session_options(session)->all))
        return SOURCE_TEXT_OF_ALL;
    return entry->texts ? SOURCE_TEXT_KEPT : SOURCE_TEXT_NO_READER;
}

enum session_state session_entry_state(struct session_entry *entry)
{
    struct session *const session = entry->session;
    struct open_capture *const opened = entry->opened;
    struct session_status status;
    if (opened)
        return opened->status.state;
    if (session) {
        session_status(session, &status);
        return status.state;
    }
    pthread_mutex_lock(&entry->lock);
    const enum session_state state = entry->status.state;
    pthread_mutex_unlock(&entry->lock);
    return state;
}

bool session_entry_is_over(struct session_entry *entry)
{
    const enum session_state state = session_entry_state(entry);
    return state == SESSION_ENDED || state == SESSION_FAILED;
}

void session_entry_words(struct session_entry *entry, struct session_words *out)
{
    pthread_mutex_lock(&entry->lock);
    *out = entry->words;
    pthread_mutex_unlock(&entry->lock);
}

void session_entry_rename(struct session_entry *entry, const char *name, const char *note)
{
    struct session_words *const words = &entry->words;
    pthread_mutex_lock(&entry->lock);
    if (name)
        snprintf(words->name, sizeof words->name, "%s", name);
    if (note)
        snprintf(words->note, sizeof words->note, "%s", note);
    pthread_mutex_unlock(&entry->lock);
}

void session_entry_notes(struct session_entry *entry, struct range_notes *out)
{
    pthread_mutex_lock(&entry->lock);
    *out = entry->notes;
    pthread_mutex_unlock(&entry->lock);
}

void session_entry_set_notes(struct session_entry *entry, const struct range_notes *notes)
{
    pthread_mutex_lock(&entry->lock);
    entry->notes = *notes;
    pthread_mutex_unlock(&entry->lock);
}

enum err_code session_entry_add_note(struct session_entry *entry, double from_s, double to_s,
                                     const char *text, struct range_note *out, struct err *err)
{
    pthread_mutex_lock(&entry->lock);
    const enum err_code rc = range_notes_add(&entry->notes, from_s, to_s, text, out, err);
    pthread_mutex_unlock(&entry->lock);
    return rc;
}

bool session_entry_remove_note(struct session_entry *entry, uint32_t id)
{
    pthread_mutex_lock(&entry->lock);
    const bool was_there = range_notes_remove(&entry->notes, id);
    pthread_mutex_unlock(&entry->lock);
    return was_there;
}

void session_entry_set_capture(struct session_entry *entry, const char *capture)
{
    pthread_mutex_lock(&entry->lock);
    snprintf(entry->words.capture, sizeof entry->words.capture, "%s", capture);
    pthread_mutex_unlock(&entry->lock);
}

bool session_entry_set_fault(struct session_entry *entry, const char *fault)
{
    pthread_mutex_lock(&entry->lock);
    const bool is_news = entry->words.fault[0] == '\0';
    if (is_news)
        snprintf(entry->words.fault, sizeof entry->words.fault, "%s", fault);
    pthread_mutex_unlock(&entry->lock);
    return is_news;
}

void session_entry_epoch(struct session_entry *entry, struct profile *profile,
                         char out[SESSION_EPOCH_BYTES])
{
    const uint32_t rows = packages_count(profile_packages(profile));
    pthread_mutex_lock(&entry->lock);
    const uint64_t epoch =
        strtoull(entry->epoch, NULL, 16) + epoch_pace_rows(&entry->pace, rows, clock_now_ns());
    pthread_mutex_unlock(&entry->lock);
    snprintf(out, SESSION_EPOCH_BYTES, "%016" PRIx64, epoch);
}

void session_entry_describe(struct session_entry *entry,
                            const struct profile_snapshot *snapshot, struct session_info *out)
{
    struct session *const session = entry->session;
    const struct open_capture *const opened = entry->opened;
    /* The texts are there when the running session is. */
    const struct source_checkout *const checkout =
        session ? source_checkout(entry->texts) : NULL;
    memset(out, 0, sizeof *out);
    if (checkout) {
        out->checkout_root = checkout->root;
        out->checkout_commit = checkout->commit;
    }
    out->id = entry->id;
    session_entry_epoch(entry, snapshot->profile, out->epoch);
    memcpy(out->run, entry->epoch, sizeof out->run);
    out->snapshot = snapshot;
    out->source = entry->source;
    out->filters = &entry->filters;
    session_entry_words(entry, &out->words);
    session_entry_notes(entry, &out->notes);
    if (opened) {
        out->target = &opened->target;
        out->targets = &opened->targets;
        out->options = &opened->options;
        out->filters = &opened->filters;
        out->status = opened->status;
        out->host = opened->host;
        out->foreign = opened->foreign;
    } else if (session) {
        out->target = session_target(session);
        out->session = session;
        out->options = session_options(session);
        session_status(session, &out->status);
    } else {
        out->target = &entry->target;
        out->options = &entry->options;
        pthread_mutex_lock(&entry->lock);
        out->status = entry->status;
        pthread_mutex_unlock(&entry->lock);
    }
}
