#include "server/sessions/open_capture.h"

#include <inttypes.h>
#include <pthread.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "sampler/base/first_word.h"
#include "sampler/capture/reader.h"
#include "sampler/profile/profile.h"

static const char *const mode_names[] = {
#define X(name, text, help) text,
    SAMPLER_MODES(X)
#undef X
};

enum { MODES = sizeof mode_names / sizeof *mode_names };

static enum sampler_async async_of(const char *text)
{
    enum sampler_async async = SAMPLER_ASYNC_OFF;
    (void)!sampler_async_find(text, &async);
    return async;
}

static enum sampler_mode mode_of(const char *text)
{
    for (size_t i = 0; i < MODES; i++)
        if (strcmp(mode_names[i], text) == 0)
            return (enum sampler_mode)i;
    return SAMPLER_MODE_WALL;
}

static void describe(struct loaded *loaded)
{
    const struct capture_facts *const facts = reader_facts(loaded->reader);
    loaded->target = (struct sampler_target){ .pid = (pid_t)facts->pid,
                                              .argc = facts->argv.count,
                                              .argv = facts->argv.items,
                                              .executable = facts->executable,
                                              .python = facts->python,
                                              .validated = facts->validated != 0 };
    loaded->options =
        (struct sampler_options){ .pids = { (pid_t)facts->pid },
                                  .pid_count = 1,
                                  .rate_hz = (double)facts->rate_uhz / 1e6,
                                  .duration_ns = facts->duration_ns,
                                  .all_threads = facts->all_threads != 0,
                                  .mode = mode_of(facts->mode),
                                  .native = facts->native != 0,
                                  .no_gc = facts->no_gc != 0,
                                  .opcodes = facts->opcodes != 0,
                                  .async = async_of(facts->async),
                                  .blocking = facts->blocking != 0,
                                  .memory_bytes = (size_t)facts->memory_bytes,
                                  .max_cpu_percent = (double)facts->max_cpu_ppm / 1e4 };
    loaded->host = facts->host;
}

/* The first word of the command line, and of the titles that processes gave themselves. */
static enum err_code hide_arguments(struct loaded *loaded, struct err *err)
{
    struct profile *const profile = loaded_profile(loaded);
    struct profile_snapshot snapshot;
    if (loaded->target.argc > 0) {
        loaded->word = strdup(loaded->target.argv[0]);
        if (!loaded->word)
            return err_set(err, ERR_NOMEM, "no memory for a command line");
        loaded->target.argc = first_word_keep(loaded->target.argc, loaded->word);
        loaded->argv[0] = loaded->word;
        loaded->target.argv = loaded->argv;
    }
    const enum err_code rc = profile_snapshot(profile, &snapshot, err);
    for (process_id id = 0; rc == ERR_OK && id < snapshot.sizes.processes; id++) {
        const str_id name = profile_process_at(&snapshot, id).name;
        const size_t bytes = first_word_bytes(profile_string(&snapshot, name).text);
        strtab_cut(profile_strings(profile), name, (uint32_t)bytes);
    }
    if (rc == ERR_OK)
        profile_snapshot_release(&snapshot);
    return rc;
}

/* What the capture does not say of its end follows from its last window. */
static enum err_code describe_end(struct loaded *loaded, struct err *err)
{
    const struct capture_facts *const facts = reader_facts(loaded->reader);
    const char *const missing = reader_missing(loaded->reader);
    struct sampler_status *const status = &loaded->status;
    struct profile_snapshot snapshot;
    const enum err_code rc = profile_snapshot(loaded_profile(loaded), &snapshot, err);
    if (rc != ERR_OK)
        return rc;
    *status = (struct sampler_status){
        .state = facts->has_failed ? SAMPLER_FAILED : SAMPLER_ENDED,
        .started_at_ns = facts->started_at_ns,
        .elapsed_ns = facts->elapsed_ns ? facts->elapsed_ns : snapshot.end_ns,
        .rate_hz = loaded->options.rate_hz,
    };
    status->ended_at_ns =
        facts->ended_at_ns ? facts->ended_at_ns : facts->started_at_ns + status->elapsed_ns;
    loaded->is_cut = missing != NULL;
    loaded->lost = facts->lost;
    snprintf(status->reason, sizeof status->reason, "%s", missing ? missing : facts->reason);
    const enum err_code told = facts->processes.count
                                   ? told_read(&facts->processes, &loaded->told, err)
                                   : told_read_rows(&snapshot, &loaded->told, err);
    profile_snapshot_release(&snapshot);
    return told;
}

enum err_code loaded_open(const char *path, const struct reader_part *part,
                          bool hides_arguments, struct loaded **out, struct err *err)
{
    struct loaded *const loaded = calloc(1, sizeof *loaded);
    if (!loaded)
        return err_set(err, ERR_NOMEM, "no memory for a capture");
    snprintf(loaded->path, sizeof loaded->path, "%s", path);
    enum err_code rc = reader_open(path, &loaded->reader, err);
    if (rc == ERR_OK) {
        describe(loaded);
        rc = reader_load_part(loaded->reader, part, err);
        if (rc != ERR_OK)
            err_wrap(err, rc, "cannot read '%.200s'", path);
    }
    if (rc == ERR_OK && hides_arguments)
        rc = hide_arguments(loaded, err);
    if (rc == ERR_OK)
        rc = describe_end(loaded, err);
    if (rc == ERR_OK && hides_arguments)
        told_hide_arguments(&loaded->told);
    if (rc != ERR_OK)
        loaded_destroy(loaded);
    else
        *out = loaded;
    return rc;
}

void loaded_destroy(struct loaded *loaded)
{
    if (loaded) {
        free(loaded->word);
        told_deinit(&loaded->told);
        reader_close(loaded->reader);
    }
    free(loaded);
}

struct profile *loaded_profile(const struct loaded *loaded)
{
    return reader_profile(loaded->reader);
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

void loaded_tell_here(struct capture_facts *out)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, learn_here);
    out->host = here_host;
    out->user = here_user;
    out->pyrometer = PYROMETER_VERSION;
}

void loaded_tell_start(const struct sampler_target *target,
                       const struct sampler_options *options,
                       const struct sampler_status *status, struct capture_facts *out)
{
    *out = (struct capture_facts){
        .pid = (uint64_t)target->pid,
        .validated = target->validated,
        .started_at_ns = status->started_at_ns,
        .rate_uhz = (uint64_t)(options->rate_hz * 1e6),
        .duration_ns = options->duration_ns,
        .memory_bytes = options->memory_bytes,
        .max_cpu_ppm = (uint64_t)(options->max_cpu_percent * 1e4),
        .all_threads = options->all_threads,
        .native = options->native,
        .no_gc = options->no_gc,
        .opcodes = options->opcodes,
        .async = options->async ? sampler_async_text(options->async) : "",
        .blocking = options->blocking,
        .hides_arguments = options->hides_arguments,
        .executable = target->executable,
        .python = target->python,
        .mode = (unsigned)options->mode < MODES ? mode_names[options->mode] : "",
    };
    loaded_tell_here(out);
}

void loaded_tell_end(const struct sampler_status *status, struct capture_facts *out)
{
    *out = (struct capture_facts){ .ended_at_ns = status->ended_at_ns,
                                   .elapsed_ns = status->elapsed_ns,
                                   .has_failed = status->state == SAMPLER_FAILED,
                                   .reason = status->reason };
}
