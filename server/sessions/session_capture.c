#include "server/sessions/session_capture.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sampler/base/buffer.h"
#include "sampler/capture/format.h"
#include "sampler/capture/live_capture.h"
#include "sampler/capture/metadata.h"
#include "sampler/capture/recorded_filters.h"
#include "sampler/capture/source_texts.h"
#include "sampler/profile/packages.h"
#include "sampler/session.h"
#include "server/sessions/open_capture.h"
#include "server/sessions/sessions.h"
#include "server/source/kept_texts.h"
#include "server/wire/target_list.h"

void session_capture_open(struct session_capture *capture, struct captures *captures,
                          session_capture_say say, void *context)
{
    *capture = (struct session_capture){
        .captures = captures, .fd = -1, .say = say, .context = context
    };
    if (captures && live_capture_create(&capture->live, NULL))
        capture->live = NULL;
}

static void note_fault(struct session_capture *capture, const char *what, const char *why)
{
    char fault[SESSION_MAX_FAULT + 1];
    snprintf(fault, sizeof fault, "%s: %.120s; sampling goes on", what, why);
    if (session_entry_set_fault(capture->entry, fault) && capture->say)
        capture->say(capture->context, capture->entry->id, fault);
}

/* On the thread of the live capture. */
static void note_failure(void *context, const struct err *err)
{
    struct session_capture *const capture = context;
    captures_fail(capture->captures, capture->name, capture->fd, err->message);
    note_fault(capture, "no longer recorded", err->message);
}

const struct sink *session_capture_sink(const struct session_capture *capture)
{
    return capture->live ? live_capture_sink(capture->live) : NULL;
}

enum err_code session_capture_write_start(struct live_capture *live, int fd,
                                          struct session *session,
                                          const struct frame_filters *filters,
                                          session_capture_failed failed, void *context,
                                          struct err *err)
{
    const struct session_target *const target = session_target(session);
    const size_t most = target->argc < CAPTURE_MAX_TEXTS ? target->argc : CAPTURE_MAX_TEXTS;
    struct recorded_filters_room room;
    struct session_status status;
    struct capture_metadata info;
    session_status(session, &status);
    open_capture_tell_start(target, session_options(session), &status, &info);
    recorded_filters_put(filters, &room, &info);
    /* It is only read. */
    info.argv = (struct capture_texts){ most, (const char **)(uintptr_t)target->argv };
    return live_capture_begin(live, fd, session_profile(session), &info, failed, context, err);
}

/* The capture's text of source files, or why there is none. */
static const char *collect_source(const struct session_entry *entry, struct buffer *out,
                                  size_t *count_out)
{
    const char *state = session_entry_source_text(entry);
    struct profile_snapshot snapshot;
    *count_out = 0;
    if (strcmp(state, SOURCE_TEXT_KEPT) != 0)
        return state;
    if (profile_snapshot(session_entry_profile(entry), &snapshot, NULL))
        return SOURCE_TEXT_NO_READER;
    if (kept_texts_collect(entry->texts, &snapshot, out, count_out, NULL)) {
        buffer_clear(out);
        *count_out = 0;
        state = SOURCE_TEXT_NO_READER;
    }
    profile_snapshot_release(&snapshot);
    return state;
}

enum err_code session_capture_write_end(struct live_capture *live,
                                        const struct session_entry *entry, size_t *texts_out,
                                        struct err *err)
{
    struct session *const session = entry->session;
    struct buffer texts = { 0 };
    const char *paths[PACKAGES_MAX], *names[PACKAGES_MAX];
    const uint32_t package_count =
        packages_list(profile_packages(session_profile(session)), paths, names);
    struct target_list_texts targets;
    struct session_status status;
    struct capture_metadata info;
    session_status(session, &status);
    open_capture_tell_end(&status, &info);
    const enum err_code rc = target_list_write(session, &targets, err);
    info.targets = (struct capture_texts){ targets.count, targets.items };
    info.package_paths = (struct capture_texts){ package_count, paths };
    info.package_names = (struct capture_texts){ package_count, names };
    info.source_text = collect_source(entry, &texts, texts_out);
    const enum err_code finished = live_capture_finish(live, &info, &texts, !rc ? err : NULL);
    buffer_deinit(&texts);
    target_list_texts_deinit(&targets);
    return rc ? rc : finished;
}

void session_capture_begin(struct session_capture *capture, struct session *session,
                           struct session_entry *entry)
{
    const bool is_of_all = session_options(session)->all || entry->source == SESSION_CONTINUOUS;
    const int pid = is_of_all ? 0 : (int)session_target(session)->pid;
    struct err err = { 0 };
    capture->entry = entry;
    if (!capture->captures)
        return;
    enum err_code rc = ERR_OK;
    if (!capture->live)
        rc = err_nomem(&err);
    else
        rc = captures_make(capture->captures, pid, capture->name, &capture->fd, &err);
    if (!rc)
        rc = session_capture_write_start(capture->live, capture->fd, session, &entry->filters,
                                         note_failure, capture, &err);
    capture->has_begun = !rc;
    if (rc) {
        /* Removes the file of a capture that has not begun: there is nothing in it. */
        if (capture->fd >= 0) {
            close(capture->fd);
            capture->fd = -1;
            (void)!captures_remove(capture->captures, capture->name, NULL);
        }
        note_fault(capture, "not recorded", err.message);
        return;
    }
    session_entry_set_capture(entry, capture->name);

    /* The capture gets the name and the note of the session. */
    struct session_words said;
    struct capture_words words = { .is_continuous = entry->source == SESSION_CONTINUOUS };
    session_entry_words(entry, &said);
    snprintf(words.title, sizeof words.title, "%s", said.name);
    snprintf(words.note, sizeof words.note, "%s", said.note);
    if (*words.title || *words.note || words.is_continuous)
        (void)!captures_describe(capture->captures, capture->name, &words, NULL);
}

/* A removed file loses what is written, and no write fails. */
void session_capture_check(struct session_capture *capture)
{
    struct stat st;
    if (capture->has_begun && fstat(capture->fd, &st) == 0 && st.st_nlink == 0)
        note_fault(capture, "no longer recorded", "the capture has been removed");
}

void session_capture_close(struct session_capture *capture, struct session *session)
{
    struct err err = { 0 };
    struct session_status status;
    /* Its lock orders what the sampling thread has put into the live capture before what follows
     * here. */
    if (session)
        session_status(session, &status);
    if (capture->has_begun && session) {
        size_t texts = 0;
        if (session_capture_write_end(capture->live, capture->entry, &texts, &err))
            note_failure(capture, &err);
        session_capture_check(capture);
    }
    live_capture_destroy(capture->live);
    if (capture->fd >= 0)
        close(capture->fd);
    *capture = (struct session_capture){ .fd = -1 };
}
