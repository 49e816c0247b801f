#include "server/http/request.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

static const char *const method_texts[] = {
#define X(name) #name,
    REQUEST_METHODS(X)
#undef X
};

const char *method_text(enum method method)
{
    return method_texts[method];
}

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c = (char)(c | 0x20);
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Decodes in place: the result is never longer. */
static bool decode_text(char *text, bool plus_is_space)
{
    char *out = text;
    for (const char *in = text; *in; in++) {
        if (*in == '%') {
            const int high = hex_digit(in[1]);
            const int low = high < 0 ? -1 : hex_digit(in[2]);
            /* %00 would cut the text short. */
            if (low < 0 || (high == 0 && low == 0))
                return false;
            *out++ = (char)(high * 16 + low);
            in += 2;
        } else {
            *out++ = *in == '+' && plus_is_space ? ' ' : *in;
        }
    }
    *out = '\0';
    return true;
}

static bool parse_target(struct request *request)
{
    char *const question = strchr(request->target, '?');
    if (request->target[0] != '/')
        return false;
    if (question)
        *question = '\0';

    if (!decode_text(request->target, false))
        return false;

    char *query = question ? question + 1 : NULL;
    while (query) {
        char *const pair = strsep(&query, "&");
        if (!*pair)
            continue;
        if (request->query_count == REQUEST_MAX_QUERY)
            return false;
        char *const equals = strchr(pair, '=');
        char *const value = equals ? equals + 1 : pair + strlen(pair);
        if (equals)
            *equals = '\0';
        request->query[request->query_count++] = (struct request_pair){ pair, value };
        if (!decode_text(pair, true) || !decode_text(value, true))
            return false;
    }
    return true;
}

void request_init(struct request *request, const char *method, const char *target)
{
    memset(request, 0, sizeof *request);
    unsigned known = METHOD_GET;
    while (known < METHOD_OTHER && strcmp(method, method_texts[known]) != 0)
        known++;
    request->method = (enum method)known;
    request->path = "/";
    request->body_fd = -1;
    if (strlen(target) > REQUEST_MAX_TARGET) {
        request->refusal = 414;
        return;
    }
    request->target = strdup(target);
    if (!request->target)
        request->refusal = 503;
    else if (!parse_target(request))
        request->refusal = 400;
    else
        request->path = request->target;
}

void request_deinit(struct request *request)
{
    free(request->target);
    request->target = NULL;
}

void request_add_header(struct request *request, const char *name, const char *value)
{
    if (request->header_count < REQUEST_MAX_HEADERS)
        request->headers[request->header_count++] = (struct request_pair){ name, value };
    else if (!request->refusal)
        request->refusal = 431;
}

const char *request_header(const struct request *request, const char *name)
{
    for (size_t i = 0; i < request->header_count; i++)
        if (strcasecmp(request->headers[i].name, name) == 0)
            return request->headers[i].value;
    return NULL;
}

size_t request_count_headers(const struct request *request, const char *name)
{
    size_t count = 0;
    for (size_t i = 0; i < request->header_count; i++)
        count += strcasecmp(request->headers[i].name, name) == 0;
    return count;
}

const char *request_query(const struct request *request, const char *name)
{
    for (size_t i = 0; i < request->query_count; i++)
        if (strcmp(request->query[i].name, name) == 0)
            return request->query[i].value;
    return NULL;
}

bool request_is_safe(const struct request *request)
{
    return request->method == METHOD_GET || request->method == METHOD_HEAD;
}
