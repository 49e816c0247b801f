#include "server/access/auth.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "sampler/base/buffer.h"
#include "sampler/base/clock.h"
#include "server/access/logins.h"
#include "server/access/shares.h"
#include "server/http/request.h"
#include "server/http/response.h"

/* Behind the name of the cookie of the token. */
#define SHARE_SUFFIX "-share"

/* Light and dark as the page itself; its hash is in refusal_policy. */
#define REFUSAL_STYLE                                                          \
    "body{margin:0;min-height:100vh;display:grid;place-content:center;justify" \
    "-items:start;padding:1.5rem;box-sizing:border-box;font:16px/1.5 system-u" \
    "i,sans-serif;background:light-dark(#f7f5f1,#131417);color:light-dark(#21" \
    "1d19,#ece9e3)}:root{color-scheme:light dark}body>*{max-width:34rem;margi" \
    "n:.4rem 0}h1{font-size:1.5rem}i{display:block;width:2.6rem;height:.55rem" \
    ";margin:.12rem 0;background:#f3a24a}i+i{width:1.8rem;background:#e57f2a}" \
    "i+i+i{width:.9rem;background:#c2501f}code{font:.95em ui-monospace,monosp" \
    "ace;padding:.1em .35em;border-radius:4px;background:light-dark(#efece6,#" \
    "22242a)}"

static const char refusal_policy[] =
    "default-src 'none'; style-src "
    "'sha256-bgKH349nhsdMrxfes4SzwpGugMJFRZE3r/v4ZA7vgyw="
    "'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

static const char refusal_page[] =
    "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" "
    "content=\"width=device-width, initial-scale=1\"><title>Pyrometer: link needed</title>"
    "<style>" REFUSAL_STYLE "</style></head><body><p><i></i><i></i><i></i></p>\n"
    "<h1>This profile needs a link</h1>\n<p>This address was copied from a browser that has "
    "access, or its link has expired or been revoked.</p>\n<ul><li>Ask whoever sent it to press "
    "<b>Share</b> in the page and to send you that link: it opens here and shows the same "
    "view.</li>\n<li>If you started <code>pyrometer</code>, open the URL that it printed, which "
    "has <code>?token=&hellip;</code>. To see the same view, append the part of this address from "
    "<code>#</code> on.</li>\n<li>Programs send <code>Authorization: Bearer TOKEN</code>.</li>"
    "</ul>\n</body></html>\n";

bool auth_token_is_sound(const char *token)
{
    static const char safe[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                               "0123456789-._~";
    const size_t length = strlen(token);
    return length >= AUTH_MIN_TOKEN && length <= AUTH_MAX_TOKEN &&
           strspn(token, safe) == length;
}

enum err_code auth_init(struct auth *auth, bool required, const char *token, unsigned port,
                        struct err *err)
{
    memset(auth, 0, sizeof *auth);
    atomic_init(&auth->once_used, false);
    auth->required = required;
    auth->base_path = "";
    snprintf(auth->cookie_name, sizeof auth->cookie_name, "pyrometer-%u", port);
    if (token && !auth_token_is_sound(token))
        return err_set(err, ERR_INVALID,
                       "a token has %d to %d characters of A-Z a-z 0-9 - . _ ~", AUTH_MIN_TOKEN,
                       AUTH_MAX_TOKEN);
    enum err_code rc = digest_secret(auth->once, err);
    if (!rc && !token)
        rc = digest_secret(auth->token, err);
    if (token)
        snprintf(auth->token, sizeof auth->token, "%s", token);
    return rc;
}

bool auth_secret_equals(const char *secret, const char *given)
{
    const size_t given_length = strlen(given);
    const size_t length = strlen(secret);
    unsigned char difference = length != given_length;
    for (size_t i = 0; i < length; i++)
        difference |= (unsigned char)(secret[i] ^ (i < given_length ? given[i] : 0));
    return difference == 0 && length > 0;
}

static void become_operator(struct identity *who)
{
    *who = (struct identity){ .scope = SCOPE_OPERATOR };
}

/* Never takes anything away. */
static void become_viewer(struct identity *who, const struct share *share)
{
    const enum scope scope = *share->shared.session ? SCOPE_SESSION : SCOPE_VIEWER;
    if (who->scope < scope)
        *who = (struct identity){ .scope = scope,
                                  .share = share->id,
                                  .expires_at_ns = share->expires_at_ns,
                                  .shared = share->shared };
}

/* A cookie of ours in a request.  A browser may send several of one name. */
struct cookie {
    bool is_share;
    const char *value;
    size_t length;
};

enum { COOKIES_MAX = 16 };

static bool read_cookie(const struct auth *auth, const char *text, size_t length,
                        struct cookie *out)
{
    const size_t own_length = strlen(auth->cookie_name);
    const size_t name_length = strcspn(text, "=;");
    if (name_length >= length || name_length < own_length ||
        memcmp(text, auth->cookie_name, own_length) != 0)
        return false;
    *out = (struct cookie){ name_length != own_length, text + name_length + 1,
                            length - name_length - 1 };
    return !out->is_share ||
           (name_length == own_length + sizeof SHARE_SUFFIX - 1 &&
            memcmp(text + own_length, SHARE_SUFFIX, sizeof SHARE_SUFFIX - 1) == 0);
}

static size_t read_cookies(const struct auth *auth, const struct request *request,
                           struct cookie out[COOKIES_MAX])
{
    size_t count = 0;
    for (size_t i = 0; i < request->header_count; i++) {
        if (strcasecmp(request->headers[i].name, "Cookie") != 0)
            continue;
        for (const char *at = request->headers[i].value; *at && count < COOKIES_MAX;) {
            at += strspn(at, "; \t");
            const size_t length = strcspn(at, ";");
            count += read_cookie(auth, at, length, &out[count]);
            at += length;
        }
    }
    return count;
}

static void try_token(const struct auth *auth, const char *given, struct identity *who)
{
    struct share share;
    if (auth_secret_equals(auth->token, given))
        become_operator(who);
    else if (auth->shares && shares_find_token(auth->shares, given, strlen(given), &share))
        become_viewer(who, &share);
}

/* The text after "SCHEME "; NULL: the scheme is another one. */
static const char *after_scheme(const char *header, const char *scheme)
{
    const size_t length = strlen(scheme);
    return strncasecmp(header, scheme, length) == 0 && header[length] == ' '
               ? header + length + strspn(header + length, " ")
               : NULL;
}

void auth_identify(const struct auth *auth, const struct request *request, struct identity *out)
{
    *out = (struct identity){ .scope = auth->required ? SCOPE_OPEN : SCOPE_OPERATOR };
    if (!auth->required)
        return;
    for (size_t i = 0; i < request->header_count; i++) {
        const struct request_pair *const header = &request->headers[i];
        if (strcasecmp(header->name, "Authorization") == 0) {
            /* Some programs can only send a name and a password: the token is the password. */
            char pair[2 * AUTH_MAX_TOKEN];
            const char *const bearer = after_scheme(header->value, "Bearer");
            const char *const basic = after_scheme(header->value, "Basic");
            if (bearer)
                try_token(auth, bearer, out);
            else if (basic && digest_decode64(basic, pair, sizeof pair) && strchr(pair, ':'))
                try_token(auth, strchr(pair, ':') + 1, out);
        }
    }
    if (out->scope != SCOPE_OPERATOR) {
        /* One right one is enough. */
        struct cookie cookies[COOKIES_MAX];
        struct share share;
        const size_t count = read_cookies(auth, request, cookies);
        uint32_t login = 0;
        for (size_t i = 0; i < count; i++) {
            const struct cookie *const one = &cookies[i];
            if (one->is_share && auth->shares &&
                shares_find_cookie(auth->shares, one->value, one->length, &share))
                become_viewer(out, &share);
            else if (!one->is_share && auth->logins &&
                     (login =
                          logins_find(auth->logins, one->value, one->length, clock_now_ns())))
                *out = (struct identity){ .scope = SCOPE_OPERATOR, .login = login };
        }
    }
}

const char *auth_scope_text(enum scope scope)
{
    static const char *const texts[] = { "open", "viewer", "viewer", "operator" };
    return texts[scope];
}

static void put_escaped(struct buffer *out, const char *text)
{
    for (const char *c = text; *c; c++)
        if ((*c >= '0' && *c <= '9') || ((*c | 0x20) >= 'a' && (*c | 0x20) <= 'z') ||
            strchr("-._~", *c))
            buffer_char(out, *c);
        else
            buffer_printf(out, "%%%02X", (unsigned char)*c);
}

/* A proxy that ends TLS says so; who says it without TLS only loses the cookie. */
static bool is_secure(const struct auth *auth, const struct request *request)
{
    const char *const protocol = request_header(request, "X-Forwarded-Proto");
    return auth->is_tls || (protocol && strcasecmp(protocol, "https") == 0);
}

static void set_cookie(const struct auth *auth, const struct request *request,
                       const char *suffix, const char *value, uint64_t expires_at_ns,
                       struct response *response)
{
    char age[48] = "";
    const uint64_t now_ns = clock_wall_ns();
    if (expires_at_ns > now_ns)
        snprintf(age, sizeof age, "; Max-Age=%" PRIu64,
                 (uint64_t)((expires_at_ns - now_ns) / NS_PER_S));
    response_set_header(response, "Set-Cookie", "%s%s=%s; HttpOnly; SameSite=Lax; Path=%s/%s%s",
                        auth->cookie_name, suffix, value, auth->base_path,
                        is_secure(auth, request) ? "; Secure" : "", age);
}

static bool log_in(struct auth *auth, const struct request *request, struct response *response)
{
    char cookie[AUTH_SECRET_LENGTH + 1];
    if (!auth->logins || logins_add(auth->logins, clock_now_ns(), cookie, NULL))
        return false;
    set_cookie(auth, request, "", cookie, 0, response);
    return true;
}

/* Swaps a right token for its cookie; false: it is wrong. */
static bool take_token(struct auth *auth, const struct request *request, const char *given,
                       struct response *response)
{
    struct share share;
    char cookie[AUTH_SECRET_LENGTH + 1];

    if (auth_secret_equals(auth->token, given))
        return log_in(auth, request, response);
    if (auth_secret_equals(auth->once, given) && !atomic_exchange(&auth->once_used, true))
        return log_in(auth, request, response);

    if (!auth->shares || !shares_find_token(auth->shares, given, strlen(given), &share) ||
        shares_cookie(given, cookie, NULL))
        return false;
    set_cookie(auth, request, SHARE_SUFFIX, cookie, share.expires_at_ns, response);
    return true;
}

void auth_recognize(const struct auth *auth, const struct request *request,
                    struct identity *out)
{
    const char *const given = request_query(request, "token");
    auth_identify(auth, request, out);
    if (given && out->scope == SCOPE_OPEN) {
        try_token(auth, given, out);
        if (auth_secret_equals(auth->once, given) && !atomic_load(&auth->once_used))
            become_operator(out);
    }
}

void auth_renew(const struct auth *auth, const struct request *request,
                struct response *response)
{
    struct cookie cookies[COOKIES_MAX];
    char made[AUTH_SECRET_LENGTH + 1];
    const size_t count = auth->logins ? read_cookies(auth, request, cookies) : 0;
    /* Who logs in has a new one already. */
    if (response_header(response, "Set-Cookie"))
        return;
    for (size_t i = 0; i < count; i++)
        if (!cookies[i].is_share && logins_change(auth->logins, cookies[i].value,
                                                  cookies[i].length, clock_now_ns(), made)) {
            set_cookie(auth, request, "", made, 0, response);
            return;
        }
}

void auth_logout(const struct auth *auth, const struct request *request,
                 struct response *response)
{
    struct cookie cookies[COOKIES_MAX];
    const size_t count = read_cookies(auth, request, cookies);
    const char *suffix = NULL;
    for (size_t i = 0; i < count; i++) {
        if (!cookies[i].is_share && auth->logins)
            logins_end(auth->logins, cookies[i].value, cookies[i].length, clock_now_ns());
        if (!suffix || !cookies[i].is_share)
            suffix = cookies[i].is_share ? SHARE_SUFFIX : "";
    }
    if (suffix)
        response_set_header(response, "Set-Cookie",
                            "%s%s=; HttpOnly; SameSite=Lax; Path=%s/; Max-Age=0",
                            auth->cookie_name, suffix, auth->base_path);
}

bool auth_login(struct auth *auth, const struct request *request, struct response *response)
{
    const char *const given = request_query(request, "token");
    struct identity who;
    if (!given || !request_is_safe(request) || strcmp(request->path, "/") != 0)
        return false;
    auth_identify(auth, request, &who);
    if (!take_token(auth, request, given, response) && who.scope == SCOPE_OPEN)
        return false;
    struct buffer location = { 0 };

    /* The root with every parameter but the token. */
    char separator = '?';
    buffer_printf(&location, "%s/", auth->base_path);
    for (size_t i = 0; i < request->query_count; i++) {
        const struct request_pair *const pair = &request->query[i];
        if (strcmp(pair->name, "token") == 0)
            continue;
        buffer_char(&location, separator);
        put_escaped(&location, pair->name);
        buffer_char(&location, '=');
        put_escaped(&location, pair->value);
        separator = '&';
    }

    const char *const text = buffer_string(&location);
    response->status = 303;
    response_set_header(response, "Location", "%s", text ? text : "/");
    response_set_header(response, "Cache-Control", "no-store");
    buffer_deinit(&location);
    return true;
}

void auth_refuse(const struct identity *who, const struct request *request,
                 struct response *response)
{
    const char *const accept = request_header(request, "Accept");
    const bool is_browser = accept && strstr(accept, "text/html") != NULL &&
                            strncmp(request->path, "/api/", 5) != 0;
    if (who->scope == SCOPE_SESSION) {
        response_problem(
            response, 403,
            "this link permits only session %s; use the URL that pyrometer printed at start for "
            "everything else",
            who->shared.session);
        return;
    }
    if (who->scope != SCOPE_OPEN) {
        response_problem(response, 403,
                         "this link is read-only; use the URL that pyrometer printed at start");
        return;
    }
    response_problem(
        response, 401,
        "the token is missing or wrong: open the URL that pyrometer printed at start, or send "
        "Authorization: Bearer TOKEN");
    if (is_browser) {
        response_fix_body(response, MIME_HTML, refusal_page, sizeof refusal_page - 1);
        response_set_header(response, "Content-Security-Policy", "%s", refusal_policy);
    }
    response_set_header(response, "WWW-Authenticate", "Bearer realm=\"pyrometer\"");
}

/* origin: an Origin, or a Referer, which a path follows. */
static bool is_own_origin(const struct request *request, const char *origin)
{
    const char *const host = request_header(request, "Host");
    const char *const rest = strstr(origin, "://");
    const size_t length = host ? strlen(host) : 0;
    return host && rest && (rest - origin == 4 || rest - origin == 5) &&
           strncasecmp(origin, "https", (size_t)(rest - origin)) == 0 &&
           strncasecmp(rest + 3, host, length) == 0 &&
           (rest[3 + length] == '\0' || rest[3 + length] == '/');
}

/* Set by a program or a page of ours: a browser asks us before another page may send it. */
static bool is_marked(const struct request *request)
{
    const char *const mark = request_header(request, "X-Pyrometer");
    return mark && strcmp(mark, "1") == 0;
}

static bool is_json(const char *type)
{
    const size_t length = sizeof MIME_JSON - 1;
    return type && strncasecmp(type, MIME_JSON, length) == 0 &&
           (type[length] == '\0' || strchr("; \t", type[length]) != NULL);
}

int auth_check_change(const struct request *request, const char **fault_out)
{
    const char *const origin = request_header(request, "Origin");
    const char *const coding = request_header(request, "Content-Encoding");
    *fault_out = "";
    if (origin && !is_own_origin(request, origin)) {
        *fault_out = "the request comes from another site (Origin)";
        return 403;
    }
    if (!is_marked(request)) {
        *fault_out = "the header X-Pyrometer: 1 is missing";
        return 403;
    }
    if (coding && request->method != METHOD_DELETE && strcasecmp(coding, "identity") != 0) {
        *fault_out = "the body must not be compressed (Content-Encoding)";
        return 415;
    }
    if (request->body_bytes > 0 && !is_json(request_header(request, "Content-Type"))) {
        *fault_out = "the body must be " MIME_JSON;
        return 415;
    }
    return 0;
}

/* Other pages cannot send these either. */
static bool has_bearer(const struct request *request)
{
    const char *const given = request_header(request, "Authorization");
    return given && after_scheme(given, "Bearer");
}

static bool is_prefetch(const struct request *request)
{
    const char *purpose = request_header(request, "Sec-Purpose");
    if (!purpose)
        purpose = request_header(request, "Purpose");
    return purpose && strncasecmp(purpose, "prefetch", sizeof "prefetch" - 1) == 0;
}

/* A cookie is sent to all ports of a host, and a password that a URL had goes with every request. */
int auth_check_act(const struct request *request, const char **fault_out)
{
    const char *const site = request_header(request, "Sec-Fetch-Site");
    const char *const origin = request_header(request, "Origin");
    const char *const page = origin ? origin : request_header(request, "Referer");
    const char *const agent = request_header(request, "User-Agent");
    const bool is_browser =
        request_header(request, "Cookie") || (agent && strncmp(agent, "Mozilla/", 8) == 0);
    *fault_out = "";
    if (is_marked(request) || has_bearer(request))
        return 0;
    if ((site && strcmp(site, "same-origin") != 0 && strcmp(site, "none") != 0) ||
        (page && !is_own_origin(request, page)))
        *fault_out = "the request comes from another site (Sec-Fetch-Site, Origin, Referer)";
    else if (is_prefetch(request))
        *fault_out = "the browser asks before its user has: this is not answered in advance";
    else if (is_browser && !site && !page)
        *fault_out =
            "the browser does not say where the request comes from: send X-Pyrometer: 1";
    else
        return 0;
    return 403;
}
