#define _GNU_SOURCE
#include "sampler/process/service.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sampler/base/scoped.h"
#include "sampler/base/utf8.h"

static const char name_variable[] = "OTEL_SERVICE_NAME=";
static const char attributes_variable[] = "OTEL_RESOURCE_ATTRIBUTES=";

static int digit_of(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c = (char)(c | 0x20);
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

void service_keep(const char *text, size_t length, char out[SERVICE_BYTES])
{
    size_t used = 0;
    for (size_t i = 0; i < length;) {
        const size_t n = utf8_char_length(text + i, length - i);
        const bool is_kept = n > 1 || (n == 1 && text[i] >= ' ' && text[i] != 0x7f);
        if (used + n >= SERVICE_BYTES)
            break;
        if (is_kept) {
            memcpy(out + used, text + i, n);
            used += n;
        }
        i += n > 0 ? n : 1;
    }
    out[used] = '\0';
}

static size_t trim_value(const char **text, size_t length)
{
    while (length > 0 && (**text == ' ' || **text == '\t')) {
        (*text)++;
        length--;
    }
    while (length > 0 && ((*text)[length - 1] == ' ' || (*text)[length - 1] == '\t'))
        length--;
    return length;
}

/* "key=value" */
static void read_attribute(const char *pair, size_t length, struct service *out)
{
    const struct {
        const char *key;
        char *value;
    } wanted[] = { { "service.name", out->name },
                   { "service.namespace", out->namespace },
                   { "service.version", out->version } };
    char text[3 * SERVICE_BYTES];
    const char *const equals = memchr(pair, '=', length);
    if (!equals)
        return;
    const char *key = pair, *value = equals + 1;
    const size_t key_length = trim_value(&key, (size_t)(equals - pair));
    size_t value_length = trim_value(&value, length - (size_t)(value - pair));
    if (value_length > sizeof text)
        value_length = sizeof text;
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
        if (strlen(wanted[i].key) != key_length || memcmp(wanted[i].key, key, key_length) != 0)
            continue;
        memcpy(text, value, value_length);

        size_t used = 0;
        for (size_t j = 0; j < value_length; j++) {
            const bool has_digits = text[j] == '%' && j + 2 < value_length;
            const int high = has_digits ? digit_of(text[j + 1]) : -1;
            const int low = has_digits ? digit_of(text[j + 2]) : -1;
            if (high >= 0 && low >= 0) {
                text[used++] = (char)(high * 16 + low);
                j += 2;
            } else {
                text[used++] = text[j];
            }
        }
        service_keep(text, used, wanted[i].value);
    }
}

static bool begins_with(const char *text, size_t length, const char *with)
{
    return length >= strlen(with) && memcmp(text, with, strlen(with)) == 0;
}

void service_parse(const char *environment, size_t bytes, struct service *out)
{
    char name[SERVICE_BYTES] = "";
    memset(out, 0, sizeof *out);
    while (bytes > 0) {
        const char *const end = memchr(environment, '\0', bytes);
        const size_t length = end ? (size_t)(end - environment) : bytes;
        if (begins_with(environment, length, name_variable))
            service_keep(environment + sizeof name_variable - 1,
                         length - (sizeof name_variable - 1), name);
        else if (begins_with(environment, length, attributes_variable))
            for (const char *at = environment + sizeof attributes_variable - 1,
                            *const past = environment + length;
                 at < past;) {
                const char *const comma = memchr(at, ',', (size_t)(past - at));
                read_attribute(at, (size_t)((comma ? comma : past) - at), out);
                at = comma ? comma + 1 : past;
            }
        environment += length + (end ? 1 : 0);
        bytes -= length + (end ? 1 : 0);
    }
    if (*name)
        memcpy(out->name, name, sizeof out->name);
}

void service_of(int pid, struct service *out)
{
    char path[64];
    size_t bytes = 0;
    ssize_t got = 0;
    snprintf(path, sizeof path, "/proc/%d/environ", pid);
    memset(out, 0, sizeof *out);
    SCOPED_FD int fd = open(path, O_RDONLY | O_CLOEXEC);
    char *const text = fd >= 0 ? malloc(SERVICE_MAX_ENVIRONMENT_BYTES) : NULL;
    if (!text)
        return;
    while (bytes < SERVICE_MAX_ENVIRONMENT_BYTES &&
           (got = read(fd, text + bytes, SERVICE_MAX_ENVIRONMENT_BYTES - bytes)) > 0)
        bytes += (size_t)got;
    service_parse(text, bytes, out);
    explicit_bzero(text, bytes);
    free(text);
}
