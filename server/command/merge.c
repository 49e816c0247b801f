#include "sampler/capture/merge.h"

#include <inttypes.h>
#include <limits.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include "sampler/capture/reader.h"
#include "sampler/foreign/foreign.h"
#include "server/command/command.h"
#include "server/command/options/options.h"
#include "server/command/output/output.h"
#include "server/command/output/progress.h"
#include "server/command/process/exit.h"
#include "server/command/process/privilege.h"
#include "server/settings/setting.h"

struct merging {
    struct reader *readers[OPTIONS_MAX_FILES];
    struct merge_range ranges[OPTIONS_MAX_FILES];
    struct output output;
    struct progress progress;
    uint64_t read_bytes, last_bytes; /* of all files, of the current one */
};

static enum err_code take_output(void *to, const void *data, size_t bytes, struct err *err)
{
    if (output_write(to, data, bytes))
        return ERR_OK;
    return err_set(err, ERR_SYS, "the merged capture cannot be written");
}

/* The merge reads the files one after the other first, and side by side then. */
static bool watch_reader(void *context, uint64_t done, uint64_t bytes)
{
    struct merging *const merging = context;
    (void)bytes;
    if (done > merging->last_bytes)
        merging->read_bytes += done - merging->last_bytes;
    merging->last_bytes = done;
    progress_show(&merging->progress, merging->read_bytes, 0);
    return true;
}

static bool read_time(enum setting_kind kind, const char *text, uint64_t *ns_out)
{
    double ns = 0;
    const bool is_time = setting_number(kind, text, &ns);
    *ns_out = (uint64_t)ns;
    return is_time;
}

/* Reads "FROM..TO"; one of the two may be missing. */
static bool read_range(char *text, struct merge_range *out)
{
    char *const dots = strstr(text, "..");
    if (!dots || (dots == text && !dots[2]))
        return false;
    *dots = '\0';
    const char *const from = text, *const to = dots + 2;
    return (!*from || read_time(SETTING_TIME, from, &out->from_ns)) &&
           (!*to ||
            (read_time(SETTING_DURATION, to, &out->to_ns) && out->to_ns > out->from_ns));
}

/* "week.pyro@10..20" means a part of week.pyro, unless a file has that name. */
static enum err_code open_part(const char *word, size_t memory_bytes,
                               struct reader **reader_out, struct merge_range *range_out,
                               struct err *err)
{
    char path[PATH_MAX];
    const size_t length = strlen(word);
    if (!strrchr(word, '@') || access(word, F_OK) == 0 || length >= sizeof path)
        return foreign_open(word, memory_bytes, reader_out, err);
    memcpy(path, word, length + 1);
    char *const at = strrchr(path, '@');
    *at = '\0';
    if (!read_range(at + 1, range_out))
        return err_set(err, ERR_INVALID,
                       "invalid range in '%.200s': want FILE@FROM..TO, such as a.pyro@10..2m",
                       word);
    return foreign_open(path, memory_bytes, reader_out, err);
}

static enum err_code merge_files(const struct options *options, struct merging *merging,
                                 struct err *err)
{
    struct output *const output = &merging->output;
    const struct merge_options wanted = { .ranges = merging->ranges,
                                          .memory_bytes = options->sampling.memory_bytes,
                                          .omits_source = options->report.no_source };
    struct merge_result result = { 0 };
    enum err_code rc = output_init(output, options->output, err);
    progress_begin(&merging->progress, "merging", options->output);
    if (!rc)
        rc = privilege_drop(options, err);
    if (!rc) {
        for (size_t i = 0; i < options->file_count && !rc; i++) {
            rc = open_part(options->files[i], options->sampling.memory_bytes,
                           &merging->readers[i], &merging->ranges[i], err);
            if (!rc)
                reader_watch(merging->readers[i], watch_reader, merging);
        }
    }
    if (!rc)
        rc = merge_captures(merging->readers, options->file_count, &wanted, take_output, output,
                            &result, err);
    progress_end(&merging->progress);
    /* If the disk is full, output_finish has the better message. */
    if (!rc || output->sys != 0)
        rc = output_finish(output, NULL, 0, err);
    if (rc)
        return rc;

    struct reader *const *const readers = merging->readers;
    for (size_t i = 0; i < options->file_count; i++)
        if (reader_missing(readers[i]))
            say("%.200s: %s", options->files[i], reader_missing(readers[i]));

    if (result.drops_filters)
        say("the captures were recorded with different filters: %s has none", options->output);
    say("wrote %s, %zu bytes, %" PRIu64 " samples%s", options->output, output->written,
        result.samples, result.source_texts ? ", with source text" : "");
    return ERR_OK;
}

int command_merge(const struct options *options)
{
    struct merging merging = { .output.fd = -1 };
    struct err err = { 0 };
    const enum err_code rc = merge_files(options, &merging, &err);
    output_deinit(&merging.output);
    for (size_t i = 0; i < options->file_count; i++)
        reader_close(merging.readers[i]);
    return exit_with(rc, &err);
}
