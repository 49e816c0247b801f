#include "tests/unit/server/client.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <cmocka.h>
#include <zlib.h>
#include <zstd.h>

enum { MAX_REPLY = 1 << 22, TIMEOUT_S = 10 };

int client_connect(unsigned port)
{
    const struct sockaddr_in address = { .sin_family = AF_INET,
                                         .sin_port = htons((uint16_t)port),
                                         .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    const struct timeval timeout = { .tv_sec = TIMEOUT_S };
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(fd >= 0);
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof timeout);
    if (connect(fd, (const struct sockaddr *)&address, sizeof address) == 0)
        return fd;
    close(fd);
    return -1;
}

/* The server may have answered and closed already: then the rest does not matter. */
void client_send(int fd, const char *data, size_t bytes)
{
    while (bytes > 0) {
        const ssize_t sent = send(fd, data, bytes, MSG_NOSIGNAL);
        if (sent <= 0)
            return;
        data += sent;
        bytes -= (size_t)sent;
    }
}

static const char *end_of_head(const char *text, size_t length)
{
    const char *const end = memmem(text, length, "\r\n\r\n", 4);
    return end ? end + 4 : NULL;
}

static size_t announced(const char *head)
{
    const char *const line = strcasestr(head, "\r\nContent-Length:");
    return line ? strtoul(line + 17, NULL, 10) : 0;
}

/* True: a whole reply is there. */
static bool is_complete(char *text, size_t length, bool has_body)
{
    text[length] = '\0';
    const char *const body = end_of_head(text, length);
    return body && (!has_body || length - (size_t)(body - text) >= announced(text));
}

void client_read(int fd, bool has_body, struct reply *reply)
{
    char *const text = malloc(MAX_REPLY + 1);
    size_t length = 0;
    assert_non_null(text);
    memset(reply, 0, sizeof *reply);
    while (length < MAX_REPLY && !is_complete(text, length, has_body)) {
        const ssize_t bytes = recv(fd, text + length, MAX_REPLY - length, 0);
        if (bytes <= 0)
            break;
        length += (size_t)bytes;
    }
    const char *const body = end_of_head(text, length);
    reply->head = strndup(text, body ? (size_t)(body - text) : length);
    reply->length = body ? length - (size_t)(body - text) : 0;
    reply->body = calloc(1, reply->length + 1);
    assert_non_null(reply->body);
    if (reply->length > 0)
        memcpy(reply->body, body, reply->length);
    if (sscanf(text, "HTTP/1.%*d %d", &reply->status) != 1)
        reply->status = 0;
    free(text);
}

void client_request(unsigned port, const char *method, const char *target, const char *headers,
                    const char *body, struct reply *reply)
{
    char *text = NULL;
    char host[64] = "";
    char length[64] = "";
    const int fd = client_connect(port);
    assert_true(fd >= 0);
    if (!strcasestr(headers, "Host:"))
        snprintf(host, sizeof host, "Host: 127.0.0.1:%u\r\n", port);
    if (body && !strcasestr(headers, "Content-Length:"))
        snprintf(length, sizeof length, "Content-Length: %zu\r\n", strlen(body));
    const int bytes = asprintf(&text, "%s %s HTTP/1.1\r\n%s%s%sConnection: close\r\n\r\n%s",
                               method, target, host, length, headers, body ? body : "");
    assert_true(bytes > 0);
    client_send(fd, text, (size_t)bytes);
    client_read(fd, strcmp(method, "HEAD") != 0, reply);
    free(text);
    close(fd);
}

void reply_deinit(struct reply *reply)
{
    free(reply->head);
    free(reply->body);
    memset(reply, 0, sizeof *reply);
}

void reply_header(const struct reply *reply, const char *name, char *out, size_t bytes)
{
    char wanted[64];
    snprintf(wanted, sizeof wanted, "\r\n%s: ", name);
    const char *const line = strcasestr(reply->head, wanted);
    const char *const value = line ? line + strlen(wanted) : "\r";
    snprintf(out, bytes, "%.*s", (int)strcspn(value, "\r"), value);
}

static size_t gunzip(const char *data, size_t length, char *out)
{
    z_stream z;
    memset(&z, 0, sizeof z);
    assert_int_equal(inflateInit2(&z, 15 + 16), Z_OK);
    z.next_in = (unsigned char *)(uintptr_t)data;
    z.avail_in = (unsigned)length;
    z.next_out = (unsigned char *)out;
    z.avail_out = MAX_REPLY;
    assert_int_equal(inflate(&z, Z_FINISH), Z_STREAM_END);
    inflateEnd(&z);
    return z.total_out;
}

void reply_decode(struct reply *reply)
{
    char encoding[16];
    reply_header(reply, "Content-Encoding", encoding, sizeof encoding);
    if (!*encoding)
        return;
    char *const out = malloc(MAX_REPLY + 1);
    assert_non_null(out);
    const size_t length = strcmp(encoding, "zstd") == 0
                              ? ZSTD_decompress(out, MAX_REPLY, reply->body, reply->length)
                              : gunzip(reply->body, reply->length, out);
    assert_true(length <= MAX_REPLY);
    out[length] = '\0';
    free(reply->body);
    reply->body = out;
    reply->length = length;
}
