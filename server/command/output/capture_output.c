#include "server/command/output/capture_output.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "sampler/capture/format.h"
#include "sampler/capture/live_capture.h"
#include "sampler/session.h"
#include "server/command/options/options.h"
#include "server/command/output/output.h"
#include "server/command/output/written.h"
#include "server/command/process/exit.h"
#include "server/command/process/privilege.h"
#include "server/files/files.h"
#include "server/sessions/session_capture.h"
#include "server/sessions/sessions.h"

static enum err_code open_file(struct capture_output *capture, struct err *err)
{
    const mode_t owner = S_IRUSR | S_IWUSR;
    const mode_t mode =
        privilege_is_held() ? owner : owner | S_IRGRP | S_IWGRP | S_IROTH | S_IWOTH;
    const struct trusted_path *const at = &capture->place.at;
    const int flags = O_WRONLY | O_NOCTTY;
    struct err why = { 0 };
    enum err_code rc =
        trusted_path_open_at(at, flags | O_CREAT | O_EXCL, mode, &capture->fd, &why);
    capture->is_new = !rc;
    if (rc && why.sys == EEXIST)
        rc = trusted_path_open_at(at, flags, mode, &capture->fd, &why);
    if (!rc)
        return ERR_OK;
    return err_set(err, ERR_SYS, "cannot write '%.200s': %s", capture->place.path, why.message);
}

static enum err_code open_standard_output(struct capture_output *capture, struct err *err)
{
    if (isatty(STDOUT_FILENO))
        return err_set(err, ERR_INVALID,
                       "a capture cannot be written to a terminal: name a file");
    capture->fd = dup(STDOUT_FILENO);
    return capture->fd < 0 ? output_cannot_write(&capture->place, errno, err) : ERR_OK;
}

enum err_code capture_output_open(struct capture_output *capture, const struct options *options,
                                  struct err *err)
{
    *capture = (struct capture_output)CAPTURE_OUTPUT_NONE;
    if (!options->wants_capture)
        return ERR_OK;
    char path[PATH_MAX];

    const char *const given = options->capture_file ? options->capture_file : options->output;
    output_make_folder(given);
    if (given && !output_is_folder(given))
        snprintf(path, PATH_MAX, "%s", given);
    else {
        /* "pyrometer-4711-20260131-100000Z.pyro", in the folder if one is given. */
        const char *const folder = given ? given : "";
        const int pid = options->sampling.pids[0];
        const time_t now = time(NULL);
        char when[32] = "", who[16] = "";
        struct tm parts;
        if (gmtime_r(&now, &parts))
            strftime(when, sizeof when, "-%Y%m%d-%H%M%SZ", &parts);
        if (pid)
            snprintf(who, sizeof who, "-%d", pid);
        snprintf(path, PATH_MAX, "%.3000s%spyrometer%s%s.%s", folder,
                 *folder && folder[strlen(folder) - 1] != '/' ? "/" : "", who, when,
                 CAPTURE_EXTENSION);
    }

    enum err_code rc = output_place_find(&capture->place, path, err);
    if (!rc)
        rc = capture->place.path[0] ? open_file(capture, err)
                                    : open_standard_output(capture, err);
    return rc ? rc : live_capture_create(&capture->live, err);
}

const struct sink *capture_output_sink(const struct capture_output *capture)
{
    return capture->live ? live_capture_sink(capture->live) : NULL;
}

/* Runs on the thread of the live capture. */
static void say_failed(void *context, const struct err *err)
{
    const struct capture_output *const capture = context;
    say("%.200s: %s; sampling continues without the capture",
        output_place_name(&capture->place), err->message);
}

enum err_code capture_output_begin(struct capture_output *capture, struct session_entry *entry,
                                   struct err *err)
{
    if (!capture->live)
        return ERR_OK;
    capture->entry = entry;
    (void)!ftruncate(capture->fd, 0);
    const enum err_code rc = session_capture_write_start(
        capture->live, capture->fd, entry->session, &entry->filters, say_failed, capture, err);
    capture->has_begun = !rc;
    return rc == ERR_SYS ? err_wrap(err, rc, "%.200s", output_place_name(&capture->place)) : rc;
}

/* Writing to a removed file does not fail, but its data is lost. */
static bool is_removed(const struct capture_output *capture)
{
    struct stat status;
    return fstat(capture->fd, &status) == 0 && S_ISREG(status.st_mode) && status.st_nlink == 0;
}

enum err_code capture_output_finish(struct capture_output *capture, struct written *written,
                                    struct err *err)
{
    size_t texts = 0;
    if (!capture->entry || capture->is_finished)
        return ERR_OK;
    capture->is_finished = true;
    enum err_code rc = session_capture_write_end(capture->live, capture->entry, &texts, err);
    if (rc == ERR_SYS)
        rc = err_wrap(err, rc, "%.200s", output_place_name(&capture->place));

    /* Prints how many samples were lost. */
    const uint64_t samples = live_capture_samples(capture->live);
    const uint64_t lost = live_capture_lost(capture->live);
    if (is_removed(capture)) {
        capture->totals = (struct quality_capture){ .lost = samples + lost };
        return rc ? rc
                  : err_set(err, ERR_SYS,
                            "%.200s was removed while it was written: the capture is lost",
                            output_place_name(&capture->place));
    }
    capture->totals = (struct quality_capture){ .samples = samples,
                                                .lost = lost,
                                                .bytes = live_capture_bytes(capture->live) };
    if (lost > 0)
        say("%" PRIu64 " samples are not in the capture: writing %s", lost,
            !rc ? "was too slow" : "failed");
    written_add(written, output_place_name(&capture->place),
                texts > 0 ? " with source text" : "");
    return rc;
}

const struct quality_capture *capture_output_totals(const struct capture_output *capture)
{
    return capture->is_finished ? &capture->totals : NULL;
}

void capture_output_close(struct capture_output *capture)
{
    if (capture->entry) {
        /* Waits, because the sampling thread uses the live capture until sampling has ended. */
        struct session *const session = capture->entry->session;
        struct pollfd end = { .fd = session_end_fd(session), .events = POLLIN };
        session_stop(session);
        while (poll(&end, 1, -1) < 0 && errno == EINTR) {
        }
    }
    live_capture_destroy(capture->live);
    if (capture->fd >= 0)
        close(capture->fd);
    if (capture->is_new && !capture->has_begun) {
        const struct files_folder folder = files_in(capture->place.at.folder_fd);
        (void)files_remove(&folder, capture->place.at.name);
    }
    output_place_close(&capture->place);
    *capture = (struct capture_output)CAPTURE_OUTPUT_NONE;
}
