#include "server/push/sender.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "sampler/base/buffer.h"
#include "sampler/base/clock.h"
#include "sampler/base/random.h"
#include "sampler/base/thread.h"
#include "server/push/http_client.h"
#include "server/push/queue.h"
#include "server/push/settings.h"
#include "server/wire/push_counters.h"

enum { URL_BYTES = PUSH_MAX_URL + 64, WHY_BYTES = HTTP_CLIENT_TEXT_BYTES + 16, NICENESS = 10 };

static const uint64_t FIRST_PAUSE_NS = NS_PER_S, HURRIES_AGAIN_NS = 50 * NS_PER_MS;

/* TOO_MUCH: some of the request may have been taken.  ERROR: it may be the request's, or the receiver's for a while. */
enum outcome { SENT, AGAIN, TOO_MUCH, ERROR, REFUSED };

struct sender {
    const struct push_protocol *protocol;
    char url[URL_BYTES];  /* as the user writes it */
    char http[URL_BYTES]; /* where requests go */
    struct push_endpoint_counters *counters;
    push_say *say;
    void *say_context;
    struct http_client *client;
    struct queue *queue;
    struct random random;
    uint64_t error_ns;
    uint64_t dividing_until_ns;
    pthread_t thread;
    bool is_started;
    pthread_mutex_t mutex;
    pthread_cond_t stopped, ended;
    /* Guarded by the mutex: */
    uint64_t end_ns; /* when nothing is sent again; UINT64_MAX: not yet */
    bool has_ended;
    uint64_t lost_in_queue;       /* of what counts as lost */
    bool is_failing, has_refused; /* what was said last */
};

static bool is_header(const char *line)
{
    static const char token[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                "0123456789!#$%&'*+-.^_`|~";
    const size_t name = strspn(line, token);
    if (name == 0 || line[name] != ':')
        return false;
    for (const char *at = line + name; *at; at++)
        if ((unsigned char)*at < ' ' && *at != '\t')
            return false;
    return true;
}

/* Lines become strings within `text`.  Empty lines and those that begin with '#' are left out. */
static enum err_code split_headers(char *text, const char **headers, size_t *count,
                                   struct err *err)
{
    char *rest = NULL;
    for (char *line = strtok_r(text, "\r\n", &rest); line;
         line = strtok_r(NULL, "\r\n", &rest)) {
        if (*line == '#' || line[strspn(line, " \t")] == '\0')
            continue;
        if (!is_header(line))
            return err_set(err, ERR_INVALID, "a line of --push-headers is not 'Name: value'");
        if (*count == SENDER_MAX_HEADERS)
            return err_set(err, ERR_INVALID, "--push-headers has more than %d headers",
                           SENDER_MAX_HEADERS);
        headers[(*count)++] = line;
    }
    return ERR_OK;
}

static enum err_code make_client(struct sender *sender, const char *own_headers,
                                 const char *ca_file, struct err *err)
{
    const char *headers[SENDER_MAX_HEADERS + 4] = { NULL };
    char type[96];
    size_t count = 0;
    char *const text = strdup(own_headers ? own_headers : "");
    if (!text)
        return err_nomem(err);
    snprintf(type, sizeof type, "Content-Type: %s", sender->protocol->content_type);
    enum err_code rc = split_headers(text, headers, &count, err);
    headers[count++] = type;
    headers[count++] = "Expect:"; /* without a wait for the receiver before the body */
    if (sender->protocol->is_gzip)
        headers[count++] = "Content-Encoding: gzip";
    if (!rc)
        rc = http_client_create(sender->http, headers, ca_file, &sender->client, err);
    explicit_bzero(text, strlen(text));
    free(text);
    return rc;
}

enum err_code sender_create(const struct sender_settings *settings, struct sender **out,
                            struct err *err)
{
    pthread_condattr_t monotonic;
    struct sender *const sender = calloc(1, sizeof *sender);
    if (!sender)
        return err_nomem(err);
    sender->protocol = settings->endpoint->protocol;
    sender->counters = settings->counters;
    sender->say = settings->say;
    sender->say_context = settings->say_context;
    sender->error_ns = settings->error_ns ? settings->error_ns : SENDER_MAX_ERROR_NS;
    sender->end_ns = UINT64_MAX;

    /* The port is the usual one of the protocol, unless there is TLS. */
    const struct push_endpoint_setting *const endpoint = settings->endpoint;
    const struct push_protocol *const protocol = sender->protocol;
    const char *const rest = endpoint->rest;
    const int host = (int)strcspn(rest, "/");
    const char *const bracket = memchr(rest, ']', (size_t)host);
    const char *const colon = bracket ? memchr(bracket, ':', (size_t)(rest + host - bracket))
                                      : memchr(rest, ':', (size_t)host);
    const size_t path = strlen(rest + host);
    const int kept = (int)(path > 0 && rest[(size_t)host + path - 1] == '/' ? path - 1 : path);
    char port[8] = "";
    if (!colon && !endpoint->is_tls)
        snprintf(port, sizeof port, ":%u", protocol->port);
    snprintf(sender->url, sizeof sender->url, "%s%s://%s", protocol->scheme,
             endpoint->is_tls ? "+https" : "", rest);
    snprintf(sender->http, sizeof sender->http, "%s://%.*s%s%.*s%s",
             endpoint->is_tls ? "https" : "http", host, rest, port, kept, rest + host,
             protocol->path);

    random_init_any(&sender->random);
    pthread_mutex_init(&sender->mutex, NULL);
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&sender->stopped, &monotonic);
    pthread_cond_init(&sender->ended, &monotonic);
    pthread_condattr_destroy(&monotonic);
    enum err_code rc = make_client(sender, settings->headers, settings->endpoint->ca_file, err);
    if (!rc)
        rc = queue_create(settings->spool_bytes, &sender->queue, err);
    if (!rc) {
        sender->counters->endpoint = sender->url;
        *out = sender;
    } else {
        sender_destroy(sender);
    }
    return rc;
}

void sender_destroy(struct sender *sender)
{
    if (!sender)
        return;
    http_client_destroy(sender->client);
    queue_destroy(sender->queue);
    pthread_cond_destroy(&sender->stopped);
    pthread_cond_destroy(&sender->ended);
    pthread_mutex_destroy(&sender->mutex);
    free(sender);
}

const struct push_protocol *sender_protocol(const struct sender *sender)
{
    return sender->protocol;
}

const char *sender_url(const struct sender *sender)
{
    return sender->url;
}

static void PRINTF_LIKE(2, 3) report(struct sender *sender, const char *format, ...)
{
    char text[URL_BYTES + WHY_BYTES + 64];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    if (sender->say)
        sender->say(sender->say_context, text);
}

static enum outcome judge(unsigned status)
{
    if (status >= 200 && status < 300)
        return SENT;
    if (status == 429)
        return TOO_MUCH;
    if (status >= 502 && status <= 504)
        return AGAIN;
    return status >= 500 ? ERROR : REFUSED;
}

static bool has_time(struct sender *sender)
{
    pthread_mutex_lock(&sender->mutex);
    const bool goes_on = clock_now_ns() < sender->end_ns;
    pthread_mutex_unlock(&sender->mutex);
    return goes_on;
}

/* false: it is time to end. */
static bool rest_for(struct sender *sender, uint64_t ns)
{
    const uint64_t wake_ns = clock_now_ns() + ns;
    pthread_mutex_lock(&sender->mutex);
    for (int rc = 0; rc == 0 && clock_now_ns() < wake_ns && clock_now_ns() < sender->end_ns;) {
        const struct timespec until =
            clock_timespec(wake_ns < sender->end_ns ? wake_ns : sender->end_ns);
        rc = pthread_cond_timedwait(&sender->stopped, &sender->mutex, &until);
    }
    pthread_mutex_unlock(&sender->mutex);
    return has_time(sender);
}

/* Updates the counters; the thread and those that add requests call it. */
static void count_queue(struct sender *sender)
{
    struct queue_counts counts;
    pthread_mutex_lock(&sender->mutex);
    queue_count(sender->queue, &counts);
    const uint64_t lost = counts.lost - sender->lost_in_queue;
    const bool is_first = lost > 0 && sender->lost_in_queue == 0;
    sender->lost_in_queue = counts.lost;
    atomic_fetch_add(&sender->counters->lost, lost);
    atomic_store(&sender->counters->waiting, counts.bodies);
    atomic_store(&sender->counters->memory_bytes, counts.bytes - counts.file_bytes);
    atomic_store(&sender->counters->file_bytes, counts.file_bytes);
    pthread_mutex_unlock(&sender->mutex);
    if (is_first && counts.sys)
        report(sender, "the spool of %s cannot be written, so profiles are lost: %s",
               sender->url, strerror(counts.sys));
    else if (is_first)
        report(sender, "the queue of %s is full: its oldest profiles are lost", sender->url);
}

/* Returns what it was before. */
static bool change_flag(struct sender *sender, bool *flag, bool value)
{
    pthread_mutex_lock(&sender->mutex);
    const bool before = *flag;
    *flag = value;
    pthread_mutex_unlock(&sender->mutex);
    return before;
}

/* Says the first of several. */
static void note_refused(struct sender *sender, const char *why)
{
    atomic_fetch_add(&sender->counters->refused, 1);
    if (!change_flag(sender, &sender->has_refused, true))
        report(sender, "%s refuses a profile: %s", sender->url, why);
}

/* Sends a body until it is taken or refused, or lost at that time (clock_now_ns).  TOO_MUCH: divide it, if that is
 * possible. */
static enum outcome deliver_body(struct sender *sender, const struct buffer *body,
                                 bool can_divide, uint64_t until_ns)
{
    const uint64_t began_ns = clock_now_ns();
    for (unsigned attempts = 0;; attempts++) {
        char why[WHY_BYTES];
        uint64_t retry_after_ns = 0;
        struct http_answer answer;
        struct err err = { 0 };
        enum outcome outcome;
        const enum err_code rc =
            http_client_post(sender->client, body->data, body->length, &answer, &err);
        if (rc) {
            snprintf(why, WHY_BYTES, "%s", err.message);
            outcome = rc == ERR_PERM ? REFUSED : AGAIN;
        } else {
            retry_after_ns = answer.retry_after_ns < SENDER_MAX_RETRY_AFTER_NS
                                 ? answer.retry_after_ns
                                 : SENDER_MAX_RETRY_AFTER_NS;
            snprintf(why, WHY_BYTES, "%u %s", answer.status, answer.text);
            outcome = judge(answer.status);
        }
        if (outcome == SENT) {
            const size_t bytes = body->length;
            atomic_fetch_add(&sender->counters->sent, 1);
            atomic_fetch_add(&sender->counters->sent_bytes, bytes);
            (void)change_flag(sender, &sender->has_refused, false);
            if (change_flag(sender, &sender->is_failing, false))
                report(sender, "%s takes profiles again", sender->url);
            return SENT;
        }
        if (outcome == ERROR && clock_now_ns() - began_ns > sender->error_ns)
            outcome = REFUSED;
        if (outcome == REFUSED) {
            note_refused(sender, why);
            return REFUSED;
        }

        /* Twice as long each time, with a random part so that many hosts do not come at once. */
        const unsigned doublings = attempts < 6 ? attempts : 6;
        uint64_t ns = FIRST_PAUSE_NS << doublings;
        ns = ns < SENDER_MAX_PAUSE_NS ? ns : SENDER_MAX_PAUSE_NS;
        ns = ns / 2 + random_below(&sender->random, ns / 2 + 1);
        const uint64_t pause_ns = ns > retry_after_ns ? ns : retry_after_ns;

        const bool goes_on = clock_now_ns() + pause_ns <= until_ns && has_time(sender);
        if (!change_flag(sender, &sender->is_failing, true))
            report(sender, "%s does not take profiles%s: %s", sender->url,
                   goes_on ? ", trying again" : "", why);
        if (!goes_on || !rest_for(sender, pause_ns)) {
            atomic_fetch_add(&sender->counters->lost, 1);
            return AGAIN;
        }
        atomic_fetch_add(&sender->counters->retries, 1);
        if (outcome == TOO_MUCH)
            sender->dividing_until_ns = clock_now_ns() + SENDER_DIVIDING_NS;
        if (outcome == TOO_MUCH && can_divide)
            return TOO_MUCH;
    }
}

/* The receiver of the parts that push_divide makes. */
struct parts {
    struct sender *sender;
    uint64_t until_ns;
    bool is_sent; /* all of them */
};

static enum err_code deliver_part(void *to, const struct buffer *body, struct err *err)
{
    struct parts *const parts = to;
    (void)err;
    if (deliver_body(parts->sender, body, false, parts->until_ns) != SENT)
        parts->is_sent = false;
    return ERR_OK;
}

/* Sends the parts of a request one after the other.  false: not all of it was taken. */
static bool send_body(struct sender *sender, const struct buffer *body, uint64_t until_ns)
{
    const bool can_divide = sender->protocol->is_divisible;
    struct parts parts = { sender, until_ns, true };
    if (!can_divide || clock_now_ns() >= sender->dividing_until_ns) {
        const enum outcome outcome = deliver_body(sender, body, can_divide, until_ns);
        if (outcome != TOO_MUCH)
            return outcome == SENT;
    }
    if (!push_divide(sender->protocol, body, deliver_part, &parts, NULL))
        return parts.is_sent;
    atomic_fetch_add(&sender->counters->lost, 1);
    return false;
}

static void *run_sender(void *context)
{
    struct sender *const sender = context;
    struct buffer body = { 0 };
    (void)setpriority(PRIO_PROCESS, 0, NICENESS);
    while ((body.data = queue_take(sender->queue, UINT64_MAX / 2, &body.length))) {
        count_queue(sender);
        (void)send_body(sender, &body, UINT64_MAX);
        free(body.data);
        queue_done(sender->queue);
        count_queue(sender);
    }
    pthread_mutex_lock(&sender->mutex);
    sender->has_ended = true;
    pthread_cond_signal(&sender->ended);
    pthread_mutex_unlock(&sender->mutex);
    return NULL;
}

enum err_code sender_start(struct sender *sender, struct err *err)
{
    const int sys = thread_start(&sender->thread, run_sender, sender);
    if (sys)
        return err_sys(err, sys, "cannot start a thread");
    sender->is_started = true;
    return ERR_OK;
}

enum err_code sender_add(void *to, const struct buffer *body, struct err *err)
{
    struct sender *const sender = to;
    (void)err;
    if (body->length > PUSH_BODY_BYTES) {
        note_refused(sender, "it is larger than 4 MiB");
        return ERR_OK;
    }
    (void)queue_add(sender->queue, body->data, body->length);
    count_queue(sender);
    return ERR_OK;
}

/* Once the time is over, each body that is left fails at once. */
void sender_finish(struct sender *sender, uint64_t until_ns, bool (*hurries)(void))
{
    if (!sender->is_started)
        return;
    pthread_mutex_lock(&sender->mutex);
    sender->end_ns = until_ns;
    pthread_cond_signal(&sender->stopped);
    pthread_mutex_unlock(&sender->mutex);
    queue_close(sender->queue);
    pthread_mutex_lock(&sender->mutex);
    while (!sender->has_ended && clock_now_ns() < sender->end_ns && !hurries()) {
        const uint64_t again_ns = clock_now_ns() + HURRIES_AGAIN_NS;
        const struct timespec until =
            clock_timespec(again_ns < sender->end_ns ? again_ns : sender->end_ns);
        (void)pthread_cond_timedwait(&sender->ended, &sender->mutex, &until);
    }
    sender->end_ns = 0;
    pthread_cond_signal(&sender->stopped);
    pthread_mutex_unlock(&sender->mutex);
    http_client_stop(sender->client);
    pthread_join(sender->thread, NULL);
    sender->is_started = false;
}

enum err_code sender_send_now(void *to, const struct buffer *body, struct err *err)
{
    struct sender *const sender = to;
    if (body->length > PUSH_BODY_BYTES)
        return err_set(err, ERR_LIMIT, "a profile is larger than 4 MiB");
    if (send_body(sender, body, clock_now_ns() + SENDER_NOW_NS))
        return ERR_OK;
    return err_set(err, ERR_SYS, "%.200s did not take all of it", sender->url);
}
