/* Stand-ins of a build without libcurl. */
#include "server/push/http_client.h"

bool http_client_is_built(void)
{
    return false;
}

enum err_code http_client_create(const char *url, const char *const *headers,
                                 const char *ca_file, struct http_client **out, struct err *err)
{
    (void)ca_file;
    (void)url;
    (void)headers;
    (void)out;
    return err_set(
        err, ERR_UNSUPPORTED,
        "this build cannot push profiles: it was built without libcurl 7.85 or later");
}

void http_client_destroy(struct http_client *client)
{
    (void)client;
}

enum err_code http_client_post(struct http_client *client, const void *body, size_t bytes,
                               struct http_answer *out, struct err *err)
{
    (void)client;
    (void)body;
    (void)bytes;
    (void)out;
    return err_set(err, ERR_UNSUPPORTED, "this build has no HTTP client");
}

void http_client_stop(struct http_client *client)
{
    (void)client;
}
