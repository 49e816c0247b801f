#include "server/taping.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "sampler/capture/facts.h"
#include "sampler/capture/format.h"
#include "sampler/capture/recorder.h"
#include "sampler/sampler.h"
#include "server/loaded.h"
#include "server/sessions.h"
#include "server/told.h"

void taping_open(struct taping *taping, struct captures *captures)
{
    *taping = (struct taping){ .captures = captures, .fd = -1 };
    if (captures && recorder_create(&taping->recorder, NULL) != ERR_OK)
        taping->recorder = NULL;
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

static enum err_code begin(struct taping *taping, struct sampler *sampler)
{
    const struct sampler_target *const target = sampler_target(sampler);
    const size_t most = target->argc < CAPTURE_MAX_TEXTS ? target->argc : CAPTURE_MAX_TEXTS;
    struct sampler_status status;
    struct capture_facts facts;
    const char **const words = calloc(most + 1, sizeof *words);
    if (!words)
        return ERR_NOMEM;
    for (size_t i = 0; i < most; i++)
        words[i] = target->argv[i];
    sampler_status(sampler, &status);
    loaded_tell_start(target, sampler_options(sampler), &status, &facts);
    facts.argv = (struct capture_texts){ most, words };
    const enum err_code rc = recorder_begin(taping->recorder, taping->fd,
                                            sampler_profile(sampler), &facts, NULL, NULL, NULL);
    free(words);
    return rc;
}

void taping_begin(struct taping *taping, struct sampler *sampler, struct session *session)
{
    const bool is_of_all =
        sampler_options(sampler)->all || session->source == SESSION_CONTINUOUS;
    const int pid = is_of_all ? 0 : (int)sampler_target(sampler)->pid;
    if (!taping->recorder ||
        captures_make(taping->captures, pid, taping->name, &taping->fd, NULL) != ERR_OK)
        return;
    taping->has_begun = begin(taping, sampler) == ERR_OK;
    if (!taping->has_begun)
        return;
    session_set_capture(session, taping->name);
    write_words(taping, session);
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
    (void)!recorder_finish(taping->recorder, &facts, NULL);
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
