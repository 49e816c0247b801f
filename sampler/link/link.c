#define _GNU_SOURCE
#include "sampler/link/link.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sampler/base/buffer.h"
#include "sampler/base/channel.h"
#include "sampler/base/clock.h"
#include "sampler/base/pulse.h"
#include "sampler/base/scoped.h"
#include "sampler/link/request.h"

/* How often it is checked whether the caller has cancelled, and whether requests are taken. */
enum { POLL_MS = 50, PING_MS = 1000 };
/* Until the sampling process has read requests before this one. */
enum { SEND_MS = 5000 };

static int link_socket = -1;
static struct pulse *link_pulse; /* NULL: none */

void link_open(int socket, struct pulse *pulse)
{
    link_socket = socket;
    link_pulse = pulse;
}

bool link_is_open(void)
{
    return link_socket >= 0;
}

enum err_code link_send(const struct link_request *request, int *answer_out, struct err *err)
{
    struct buffer message = { 0 };
    int ends[2] = { -1, -1 };
    link_request_encode(request, &message);
    enum err_code rc = buffer_check(&message, err);
    if (!rc && message.length > LINK_MAX_REQUEST_BYTES)
        rc = err_set(err, ERR_INVALID, "the request is too long");
    if (!rc && answer_out && pipe2(ends, O_CLOEXEC) != 0)
        rc = err_sys(err, errno, "cannot make a pipe");
    if (rc)
        link_name_files(err, "HTTP process");
    if (!rc && !channel_send(link_socket, message.data, message.length, &ends[1], ends[1] >= 0,
                             SEND_MS))
        rc = errno == EAGAIN ? err_set(err, ERR_LIMIT,
                                       "the sampling process has too many requests: try again")
             : errno == EPIPE || errno == ECONNRESET
                 ? err_set(err, ERR_SYS,
                           "the supervisor and the sampling process have ended: start "
                           "pyrometer again")
                 : err_sys(err, errno, "cannot reach the sampling process");
    buffer_deinit(&message);
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

    /* Nothing has come: can the sampling process still answer? */
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
        watch->end_ns = clock_now_ns() + LINK_WAIT_MS * NS_PER_MS;
    /* The first sampling process may take long to start. */
    const bool is_silent = taken == watch->taken && (taken || link_lost() > 0);
    watch->silent_ms = is_silent ? watch->silent_ms + wait_ms : 0;
    watch->taken = taken;
    if (watch->silent_ms >= (patience->is_stream ? LINK_WAIT_MS : LINK_TAKE_MS))
        return patience->is_stream ? err_set(err, ERR_GONE, "the sampling process hangs")
                                   : does_not_answer(err);
    watch->since_ping_ms += wait_ms;
    if (watch->since_ping_ms >= PING_MS) {
        watch->since_ping_ms = 0;
        if (poll(&room, 1, 0) > 0)
            (void)!link_send(&ping, NULL, NULL);
    }
    return ERR_OK;
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
        if (!is_ready || channel_take(fd, &at, &bytes))
            continue;
        if (errno)
            return err_sys(err, errno, "cannot read from the sampling process");
        return err_set(
            err, at == (char *)out ? ERR_NOT_FOUND : ERR_GONE,
            "the sampling process has ended: another one takes its place, try again");
    }
    return ERR_OK;
}

enum err_code link_receive_answer(int fd, const struct link_patience *patience,
                                  struct buffer *out, struct err *err)
{
    struct link_head head;
    enum err_code rc = link_receive(fd, &head, sizeof head, patience, err);
    if (!rc)
        rc = link_head_check(&head, err);
    if (!rc && !buffer_replace(out, head.bytes))
        rc = buffer_check(out, err);
    if (!rc)
        rc = link_receive(fd, out->data, head.bytes, patience, err);
    /* No end of the sampling process is an error of what was asked for. */
    if (rc == ERR_NOT_FOUND || rc == ERR_GONE) {
        rc = ERR_LIMIT;
        if (err)
            err->code = rc;
    }
    if (rc)
        return rc;
    return head.code ? link_fail((enum err_code)head.code, out, err) : ERR_OK;
}

enum err_code link_ask(const struct link_request *request, int cancel_fd, unsigned wait_ms,
                       struct buffer *out, struct err *err)
{
    const struct link_patience patience = { .end_ns = clock_now_ns() + wait_ms * NS_PER_MS,
                                            .cancel_fd = cancel_fd,
                                            .lost = link_lost() };
    SCOPED_FD int answer = -1;
    const enum err_code rc = link_send(request, &answer, err);
    return rc ? rc : link_receive_answer(answer, &patience, out, err);
}
