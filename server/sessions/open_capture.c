#include "server/sessions/open_capture.h"

#include <inttypes.h>
#include <pthread.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "sampler/base/enum_text.h"
#include "sampler/base/first_word.h"
#include "sampler/capture/reader.h"
#include "sampler/foreign/foreign.h"
#include "sampler/profile/profile.h"

/* The value that the file names; 0 if the name is unknown. */
static unsigned value_of(const char *const *texts, const char *text)
{
    const int value = enum_find(texts, text);
    return value < 0 ? 0 : (unsigned)value;
}

/* The first word of the command line, and of the titles that processes gave themselves. */
static enum err_code hide_arguments(struct open_capture *opened, struct err *err)
{
    struct profile *const profile = open_capture_profile(opened);
    struct profile_snapshot snapshot;
    if (opened->target.argc > 0) {
        opened->word = strdup(opened->target.argv[0]);
        if (!opened->word)
            return err_nomem(err);
        opened->target.argc = first_word_keep(opened->target.argc, opened->word);
        opened->argv[0] = opened->word;
        opened->target.argv = opened->argv;
    }
    const enum err_code rc = profile_snapshot(profile, &snapshot, err);
    for (process_id id = 0; !rc && id < snapshot.sizes.processes; id++) {
        const str_id name = profile_process_at(&snapshot, id).name;
        const size_t bytes = first_word_bytes(profile_string(&snapshot, name).text);
        strtab_cut(profile_strings(profile), name, (uint32_t)bytes);
    }
    if (!rc)
        profile_snapshot_release(&snapshot);
    return rc;
}

/* An end that the capture does not describe follows from its last window. */
static enum err_code describe_end(struct open_capture *opened, struct err *err)
{
    const struct capture_metadata *const info = reader_metadata(opened->reader);
    const char *const missing = reader_missing(opened->reader);
    struct session_status *const status = &opened->status;
    struct profile_snapshot snapshot;
    const enum err_code rc = profile_snapshot(open_capture_profile(opened), &snapshot, err);
    if (rc)
        return rc;
    *status = (struct session_status){
        .state = info->has_failed ? SESSION_FAILED : SESSION_ENDED,
        .started_at_ns = info->started_at_ns,
        .elapsed_ns = info->elapsed_ns ? info->elapsed_ns : snapshot.end_ns,
        .rate_hz = opened->options.rate_hz,
    };
    status->ended_at_ns =
        info->ended_at_ns ? info->ended_at_ns : info->started_at_ns + status->elapsed_ns;
    opened->texts = (struct kept_texts){ .texts = reader_source(opened->reader),
                                         .state = reader_source_text(opened->reader) };
    opened->files = kept_texts_reader(&opened->texts);
    opened->is_cut = missing != NULL;
    opened->lost = info->lost;
    snprintf(status->reason, sizeof status->reason, "%s", missing ? missing : info->reason);
    snprintf(status->engine_reason, sizeof status->engine_reason, "%s", info->engine_reason);
    snprintf(status->kernel_reason, sizeof status->kernel_reason, "%s", info->kernel_reason);
    const enum err_code targets = target_list_is_known(info)
                                      ? target_list_read(info, &opened->targets, err)
                                      : target_list_read_rows(&snapshot, &opened->targets, err);
    profile_snapshot_release(&snapshot);
    for (size_t i = 0; i < opened->targets.count; i++)
        if (opened->targets.items[i].target.pid == opened->target.pid) {
            opened->target.service = opened->targets.items[i].target.service;
            opened->target.pod = opened->targets.items[i].target.pod;
        }
    return targets;
}

enum err_code open_capture_open(const char *name, int fd, const struct reader_part *part,
                                bool hides_arguments, struct open_capture **out,
                                struct err *err)
{
    struct open_capture *const opened = calloc(1, sizeof *opened);
    if (!opened)
        return err_nomem(err);
    snprintf(opened->path, sizeof opened->path, "%s", name);
    enum err_code rc = fd < 0 ? foreign_open(name, part->memory_bytes, &opened->reader, err)
                              : reader_open_fd(fd, &opened->reader, err);
    const bool is_named = fd < 0 && rc;
    if (!rc)
        rc = reader_load_part(opened->reader, part, err);
    if (rc && !is_named)
        err_wrap(err, rc, "cannot read '%.200s'", name);
    /* Without an index the metadata of the end are read last, and may replace lists. */
    if (!rc) {
        const struct capture_metadata *const info = reader_metadata(opened->reader);
        opened->target = (struct session_target){ .pid = (pid_t)info->pid,
                                                  .argc = info->argv.count,
                                                  .argv = info->argv.items,
                                                  .executable = info->executable,
                                                  .python = info->python,
                                                  .validated = info->validated != 0 };
        opened->options = (struct session_options){
            .pids = { (pid_t)info->pid },
            .pid_count = 1,
            .rate_hz = (double)info->rate_uhz / 1e6,
            .duration_ns = info->duration_ns,
            .all_threads = info->all_threads != 0,
            .mode = value_of(session_mode_texts, info->mode),
            .native = info->native <= SESSION_NATIVE_FULL ? (enum session_native)info->native
                                                          : SESSION_NATIVE_OFF,
            .kernel_frames = info->kernel_frames != 0,
            .no_gc = info->no_gc != 0,
            .opcodes = info->opcodes != 0,
            .async = value_of(session_async_texts, info->async),
            .engine = value_of(session_engine_texts, info->engine),
            .stop = *info->stop      ? value_of(session_stop_texts, info->stop)
                    : info->blocking ? SESSION_STOP_ALWAYS
                                     : SESSION_STOP_NEVER,
            .max_stop_percent = (double)info->max_stop_ppm / 1e4,
            .memory_bytes = (size_t)info->memory_bytes,
            .max_cpu_percent = (double)info->max_cpu_ppm / 1e4
        };
        opened->host = info->host;
        opened->foreign = *info->foreign ? info->foreign : NULL;
        recorded_filters_take(info, &opened->filters, opened->ignored);
    }
    if (!rc && hides_arguments)
        rc = hide_arguments(opened, err);
    if (!rc)
        rc = describe_end(opened, err);
    if (!rc && hides_arguments) {
        target_list_hide_arguments(&opened->targets);
        opened->target.service = (struct session_service){ 0 };
    }
    if (rc)
        open_capture_destroy(opened);
    else
        *out = opened;
    return rc;
}

void open_capture_destroy(struct open_capture *opened)
{
    if (opened) {
        free(opened->word);
        target_list_deinit(&opened->targets);
        reader_close(opened->reader);
    }
    free(opened);
}

struct profile *open_capture_profile(const struct open_capture *opened)
{
    return reader_profile(opened->reader);
}

static char here_host[256], here_user[64];

/* Who started us, whoever we are by now. */
static void learn_here(void)
{
    const uid_t user = (uid_t)getauxval(AT_EUID);
    char room[1024];
    struct passwd entry, *found = NULL;
    if (gethostname(here_host, sizeof here_host - 1) != 0)
        here_host[0] = '\0';
    if (getpwuid_r(user, &entry, room, sizeof room, &found) == 0 && found)
        snprintf(here_user, sizeof here_user, "%s", entry.pw_name);
    else
        snprintf(here_user, sizeof here_user, "%u", (unsigned)user);
}

void open_capture_tell_start(const struct session_target *target,
                             const struct session_options *options,
                             const struct session_status *status, struct capture_metadata *out)
{
    *out = (struct capture_metadata){
        .pid = (uint64_t)target->pid,
        .validated = target->validated,
        .started_at_ns = status->started_at_ns,
        .rate_uhz = (uint64_t)(options->rate_hz * 1e6),
        .duration_ns = options->duration_ns,
        .memory_bytes = options->memory_bytes,
        .max_cpu_ppm = (uint64_t)(options->max_cpu_percent * 1e4),
        .all_threads = options->all_threads,
        .native = options->native,
        .kernel_frames = options->kernel_frames,
        .no_gc = options->no_gc,
        .opcodes = options->opcodes,
        .async = options->async ? session_async_texts[options->async] : "",
        .engine = options->engine ? session_engine_texts[options->engine] : "",
        .engine_reason = status->engine_reason,
        .kernel_reason = status->kernel_reason,
        .stop = session_stop_texts[options->stop],
        .max_stop_ppm = (uint64_t)(options->max_stop_percent * 1e4),
        .hides_arguments = options->hides_arguments,
        .executable = target->executable,
        .python = target->python,
        .mode = session_mode_texts[options->mode],
    };

    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, learn_here);
    out->host = here_host;
    out->user = here_user;
    out->pyrometer = PYROMETER_VERSION;
}

void open_capture_tell_end(const struct session_status *status, struct capture_metadata *out)
{
    *out = (struct capture_metadata){ .ended_at_ns = status->ended_at_ns,
                                      .elapsed_ns = status->elapsed_ns,
                                      .has_failed = status->state == SESSION_FAILED,
                                      .reason = status->reason };
}
