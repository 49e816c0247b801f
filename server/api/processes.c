#include "sampler/processes.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "sampler/base/clock.h"
#include "sampler/session.h"
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

static void write_process(void *context, const struct process_info *info)
{
    struct listing *const listing = context;
    struct json *const json = listing->json;
    const size_t at = listing->at++;
    if (at < listing->offset || at - listing->offset >= listing->limit)
        return;
    json_object(json);
    json_member_int(json, "pid", info->pid);
    json_member_int(json, "parent", info->parent);

    json_member_array(listing->json, "command");
    for (size_t i = 0; i < info->argc; i++)
        json_text(listing->json, info->argv[i]);
    json_end(listing->json);

    json_member_text(json, "executable", info->executable);
    json_member_text(json, "python", info->python);
    json_member_uint(json, "uid", info->uid);
    json_member_text(json, "user", info->user);
    if (json_member_if(json, "container", info->container)) {
        json_object(json);
        json_member_text(json, "id", info->container);
        json_member_text(json, "name", info->container_name);
        json_end(json);
    }
    json_member_text(json, "pod", info->pod);

    json_member_uint(json, "threads", info->threads);
    if (json_member_if(json, "cpu_percent", info->cpu_percent >= 0))
        json_number(json, info->cpu_percent);
    json_member_uint(json, "rss_bytes", info->rss_bytes);
    rfc3339_write(json, "started_at", info->started_at_ns);
    const uint64_t uptime_ms = info->uptime_ns / NS_PER_MS;
    json_member_number(json, "uptime_s", (double)uptime_ms / 1000);

    const pid_t pid = info->pid;
    json_member_array(listing->json, "sessions");
    for (size_t i = 0; i < listing->use_count; i++)
        if (listing->uses[i].pid == pid)
            json_text(listing->json, listing->uses[i].session);
    json_end(listing->json);

    /* The headline is that of the session that somebody started, if there is one. */
    char headline[SUMMARY_HEADLINE_BYTES];
    const struct use *use = NULL;
    for (size_t i = 0; i < listing->use_count && (!use || use->is_continuous); i++)
        if (listing->uses[i].pid == pid && (!use || !listing->uses[i].is_continuous))
            use = &listing->uses[i];
    const bool has_headline =
        use && headlines_find(listing->headlines, headlines_key(use->session, pid), headline);
    json_member_text(json, "headline", has_headline ? headline : NULL);
    json_member_bool(json, "can_attach", info->reason == NULL);
    json_member_text(json, "reason", info->reason);
    json_end(json);
}

static enum err_code write_listing(struct listing *listing, struct err *err)
{
    struct json *const json = listing->json;
    struct processes_summary summary;
    char host[HOST_BYTES] = "";
    gethostname(host, sizeof host - 1);
    json_object(json);
    json_member_text(json, "host", host);
    json_member_uint(json, "cpus", (uint64_t)sysconf(_SC_NPROCESSORS_ONLN));
    json_member_uint(json, "offset", listing->offset);
    json_member_array(json, "processes");
    const enum err_code rc =
        processes_visit(listing->dashboard->processes, write_process, listing, &summary, err);
    json_end(json);
    if (rc)
        return rc;
    rfc3339_write(json, "scanned_at", summary.at_ns);
    json_member_uint(json, "examining", summary.examining);
    json_member_uint(json, "not_permitted", summary.not_permitted);
    json_member_uint(json, "total", summary.count);
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
    if (!rc)
        rc = query_read(handler->request, QUERY_PAGE, &query, err);
    if (rc)
        return rc;
    listing.dashboard = dashboard;
    listing.offset = query.offset;
    if (query.limit)
        listing.limit = query.limit;
    listing.headlines = handler->headlines;

    struct sessions *const sessions = handler->sessions;
    struct session_entry *entry = NULL;
    for (size_t i = 0; (entry = sessions_at(sessions, i)); i++) {
        struct session *const session = entry->session;
        const enum session_state state = session_entry_state(entry);
        const bool is_sampled =
            session && (state == SESSION_RUNNING || state == SESSION_PAUSED);
        struct session_target target;
        for (size_t k = 0; is_sampled && session_target_at(session, k, &target); k++) {
            if (target.to_ns || listing.use_count == MAX_USES)
                continue;
            struct use *const use = &listing.uses[listing.use_count++];
            use->pid = target.pid;
            use->is_continuous = entry->source == SESSION_CONTINUOUS;
            snprintf(use->session, sizeof use->session, "%s", entry->id);
        }
        session_release(entry);
    }

    uint64_t *const keys = malloc((listing.use_count + 1) * sizeof *keys);
    if (!keys)
        return err_nomem(err);
    for (size_t i = 0; i < listing.use_count; i++)
        keys[i] = headlines_key(listing.uses[i].session, listing.uses[i].pid);
    headlines_renew(listing.headlines, sessions, keys, listing.use_count);
    free(keys);

    document_begin(&document);
    rc = write_listing(&listing, err);
    return document_send_or_drop(&document, rc, response, err);
}
