#include "server/push/setting_readers.h"

#include <string.h>

#include "sampler/base/clock.h"
#include "sampler/base/enum_text.h"
#include "server/push/labels.h"
#include "server/push/protocol.h"
#include "server/push/settings.h"
#include "server/settings/setting.h"

#define TLS_SUFFIX "+https"

static const uint64_t MIN_BATCH_NS = NS_PER_S, MAX_BATCH_NS = 600 * NS_PER_S;

const char *const push_sample_labels_texts[] = { PUSH_SAMPLE_LABELS(ENUM_TEXT) NULL };

static enum err_code wants_endpoint(struct err *why)
{
    return err_set(
        why, ERR_INVALID,
        "want pyroscope://HOST:PORT, otlp://HOST:PORT or parca://HOST:PORT; with TLS "
        "pyroscope+https://HOST");
}

enum err_code push_read_endpoint(const struct setting *setting, void *out, const char *text,
                                 struct err *why)
{
    static const char unreserved[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                     "0123456789-._~:/[]%";
    struct push_settings *const settings = out;
    struct push_endpoint_setting endpoint = { .headers_file = NULL };
    const char *const rest = strstr(text, "://");
    (void)setting;

    if (!rest || strlen(text) > PUSH_MAX_URL)
        return wants_endpoint(why);
    const size_t length = (size_t)(rest - text);
    const size_t suffix = sizeof TLS_SUFFIX - 1;
    endpoint.is_tls =
        length > suffix && strncmp(text + length - suffix, TLS_SUFFIX, suffix) == 0;
    endpoint.protocol = push_protocol_find(text, length - (endpoint.is_tls ? suffix : 0));
    if (endpoint.protocol == NULL)
        return wants_endpoint(why);

    endpoint.rest = rest + 3;
    if (strchr(endpoint.rest, '@'))
        return err_set(why, ERR_INVALID,
                       "others can read a password on a command line: put it into the file of "
                       "--push-headers");
    if (strcspn(endpoint.rest, "/:") == 0 ||
        strspn(endpoint.rest, unreserved) != strlen(endpoint.rest))
        return wants_endpoint(why);
    if (settings->endpoint_count == PUSH_MAX_ENDPOINTS)
        return err_set(why, ERR_INVALID, "at most %d endpoints are allowed",
                       PUSH_MAX_ENDPOINTS);
    settings->endpoints[settings->endpoint_count++] = endpoint;
    return ERR_OK;
}

/* NULL: there is none. */
static struct push_endpoint_setting *newest_endpoint(struct push_settings *settings,
                                                     struct err *why)
{
    if (settings->endpoint_count > 0)
        return &settings->endpoints[settings->endpoint_count - 1];
    (void)err_set(why, ERR_INVALID, "name the URL before it");
    return NULL;
}

enum err_code push_read_headers_file(const struct setting *setting, void *out, const char *text,
                                     struct err *why)
{
    struct push_settings *const settings = out;
    (void)setting;
    struct push_endpoint_setting *const endpoint = newest_endpoint(settings, why);
    if (!endpoint)
        return ERR_INVALID;
    if (endpoint->headers_file)
        return err_set(why, ERR_INVALID, "this endpoint has a file of headers already");
    endpoint->headers_file = text;
    return ERR_OK;
}

enum err_code push_read_ca_file(const struct setting *setting, void *out, const char *text,
                                struct err *why)
{
    struct push_endpoint_setting *const endpoint = newest_endpoint(out, why);
    (void)setting;
    if (!endpoint)
        return ERR_INVALID;
    if (!endpoint->is_tls)
        return err_set(why, ERR_INVALID, "the URL before it has no TLS: it needs +https");
    endpoint->ca_file = text;
    return ERR_OK;
}

enum err_code push_read_label(const struct setting *setting, void *out, const char *text,
                              struct err *why)
{
    static const char first[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_";
    static const char others[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_.0123456789";
    struct push_settings *const settings = out;
    const size_t length = strcspn(text, "=");
    (void)setting;
    if (text[length] != '=' || strspn(text, first) == 0 || strspn(text, others) != length ||
        strncmp(text, "__", 2) == 0)
        return err_set(why, ERR_INVALID, "want NAME=VALUE; a name has A-Z a-z 0-9 _ .");
    if (length > PUSH_MAX_LABEL_NAME || strlen(text + length + 1) > PUSH_MAX_LABEL_VALUE)
        return err_set(why, ERR_INVALID, "names have at most %d bytes and values %d",
                       PUSH_MAX_LABEL_NAME, PUSH_MAX_LABEL_VALUE);
    if (settings->label_count == PUSH_MAX_OWN_LABELS)
        return err_set(why, ERR_INVALID, "at most %d labels are allowed", PUSH_MAX_OWN_LABELS);
    settings->labels[settings->label_count++] = (struct push_own_label){
        .name = text, .value = text + length + 1, .name_length = length
    };
    return ERR_OK;
}

enum err_code push_read_batch(const struct setting *setting, void *out, const char *text,
                              struct err *why)
{
    struct push_settings *const settings = out;
    double ns = 0;
    (void)setting;
    if (!setting_number(SETTING_DURATION, text, &ns) || ns < (double)MIN_BATCH_NS ||
        ns > (double)MAX_BATCH_NS)
        return err_set(why, ERR_INVALID, "want 1s to 10m");
    settings->batch_ns = (uint64_t)ns;
    return ERR_OK;
}
