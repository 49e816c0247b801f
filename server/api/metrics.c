/* The text format of Prometheus: base units, _total for what only grows, no process ids. */
#include <dirent.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "sampler/base/buffer.h"
#include "sampler/profile/profile.h"
#include "server/access/audit.h"
#include "server/api/api.h"
#include "server/api/handler_context.h"
#include "server/api/query.h"
#include "server/api/route.h"
#include "server/http/request.h"
#include "server/http/response.h"
#include "server/http/traffic.h"
#include "server/sessions/sessions.h"
#include "server/wire/push_counters.h"
#include "server/wire/usage.h"

#define MIME_METRICS "text/plain; version=0.0.4; charset=utf-8"

static void put_head(struct buffer *out, const char *name, const char *type, const char *help)
{
    buffer_printf(out, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

/* Since 1970, as the kernel has it: ticks since the machine came up. */
static double start_time(void)
{
    char text[1024];
    unsigned long long ticks = 0;
    struct timespec up, wall;
    FILE *const file = fopen("/proc/self/stat", "re");
    const size_t bytes = file ? fread(text, 1, sizeof text - 1, file) : 0;
    if (file)
        fclose(file);
    text[bytes] = '\0';
    const char *const end = strrchr(text, ')');
    if (!end || sscanf(end,
                       ") %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d "
                       "%*d %*d %*d %llu",
                       &ticks) != 1)
        return 0;
    clock_gettime(CLOCK_BOOTTIME, &up);
    clock_gettime(CLOCK_REALTIME, &wall);
    return (double)wall.tv_sec - (double)up.tv_sec +
           (double)ticks / (double)sysconf(_SC_CLK_TCK);
}

static void put_process(struct buffer *out)
{
    struct usage usage;
    struct rlimit files = { 0 };
    uint64_t descriptors = 0;
    DIR *const folder = opendir("/proc/self/fd");
    while (folder && readdir(folder))
        descriptors++;
    if (folder)
        closedir(folder);
    /* ".", "..", and the folder itself */
    descriptors -= descriptors > 3 ? 3 : descriptors;
    usage_read(&usage);
    getrlimit(RLIMIT_NOFILE, &files);
    put_head(out, "process_cpu_seconds_total", "counter", "CPU time of this program");
    buffer_printf(out, "process_cpu_seconds_total %.6f\n", usage.cpu_user_s + usage.cpu_sys_s);
    put_head(out, "process_resident_memory_bytes", "gauge", "Memory of this program");
    buffer_printf(out, "process_resident_memory_bytes %" PRIu64 "\n", usage.rss_bytes);
    put_head(out, "process_open_fds", "gauge", "Open descriptors");
    buffer_printf(out, "process_open_fds %" PRIu64 "\n", descriptors);
    put_head(out, "process_max_fds", "gauge", "Descriptors that may be open");
    buffer_printf(out, "process_max_fds %" PRIu64 "\n", (uint64_t)files.rlim_cur);
    put_head(out, "process_start_time_seconds", "gauge",
             "When this program started, since 1970");
    buffer_printf(out, "process_start_time_seconds %.2f\n", start_time());
}

static void put_requests(struct buffer *out, const struct handler_context *handler)
{
    put_head(out, "pyrometer_http_requests_total", "counter", "Requests that were answered");
    for (size_t route = 0; route < TRAFFIC_ROUTES; route++) {
        const struct route *const known = handler->route_at(route);
        for (size_t i = 0; traffic_status(i); i++) {
            const uint64_t count = traffic_read(handler->traffic, route, i);
            if (count > 0)
                buffer_printf(out,
                              "pyrometer_http_requests_total{method=\"%s\",route=\"%s\",code="
                              "\"%d\"} %" PRIu64 "\n",
                              known ? method_text(known->method) : "",
                              known ? known->pattern : "none", traffic_status(i), count);
        }
    }
}

/* One counter of each session. */
struct family {
    const char *name, *type, *help;
    const char *labels; /* behind the session's */
    size_t offset;      /* in struct quality; SIZE_MAX: no counter */
};

#define COUNTER(field) offsetof(struct quality, field)

static const struct family families[] = {
    { "pyrometer_ticks_total", "counter", "Instants at which targets were sampled", "",
      COUNTER(ticks) },
    { "pyrometer_missed_ticks_total", "counter", "Ticks skipped because the profiler was late",
      "", COUNTER(missed_ticks) },
    { "pyrometer_samples_total", "counter", "Stack samples, by how certain they are",
      ",kind=\"exact\"", COUNTER(exact) },
    { "pyrometer_samples_total", NULL, NULL, ",kind=\"retried\"", COUNTER(retried) },
    { "pyrometer_samples_total", NULL, NULL, ",kind=\"truncated\"", COUNTER(truncated) },
    { "pyrometer_sample_errors_total", "counter", "Threads that could not be read",
      ",reason=\"gone\"", COUNTER(failed_gone) },
    { "pyrometer_sample_errors_total", NULL, NULL, ",reason=\"fault\"", COUNTER(failed_fault) },
    { "pyrometer_sample_errors_total", NULL, NULL, ",reason=\"perm\"", COUNTER(failed_perm) },
    { "pyrometer_sample_errors_total", NULL, NULL, ",reason=\"corrupt\"",
      COUNTER(failed_corrupt) },
    { "pyrometer_read_bytes_total", "counter", "Bytes read from targets", "",
      COUNTER(read_bytes) },
};

struct row {
    char id[12];
    enum session_state state;
    bool is_live;
    struct quality quality;
};

struct rows {
    struct row items[SESSIONS_MAX];
    size_t count;
};

static enum err_code collect_rows(struct sessions *sessions, struct rows *rows, struct err *err)
{
    struct session_entry *entry = NULL;
    enum err_code rc = ERR_OK;
    for (size_t i = 0; !rc && i < SESSIONS_MAX && (entry = sessions_at(sessions, i)); i++) {
        struct profile_snapshot snapshot;
        struct row *const row = &rows->items[rows->count];
        rc = profile_snapshot(session_entry_profile(entry), &snapshot, err);
        if (!rc) {
            memcpy(row->id, entry->id, sizeof row->id);
            row->state = session_entry_state(entry);
            row->is_live = entry->source != SESSION_CAPTURE;
            row->quality = snapshot.quality;
            rows->count++;
            profile_snapshot_release(&snapshot);
        }
        session_release(entry);
    }
    return rc;
}

static void put_counters(struct buffer *out, const struct rows *rows)
{
    for (size_t i = 0; i < sizeof families / sizeof *families; i++) {
        const struct family *const family = &families[i];
        if (family->type)
            put_head(out, family->name, family->type, family->help);
        for (size_t k = 0; k < rows->count; k++) {
            uint64_t value;
            memcpy(&value, (const char *)&rows->items[k].quality + family->offset,
                   sizeof value);
            if (rows->items[k].is_live)
                buffer_printf(out, "%s{session=\"%s\"%s} %" PRIu64 "\n", family->name,
                              rows->items[k].id, family->labels, value);
        }
    }
    put_head(out, "pyrometer_target_pause_seconds_total", "counter",
             "Time for which targets were stopped");
    for (size_t k = 0; k < rows->count; k++)
        if (rows->items[k].is_live)
            buffer_printf(out, "pyrometer_target_pause_seconds_total{session=\"%s\"} %.6f\n",
                          rows->items[k].id, (double)rows->items[k].quality.stopped_ns / 1e9);
}

/* A number of each endpoint.  Rows without a type continue the family before. */
static const struct push_family {
    const char *name, *type, *help;
    const char *labels; /* behind the endpoint's */
    size_t offset;      /* in struct push_endpoint_counters */
} push_families[] = {
#define PUSH_COUNTER(field) offsetof(struct push_endpoint_counters, field)
    { "pyrometer_push_requests_total", "counter",
      "Requests with profiles, by what became of them", ",result=\"sent\"",
      PUSH_COUNTER(sent) },
    { "pyrometer_push_requests_total", NULL, NULL, ",result=\"refused\"",
      PUSH_COUNTER(refused) },
    { "pyrometer_push_requests_total", NULL, NULL, ",result=\"lost\"", PUSH_COUNTER(lost) },
    { "pyrometer_push_sent_bytes_total", "counter", "Bytes of requests that were accepted", "",
      PUSH_COUNTER(sent_bytes) },
    { "pyrometer_push_retries_total", "counter", "Requests that were sent again", "",
      PUSH_COUNTER(retries) },
    { "pyrometer_push_failed_batches_total", "counter", "Batches that could not be encoded", "",
      PUSH_COUNTER(failed) },
    { "pyrometer_push_waiting_requests", "gauge", "Requests that wait to be sent", "",
      PUSH_COUNTER(waiting) },
    { "pyrometer_push_waiting_bytes", "gauge", "Bytes that wait to be sent, by place",
      ",place=\"memory\"", PUSH_COUNTER(memory_bytes) },
    { "pyrometer_push_waiting_bytes", NULL, NULL, ",place=\"disk\"", PUSH_COUNTER(file_bytes) },
#undef PUSH_COUNTER
};

enum err_code api_get_metrics(const struct handler_context *handler, struct response *response,
                              struct err *err)
{
    struct buffer out = { 0 };
    enum err_code rc = query_read_none(handler->request, err);
    if (rc)
        return rc;
    struct rows *const rows = calloc(1, sizeof *rows);
    if (!rows)
        return err_nomem(err);
    rc = collect_rows(handler->sessions, rows, err);
    put_head(&out, "pyrometer_build_info", "gauge", "The version of this program");
    buffer_printf(&out, "pyrometer_build_info{version=\"%s\"} 1\n", PYROMETER_VERSION);

    put_head(&out, "pyrometer_sessions", "gauge", "Sessions, by state");
    for (unsigned state = 0; session_state_texts[state]; state++) {
        size_t count = 0;
        for (size_t k = 0; k < rows->count; k++)
            count += rows->items[k].state == state;
        buffer_printf(&out, "pyrometer_sessions{state=\"%s\"} %zu\n",
                      session_state_texts[state], count);
    }

    put_counters(&out, rows);
    put_requests(&out, handler);
    /* The requests of the fair queue. */
    static const struct {
        const char *name, *help;
    } families_of_turns[TRAFFIC_TURNS] = {
        [TRAFFIC_WAITS] = { "pyrometer_http_requests_waiting",
                            "Requests that wait for their turn" },
        [TRAFFIC_RUNS] = { "pyrometer_http_requests_running", "Requests whose turn it is" },
    };
    for (size_t i = 0; i < TRAFFIC_TURNS; i++) {
        put_head(&out, families_of_turns[i].name, "gauge", families_of_turns[i].help);
        buffer_printf(&out, "%s{scope=\"viewer\"} %zu\n", families_of_turns[i].name,
                      atomic_load(&handler->traffic->turns[CLIENT_VIEWER][i]));
        buffer_printf(&out, "%s{scope=\"operator\"} %zu\n", families_of_turns[i].name,
                      atomic_load(&handler->traffic->turns[CLIENT_OPERATOR][i]));
    }
    if (handler->audit->fd >= 0) {
        const struct audit *const audit = handler->audit;
        put_head(&out, "pyrometer_audit_lost_lines_total", "counter",
                 "Lines of the audit log that could not be written");
        buffer_printf(&out, "pyrometer_audit_lost_lines_total %" PRIu64 "\n",
                      atomic_load(&audit->lost));
    }
    if (handler->push_counters) {
        const struct push_counters *const counters = handler->push_counters;
        for (size_t i = 0; i < sizeof push_families / sizeof *push_families; i++) {
            const struct push_family *const family = &push_families[i];
            if (family->type)
                put_head(&out, family->name, family->type, family->help);
            for (size_t k = 0; k < counters->count; k++) {
                const struct push_endpoint_counters *const item = &counters->items[k];
                const _Atomic uint64_t *const value =
                    (const _Atomic uint64_t *)(const void *)((const char *)item +
                                                             family->offset);
                buffer_printf(&out, "%s{endpoint=\"%s\"%s} %" PRIu64 "\n", family->name,
                              item->endpoint, family->labels, atomic_load(value));
            }
        }
    }
    put_process(&out);
    free(rows);
    if (!rc)
        rc = response_take_buffer(response, MIME_METRICS, &out, err);
    buffer_deinit(&out);
    return rc;
}
