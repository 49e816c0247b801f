#include "server/command/output/before_after.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "sampler/base/clock.h"
#include "sampler/capture/reader.h"
#include "sampler/foreign/foreign.h"
#include "server/command/options/options.h"
#include "server/command/process/exit.h"
#include "server/wire/service_name.h"
#include "server/wire/target_list.h"

/* A capture's description of itself. */
struct described {
    const char *path;
    uint64_t start_ns, end_ns; /* since 1970 */
    struct target_list targets;
};

struct finder {
    const struct options *options;
    struct described *captures;
    size_t count;
};

static bool is_wanted(const struct finder *finder, const struct session_target *target)
{
    const char *const service = finder->options->diff_service;
    return !service || strcmp(service_name_of(target), service) == 0;
}

static enum err_code describe_capture(struct finder *finder, const char *path, struct err *err)
{
    struct described *const capture = &finder->captures[finder->count];
    struct reader *reader = NULL;
    enum err_code rc = foreign_open(path, finder->options->sampling.memory_bytes, &reader, err);
    if (rc)
        return rc;
    const struct capture_metadata *const facts = reader_metadata(reader);
    if (facts->elapsed_ns == 0 || !target_list_is_known(facts)) {
        say("%.200s is left out: it does not say when it ended, and which processes it has",
            path);
        reader_close(reader);
        return ERR_OK;
    }
    *capture = (struct described){ .path = path,
                                   .start_ns = facts->started_at_ns,
                                   .end_ns = facts->started_at_ns + facts->elapsed_ns };
    rc = target_list_read(facts, &capture->targets, err);
    finder->count += !rc;
    reader_close(reader);
    return rc;
}

static int by_start(const void *one, const void *other)
{
    const uint64_t a = ((const struct described *)one)->start_ns;
    const uint64_t b = ((const struct described *)other)->start_ns;
    return (a > b) - (a < b);
}

/* "2026-11-26T05:00:00Z", also without seconds. */
static bool read_instant(const char *text, uint64_t *out)
{
    static const char *const forms[] = { "%Y-%m-%dT%H:%M:%SZ", "%Y-%m-%dT%H:%MZ" };
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        struct tm parts = { .tm_isdst = 0 };
        const char *const end = strptime(text, forms[i], &parts);
        const time_t seconds = end && !*end ? timegm(&parts) : -1;
        if (seconds > 0) {
            *out = (uint64_t)seconds * NS_PER_S;
            return true;
        }
    }
    return false;
}

static enum err_code find_instant(const struct finder *finder, uint64_t *out, struct err *err)
{
    const char *const before = finder->options->diff_before;
    if (read_instant(before, out))
        return ERR_OK;
    const bool is_last = strcmp(before, "last") == 0;

    /* The first start of this version, or the last one of any. */
    const char *const version = is_last ? NULL : before;
    uint64_t found_ns = 0;
    for (size_t i = 0; i < finder->count; i++)
        for (size_t j = 0; j < finder->captures[i].targets.count; j++) {
            const struct session_target *const target =
                &finder->captures[i].targets.items[j].target;
            /* Since 1970. */
            const uint64_t from_ns = finder->captures[i].start_ns + target->from_ns;
            const uint64_t start_ns = target->age_ns < from_ns ? from_ns - target->age_ns : 0;
            if (!is_wanted(finder, target) ||
                (version && strcmp(target->service.version, version) != 0))
                continue;
            if (found_ns == 0 || (version ? start_ns < found_ns : start_ns > found_ns))
                found_ns = start_ns;
        }
    *out = found_ns;
    if (*out)
        return ERR_OK;
    return is_last
               ? err_set(err, ERR_NOT_FOUND, "no process of the service is in the captures")
               : err_set(err, ERR_NOT_FOUND,
                         "--before: '%.64s' is no version of a process in the captures, and no "
                         "time such as 2026-11-26T05:00:00Z",
                         before);
}

static bool shares_a_process(const struct before_after_part *one,
                             const struct before_after_part *other)
{
    for (size_t i = 0; i < one->pid_count; i++)
        for (size_t j = 0; j < other->pid_count; j++)
            if (one->pids[i] == other->pids[j])
                return true;
    return false;
}

/* The part of a capture between two instants, if a wanted process was in it then.  first: of this side. */
static enum err_code add_part(const struct finder *finder, const struct described *capture,
                              uint64_t from_ns, uint64_t to_ns, size_t first,
                              struct before_after *out, struct err *err)
{
    const uint64_t start_ns = from_ns > capture->start_ns ? from_ns : capture->start_ns;
    const uint64_t end_ns = to_ns < capture->end_ns ? to_ns : capture->end_ns;
    if (start_ns >= end_ns)
        return ERR_OK;
    struct before_after_part part = { .path = capture->path,
                                      .from_ns = start_ns - capture->start_ns,
                                      .to_ns = end_ns - capture->start_ns,
                                      .end_ns = end_ns };
    part.pids = calloc(capture->targets.count + 1, sizeof *part.pids);
    if (!part.pids)
        return err_nomem(err);

    for (size_t i = 0; i < capture->targets.count; i++) {
        const struct session_target *const target = &capture->targets.items[i].target;
        if (is_wanted(finder, target) && target->from_ns < part.to_ns &&
            (target->to_ns == 0 || target->to_ns > part.from_ns))
            part.pids[part.pid_count++] = target->pid;
    }

    /* Captures of continuous sampling overlap: what an earlier one has of the same processes is not
     * counted again. */
    for (size_t i = first; i < out->count; i++) {
        const uint64_t other_ns = out->parts[i].end_ns;
        if (other_ns > capture->start_ns + part.from_ns &&
            shares_a_process(&part, &out->parts[i]))
            part.from_ns = other_ns - capture->start_ns;
    }

    if (part.pid_count == 0 || part.from_ns >= part.to_ns) {
        free(part.pids);
        return ERR_OK;
    }
    if (out->count - first == COMPARISON_MAX_CAPTURES) {
        free(part.pids);
        return err_set(err, ERR_LIMIT, "more than %d captures on a side: use --span",
                       COMPARISON_MAX_CAPTURES);
    }
    out->parts[out->count++] = part;
    return ERR_OK;
}

static enum err_code add_side(const struct finder *finder, uint64_t from_ns, uint64_t to_ns,
                              const char *which, struct before_after *out, struct err *err)
{
    const size_t first = out->count;
    enum err_code rc = ERR_OK;
    for (size_t i = 0; i < finder->count && !rc; i++)
        rc = add_part(finder, &finder->captures[i], from_ns, to_ns, first, out, err);
    if (!rc && out->count == first)
        rc = err_set(err, ERR_NOT_FOUND, "the captures have nothing %s that time", which);
    return rc;
}

static enum err_code find_parts(const struct finder *finder, struct before_after *out,
                                struct err *err)
{
    enum err_code rc = find_instant(finder, &out->instant_ns, err);
    if (rc)
        return rc;

    /* How much the captures have on each side, at most what was asked for. */
    const uint64_t instant_ns = out->instant_ns;
    uint64_t first_ns = instant_ns, last_ns = instant_ns;
    for (size_t i = 0; i < finder->count; i++) {
        if (finder->captures[i].start_ns < first_ns)
            first_ns = finder->captures[i].start_ns;
        if (finder->captures[i].end_ns > last_ns)
            last_ns = finder->captures[i].end_ns;
    }
    const uint64_t before_ns = instant_ns - first_ns, after_ns = last_ns - instant_ns;
    const uint64_t most_ns = before_ns < after_ns ? before_ns : after_ns;
    const uint64_t wanted_ns = finder->options->diff_span_ns;
    out->span_ns = wanted_ns && wanted_ns < most_ns ? wanted_ns : most_ns;

    rc = add_side(finder, out->instant_ns - out->span_ns, out->instant_ns, "before", out, err);
    out->baseline_count = out->count;
    if (!rc)
        rc = add_side(finder, out->instant_ns, out->instant_ns + out->span_ns, "after", out,
                      err);
    if (!rc) {
        char text[32] = "";
        struct tm parts;
        const time_t seconds = (time_t)(out->instant_ns / NS_PER_S);
        if (gmtime_r(&seconds, &parts))
            strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts);
        say("comparing %.0f s before and after %s", (double)out->span_ns / (double)NS_PER_S,
            text);
    }
    return rc;
}

enum err_code before_after_find(const struct options *options, struct before_after *out,
                                struct err *err)
{
    struct finder finder = { .options = options };
    enum err_code rc = ERR_OK;
    *out = (struct before_after){ .count = 0 };
    finder.captures = calloc(options->file_count + 1, sizeof *finder.captures);
    if (!finder.captures)
        return err_nomem(err);
    for (size_t i = 0; i < options->file_count && !rc; i++)
        rc = describe_capture(&finder, options->files[i], err);
    qsort(finder.captures, finder.count, sizeof *finder.captures, by_start);
    if (!rc)
        rc = find_parts(&finder, out, err);
    for (size_t i = 0; i < finder.count; i++)
        target_list_deinit(&finder.captures[i].targets);
    free(finder.captures);
    if (rc)
        before_after_deinit(out);
    return rc;
}

void before_after_deinit(struct before_after *found)
{
    for (size_t i = 0; i < found->count; i++)
        free(found->parts[i].pids);
    *found = (struct before_after){ .count = 0 };
}
