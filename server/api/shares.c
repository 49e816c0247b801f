#include "server/access/shares.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "sampler/base/clock.h"
#include "sampler/profile/measure.h"
#include "server/access/auth.h"
#include "server/api/api.h"
#include "server/api/handler_context.h"
#include "server/api/query.h"
#include "server/http/document.h"
#include "server/http/json_body.h"
#include "server/http/request.h"
#include "server/http/response.h"
#include "server/report/source_links.h"
#include "server/sessions/dashboard.h"
#include "server/sessions/sessions.h"
#include "server/wire/rfc3339.h"

enum { DEFAULT_LIFE_S = 7 * 86400, MAX_LIFE_S = 366 * 86400 };

/* "90m", "12h", "7d"; 0: forever. */
static enum err_code read_life(const char *text, uint64_t *seconds_out, struct err *err)
{
    static const struct {
        const char *name;
        uint64_t seconds;
    } units[] = { { "s", 1 }, { "m", 60 }, { "h", 3600 }, { "d", 86400 } };
    const size_t digits = strspn(text, "0123456789");
    const uint64_t number = digits > 0 && digits < 9 ? strtoull(text, NULL, 10) : 0;
    *seconds_out = 0;
    if (strcmp(text, "never") == 0)
        return ERR_OK;
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (strcmp(text + digits, units[i].name) == 0)
            *seconds_out = number * units[i].seconds;
    if (*seconds_out == 0 || *seconds_out > MAX_LIFE_S)
        return err_set(
            err, ERR_INVALID,
            "\"expires_in\" must be a duration of up to 366d, for example 90m, 12h or 7d, or "
            "never");
    return ERR_OK;
}

/* null: everything is shared. */
static void put_session(struct json *json, const struct share_scope *shared)
{
    json_member_text(json, "session", *shared->session ? shared->session : NULL);
}

/* Members of an object that is open. */
static void put_share(struct json *json, const struct share *share)
{
    json_member_uint(json, "id", share->id);
    json_member_text(json, "name", share->name);
    json_member_text(json, "scope", auth_scope_text(SCOPE_VIEWER));
    put_session(json, &share->shared);
    rfc3339_write(json, "created_at", share->created_at_ns);
    rfc3339_write(json, "expires_at", share->expires_at_ns);
    rfc3339_write(json, "last_used_at", share->last_used_at_ns);
}

enum { POST_NAME, POST_LIFE, POST_SESSION, POST_MEMBERS };

enum err_code api_add_share(const struct handler_context *handler, struct response *response,
                            struct err *err)
{
    struct body_member members[POST_MEMBERS] = { [POST_NAME] = { .name = "name" },
                                                 [POST_LIFE] = { .name = "expires_in" },
                                                 [POST_SESSION] = { .name = "session" } };
    struct share_scope shared = { .session = "" };
    char token[DIGEST_SECRET_LENGTH + 1];
    struct share share;
    uint64_t life_s = DEFAULT_LIFE_S;
    enum err_code rc = query_read_none(handler->request, err);
    if (!rc && handler->request->body_bytes > 0)
        rc = body_read(handler->request->body, handler->request->body_bytes, members,
                       POST_MEMBERS, err);
    if (!rc && strlen(members[POST_NAME].text) > SHARES_MAX_NAME)
        rc = err_set(err, ERR_INVALID, "\"name\" must have at most %d bytes", SHARES_MAX_NAME);
    if (!rc && members[POST_LIFE].is_present)
        rc = read_life(members[POST_LIFE].text, &life_s, err);
    if (!rc && members[POST_SESSION].is_present) {
        struct session_entry *const entry =
            sessions_find(handler->sessions, members[POST_SESSION].text);
        if (!entry)
            return err_set(err, ERR_INVALID, "\"session\": no session %.32s",
                           members[POST_SESSION].text);
        memcpy(shared.session, entry->id, sizeof shared.session);
        memcpy(shared.epoch, entry->epoch, sizeof shared.epoch);
        session_release(entry);
    }
    if (rc)
        return rc;
    if (!handler->auth->required) {
        response_problem(response, 409,
                         "this server needs no token (--no-token): share its address");
        return ERR_OK;
    }
    rc = shares_add(handler->auth->shares, members[POST_NAME].text,
                    life_s ? clock_wall_ns() + life_s * NS_PER_S : 0, &shared, &share, token,
                    err);
    if (rc)
        return rc;
    struct document document;
    document_begin(&document);
    json_object(&document.json);
    put_share(&document.json, &share);
    json_member_text(&document.json, "token", token);

    /* The server as the one who asked sees it, also through a proxy. */
    const char *const protocol = request_header(handler->request, "X-Forwarded-Proto");
    const bool is_tls =
        handler->auth->is_tls || (protocol && strcasecmp(protocol, "https") == 0);
    const char *const host = request_header(handler->request, "Host");
    struct buffer url = { 0 };
    buffer_printf(&url, "%s://%s%s/?token=%s", is_tls ? "https" : "http", host ? host : "",
                  handler->auth->base_path, token);
    json_member_text(&document.json, "url", buffer_string(&url));
    buffer_deinit(&url);

    json_end(&document.json);
    response->status = 201;
    response_set_header(response, "Location", "%s/api/v1/shares/%" PRIu32,
                        handler->auth->base_path, share.id);
    return document_send(&document, response, err);
}

enum err_code api_list_shares(const struct handler_context *handler, struct response *response,
                              struct err *err)
{
    struct document document;
    const enum err_code rc = query_read_none(handler->request, err);
    if (rc)
        return rc;
    struct share *const shares = calloc(SHARES_MAX, sizeof *shares);
    if (!shares)
        return err_nomem(err);
    const size_t count = shares_list(handler->auth->shares, shares, SHARES_MAX);
    document_begin(&document);
    json_object(&document.json);
    json_member_array(&document.json, "shares");
    for (size_t i = 0; i < count; i++) {
        json_object(&document.json);
        put_share(&document.json, &shares[i]);
        json_end(&document.json);
    }
    json_end(&document.json);
    json_end(&document.json);
    free(shares);
    return document_send(&document, response, err);
}

enum err_code api_revoke_share(const struct handler_context *handler, struct response *response,
                               struct err *err)
{
    const size_t digits = strspn(handler->argument, "0123456789");
    const unsigned long long id =
        digits > 0 && digits < 11 ? strtoull(handler->argument, NULL, 10) : 0;
    if (handler->argument[digits] != '\0' || id == 0 || id > UINT32_MAX)
        return err_set(err, ERR_NOT_FOUND, "no shared link %s", handler->argument);
    const enum err_code rc = shares_revoke(handler->auth->shares, (uint32_t)id, err);
    if (!rc)
        response->status = 204;
    return rc;
}

enum err_code api_end_access(const struct handler_context *handler, struct response *response,
                             struct err *err)
{
    const enum err_code rc = query_read_none(handler->request, err);
    if (rc)
        return rc;
    auth_logout(handler->auth, handler->request, response);
    response->status = 204;
    return ERR_OK;
}

enum err_code api_get_access(const struct handler_context *handler, struct response *response,
                             struct err *err)
{
    struct document document;
    const enum err_code rc = query_read_none(handler->request, err);
    if (rc)
        return rc;
    document_begin(&document);
    json_object(&document.json);
    json_member_text(&document.json, "scope", auth_scope_text(handler->who->scope));
    if (json_member_if(&document.json, "share", handler->who->share))
        json_uint(&document.json, handler->who->share);
    put_session(&document.json, &handler->who->shared);
    rfc3339_write(&document.json, "expires_at", handler->who->expires_at_ns);
    json_member_bool(&document.json, "can_share",
                     handler->auth->required && handler->who->scope == SCOPE_OPERATOR);
    json_member_bool(&document.json, "host",
                     handler->dashboard && handler->who->scope > SCOPE_SESSION);
    json_member_array(&document.json, "events");
    for (enum measure i = MEASURE_TIME; i < MEASURE_KNOWN; i++)
        if (handler->dashboard && measure_set_has(handler->dashboard->measures, i))
            json_text(&document.json, measure_texts[i]);
    json_end(&document.json);
    source_links_write(&document.json, handler->links);
    json_end(&document.json);
    return document_send(&document, response, err);
}
