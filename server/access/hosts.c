#include "server/access/hosts.h"

#include <arpa/inet.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "server/http/request.h"

enum { HOST_NAME_BYTES = 256 };

enum err_code hosts_init(struct hosts *hosts, struct err *err)
{
    char own[HOST_NAME_BYTES] = "";
    memset(hosts, 0, sizeof *hosts);
    const enum err_code rc = hosts_allow(hosts, "localhost", err);
    if (rc || gethostname(own, sizeof own - 1) != 0 || !*own)
        return rc;
    return hosts_allow(hosts, own, err);
}

void hosts_deinit(struct hosts *hosts)
{
    for (size_t i = 0; i < hosts->count; i++)
        free(hosts->names[i]);
    hosts->count = 0;
}

enum err_code hosts_allow(struct hosts *hosts, const char *name, struct err *err)
{
    if (hosts->count == HOSTS_MAX_NAMES)
        return err_set(err, ERR_LIMIT, "too many host names: at most %d", HOSTS_MAX_NAMES);
    char *const copy = strdup(name);
    if (!copy)
        return err_nomem(err);
    hosts->names[hosts->count++] = copy;
    return ERR_OK;
}

static bool is_port(const char *text)
{
    const size_t digits = strspn(text, "0123456789");
    return text[digits] == '\0' && digits <= 5;
}

static bool is_listed(const struct hosts *hosts, const char *name)
{
    for (size_t i = 0; i < hosts->count; i++)
        if (strcasecmp(hosts->names[i], name) == 0)
            return true;
    return false;
}

int hosts_check(const struct hosts *hosts, const struct request *request)
{
    const char *const value = request_header(request, "Host");
    if (!value || request_count_headers(request, "Host") != 1)
        return 400;
    char host[HOSTS_MAX_LENGTH + 1];
    const size_t length = strlen(value);
    if (length >= sizeof host)
        return 400;
    memcpy(host, value, length + 1);
    char *name = NULL;

    /* Splits "name:port" or "[address]:port" and leaves the bare name. */
    char *end = host + strcspn(host, ":");
    name = host;
    if (*host == '[') {
        name = host + 1;
        end = strchr(host, ']');
        if (!end)
            return 400;
        *end++ = '\0';
    }
    if (*end == ':' && !is_port(end + 1))
        return 400;
    if (*end != ':' && *end != '\0')
        return 400;
    *end = '\0';
    if (*name == '\0')
        return 400;

    struct in6_addr address;
    if (*value == '[')
        return inet_pton(AF_INET6, name, &address) == 1 ? 0 : 400;
    return inet_pton(AF_INET, name, &address) == 1 || is_listed(hosts, name) ? 0 : 421;
}
