#include "sampler/processes.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "sampler/base/clock.h"
#include "sampler/sampler.h"
#include "server/api/api.h"
#include "server/api/handler_context.h"
#include "server/api/headlines.h"
#include "server/api/query.h"
#include "server/http/document.h"
#include "server/sessions/dashboard.h"
#include "server/sessions/sessions.h"
#include "server/wire/rfc3339.h"

enum { DEFAULT_LIMIT = 1000, MAX_USES = 4096, HOST_BYTES = 256 };

/* Which session samples which process. */
struct use {
    pid_t pid;
    bool is_continuous;
    char session[12];
};

struct listing {
    struct json *json;
    const struct dashboard *dashboard;
    struct headlines *headlines;
    size_t at, offset, limit;
    size_t use_count;
    struct use uses[MAX_USES];
};

static void note_uses(struct listing *listing, struct session *session)
{
    struct sampler *const sampler = session->sampler;
    const enum sampler_state state = session_state(session);
    struct sampler_target target;
    if (!sampler || (state != SAMPLER_RUNNING && state != SAMPLER_PAUSED))
        return;
    for (size_t i = 0; sampler_target_at(sampler, i, &target); i++) {
        if (target.to_ns || listing->use_count == MAX_USES)
            continue;
        struct use *const use = &listing->uses[listing->use_count++];
        use->pid = target.pid;
        use->is_continuous = session->source == SESSION_CONTINUOUS;
        snprintf(use->session, sizeof use->session, "%s", session->id);
    }
}

static void note_all_uses(struct listing *listing, struct sessions *sessions)
{
    struct session *session = NULL;
    for (size_t i = 0; (session = sessions_at(sessions, i)); i++) {
        note_uses(listing, session);
        session_release(session);
    }
}

static enum err_code renew_headlines(const struct listing *listing, struct sessions *sessions,
                                     struct err *err)
{
    uint64_t *const keys = malloc((listing->use_count + 1) * sizeof *keys);
    if (!keys)
        return err_nomem(err);
    for (size_t i = 0; i < listing->use_count; i++)
        keys[i] = headlines_key(listing->uses[i].session, listing->uses[i].pid);
    headlines_renew(listing->headlines, sessions, keys, listing->use_count);
    free(keys);
    return ERR_OK;
}

static void put_text(struct json *json, const char *key, const char *text)
{
    json_key(json, key);
    json_text(json, text);
}

static void put_uint(struct json *json, const char *key, uint64_t value)
{
    json_key(json, key);
    json_uint(json, value);
}

static void write_container(struct json *json, const struct process_info *info)
{
    json_key(json, "container");
    if (!info->container) {
        json_null(json);
        return;
    }
    json_object(json);
    put_text(json, "id", info->container);
    put_text(json, "name", info->container_name);
    json_end(json);
}

static void write_command(const struct listing *listing, const struct process_info *info)
{
    json_key(listing->json, "command");
    json_array(listing->json);
    for (size_t i = 0; i < info->argc; i++)
        json_text(listing->json, info->argv[i]);
    json_end(listing->json);
}

static void write_uses(const struct listing *listing, pid_t pid)
{
    json_key(listing->json, "sessions");
    json_array(listing->json);
    for (size_t i = 0; i < listing->use_count; i++)
        if (listing->uses[i].pid == pid)
            json_text(listing->json, listing->uses[i].session);
    json_end(listing->json);
}

/* Writes the headline of the session that somebody started, if there is one. */
static void write_headline(const struct listing *listing, pid_t pid)
{
    char text[SUMMARY_HEADLINE_BYTES];
    const struct use *use = NULL;
    for (size_t i = 0; i < listing->use_count && (!use || use->is_continuous); i++)
        if (listing->uses[i].pid == pid && (!use || !listing->uses[i].is_continuous))
            use = &listing->uses[i];
    const bool has =
        use && headlines_find(listing->headlines, headlines_key(use->session, pid), text);
    put_text(listing->json, "headline", has ? text : NULL);
}

static void write_usage(struct json *json, const struct process_info *info)
{
    put_uint(json, "threads", info->threads);
    json_key(json, "cpu_percent");
    if (info->cpu_percent < 0)
        json_null(json);
    else
        json_number(json, info->cpu_percent);
    put_uint(json, "rss_bytes", info->rss_bytes);
    rfc3339_write(json, "started_at", info->started_at_ns);
    json_key(json, "uptime_s");
    json_number(json, (double)(info->uptime_ns / NS_PER_MS) / 1000);
}

static void write_process(void *context, const struct process_info *info)
{
    struct listing *const listing = context;
    struct json *const json = listing->json;
    const size_t at = listing->at++;
    if (at < listing->offset || at - listing->offset >= listing->limit)
        return;
    json_object(json);
    json_key(json, "pid");
    json_int(json, info->pid);
    json_key(json, "parent");
    json_int(json, info->parent);
    write_command(listing, info);
    put_text(json, "executable", info->executable);
    put_text(json, "python", info->python);
    put_uint(json, "uid", info->uid);
    put_text(json, "user", info->user);
    write_container(json, info);
    put_text(json, "pod", info->pod);
    write_usage(json, info);
    write_uses(listing, info->pid);
    write_headline(listing, info->pid);
    json_key(json, "can_attach");
    json_bool(json, info->reason == NULL);
    put_text(json, "reason", info->reason);
    json_end(json);
}

static enum err_code write_listing(struct listing *listing, struct err *err)
{
    struct json *const json = listing->json;
    struct processes_summary summary;
    char host[HOST_BYTES] = "";
    gethostname(host, sizeof host - 1);
    json_object(json);
    put_text(json, "host", host);
    put_uint(json, "cpus", (uint64_t)sysconf(_SC_NPROCESSORS_ONLN));
    put_uint(json, "offset", listing->offset);
    json_key(json, "processes");
    json_array(json);
    const enum err_code rc =
        processes_visit(listing->dashboard->processes, write_process, listing, &summary, err);
    json_end(json);
    if (rc != ERR_OK)
        return rc;
    rfc3339_write(json, "scanned_at", summary.at_ns);
    put_uint(json, "examining", summary.examining);
    put_uint(json, "not_permitted", summary.not_permitted);
    put_uint(json, "total", summary.count);
    json_end(json);
    return ERR_OK;
}

enum err_code api_list_processes(const struct handler_context *handler,
                                 struct response *response, struct err *err)
{
    struct dashboard *dashboard = NULL;
    struct query query;
    struct document document;
    struct listing listing = { .json = &document.json, .limit = DEFAULT_LIMIT };
    enum err_code rc = handler_dashboard(handler, &dashboard, err);
    if (rc == ERR_OK)
        rc = query_read(handler->request, QUERY_PAGE, &query, err);
    if (rc != ERR_OK)
        return rc;
    listing.dashboard = dashboard;
    listing.offset = query.offset;
    if (query.limit)
        listing.limit = query.limit;
    listing.headlines = handler->headlines;
    note_all_uses(&listing, handler->sessions);
    rc = renew_headlines(&listing, handler->sessions, err);
    if (rc != ERR_OK)
        return rc;
    document_begin(&document);
    rc = write_listing(&listing, err);
    return document_send_or_drop(&document, rc, response, err);
}
