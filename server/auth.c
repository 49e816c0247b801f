#include "server/auth.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/random.h>

#include "server/buffer.h"
#include "server/request.h"
#include "server/response.h"

enum { SECRET_BYTES = AUTH_SECRET_LENGTH / 2 };

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
    "content=\"width=device-width, initial-scale=1\"><title>Pyrometer: token needed</title>"
    "<style>" REFUSAL_STYLE "</style></head><body><p><i></i><i></i><i></i></p>\n"
    "<h1>This profile needs its token</h1>\n<p>Open the URL that <code>pyrometer</code> "
    "printed when it started; it ends in <code>?token=&hellip;</code>.</p>\n<p>Programs send "
    "<code>Authorization: Bearer TOKEN</code>.</p>\n</body></html>\n";

static enum err_code make_secret(char out[AUTH_SECRET_LENGTH + 1], struct err *err)
{
    unsigned char bytes[SECRET_BYTES];
    /* Up to 256 bytes come whole or not at all. */
    if (getrandom(bytes, sizeof bytes, 0) != (ssize_t)sizeof bytes)
        return err_sys(err, errno, "no random bytes for a token");
    for (size_t i = 0; i < sizeof bytes; i++)
        snprintf(out + 2 * i, 3, "%02x", bytes[i]);
    return ERR_OK;
}

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
    snprintf(auth->cookie_name, sizeof auth->cookie_name, "pyrometer-%u", port);
    if (token && !auth_token_is_sound(token))
        return err_set(err, ERR_INVALID,
                       "a token has %d to %d characters of A-Z a-z 0-9 - . _ ~", AUTH_MIN_TOKEN,
                       AUTH_MAX_TOKEN);
    enum err_code rc = make_secret(auth->cookie, err);
    if (rc == ERR_OK)
        rc = make_secret(auth->once, err);
    if (rc == ERR_OK && !token)
        rc = make_secret(auth->token, err);
    if (token)
        snprintf(auth->token, sizeof auth->token, "%s", token);
    return rc;
}

static bool equals(const char *secret, const char *given, size_t given_length)
{
    const size_t length = strlen(secret);
    unsigned char difference = length != given_length;
    for (size_t i = 0; i < length; i++)
        difference |= (unsigned char)(secret[i] ^ (i < given_length ? given[i] : 0));
    return difference == 0 && length > 0;
}

bool auth_secret_equals(const char *secret, const char *given)
{
    return equals(secret, given, strlen(given));
}

/* A browser may send several cookies of one name; one right one is enough. */
static bool has_cookie(const struct auth *auth, const char *header)
{
    const size_t name_length = strlen(auth->cookie_name);
    bool found = false;
    for (const char *at = header; *at;) {
        at += strspn(at, "; \t");
        const size_t length = strcspn(at, ";");
        if (length > name_length && at[name_length] == '=' &&
            memcmp(at, auth->cookie_name, name_length) == 0)
            found |= equals(auth->cookie, at + name_length + 1, length - name_length - 1);
        at += length;
    }
    return found;
}

static bool has_bearer(const struct auth *auth, const char *header)
{
    static const char scheme[] = "Bearer ";
    const size_t length = sizeof scheme - 1;
    return strncasecmp(header, scheme, length) == 0 &&
           auth_secret_equals(auth->token, header + length + strspn(header + length, " "));
}

enum scope auth_scope(const struct auth *auth, const struct request *request)
{
    if (!auth->required)
        return SCOPE_OPERATOR;
    for (size_t i = 0; i < request->header_count; i++) {
        const struct request_pair *const header = &request->headers[i];
        if (strcasecmp(header->name, "Authorization") == 0 && has_bearer(auth, header->value))
            return SCOPE_OPERATOR;
        if (strcasecmp(header->name, "Cookie") == 0 && has_cookie(auth, header->value))
            return SCOPE_OPERATOR;
    }
    return SCOPE_OPEN;
}

static bool token_is_right(struct auth *auth, const char *given)
{
    if (auth_secret_equals(auth->token, given))
        return true;
    return auth_secret_equals(auth->once, given) && !atomic_exchange(&auth->once_used, true);
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

/* The root with every parameter but the token. */
static void put_location(struct buffer *out, const struct request *request)
{
    char separator = '?';
    buffer_char(out, '/');
    for (size_t i = 0; i < request->query_count; i++) {
        const struct request_pair *const pair = &request->query[i];
        if (strcmp(pair->name, "token") == 0)
            continue;
        buffer_char(out, separator);
        put_escaped(out, pair->name);
        buffer_char(out, '=');
        put_escaped(out, pair->value);
        separator = '&';
    }
}

bool auth_login(struct auth *auth, const struct request *request, struct response *response)
{
    const char *const given = request_query(request, "token");
    if (!given || !request_is_safe(request) || strcmp(request->path, "/") != 0)
        return false;
    const bool is_right = token_is_right(auth, given);
    if (!is_right && auth_scope(auth, request) == SCOPE_OPEN)
        return false;
    struct buffer location = { 0 };
    put_location(&location, request);
    const char *const text = buffer_string(&location);
    response->status = 303;
    response_set_header(response, "Location", "%s", text ? text : "/");
    response_set_header(response, "Cache-Control", "no-store");
    if (is_right)
        response_set_header(response, "Set-Cookie", "%s=%s; HttpOnly; SameSite=Lax; Path=/",
                            auth->cookie_name, auth->cookie);
    buffer_deinit(&location);
    return true;
}

void auth_refuse(const struct request *request, struct response *response)
{
    const char *const accept = request_header(request, "Accept");
    const bool is_browser = accept && strstr(accept, "text/html") != NULL &&
                            strncmp(request->path, "/api/", 5) != 0;
    response_problem(response, 401,
                     "the token is missing or wrong; open the URL printed at "
                     "start, or send Authorization: Bearer TOKEN");
    if (is_browser) {
        response_fix_body(response, MIME_HTML, refusal_page, sizeof refusal_page - 1);
        response_set_header(response, "Content-Security-Policy", "%s", refusal_policy);
    }
    response_set_header(response, "WWW-Authenticate", "Bearer realm=\"pyrometer\"");
}

static bool is_own_origin(const struct request *request, const char *origin)
{
    const char *const host = request_header(request, "Host");
    const char *const rest = strstr(origin, "://");
    return host && rest && (rest - origin == 4 || rest - origin == 5) &&
           strncasecmp(origin, "https", (size_t)(rest - origin)) == 0 &&
           strcasecmp(rest + 3, host) == 0;
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
    const char *const mark = request_header(request, "X-Pyrometer");
    *fault_out = "";
    if (origin && !is_own_origin(request, origin)) {
        *fault_out = "the request comes from a page of another site";
        return 403;
    }
    if (!mark || strcmp(mark, "1") != 0) {
        *fault_out = "the header X-Pyrometer: 1 is missing";
        return 403;
    }
    if (request->body_bytes > 0 && !is_json(request_header(request, "Content-Type"))) {
        *fault_out = "the body must be " MIME_JSON;
        return 415;
    }
    return 0;
}
