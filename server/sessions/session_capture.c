#include "server/sessions/session_capture.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sampler/capture/format.h"
#include "sampler/capture/live_capture.h"
#include "sampler/capture/metadata.h"
#include "sampler/sampler.h"
#include "server/sessions/open_capture.h"
#include "server/sessions/sessions.h"
#include "server/wire/target_list.h"

void taping_open(struct taping *taping, struct captures *captures, taping_say say,
                 void *context)
{
    *taping = (struct taping){ .captures = captures, .fd = -1, .say = say, .context = context };
    if (captures && recorder_create(&taping->recorder, NULL) != ERR_OK)
        taping->recorder = NULL;
}

static void note_fault(struct taping *taping, const char *what, const char *why)
{
    char fault[SESSION_MAX_FAULT + 1];
    snprintf(fault, sizeof fault, "%s: %.120s; sampling goes on", what, why);
    if (session_set_fault(taping->session, fault) && taping->say)
        taping->say(taping->context, taping->session->id, fault);
}

/* On the recorder's thread. */
static void note_failure(void *context, const struct err *err)
{
    note_fault(context, "not recorded any more", err->message);
}

const struct sink *taping_sink(const struct taping *taping)
{
    return taping->recorder ? recorder_sink(taping->recorder) : NULL;
}

/* The capture is called as the session is. */
static void write_words(const struct taping *taping, struct session *session)
{
    struct session_words said;
    struct capture_words words = { .is_continuous = session->source == SESSION_CONTINUOUS };
    session_words(session, &said);
    snprintf(words.title, sizeof words.title, "%s", said.name);
    snprintf(words.note, sizeof words.note, "%s", said.note);
    if (*words.title || *words.note || words.is_continuous)
        (void)!captures_describe(taping->captures, taping->name, &words, NULL);
}

static enum err_code begin(struct taping *taping, struct sampler *sampler, struct err *err)
{
    const struct sampler_target *const target = sampler_target(sampler);
    const size_t most = target->argc < CAPTURE_MAX_TEXTS ? target->argc : CAPTURE_MAX_TEXTS;
    struct sampler_status status;
    struct capture_facts facts;
    const char **const words = calloc(most + 1, sizeof *words);
    if (!words)
        return err_set(err, ERR_NOMEM, "no memory for a command line");
    for (size_t i = 0; i < most; i++)
        words[i] = target->argv[i];
    sampler_status(sampler, &status);
    loaded_tell_start(target, sampler_options(sampler), &status, &facts);
    facts.argv = (struct capture_texts){ most, words };
    const enum err_code rc =
        recorder_begin(taping->recorder, taping->fd, sampler_profile(sampler), &facts,
                       note_failure, taping, err);
    free(words);
    return rc;
}

void taping_begin(struct taping *taping, struct sampler *sampler, struct session *session)
{
    const bool is_of_all =
        sampler_options(sampler)->all || session->source == SESSION_CONTINUOUS;
    const int pid = is_of_all ? 0 : (int)sampler_target(sampler)->pid;
    struct err err = { 0 };
    taping->session = session;
    if (!taping->captures)
        return;
    enum err_code rc = ERR_OK;
    if (!taping->recorder)
        rc = err_set(&err, ERR_NOMEM, "no memory to record a capture");
    else
        rc = captures_make(taping->captures, pid, taping->name, &taping->fd, &err);
    if (rc == ERR_OK)
        rc = begin(taping, sampler, &err);
    taping->has_begun = rc == ERR_OK;
    if (rc != ERR_OK) {
        note_fault(taping, "not recorded", err.message);
        return;
    }
    session_set_capture(session, taping->name);
    write_words(taping, session);
}

/* What is written to a file without a name is lost, and no write says so. */
void taping_check(struct taping *taping)
{
    struct stat st;
    if (taping->has_begun && fstat(taping->fd, &st) == 0 && st.st_nlink == 0)
        note_fault(taping, "not recorded any more", "the capture has been removed");
}

static void finish(struct taping *taping, struct sampler *sampler)
{
    const char *processes[SAMPLER_MAX_TOLD];
    struct told_texts told = { .count = 0 };
    struct sampler_status status;
    struct capture_facts facts;
    sampler_status(sampler, &status);
    loaded_tell_end(&status, &facts);
    if (told_write(sampler, &told, NULL) != ERR_OK)
        told.count = 0;
    for (size_t i = 0; i < told.count; i++)
        processes[i] = told.items[i];
    facts.processes = (struct capture_texts){ told.count, processes };
    struct err err = { 0 };
    if (recorder_finish(taping->recorder, &facts, &err) != ERR_OK)
        note_failure(taping, &err);
    taping_check(taping);
    told_texts_deinit(&told);
}

void taping_close(struct taping *taping, struct sampler *sampler)
{
    if (taping->has_begun && sampler)
        finish(taping, sampler);
    recorder_destroy(taping->recorder);
    if (taping->fd >= 0)
        close(taping->fd);
    if (taping->fd >= 0 && !taping->has_begun)
        (void)!captures_remove(taping->captures, taping->name, NULL);
    *taping = (struct taping){ .fd = -1 };
}
