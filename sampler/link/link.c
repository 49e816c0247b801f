#define _GNU_SOURCE
#include "sampler/link/link.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sampler/base/clock.h"
#include "sampler/base/fd_message.h"
#include "sampler/base/pulse.h"
#include "sampler/base/scoped.h"
#include "sampler/capture/bytes.h"
#include "sampler/link/link_sampler.h"
#include "sampler/link/request.h"
#include "sampler/processes.h"
#include "sampler/reader_link.h"
#include "sampler/sampler_ops.h"

/* How often it is checked whether the caller has cancelled, and whether requests are taken. */
enum { POLL_MS = 50, PING_MS = 1000, USAGE_MS = 200 };
/* Until the sampling process has read requests before this one. */
enum { SEND_MS = 5000 };

static int link_socket = -1;
static struct pulse *link_pulse; /* NULL: none */

bool reader_link_is_used(void)
{
    return link_socket >= 0;
}

static enum err_code send_message(const struct bytes *message, int answer_fd, struct err *err)
{
    const uint64_t end_ns = clock_now_ns() + SEND_MS * NS_PER_MS;
    struct pollfd room = { .fd = link_socket, .events = POLLOUT };
    ssize_t sent = 0;
    while ((sent = fd_message_send(link_socket, message->data, message->count, &answer_fd,
                                   answer_fd >= 0 ? 1 : 0)) < 0 &&
           errno == EAGAIN && clock_now_ns() < end_ns)
        (void)poll(&room, 1, POLL_MS);
    if (sent == (ssize_t)message->count)
        return ERR_OK;
    if (errno == EAGAIN)
        return err_set(err, ERR_LIMIT, "the sampling process has too many requests: try again");
    if (errno == EPIPE || errno == ECONNRESET)
        return err_set(
            err, ERR_SYS,
            "the supervisor and the sampling process have ended: start pyrometer again");
    return err_sys(err, errno, "cannot reach the sampling process");
}

enum err_code link_send(const struct link_request *request, int *answer_out, struct err *err)
{
    struct bytes message = { 0 };
    int ends[2] = { -1, -1 };
    link_request_encode(request, &message);
    enum err_code rc = bytes_check(&message, err);
    if (!rc && message.count > LINK_MAX_REQUEST_BYTES)
        rc = err_set(err, ERR_INVALID, "the request is too long");
    if (!rc && answer_out && pipe2(ends, O_CLOEXEC) != 0)
        rc = err_sys(err, errno, "cannot make a pipe");
    if (rc)
        link_name_files(err, "HTTP process");
    if (!rc)
        rc = send_message(&message, ends[1], err);
    bytes_deinit(&message);
    if (ends[1] >= 0)
        close(ends[1]);
    if (rc && ends[0] >= 0)
        close(ends[0]);
    else if (!rc && answer_out)
        *answer_out = ends[0];
    return rc;
}

unsigned link_lost(void)
{
    return link_pulse ? atomic_load(&link_pulse->lost) : 0;
}

/* The state of a wait for the sampling process.  Only time that this process has spent waiting counts, because it may have been
 * stopped meanwhile. */
struct watch {
    unsigned taken;
    int silent_ms, since_ping_ms;
    uint64_t end_ns; /* 0: never */
};

static enum err_code does_not_answer(struct err *err)
{
    return err_set(err, ERR_LIMIT, "the sampling process does not answer: try again");
}

/* Checks whether the sampling process can still answer, after a wait in which nothing has come. */
static enum err_code check_pulse(struct watch *watch, const struct link_patience *patience,
                                 int waited_ms, struct err *err)
{
    static const struct link_request ping = { .kind = LINK_PING };
    struct pollfd room = { .fd = link_socket, .events = POLLOUT };
    if (!link_pulse)
        return ERR_OK;
    const unsigned taken = atomic_load(&link_pulse->taken);
    const bool is_lost = link_lost() != patience->lost;
    if (is_lost && patience->is_stream)
        return err_set(err, ERR_GONE,
                       "another process takes the place of the sampling process");
    if (is_lost && !watch->end_ns)
        watch->end_ns = clock_now_ns() + READER_LINK_WAIT_MS * NS_PER_MS;
    /* The first sampling process may take long to start. */
    const bool is_silent = taken == watch->taken && (taken || link_lost() > 0);
    watch->silent_ms = is_silent ? watch->silent_ms + waited_ms : 0;
    watch->taken = taken;
    if (watch->silent_ms >= (patience->is_stream ? READER_LINK_WAIT_MS : READER_LINK_TAKE_MS))
        return patience->is_stream ? err_set(err, ERR_GONE, "the sampling process hangs")
                                   : does_not_answer(err);
    watch->since_ping_ms += waited_ms;
    if (watch->since_ping_ms >= PING_MS) {
        watch->since_ping_ms = 0;
        if (poll(&room, 1, 0) > 0)
            (void)!link_send(&ping, NULL, NULL);
    }
    return ERR_OK;
}

/* ERR_OK: there is something to read, or somebody may ask again. */
static enum err_code wait(int fd, const struct link_patience *patience, struct watch *watch,
                          bool *is_ready_out, struct err *err)
{
    struct pollfd wanted[] = { { fd, POLLIN, 0 }, { patience->cancel_fd, POLLIN, 0 } };
    const uint64_t now_ns = clock_now_ns();
    int wait_ms = patience->is_cancelled ? POLL_MS : PING_MS;
    if (watch->end_ns && watch->end_ns < now_ns + (unsigned)wait_ms * NS_PER_MS)
        wait_ms = watch->end_ns > now_ns ? (int)((watch->end_ns - now_ns) / NS_PER_MS) + 1 : 0;
    const int ready = poll(wanted, 2, wait_ms);
    if (ready < 0 && errno != EINTR)
        return err_sys(err, errno, "cannot wait for the sampling process");
    *is_ready_out = ready > 0 && wanted[0].revents != 0;
    if ((ready > 0 && wanted[1].revents) ||
        (patience->is_cancelled && atomic_load(patience->is_cancelled)))
        return err_set(err, ERR_SYS, "cancelled");
    if (*is_ready_out || ready != 0)
        return ERR_OK;
    if (watch->end_ns && clock_now_ns() >= watch->end_ns)
        return does_not_answer(err);
    return check_pulse(watch, patience, wait_ms, err);
}

enum err_code link_receive(int fd, void *out, size_t bytes,
                           const struct link_patience *patience, struct err *err)
{
    char *at = out;
    struct watch watch = { .end_ns = patience->end_ns };
    while (bytes > 0) {
        bool is_ready = false;
        const enum err_code rc = wait(fd, patience, &watch, &is_ready, err);
        if (rc)
            return rc;
        if (!is_ready)
            continue;
        const ssize_t got = read(fd, at, bytes);
        if (got == 0)
            return err_set(
                err, at == (char *)out ? ERR_NOT_FOUND : ERR_GONE,
                "the sampling process has ended: another one takes its place, try again");
        if (got < 0 && errno != EINTR && errno != EAGAIN)
            return err_sys(err, errno, "cannot read from the sampling process");
        at += got > 0 ? got : 0;
        bytes -= got > 0 ? (size_t)got : 0;
    }
    return ERR_OK;
}

static enum err_code receive_contents(int fd, size_t bytes,
                                      const struct link_patience *patience, struct bytes *out,
                                      struct err *err)
{
    bytes_deinit(out);
    out->data = malloc(bytes + 1);
    if (!out->data)
        return err_nomem(err);
    out->room = bytes + 1;
    out->count = bytes;
    return link_receive(fd, out->data, bytes, patience, err);
}

/* No end of the sampling process is an error of what was asked for. */
static enum err_code of_system(enum err_code rc, struct err *err)
{
    if (rc != ERR_NOT_FOUND && rc != ERR_GONE)
        return rc;
    if (err)
        err->code = ERR_LIMIT;
    return ERR_LIMIT;
}

enum err_code link_receive_answer(int fd, const struct link_patience *patience,
                                  struct bytes *out, struct err *err)
{
    unsigned char head[LINK_HEAD_BYTES];
    enum err_code code = ERR_OK;
    size_t bytes = 0;
    enum err_code rc = link_receive(fd, head, sizeof head, patience, err);
    if (!rc)
        rc = link_head_decode(head, &code, &bytes, err);
    if (!rc)
        rc = receive_contents(fd, bytes, patience, out, err);
    if (rc)
        return of_system(rc, err);
    if (code) {
        struct cursor cursor = cursor_of(out->data, out->count);
        link_err_decode(&cursor, code, err);
    }
    return code;
}

static enum err_code ask_within(const struct link_request *request, int cancel_fd,
                                uint64_t wait_ms, struct bytes *out, struct err *err)
{
    const struct link_patience patience = { .end_ns = clock_now_ns() + wait_ms * NS_PER_MS,
                                            .cancel_fd = cancel_fd,
                                            .lost = link_lost() };
    SCOPED_FD int answer = -1;
    const enum err_code rc = link_send(request, &answer, err);
    return rc ? rc : link_receive_answer(answer, &patience, out, err);
}

enum err_code link_ask(const struct link_request *request, int cancel_fd, struct bytes *out,
                       struct err *err)
{
    return ask_within(request, cancel_fd, READER_LINK_WAIT_MS, out, err);
}

enum err_code reader_link_admits(pid_t pid, struct err *err)
{
    const struct link_request request = { .kind = LINK_ADMIT, .pid = pid };
    struct bytes answer = { 0 };
    const enum err_code rc = link_ask(&request, -1, &answer, err);
    bytes_deinit(&answer);
    return rc;
}

enum err_code reader_link_read(struct sampler *sampler, const void *source, size_t source_bytes,
                               int cancel_fd, struct bytes *answer, struct err *err)
{
    const struct link_request request = { .kind = LINK_READ,
                                          .session = link_sampler_session(sampler),
                                          .source = source,
                                          .source_bytes = source_bytes };
    return link_ask(&request, cancel_fd, answer, err);
}

/* The CPU time and memory that sampling processes have used. */
static struct {
    pthread_mutex_t lock;
    struct process_usage last;        /* by the last one, as far as it is known */
    double ended_user_s, ended_sys_s; /* by those before it */
} used = { .lock = PTHREAD_MUTEX_INITIALIZER };

/* Each sampling process begins at 0: the sum never falls, also while one does not answer. */
static void add_usage(const struct process_usage *now, struct process_usage *out)
{
    pthread_mutex_lock(&used.lock);
    if (now &&
        (now->cpu_user_s < used.last.cpu_user_s || now->cpu_sys_s < used.last.cpu_sys_s)) {
        used.ended_user_s += used.last.cpu_user_s;
        used.ended_sys_s += used.last.cpu_sys_s;
    }
    if (now)
        used.last = *now;
    *out = (struct process_usage){ .cpu_user_s = used.ended_user_s + used.last.cpu_user_s,
                                   .cpu_sys_s = used.ended_sys_s + used.last.cpu_sys_s,
                                   .rss_bytes = now ? now->rss_bytes : 0,
                                   .rss_peak_bytes = now ? now->rss_peak_bytes : 0 };
    pthread_mutex_unlock(&used.lock);
}

void reader_link_usage(struct process_usage *out)
{
    const struct link_request request = { .kind = LINK_USAGE };
    struct bytes answer = { 0 };
    struct process_usage now;
    enum err_code rc = ask_within(&request, -1, USAGE_MS, &answer, NULL);
    if (!rc) {
        struct cursor cursor = cursor_of(answer.data, answer.count);
        rc = link_usage_decode(&cursor, &now, NULL);
    }
    bytes_deinit(&answer);
    add_usage(rc ? NULL : &now, out);
}

static enum err_code check_engine(const struct sampler_options *options, struct err *err)
{
    const struct link_request request = { .kind = LINK_CHECK_ENGINE, .options = *options };
    struct bytes answer = { 0 };
    const enum err_code rc = link_ask(&request, -1, &answer, err);
    bytes_deinit(&answer);
    return rc;
}

static enum err_code list(processes_visitor visit, void *context, struct processes_summary *out,
                          struct err *err)
{
    const struct link_request request = { .kind = LINK_LIST };
    struct bytes answer = { 0 };
    enum err_code rc = link_ask(&request, -1, &answer, err);
    if (!rc) {
        struct cursor cursor = cursor_of(answer.data, answer.count);
        rc = link_list_decode(&cursor, visit, context, out, err);
    }
    bytes_deinit(&answer);
    return rc;
}

void reader_link_use(int socket, struct pulse *pulse)
{
    static const struct sampler_provider provider = { link_sampler_start, check_engine };
    link_socket = socket;
    link_pulse = pulse;
    sampler_provide(&provider);
    processes_provide(list);
}
