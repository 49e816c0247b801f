#include "server/source/broker.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "sampler/base/channel.h"
#include "sampler/base/children.h"
#include "sampler/base/clock.h"
#include "sampler/base/pulse.h"
#include "server/source/reader.h"
#include "server/source/request.h"
#include "server/source/rights.h"

/* Its descriptors, in this order, behind those of the C library. */
enum { SOCKET = 3, CHILDREN, FIRST_FREE };

struct reader {
    pid_t pid;
    uid_t uid; /* whose process it reads for, as it joined its session */
    uint64_t end_ns;
};

struct broker {
    struct reader readers[BROKER_MAX_READERS];
    size_t count;
};

/* Without CAP_KILL as the user that it has become, for a moment; that one cannot signal us then. */
static void kill_reader(const struct reader *reader)
{
    const uid_t own = geteuid();
    struct owner now;
    if (kill(reader->pid, SIGKILL) == 0 || errno != EPERM ||
        owner_read(reader->pid, &now, NULL) || seteuid(now.uid) != 0)
        return;
    (void)kill(reader->pid, SIGKILL);
    if (seteuid(own) != 0)
        _exit(1);
}

static void collect_children(struct broker *broker)
{
    pid_t pid;
    int status;
    while ((pid = children_take(CHILDREN, &status)) != 0) {
        for (size_t i = 0; i < broker->count; i++)
            if (broker->readers[i].pid == pid)
                broker->readers[i] = broker->readers[--broker->count];
    }
}

static int wait_ms(const struct broker *broker, uint64_t now_ns)
{
    uint64_t first_ns = UINT64_MAX;
    for (size_t i = 0; i < broker->count; i++)
        if (broker->readers[i].end_ns < first_ns)
            first_ns = broker->readers[i].end_ns;
    if (first_ns == UINT64_MAX)
        return -1;
    return first_ns <= now_ns ? 0 : (int)((first_ns - now_ns) / NS_PER_MS) + 1;
}

static bool has_room(const struct broker *broker, uid_t uid)
{
    size_t of_user = 0;
    for (size_t i = 0; i < broker->count; i++)
        of_user += broker->readers[i].uid == uid;
    return broker->count < BROKER_MAX_READERS && of_user < BROKER_MAX_OF_USER;
}

static void refuse_request(int fd, enum source_outcome outcome)
{
    const struct source_answer answer = { .outcome = outcome };
    (void)!write(fd, &answer, sizeof answer);
}

static void start_reader(struct broker *broker, const struct source_request *request,
                         const int *fds)
{
    const uid_t uid = request->owner.uid;
    if (!has_room(broker, uid)) {
        refuse_request(fds[SOURCE_FD_ANSWER], SOURCE_CROWDED);
        return;
    }
    const pid_t pid = fork();
    if (pid == 0) {
        close(SOCKET);
        close(CHILDREN);
        reader_run(request, fds);
    }
    if (pid < 0)
        refuse_request(fds[SOURCE_FD_ANSWER], SOURCE_FAILED);
    else
        broker->readers[broker->count++] = (struct reader){
            .pid = pid,
            .uid = uid,
            .end_ns = clock_now_ns() + SOURCE_DEADLINE_MS * NS_PER_MS,
        };
}

/* False: the program has ended. */
static bool take_request(struct broker *broker)
{
    static struct source_request request;
    int fds[SOURCE_FD_COUNT];
    size_t got, count;
    if (!channel_receive(SOCKET, &request, sizeof request, &got, fds, SOURCE_FD_COUNT, &count))
        return false;
    if (got == sizeof request && count == SOURCE_FD_COUNT &&
        request.owner.group_count <= OWNER_MAX_GROUPS &&
        request.entry_count <= SOURCE_MAX_PLACES &&
        memchr(request.path, '\0', sizeof request.path) &&
        memchr(request.build_id, '\0', sizeof request.build_id))
        start_reader(broker, &request, fds);
    for (size_t i = 0; i < count; i++)
        close(fds[i]);
    return true;
}

noreturn void broker_run(int socket, struct pulse *pulse)
{
    const uint64_t kept =
        1ull << CAP_SETUID | 1ull << CAP_SETGID | 1ull << CAP_SYS_PTRACE | 1ull << CAP_KILL;
    struct broker broker = { .count = 0 };

    const int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (socket != SOCKET && dup3(socket, SOCKET, O_CLOEXEC) < 0)
        _exit(1);
    for (int fd = 0; fd < SOCKET; fd++)
        if (nothing < 0 || dup2(nothing, fd) < 0)
            close(fd);
    if (syscall(SYS_close_range, SOCKET + 1, ~0u, 0) != 0)
        for (int fd = SOCKET + 1; fd < (int)sysconf(_SC_OPEN_MAX); fd++)
            close(fd);
    if (chdir("/") != 0 || (setsid() < 0 && errno != EPERM))
        _exit(1);
    prctl(PR_SET_NAME, "pyrometer-src", 0, 0, 0);

    if (!children_watch(CHILDREN))
        _exit(1);
    if (!rights_become_own() || !rights_keep(kept))
        _exit(1);
    for (;;) {
        pulse_take(pulse);
        struct pollfd wanted[] = { { SOCKET, POLLIN, 0 }, { CHILDREN, POLLIN, 0 } };
        if (poll(wanted, 2, wait_ms(&broker, clock_now_ns())) < 0 && errno != EINTR)
            break;
        if (wanted[1].revents != 0)
            collect_children(&broker);

        const uint64_t now_ns = clock_now_ns();
        for (size_t i = 0; i < broker.count; i++)
            if (broker.readers[i].end_ns <= now_ns) {
                kill_reader(&broker.readers[i]);
                broker.readers[i].end_ns = now_ns + SOURCE_DEADLINE_MS * NS_PER_MS;
            }

        if (wanted[0].revents != 0 && !take_request(&broker))
            break;
    }
    for (size_t i = 0; i < broker.count; i++)
        kill_reader(&broker.readers[i]);
    _exit(0);
}
