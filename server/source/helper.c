#include "server/source/helper.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sampler/base/buffer.h"
#include "sampler/base/channel.h"
#include "sampler/base/clock.h"
#include "sampler/base/scoped.h"
#include "sampler/session.h"
#include "server/source/broker.h"
#include "server/source/request.h"
#include "server/source/source_reader.h"

static struct {
    int socket, stop_fd;
    pid_t pid;
    atomic_bool runs;
} helper = { .socket = -1, .stop_fd = -1 };

/* A signal meant for the program must not end the broker before it has come to ignore it. */
pid_t source_helper_fork(int socket, struct pulse *pulse)
{
    sigset_t all, before;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, &before);
    const pid_t pid = fork();
    if (pid == 0)
        broker_run(socket, pulse);
    sigprocmask(SIG_SETMASK, &before, NULL);
    return pid;
}

enum err_code source_helper_start(struct err *err)
{
    int ends[2];
    if (helper.pid > 0)
        return ERR_OK;
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
        return err_sys(err, errno, "cannot make a socket");
    const int stop_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    const pid_t pid = stop_fd < 0 ? -1 : source_helper_fork(ends[1], NULL);
    const int sys = errno;
    close(ends[1]);
    if (pid > 0) {
        helper.socket = ends[0];
        helper.stop_fd = stop_fd;
        helper.pid = pid;
        helper.runs = true;
        return ERR_OK;
    }
    close(ends[0]);
    if (stop_fd >= 0)
        close(stop_fd);
    return err_sys(err, sys, "cannot start the source process");
}

enum err_code source_helper_adopt(int socket, struct err *err)
{
    helper.stop_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (helper.stop_fd < 0)
        return err_sys(err, errno, "cannot make an event descriptor");
    helper.socket = socket;
    helper.runs = true;
    return ERR_OK;
}

void source_helper_stop(void)
{
    if (!helper.runs)
        return;
    helper.runs = false;
    eventfd_write(helper.stop_fd, 1);
    shutdown(helper.socket, SHUT_RDWR);
}

pid_t source_helper_pid(void)
{
    return helper.pid;
}

static enum err_code has_ended(struct err *err)
{
    return err_set(err, ERR_NOT_FOUND,
                   "source text is unavailable: the source process has ended");
}

static enum err_code send_request(const struct session_origin *of,
                                  const struct helper_request *wanted, int answer_fd,
                                  struct err *err)
{
    struct source_request request = { .pid = of->pid,
                                      .mapped_addr = of->mapped_addr,
                                      .owner = of->owner,
                                      .entry_count = (uint32_t)wanted->entry_count,
                                      .wants_places = wanted->wants_places,
                                      .wants_checkout = wanted->wants_checkout,
                                      .wants_distribution = wanted->wants_distribution };
    const int fds[SOURCE_FD_COUNT] = { [SOURCE_FD_ANSWER] = answer_fd,
                                       [SOURCE_FD_PROCESS] = of->pidfd,
                                       [SOURCE_FD_SPACE] = of->space_fd };
    if (wanted->entry_count)
        memcpy(request.entries, wanted->entries, wanted->entry_count * sizeof *wanted->entries);
    memcpy(request.path, wanted->path.text, wanted->path.length);
    if (wanted->build_id.length)
        memcpy(request.build_id, wanted->build_id.text, wanted->build_id.length);
    if (channel_send(helper.socket, &request, sizeof request, fds, SOURCE_FD_COUNT, 0))
        return ERR_OK;
    if (errno == EAGAIN)
        return err_set(err, ERR_LIMIT, "too many source files are being read: try again");
    if (errno == EPIPE || errno == ECONNRESET)
        return has_ended(err);
    return err_sys(err, errno, "cannot reach the source process");
}

/* Exactly so many bytes, until then. */
static enum err_code receive_bytes(int fd, void *out, size_t bytes, int cancel_fd,
                                   uint64_t end_ns, struct err *err)
{
    char *at = out;
    while (bytes > 0) {
        struct pollfd wanted[] = { { fd, POLLIN, 0 },
                                   { helper.stop_fd, POLLIN, 0 },
                                   { cancel_fd, POLLIN, 0 } };
        const uint64_t now_ns = clock_now_ns();
        if (now_ns >= end_ns)
            return err_set(err, ERR_LIMIT, "reading the source file took longer than %d s",
                           SOURCE_DEADLINE_MS / 1000);
        if (poll(wanted, 3, (int)((end_ns - now_ns) / NS_PER_MS) + 1) < 0 && errno != EINTR)
            return err_sys(err, errno, "cannot wait for a source file");
        if (wanted[1].revents || wanted[2].revents)
            return err_set(err, ERR_GONE, "reading the source file was cancelled");
        if (!wanted[0].revents || channel_take(fd, &at, &bytes))
            continue;
        if (errno)
            return err_sys(err, errno, "cannot read a source file");
        return err_set(err, ERR_SYS, "reading the source file was interrupted: try again");
    }
    return ERR_OK;
}

/* Checks the outcome in the answer. */
static enum err_code check_answer(const struct source_answer *answer,
                                  const struct helper_request *wanted,
                                  const struct source_place *place, struct err *err)
{
    static const struct {
        enum err_code code;
        const char *text;
    } outcomes[] = {
#define X(name, code, text) { ERR_##code, text },
        SOURCE_OUTCOMES(X) SOURCE_LIBRARY_OUTCOMES(X)
#undef X
    };
    const enum err_code code = outcomes[answer->outcome].code;
    const char *const slash = memrchr(wanted->path.text, '/', wanted->path.length);
    if (!code)
        return ERR_OK;
    if (answer->outcome > SOURCE_FAILED)
        return err_set(err, code, "%s %s", slash ? slash + 1 : wanted->path.text,
                       outcomes[answer->outcome].text);
    if (*place->path)
        return err_set(err, code, "%s:%d: %s", place->path, (int)place->line,
                       outcomes[answer->outcome].text);
    return err_set(err, code, "%s", outcomes[answer->outcome].text);
}

static bool is_valid(const struct source_answer *answer)
{
    return answer->outcome < SOURCE_OUTCOME_COUNT && answer->length <= SOURCE_MAX_BYTES &&
           answer->path_length < PATH_MAX;
}

static bool is_path(struct strtab_string path)
{
    return path.length > 0 && path.length < PATH_MAX && path.text[0] == '/' &&
           !memchr(path.text, '\0', path.length);
}

enum err_code source_helper_read(const struct session_origin *of,
                                 const struct helper_request *wanted, int cancel_fd,
                                 struct buffer *out, uint64_t *changed_ns_out,
                                 struct source_place *place_out, struct err *err)
{
    int ends[2];
    if (!helper.runs)
        return has_ended(err);
    if (!is_path(wanted->path) || wanted->build_id.length >= DEBUG_LINES_BUILD_ID_BYTES ||
        wanted->entry_count > SOURCE_MAX_PLACES)
        return err_set(err, ERR_INVALID, "the path of the source file is not an absolute path");
    if (pipe2(ends, O_CLOEXEC) != 0)
        return err_sys(err, errno, "cannot make a pipe");
    SCOPED_FD int answer_out = ends[0];
    SCOPED_FD int answer_in = ends[1];
    enum err_code rc = send_request(of, wanted, answer_in, err);
    if (rc)
        return rc;
    close(scoped_take_fd(&answer_in));
    const uint64_t end_ns = clock_now_ns() + SOURCE_DEADLINE_MS * NS_PER_MS;
    struct source_place place = { .line = 0 };
    struct source_answer answer;
    rc = receive_bytes(answer_out, &answer, sizeof answer, cancel_fd, end_ns, err);
    if (!rc && !is_valid(&answer))
        rc = err_set(err, ERR_CORRUPT, "the source process sent an invalid answer");
    if (!rc) {
        rc = receive_bytes(answer_out, place.path, answer.path_length, cancel_fd, end_ns, err);
        place.path[!rc ? answer.path_length : 0] = '\0';
        place.line = answer.line;
    }
    if (place_out)
        *place_out = place;
    if (!rc)
        rc = check_answer(&answer, wanted, &place, err);
    if (rc)
        return rc;
    buffer_clear(out);
    char *const text = buffer_reserve(out, answer.length);
    if (!text)
        return answer.length == 0 ? ERR_OK : buffer_check(out, err);
    rc = receive_bytes(answer_out, text, answer.length, cancel_fd, end_ns, err);
    if (rc)
        return rc;
    buffer_grow(out, answer.length);
    *changed_ns_out = answer.changed_ns;
    return ERR_OK;
}
