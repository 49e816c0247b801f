#include "server/http/response.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "sampler/base/buffer.h"
#include "sampler/base/compress.h"
#include "sampler/base/hash.h"
#include "server/http/encoding.h"
#include "server/http/etag.h"
#include "server/http/request.h"
#include "server/wire/json.h"

void response_init(struct response *response)
{
    memset(response, 0, sizeof *response);
    response->status = 200;
    response->file_fd = -1;
    response->mime = MIME_TEXT;
}

static void drop_body(struct response *response)
{
    if (response->owner)
        response->release(response->owner);
    if (response->file_fd >= 0)
        close(response->file_fd);
    response->file_fd = -1;
    response->owner = NULL;
    response->body = NULL;
    response->body_bytes = 0;
}

void response_deinit(struct response *response)
{
    drop_body(response);
    for (size_t i = 0; i < response->header_count; i++)
        free(response->headers[i].value);
    response->header_count = 0;
}

static struct response_header *find_header(struct response *response, const char *name)
{
    for (size_t i = 0; i < response->header_count; i++)
        if (strcasecmp(response->headers[i].name, name) == 0)
            return &response->headers[i];
    return NULL;
}

static void drop_header(struct response *response, const char *name)
{
    struct response_header *const found = find_header(response, name);
    if (!found)
        return;
    free(found->value);
    *found = response->headers[--response->header_count];
}

void response_set_header(struct response *response, const char *name, const char *format, ...)
{
    char *value = NULL;
    va_list args;
    va_start(args, format);
    const int length = vasprintf(&value, format, args);
    va_end(args);
    if (length < 0)
        return;
    struct response_header *header = find_header(response, name);
    if (!header && response->header_count < RESPONSE_MAX_HEADERS) {
        header = &response->headers[response->header_count++];
        header->value = NULL;
    }
    if (!header) {
        free(value);
        return;
    }
    for (char *c = value; *c; c++)
        if ((unsigned char)*c < 0x20 || *c == 0x7f)
            *c = '_';
    free(header->value);
    *header = (struct response_header){ name, value };
}

const char *response_header(const struct response *response, const char *name)
{
    for (size_t i = 0; i < response->header_count; i++)
        if (strcasecmp(response->headers[i].name, name) == 0)
            return response->headers[i].value;
    return NULL;
}

void response_fix_body(struct response *response, const char *mime, const void *data,
                       size_t bytes)
{
    drop_body(response);
    response->mime = mime;
    response->body = data;
    response->body_bytes = bytes;
}

void response_own_body(struct response *response, const char *mime, void *data, size_t bytes)
{
    response_hold_body(response, mime, data, bytes, data, free);
}

void response_hold_body(struct response *response, const char *mime, const void *data,
                        size_t bytes, void *owner, void (*release)(void *owner))
{
    response_fix_body(response, mime, data, bytes);
    response->owner = owner;
    response->release = release;
}

enum err_code response_fix_gzip(struct response *response, const struct request *request,
                                const char *mime, const void *data, size_t bytes,
                                struct gzip_body *kept, struct err *err)
{
    const bool takes_gzip = encoding_takes_gzip(request_header(request, "Accept-Encoding"));
    enum err_code rc = ERR_OK;
    pthread_mutex_lock(&kept->lock);
    if (!kept->tag[0])
        snprintf(kept->tag, sizeof kept->tag, "%016" PRIx64,
                 hash_bytes(data, bytes, HASH_SEED));
    if (!takes_gzip && !kept->plain)
        rc = compress_gunzip(data, bytes, &kept->plain, &kept->plain_bytes, err);
    pthread_mutex_unlock(&kept->lock);
    if (rc)
        return rc;
    /* One tag for both forms: response_full_tag adds the coding. */
    memcpy(response->tag, kept->tag, sizeof response->tag);
    if (takes_gzip) {
        response_fix_body(response, mime, data, bytes);
        response_set_header(response, "Content-Encoding", "%s", encoding_text(ENCODING_GZIP));
    } else {
        response_fix_body(response, mime, kept->plain, kept->plain_bytes);
    }
    response->is_encoded = true;
    return ERR_OK;
}

void response_own_file(struct response *response, const char *mime, int fd, size_t bytes)
{
    response_fix_body(response, mime, NULL, bytes);
    response->file_fd = fd;
    response->is_encoded = true;
}

enum err_code response_take_buffer(struct response *response, const char *mime,
                                   struct buffer *buffer, struct err *err)
{
    const enum err_code rc = buffer_check(buffer, err);
    if (rc)
        return rc;
    size_t bytes = 0;
    char *const data = buffer_take(buffer, &bytes);
    response_own_body(response, mime, data, bytes);
    return ERR_OK;
}

/* The tag as it travels.  It names the coding that was asked for, also when a short body is then
 * sent as it is: that follows from the content. */
void response_full_tag(const struct response *response, const struct request *request,
                       char out[RESPONSE_MAX_TAG + 16])
{
    const char *const accept = request_header(request, "Accept-Encoding");
    snprintf(out, RESPONSE_MAX_TAG + 16, "%s-%s", response->tag,
             encoding_text(encoding_choose(accept)));
}

bool response_is_fresh(const struct response *response, const struct request *request)
{
    const char *const known = request_header(request, "If-None-Match");
    char tag[RESPONSE_MAX_TAG + 16];
    response_full_tag(response, request, tag);
    return known && etag_matches(known, tag);
}

void response_finish(struct response *response, const struct request *request)
{
    if (!response_header(response, "Cache-Control"))
        response_set_header(response, "Cache-Control", "%s",
                            response->status == 200 ? "private, no-cache" : "no-store");
    if (response->status == 200 && request_is_safe(request)) {
        char tag[RESPONSE_MAX_TAG + 16];
        if (!response->tag[0])
            snprintf(response->tag, sizeof response->tag, "%016" PRIx64,
                     hash_bytes(response->body, response->body_bytes, HASH_SEED));
        response_full_tag(response, request, tag);
        response_set_header(response, "ETag", "\"%s\"", tag);
        if (response_is_fresh(response, request)) {
            response->status = 304;
            drop_body(response);
            drop_header(response, "Content-Encoding");
        }
    }
    const enum encoding encoding = encoding_choose(request_header(request, "Accept-Encoding"));
    void *data = NULL;
    size_t bytes = 0;
    /* No memory to compress is no reason to fail: the plain body is an answer too. */
    if (response->status != 304 && !response->is_encoded && encoding != ENCODING_IDENTITY &&
        response->body_bytes >= ENCODING_MIN_BYTES &&
        !encoding_apply(encoding, response->body, response->body_bytes, &data, &bytes, NULL)) {
        response_own_body(response, response->mime, data, bytes);
        response_set_header(response, "Content-Encoding", "%s", encoding_text(encoding));
    }
    if (!response_header(response, "Vary"))
        response_set_header(response, "Vary", "Accept-Encoding");
}

const char *response_status_text(int status)
{
    switch (status) {
    case 200: return "OK";
    case 201: return "Created";
    case 202: return "Accepted";
    case 204: return "No Content";
    case 303: return "See Other";
    case 304: return "Not Modified";
    case 400: return "Bad Request";
    case 401: return "Unauthorized";
    case 403: return "Forbidden";
    case 404: return "Not Found";
    case 405: return "Method Not Allowed";
    case 409: return "Conflict";
    case 410: return "Gone";
    case 413: return "Content Too Large";
    case 414: return "URI Too Long";
    case 415: return "Unsupported Media Type";
    case 421: return "Misdirected Request";
    case 422: return "Unprocessable Content";
    case 431: return "Request Header Fields Too Large";
    case 501: return "Not Implemented";
    case 503: return "Service Unavailable";
    case 507: return "Insufficient Storage";
    default: return "Internal Server Error";
    }
}

static void set_problem(struct response *response, int status, const char *detail)
{
    struct buffer out = { 0 };
    struct json json;
    json_init(&json, &out);

    json_object(&json);
    json_member_text(&json, "type", "about:blank");
    json_member_text(&json, "title", response_status_text(status));
    json_member_int(&json, "status", status);
    json_member_text(&json, "detail", detail);
    json_end(&json);

    response->status = status;
    response->tag[0] = '\0';
    response->is_encoded = false;
    drop_body(response);
    /* They were said of the body there was. */
    drop_header(response, "Content-Encoding");
    drop_header(response, "Content-Disposition");
    drop_header(response, "ETag");
    response->mime = MIME_PROBLEM;
    if (json_finish(&json, NULL) || response_take_buffer(response, MIME_PROBLEM, &out, NULL))
        response->status = 503;
    buffer_deinit(&out);
}

void response_problem(struct response *response, int status, const char *format, ...)
{
    char detail[512];
    va_list args;
    va_start(args, format);
    vsnprintf(detail, sizeof detail, format, args);
    va_end(args);
    set_problem(response, status, detail);
}

static int status_of(enum err_code code)
{
    switch (code) {
    case ERR_INVALID: return 400;
    case ERR_PERM: return 403;
    case ERR_NOT_FOUND: return 404;
    case ERR_GONE: return 410;
    case ERR_UNSUPPORTED: return 501;
    case ERR_NOMEM:
    case ERR_LIMIT: return 503;
    case ERR_OK:
    case ERR_SYS:
    case ERR_FAULT:
    case ERR_CORRUPT:
    case ERR_NOT_PYTHON: return 500;
    }
    return 500;
}

bool response_is_full(int sys)
{
    return sys == ENOSPC || sys == EDQUOT || sys == EFBIG;
}

void response_error(struct response *response, const struct err *err)
{
    const int status = response_is_full(err->sys)                   ? 507
                       : (err->sys == EMFILE || err->sys == ENFILE) ? 503
                                                                    : status_of(err->code);
    set_problem(response, status, err->message);
}
