#include "server/command/output/capture_output.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "sampler/capture/format.h"
#include "sampler/capture/live_capture.h"
#include "sampler/capture/metadata.h"
#include "sampler/sampler.h"
#include "server/command/options/options.h"
#include "server/command/process/exit.h"
#include "server/command/process/privilege.h"
#include "server/sessions/open_capture.h"
#include "server/wire/target_list.h"

static enum err_code cannot_write(int sys, const char *path, struct err *err)
{
    err_sys(err, sys, "cannot write '%s'", path);
    return ERR_SYS;
}

/* "pyrometer-4711-20260131-100000.pyro", in the folder if one is given. */
static void usual_name(struct capturing *capturing, const char *folder, int pid)
{
    const time_t now = time(NULL);
    char when[32] = "", who[16] = "";
    struct tm parts;
    if (gmtime_r(&now, &parts))
        strftime(when, sizeof when, "-%Y%m%d-%H%M%S", &parts);
    if (pid)
        snprintf(who, sizeof who, "-%d", pid);
    snprintf(capturing->path, sizeof capturing->path, "%.3000s%spyrometer%s%s.%s", folder,
             *folder && folder[strlen(folder) - 1] != '/' ? "/" : "", who, when,
             CAPTURE_EXTENSION);
}

static bool is_folder(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 && S_ISDIR(status.st_mode);
}

static void choose_path(struct capturing *capturing, const struct options *options)
{
    const char *const own = options->capture_file;
    /* A folder gets the usual name; so does what -o names when it is meant for a format. */
    const char *const given = own ? own : options->output;
    if (given && !is_folder(given))
        snprintf(capturing->path, sizeof capturing->path, "%s", given);
    else
        usual_name(capturing, given ? given : "", options->sampling.pids[0]);
}

static enum err_code open_file(struct capturing *capturing, struct err *err)
{
    const mode_t own = S_IRUSR | S_IWUSR;
    const mode_t mode = privilege_is_held() ? own : own | S_IRGRP | S_IWGRP | S_IROTH | S_IWOTH;
    const int flags = O_WRONLY | O_CLOEXEC | O_NOCTTY;
    if (strcmp(capturing->path, "-") == 0) {
        capturing->path[0] = '\0';
        if (isatty(STDOUT_FILENO))
            return err_set(err, ERR_INVALID, "a capture is not for a terminal: name a file");
        capturing->fd = dup(STDOUT_FILENO);
        return capturing->fd < 0 ? cannot_write(errno, "standard output", err) : ERR_OK;
    }
    capturing->fd = open(capturing->path, flags | O_CREAT | O_EXCL, mode);
    capturing->is_new = capturing->fd >= 0;
    if (!capturing->is_new && errno == EEXIST)
        capturing->fd = open(capturing->path, flags);
    return capturing->fd < 0 ? cannot_write(errno, capturing->path, err) : ERR_OK;
}

enum err_code capturing_open(struct capturing *capturing, const struct options *options,
                             struct err *err)
{
    *capturing = (struct capturing)CAPTURING_NONE;
    if (!options->wants_capture)
        return ERR_OK;
    choose_path(capturing, options);
    const enum err_code rc = open_file(capturing, err);
    return rc == ERR_OK ? recorder_create(&capturing->recorder, err) : rc;
}

const struct sink *capturing_sink(const struct capturing *capturing)
{
    return capturing->recorder ? recorder_sink(capturing->recorder) : NULL;
}

/* On the recorder's thread; say writes one line at a time. */
static void say_failed(void *context, const struct err *err)
{
    (void)context;
    say("%s; sampling goes on without the capture", err->message);
}

static const char *name_of(const struct capturing *capturing)
{
    return capturing->path[0] ? capturing->path : "standard output";
}

enum err_code capturing_begin(struct capturing *capturing, struct sampler *sampler,
                              struct err *err)
{
    struct sampler_status status;
    struct capture_facts facts;
    const struct sampler_target *const target = sampler_target(sampler);
    if (!capturing->recorder)
        return ERR_OK;
    capturing->sampler = sampler;
    sampler_status(sampler, &status);
    loaded_tell_start(target, sampler_options(sampler), &status, &facts);
    const char **const words = calloc(target->argc + 1, sizeof *words);
    if (!words)
        return err_set(err, ERR_NOMEM, "no memory for a command line");
    for (size_t i = 0; i < target->argc; i++)
        words[i] = target->argv[i];
    const size_t most = CAPTURE_MAX_TEXTS;
    facts.argv = (struct capture_texts){ target->argc < most ? target->argc : most, words };
    (void)!ftruncate(capturing->fd, 0);
    capturing->has_begun = true;
    const enum err_code rc =
        recorder_begin(capturing->recorder, capturing->fd, sampler_profile(sampler), &facts,
                       say_failed, NULL, err);
    free(words);
    return rc == ERR_SYS ? err_wrap(err, rc, "%.200s", name_of(capturing)) : rc;
}

/* What is written to a file without a name is lost, and no write says so. */
static bool is_removed(const struct capturing *capturing)
{
    struct stat status;
    return fstat(capturing->fd, &status) == 0 && S_ISREG(status.st_mode) &&
           status.st_nlink == 0;
}

/* What was sampled is what is in the file and what is not. */
static enum err_code say_totals(struct capturing *capturing, enum err_code rc, struct err *err)
{
    const uint64_t samples = recorder_samples(capturing->recorder);
    const uint64_t lost = recorder_lost(capturing->recorder);
    if (is_removed(capturing)) {
        capturing->totals = (struct quality_capture){ .lost = samples + lost };
        return rc ? rc
                  : err_set(err, ERR_SYS,
                            "%.200s was removed while it was written: nothing of it is left",
                            name_of(capturing));
    }
    capturing->totals = (struct quality_capture){
        .samples = samples, .lost = lost, .bytes = recorder_bytes(capturing->recorder)
    };
    if (lost > 0)
        say("%" PRIu64 " samples are not in the capture: it could not be written %s", lost,
            rc == ERR_OK ? "as fast as they came" : "any more");
    say("wrote %s, %" PRIu64 " bytes, %" PRIu64 " samples", name_of(capturing),
        capturing->totals.bytes, samples);
    return rc;
}

enum err_code capturing_finish(struct capturing *capturing, struct err *err)
{
    const char *processes[SAMPLER_MAX_TOLD];
    struct told_texts told;
    struct sampler_status status;
    struct capture_facts facts;
    if (!capturing->sampler || capturing->is_finished)
        return ERR_OK;
    capturing->is_finished = true;
    sampler_status(capturing->sampler, &status);
    loaded_tell_end(&status, &facts);
    enum err_code rc = told_write(capturing->sampler, &told, err);
    for (size_t i = 0; i < told.count; i++)
        processes[i] = told.items[i];
    facts.processes = (struct capture_texts){ told.count, processes };
    const enum err_code finished =
        recorder_finish(capturing->recorder, &facts, rc == ERR_OK ? err : NULL);
    rc = rc == ERR_OK ? finished : rc;
    told_texts_deinit(&told);
    if (rc == ERR_SYS)
        rc = err_wrap(err, rc, "%.200s", name_of(capturing));
    return say_totals(capturing, rc, err);
}

const struct quality_capture *capturing_totals(const struct capturing *capturing)
{
    return capturing->is_finished ? &capturing->totals : NULL;
}

/* The sampling thread uses the recorder until then. */
static void end_sampling(struct sampler *sampler)
{
    struct pollfd end = { .fd = sampler_end_fd(sampler), .events = POLLIN };
    sampler_stop(sampler);
    while (poll(&end, 1, -1) < 0 && errno == EINTR) {
    }
}

void capturing_close(struct capturing *capturing)
{
    if (capturing->sampler)
        end_sampling(capturing->sampler);
    recorder_destroy(capturing->recorder);
    if (capturing->fd >= 0)
        close(capturing->fd);
    if (capturing->is_new && !capturing->has_begun)
        unlink(capturing->path);
    *capturing = (struct capturing)CAPTURING_NONE;
}
