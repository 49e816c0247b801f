#include "server/push/http_client.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "sampler/base/clock.h"
#include "server/push/ca_file.h"
#include "server/push/curl_library.h"

enum { POLL_MS = 1000 };

struct http_client {
    const struct curl_library *curl;
    CURLM *multi;
    CURL *easy;
    struct curl_slist *headers;
    atomic_bool is_stopped;
    char answer[HTTP_CLIENT_ANSWER_BYTES]; /* of the current request */
    size_t answer_bytes;
    char fault[CURL_ERROR_SIZE];
};

bool http_client_is_built(void)
{
    return true;
}

static size_t take_answer(char *data, size_t size, size_t count, void *context)
{
    struct http_client *const client = context;
    const size_t bytes = size * count;
    if (bytes > sizeof client->answer - client->answer_bytes)
        return 0;
    memcpy(client->answer + client->answer_bytes, data, bytes);
    client->answer_bytes += bytes;
    return bytes;
}

static bool set_options(struct http_client *client, const char *url)
{
    const struct curl_library *const curl = client->curl;
    CURL *const easy = client->easy;
    return curl->easy_setopt(easy, CURLOPT_URL, url) == CURLE_OK &&
           curl->easy_setopt(easy, CURLOPT_HTTPHEADER, client->headers) == CURLE_OK &&
           curl->easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https") == CURLE_OK &&
           curl->easy_setopt(easy, CURLOPT_FOLLOWLOCATION, 0L) == CURLE_OK &&
           curl->easy_setopt(easy, CURLOPT_NOSIGNAL, 1L) == CURLE_OK &&
           curl->easy_setopt(easy, CURLOPT_POST, 1L) == CURLE_OK &&
           curl->easy_setopt(easy, CURLOPT_HTTP09_ALLOWED, 0L) == CURLE_OK &&
           curl->easy_setopt(easy, CURLOPT_CONNECTTIMEOUT, (long)HTTP_CLIENT_CONNECT_SECONDS) ==
               CURLE_OK &&
           curl->easy_setopt(easy, CURLOPT_TIMEOUT, (long)HTTP_CLIENT_SECONDS) == CURLE_OK &&
           curl->easy_setopt(easy, CURLOPT_USERAGENT, "pyrometer/" PYROMETER_VERSION) ==
               CURLE_OK &&
           curl->easy_setopt(easy, CURLOPT_ERRORBUFFER, client->fault) == CURLE_OK &&
           curl->easy_setopt(easy, CURLOPT_WRITEFUNCTION, take_answer) == CURLE_OK &&
           curl->easy_setopt(easy, CURLOPT_WRITEDATA, client) == CURLE_OK;
}

enum err_code http_client_create(const char *url, const char *const *headers,
                                 const char *ca_file, struct http_client **out, struct err *err)
{
    const struct curl_library *curl;
    const enum err_code rc = curl_library_load(&curl, err);
    if (rc)
        return rc;
    ca_file = ca_file ? ca_file : ca_file_of_system();
    struct http_client *const client = calloc(1, sizeof *client);
    if (!client)
        return err_nomem(err);
    client->curl = curl;
    atomic_init(&client->is_stopped, false);
    client->multi = curl->multi_init();
    client->easy = curl->easy_init();
    bool is_made = client->multi && client->easy;
    for (size_t i = 0; is_made && headers[i]; i++) {
        struct curl_slist *const longer = curl->slist_append(client->headers, headers[i]);
        is_made = longer != NULL;
        client->headers = longer ? longer : client->headers;
    }
    if (!is_made || !set_options(client, url) ||
        (ca_file && curl->easy_setopt(client->easy, CURLOPT_CAINFO, ca_file) != CURLE_OK)) {
        http_client_destroy(client);
        return is_made ? err_set(err, ERR_INVALID, "libcurl does not accept '%.200s'", url)
                       : err_nomem(err);
    }
    *out = client;
    return ERR_OK;
}

void http_client_destroy(struct http_client *client)
{
    if (!client)
        return;
    const struct curl_library *const curl = client->curl;
    curl->easy_cleanup(client->easy);
    curl->multi_cleanup(client->multi);
    curl->slist_free_all(client->headers);
    free(client);
}

/* Until the request is done, or the client is stopped. */
static CURLcode run_request(struct http_client *client)
{
    const struct curl_library *const curl = client->curl;
    CURLcode code = CURLE_ABORTED_BY_CALLBACK;
    int running = 1, left = 0;
    if (curl->multi_add_handle(client->multi, client->easy) != CURLM_OK)
        return CURLE_FAILED_INIT;
    while (running > 0 && !atomic_load(&client->is_stopped)) {
        if (curl->multi_perform(client->multi, &running) != CURLM_OK)
            break;
        if (running > 0)
            (void)curl->multi_poll(client->multi, NULL, 0, POLL_MS, NULL);
    }
    for (CURLMsg *message; (message = curl->multi_info_read(client->multi, &left));)
        if (message->msg == CURLMSG_DONE)
            code = message->data.result;
    (void)curl->multi_remove_handle(client->multi, client->easy);
    return code;
}

enum err_code http_client_post(struct http_client *client, const void *body, size_t bytes,
                               struct http_answer *out, struct err *err)
{
    const struct curl_library *const curl = client->curl;
    long status = 0;
    curl_off_t seconds = 0;
    memset(out, 0, sizeof *out);
    client->answer_bytes = 0;
    client->fault[0] = '\0';
    if (curl->easy_setopt(client->easy, CURLOPT_POSTFIELDS, body) != CURLE_OK ||
        curl->easy_setopt(client->easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)bytes) !=
            CURLE_OK)
        return err_nomem(err);
    const CURLcode code = run_request(client);
    if (code == CURLE_ABORTED_BY_CALLBACK && atomic_load(&client->is_stopped))
        return err_set(err, ERR_SYS, "no answer before the end");
    /* Errors that the same request would have again: what is trusted does not change between two attempts. */
    const bool is_lasting =
        code == CURLE_PEER_FAILED_VERIFICATION || code == CURLE_SSL_CACERT_BADFILE ||
        code == CURLE_SSL_ISSUER_ERROR || code == CURLE_SSL_INVALIDCERTSTATUS;
    if (code != CURLE_OK)
        return err_set(err, is_lasting ? ERR_PERM : ERR_SYS, "%.200s",
                       client->fault[0] ? client->fault : curl->easy_strerror(code));
    curl->easy_getinfo(client->easy, CURLINFO_RESPONSE_CODE, &status);
    curl->easy_getinfo(client->easy, CURLINFO_RETRY_AFTER, &seconds);

    /* The point of a long answer often comes last, behind the labels of a profile. */
    static const char gap[] = " ... ";
    const size_t length = client->answer_bytes, begin = HTTP_CLIENT_TEXT_BYTES / 4;
    const size_t end = HTTP_CLIENT_TEXT_BYTES - begin - (sizeof gap - 1);
    if (length <= HTTP_CLIENT_TEXT_BYTES) {
        memcpy(out->text, client->answer, length);
        out->text[length] = '\0';
    } else {
        memcpy(out->text, client->answer, begin);
        memcpy(out->text + begin, gap, sizeof gap - 1);
        memcpy(out->text + HTTP_CLIENT_TEXT_BYTES - end, client->answer + length - end, end);
        out->text[HTTP_CLIENT_TEXT_BYTES] = '\0';
    }
    for (size_t i = 0; i < length && i < HTTP_CLIENT_TEXT_BYTES; i++)
        if (out->text[i] < ' ' || out->text[i] > '~')
            out->text[i] = ' ';

    out->status = (unsigned)status;
    out->retry_after_ns = seconds > 0 && seconds < 86400 ? (uint64_t)seconds * NS_PER_S : 0;
    return ERR_OK;
}

void http_client_stop(struct http_client *client)
{
    atomic_store(&client->is_stopped, true);
    (void)client->curl->multi_wakeup(client->multi);
}
