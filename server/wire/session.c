#include "server/wire/session.h"

#include <string.h>
#include <unistd.h>

#include "sampler/base/clock.h"
#include "sampler/base/enum_text.h"
#include "sampler/profile/profile.h"
#include "sampler/profile/views/frame_filters.h"
#include "sampler/profile/views/states.h"
#include "server/wire/json.h"
#include "server/wire/measure.h"
#include "server/wire/retention.h"
#include "server/wire/rfc3339.h"
#include "server/wire/service_name.h"
#include "server/wire/target_list.h"

enum { HOST_NAME_BYTES = 256 };

/* Members of an object that is open. */
static void put_target(struct json *json, const struct session_target *target)
{
    json_member_int(json, "pid", target->pid);
    json_member_array(json, "command");
    for (size_t i = 0; i < target->argc; i++)
        json_text(json, target->argv[i]);
    json_end(json);
    json_member_text(json, "executable", target->executable);
    json_member_text(json, "python", target->python);
    json_member_text(json, "service", service_name_of(target));
    if (*target->service.version)
        json_member_text(json, "version", target->service.version);
    if (target->pod)
        json_member_text(json, "pod", target->pod);
    json_member_bool(json, "validated", target->validated);
}

/* 0: none. */
static void put_seconds(struct json *json, const char *key, uint64_t ns)
{
    if (json_member_if(json, key, ns))
        json_number(json, (double)ns / (double)NS_PER_S);
}

static void write_listed_target(struct json *json, const struct session_target *target)
{
    json_object(json);
    put_target(json, target);
    if (json_member_if(json, "parent", target->parent))
        json_int(json, target->parent);
    json_member_number(json, "from_s", (double)target->from_ns / (double)NS_PER_S);
    json_member_number(json, "age_s", (double)target->age_ns / (double)NS_PER_S);
    put_seconds(json, "to_s", target->to_ns);
    json_member_text(json, "reason", target->reason);
    json_member_array(json, "warnings");
    for (size_t i = 0; i < SESSION_WARNINGS; i++)
        if (target->warnings[i])
            json_text(json, target->warnings[i]);
    json_end(json);
    json_end(json);
}

static void write_targets(struct json *json, const struct session_info *info)
{
    struct session_target target;
    json_array(json);
    const size_t targets = info->targets ? info->targets->count : 0;
    if (!info->session && targets == 0)
        write_listed_target(json, info->target);
    for (size_t i = 0; i < targets; i++)
        write_listed_target(json, &info->targets->items[i].target);
    for (size_t i = 0; info->session && session_target_at(info->session, i, &target); i++)
        write_listed_target(json, &target);
    json_end(json);
}

static void write_processes(struct json *json, const struct session_processes *processes)
{
    json_object(json);
    json_member_uint(json, "attached", processes->joined);
    json_member_uint(json, "running", processes->running);
    json_member_uint(json, "over_limit", processes->over);
    json_member_uint(json, "short_of_files", processes->short_of_files);
    json_member_uint(json, "denied", processes->denied);
    json_member_uint(json, "not_permitted", processes->not_permitted);
    json_end(json);
}

bool session_info_target_at(const struct session_info *info, size_t index,
                            struct session_target *out)
{
    if (info->session)
        return session_target_at(info->session, index, out);
    if (!info->targets || index >= info->targets->count)
        return false;
    *out = info->targets->items[index].target;
    return true;
}

/* The version of a free-threaded interpreter ends in "t". */
bool session_info_has_gil(const struct session_info *info, const struct state_sums *sums)
{
    const char *const python = info->target ? info->target->python : NULL;
    const size_t length = python ? strlen(python) : 0;
    return length == 0 || python[length - 1] != 't' || sums->yes[STATE_FLAG_HAS_GIL] > 0;
}

measure_set session_info_measures(const struct session_info *info)
{
    const measure_set measures = info->options->measures | info->snapshot->measures;
    return measures ? measures : MEASURE_SET(MEASURE_TIME);
}

double session_info_requested_hz(const struct session_info *info)
{
    return info->status.requested_hz > 0 ? info->status.requested_hz : info->options->rate_hz;
}

void session_info_write_engine(struct json *json, const struct session_info *info)
{
    const char *const reason = info->status.engine_reason;
    json_member_text(json, "engine", session_engine_texts[info->options->engine]);
    json_member_text(json, "engine_reason", *reason ? reason : NULL);
}

static void write_settings(struct json *json, const struct session_info *info)
{
    const struct session_options *const options = info->options;
    json_object(json);
    json_member_number(json, "rate_hz", session_info_requested_hz(info));
    put_seconds(json, "duration_s", options->duration_ns);
    json_member_text(json, "threads", options->all_threads ? "all" : "main");
    json_member_bool(json, "subprocesses", options->subprocesses);
    json_member_text(json, "mode", session_mode_texts[options->mode]);
    json_member_text(json, "native",
                     session_native_texts[info->status.records_native ? SESSION_NATIVE_FULL
                                                                      : options->native]);
    json_member_bool(json, "kernel", options->kernel_frames);
    json_member_text(json, "kernel_reason",
                     *info->status.kernel_reason ? info->status.kernel_reason : NULL);
    json_member_bool(json, "gc", !options->no_gc);
    json_member_bool(json, "opcodes", options->opcodes);
    session_info_write_engine(json, info);
    json_member_text(json, "async", session_async_texts[options->async]);
    json_member_text(json, "context", *options->context ? options->context : NULL);
    json_member_text(json, "stop", session_stop_texts[options->stop]);
    json_member_number(json, "max_stop_percent",
                       options->max_stop_percent > 0 ? options->max_stop_percent
                                                     : SESSION_MAX_STOP_PERCENT);
    if (json_member_if(json, "max_cpu_percent", options->max_cpu_percent > 0))
        json_number(json, options->max_cpu_percent);
    json_member_text(
        json, "native_frames",
        native_frames_texts[info->filters && info->filters->native ? info->filters->native
                                                                   : NATIVE_FRAMES_LEAF]);
    json_key(json, "filters");

    const struct frame_filters *const filters = info->filters;
    json_array(json);
    for (size_t i = 0; filters && i < filters->count; i++) {
        json_object(json);
        json_member_text(json, "filter", frame_filter_name(filters->items[i].kind));
        json_member_text(json, "pattern", filters->items[i].pattern);
        json_end(json);
    }
    json_end(json);

    json_end(json);
}

double session_info_achieved_hz(const struct profile_snapshot *snapshot)
{
    if (snapshot->end_ns == 0)
        return 0;
    return (double)snapshot->quality.ticks * (double)NS_PER_S / (double)snapshot->end_ns;
}

static void write_quality(struct json *json, const struct session_info *info)
{
    const struct quality *const quality = &info->snapshot->quality;
    json_object(json);
    json_member_uint(json, "samples", quality->samples);
    json_member_uint(json, "ticks", quality->ticks);
    json_member_number(json, "requested_hz", session_info_requested_hz(info));
    json_member_number(json, "achieved_hz", session_info_achieved_hz(info->snapshot));
    json_member_uint(json, "missed_ticks", quality->missed_ticks);
    json_member_uint(json, "exact", quality->exact);
    json_member_uint(json, "retried", quality->retried);
    json_member_uint(json, "truncated", quality->truncated);
    json_member_uint(json, "filtered", quality->filtered);
    json_key(json, "failed");

    json_object(json);
    json_member_uint(json, "gone", quality->failed_gone);
    json_member_uint(json, "fault", quality->failed_fault);
    json_member_uint(json, "perm", quality->failed_perm);
    json_member_uint(json, "corrupt", quality->failed_corrupt);
    json_end(json);

    json_member_number(json, "duration_s", (double)info->snapshot->end_ns / (double)NS_PER_S);
    json_member_uint(json, "native_complete", quality->native_complete);
    json_member_uint(json, "native_gaps", quality->native_gaps);
    json_member_uint(json, "native_gaps_no_table", quality->native_gaps_no_table);
    json_member_uint(json, "native_gaps_copy", quality->native_gaps_copy);
    json_member_uint(json, "native_gaps_register", quality->native_gaps_register);
    json_member_uint(json, "native_gaps_switch", quality->native_gaps_switch);
    json_member_uint(json, "native_gaps_other", quality->native_gaps_other);
    json_member_uint(json, "native_mismatched", quality->native_mismatched);
    json_member_uint(json, "native_none", quality->native_none);
    json_member_uint(json, "native_none_unstopped", quality->native_none_unstopped);
    json_member_uint(json, "native_none_waiting", quality->native_none_waiting);
    json_member_uint(json, "native_none_truncated", quality->native_none_truncated);
    json_member_uint(json, "native_none_copy", quality->native_none_copy);
    json_member_uint(json, "native_entries", quality->native_entries);
    json_member_uint(json, "native_placed", quality->native_placed);
    json_member_uint(json, "moving", quality->moving);
    json_member_uint(json, "stopped", quality->stopped);
    json_member_uint(json, "stops_refused", quality->stops_refused);
    json_member_number(json, "stopped_s", (double)quality->stopped_ns / (double)NS_PER_S);
    json_end(json);
}

static void write_words(struct json *json, const struct session_info *info)
{
    static const char *const sources[] = { SESSION_SOURCES(ENUM_TEXT) };
    const struct session_words *const words = &info->words;
    json_member_text(json, "name", words->name);
    json_member_text(json, "note", words->note);
    json_member_text(json, "source", sources[info->source]);
    json_member_text(json, "capture", *words->capture ? words->capture : NULL);
    json_member_text(json, "capture_error", *words->fault ? words->fault : NULL);
}

void session_info_write(struct json *json, const struct session_info *info)
{
    const struct session_status *const status = &info->status;
    json_object(json);
    json_member_text(json, "id", info->id);
    json_member_text(json, "state", session_state_texts[status->state]);
    json_member_text(json, "reason", *status->reason ? status->reason : NULL);
    json_member_text(json, "foreign", info->foreign);
    json_key(json, "target");

    char host[HOST_NAME_BYTES] = "";
    gethostname(host, sizeof host - 1);
    json_object(json);
    put_target(json, info->target);
    json_member_text(json, "host", info->host ? info->host : host);
    json_end(json);

    /* Counted first: a target that ends meanwhile is listed with its reason. */

    struct session_processes processes = { .joined = info->snapshot->sizes.processes };
    if (info->targets && info->targets->count > processes.joined)
        processes.joined = info->targets->count;
    if (info->session)
        session_processes(info->session, &processes);

    json_key(json, "targets");
    write_targets(json, info);
    json_key(json, "processes");
    write_processes(json, &processes);
    json_key(json, "settings");
    write_settings(json, info);
    rfc3339_write(json, "started_at", status->started_at_ns);
    rfc3339_write(json, "ended_at", status->ended_at_ns);
    json_member_number(json, "elapsed_s", (double)status->elapsed_ns / (double)NS_PER_S);
    json_member_text(json, "epoch", info->epoch);
    json_member_uint(json, "generation", info->snapshot->generation);
    json_key(json, "quality");
    write_quality(json, info);
    json_key(json, "measures");
    measures_write(json, session_info_measures(info), info->snapshot);
    json_key(json, "retention");
    retention_write(json, info->snapshot);
    write_words(json, info);
    json_key(json, "notes");
    range_notes_write(json, &info->notes);
    if (json_member_if(json, "checkout", info->checkout_root)) {
        json_object(json);
        json_member_text(json, "root", info->checkout_root);
        json_member_text(json, "commit", info->checkout_commit);
        json_end(json);
    }
    json_member_bool(json, "anonymized", info->is_anonymized);
    json_member_text(json, "pyrometer", PYROMETER_VERSION);
    json_end(json);
}
