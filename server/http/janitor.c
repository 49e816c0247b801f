#include "server/http/janitor.h"

#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "sampler/base/clock.h"

enum { EVENTS = 64 };

#define WAKE UINT64_MAX

struct janitor {
    int epoll_fd, wake_fd;
    pthread_t thread;
    pthread_mutex_t lock; /* guards what follows */
    bool is_ending;
    struct connections connections;
};

static void wake(const struct janitor *janitor)
{
    const uint64_t one = 1;
    while (write(janitor->wake_fd, &one, sizeof one) < 0 && errno == EINTR)
        ;
}

static uint64_t mark_of(const struct connection *connection, size_t at)
{
    return (uint64_t)connection->serial << 32 | at;
}

static void end(struct janitor *janitor, size_t at)
{
    if (at != CONNECTIONS_NONE)
        shutdown(janitor->connections.items[at].fd, SHUT_RDWR);
}

static void take_event(struct janitor *janitor, const struct epoll_event *event)
{
    const size_t at = (uint32_t)event->data.u64;
    uint64_t count = 0;
    if (event->data.u64 == WAKE) {
        if (read(janitor->wake_fd, &count, sizeof count) < 0)
            return; /* it was read before */
    } else if (janitor->connections.items[at].phase != CONNECTION_FREE &&
               mark_of(&janitor->connections.items[at], at) == event->data.u64) {
        connections_halve(&janitor->connections, at, clock_now_ns());
    }
}

/* Nothing that the client sent is still to be read. */
static bool is_drained(int fd)
{
    char byte;
    return recv(fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) <= 0;
}

/* When to run again, UINT64_MAX: when something happens. */
static uint64_t close_late(struct janitor *janitor, uint64_t now_ns)
{
    struct connections *const all = &janitor->connections;
    uint64_t again_ns = UINT64_MAX;
    for (size_t i = 0; all->used > 0 && i < CONNECTIONS_ROOM; i++) {
        struct connection *const one = &all->items[i];
        const enum connection_fate fate = connections_judge(one, now_ns, &again_ns);
        if (fate == CONNECTION_STAYS)
            continue;
        if (fate == CONNECTION_IS_HALF && !is_drained(one->fd)) {
            const uint64_t soon_ns = now_ns + CONNECTIONS_HALF_MS * NS_PER_MS;
            again_ns = soon_ns < again_ns ? soon_ns : again_ns;
            continue;
        }
        one->phase = CONNECTION_ENDING;
        end(janitor, i);
    }
    return again_ns;
}

/* A connection that begins while we sleep is late in CONNECTIONS_HEADER_S at the earliest. */
static int patience_ms(const struct janitor *janitor, uint64_t again_ns, uint64_t now_ns)
{
    const uint64_t longest_ns = CONNECTIONS_HEADER_S * NS_PER_S;
    if (again_ns == UINT64_MAX && janitor->connections.used == 0)
        return -1;
    const uint64_t left_ns = again_ns > now_ns ? again_ns - now_ns : 0;
    return (int)((left_ns < longest_ns ? left_ns : longest_ns) / NS_PER_MS) + 1;
}

static void *watch(void *argument)
{
    struct janitor *const janitor = argument;
    struct epoll_event events[EVENTS];
    int timeout_ms = -1;
    for (;;) {
        const int count = epoll_wait(janitor->epoll_fd, events, EVENTS, timeout_ms);
        pthread_mutex_lock(&janitor->lock);
        for (int i = 0; i < count; i++)
            take_event(janitor, &events[i]);
        const uint64_t now_ns = clock_now_ns();
        timeout_ms = patience_ms(janitor, close_late(janitor, now_ns), now_ns);
        const bool is_ending = janitor->is_ending;
        pthread_mutex_unlock(&janitor->lock);
        if (is_ending)
            return NULL;
    }
}

static int watch_fd(const struct janitor *janitor, int fd, uint32_t what, uint64_t mark)
{
    struct epoll_event event = { .events = what, .data = { .u64 = mark } };
    return epoll_ctl(janitor->epoll_fd, EPOLL_CTL_ADD, fd, &event);
}

static void destroy(struct janitor *janitor)
{
    if (janitor->epoll_fd >= 0)
        close(janitor->epoll_fd);
    if (janitor->wake_fd >= 0)
        close(janitor->wake_fd);
    pthread_mutex_destroy(&janitor->lock);
    free(janitor);
}

/* A quarter of the descriptors is for what is not a connection. */
static size_t most_connections(void)
{
    struct rlimit files;
    if (getrlimit(RLIMIT_NOFILE, &files) != 0 || files.rlim_cur / 4 * 3 >= CONNECTIONS_MAX)
        return 0;
    return (size_t)files.rlim_cur / 4 * 3;
}

enum err_code janitor_start(struct janitor **out, struct err *err)
{
    struct janitor *const janitor = calloc(1, sizeof *janitor);
    if (!janitor)
        return err_nomem(err);
    pthread_mutex_init(&janitor->lock, NULL);
    janitor->connections.most = most_connections();
    janitor->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    janitor->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    int sys = errno;
    if (janitor->epoll_fd >= 0 && janitor->wake_fd >= 0) {
        sys = watch_fd(janitor, janitor->wake_fd, EPOLLIN, WAKE) == 0
                  ? pthread_create(&janitor->thread, NULL, watch, janitor)
                  : errno;
        if (sys == 0) {
            *out = janitor;
            return ERR_OK;
        }
    }
    destroy(janitor);
    return err_sys(err, sys, "cannot watch connections");
}

void janitor_stop(struct janitor *janitor)
{
    if (!janitor)
        return;
    pthread_mutex_lock(&janitor->lock);
    janitor->is_ending = true;
    pthread_mutex_unlock(&janitor->lock);
    wake(janitor);
    pthread_join(janitor->thread, NULL);
    destroy(janitor);
}

bool janitor_has_room(struct janitor *janitor)
{
    pthread_mutex_lock(&janitor->lock);
    const bool has_room = janitor->connections.used < CONNECTIONS_ROOM;
    pthread_mutex_unlock(&janitor->lock);
    return has_room;
}

size_t janitor_open(struct janitor *janitor, const struct sockaddr *address, int fd)
{
    struct connections *const all = &janitor->connections;
    struct network network;
    size_t goes = CONNECTIONS_NONE;
    client_network(address, fd, &network);
    pthread_mutex_lock(&janitor->lock);
    const size_t at = connections_open(all, &network, fd, clock_now_ns(), &goes);
    end(janitor, goes);
    const bool is_first = all->used == 1;
    if (at == CONNECTIONS_NONE)
        shutdown(fd, SHUT_RDWR);
    else if (watch_fd(janitor, fd, EPOLLRDHUP | EPOLLONESHOT, mark_of(&all->items[at], at)) !=
             0)
        end(janitor, at);
    pthread_mutex_unlock(&janitor->lock);
    if (is_first)
        wake(janitor);
    return at;
}

void janitor_close(struct janitor *janitor, size_t at)
{
    if (at == CONNECTIONS_NONE)
        return;
    pthread_mutex_lock(&janitor->lock);
    connections_close(&janitor->connections, at);
    pthread_mutex_unlock(&janitor->lock);
}

void janitor_know(struct janitor *janitor, size_t at, enum client_standing standing)
{
    if (at == CONNECTIONS_NONE)
        return;
    pthread_mutex_lock(&janitor->lock);
    end(janitor, connections_know(&janitor->connections, at, standing));
    pthread_mutex_unlock(&janitor->lock);
}

void janitor_enter(struct janitor *janitor, size_t at, enum connection_phase phase)
{
    if (at == CONNECTIONS_NONE)
        return;
    pthread_mutex_lock(&janitor->lock);
    connections_enter(&janitor->connections, at, phase, clock_now_ns());
    pthread_mutex_unlock(&janitor->lock);
}

void janitor_begin(struct janitor *janitor, size_t at)
{
    if (at == CONNECTIONS_NONE)
        return;
    pthread_mutex_lock(&janitor->lock);
    connections_begin(&janitor->connections, at, clock_now_ns());
    pthread_mutex_unlock(&janitor->lock);
}

void janitor_finish(struct janitor *janitor, size_t at)
{
    if (at == CONNECTIONS_NONE)
        return;
    pthread_mutex_lock(&janitor->lock);
    connections_finish(&janitor->connections, at, clock_now_ns());
    pthread_mutex_unlock(&janitor->lock);
}

void janitor_receive(struct janitor *janitor, size_t at, size_t bytes)
{
    if (at == CONNECTIONS_NONE)
        return;
    pthread_mutex_lock(&janitor->lock);
    connections_receive(&janitor->connections, at, bytes);
    pthread_mutex_unlock(&janitor->lock);
}
