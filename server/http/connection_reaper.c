#include "server/http/connection_reaper.h"

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

struct connection_reaper {
    int epoll_fd, wake_fd;
    pthread_t thread;
    pthread_mutex_t lock; /* guards what follows */
    bool is_ending;
    struct connections connections;
};

static void wake_thread(const struct connection_reaper *reaper)
{
    const uint64_t one = 1;
    while (write(reaper->wake_fd, &one, sizeof one) < 0 && errno == EINTR)
        ;
}

static uint64_t mark_of(const struct connection *connection, size_t at)
{
    return (uint64_t)connection->serial << 32 | at;
}

static void end_connection(struct connection_reaper *reaper, size_t at)
{
    if (at != CONNECTIONS_NONE)
        shutdown(reaper->connections.items[at].fd, SHUT_RDWR);
}

static void take_event(struct connection_reaper *reaper, const struct epoll_event *event)
{
    const size_t at = (uint32_t)event->data.u64;
    uint64_t count = 0;
    if (event->data.u64 == WAKE) {
        if (read(reaper->wake_fd, &count, sizeof count) < 0)
            return; /* it was read before */
    } else if (reaper->connections.items[at].phase != CONNECTION_FREE &&
               mark_of(&reaper->connections.items[at], at) == event->data.u64) {
        connections_halve(&reaper->connections, at, clock_now_ns());
    }
}

static void *watch_connections(void *argument)
{
    struct connection_reaper *const reaper = argument;
    struct epoll_event events[EVENTS];
    int timeout_ms = -1;
    for (;;) {
        const int count = epoll_wait(reaper->epoll_fd, events, EVENTS, timeout_ms);
        pthread_mutex_lock(&reaper->lock);
        for (int i = 0; i < count; i++)
            take_event(reaper, &events[i]);
        const uint64_t now_ns = clock_now_ns();

        /* UINT64_MAX: the next run is when something happens. */
        struct connections *const all = &reaper->connections;
        uint64_t again_ns = UINT64_MAX;
        for (size_t i = 0; all->used > 0 && i < CONNECTIONS_ROOM; i++) {
            struct connection *const one = &all->items[i];
            const enum connection_fate fate = connections_judge(one, now_ns, &again_ns);
            char byte;
            if (fate == CONNECTION_STAYS)
                continue;
            /* Something that the client sent is still to be read. */
            if (fate == CONNECTION_IS_HALF &&
                recv(one->fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) > 0) {
                const uint64_t soon_ns = now_ns + CONNECTIONS_HALF_MS * NS_PER_MS;
                again_ns = soon_ns < again_ns ? soon_ns : again_ns;
                continue;
            }
            one->phase = CONNECTION_ENDING;
            end_connection(reaper, i);
        }

        const uint64_t left_ns = again_ns > now_ns ? again_ns - now_ns : 0;
        /* A connection that begins while we sleep is late in CONNECTIONS_HEADER_S at the earliest. */
        const uint64_t longest_ns = CONNECTIONS_HEADER_S * NS_PER_S;
        timeout_ms = again_ns == UINT64_MAX && reaper->connections.used == 0
                         ? -1
                         : (int)((left_ns < longest_ns ? left_ns : longest_ns) / NS_PER_MS) + 1;
        const bool is_ending = reaper->is_ending;
        pthread_mutex_unlock(&reaper->lock);
        if (is_ending)
            return NULL;
    }
}

static int watch_fd(const struct connection_reaper *reaper, int fd, uint32_t what,
                    uint64_t mark)
{
    struct epoll_event event = { .events = what, .data = { .u64 = mark } };
    return epoll_ctl(reaper->epoll_fd, EPOLL_CTL_ADD, fd, &event);
}

static void destroy_reaper(struct connection_reaper *reaper)
{
    if (reaper->epoll_fd >= 0)
        close(reaper->epoll_fd);
    if (reaper->wake_fd >= 0)
        close(reaper->wake_fd);
    pthread_mutex_destroy(&reaper->lock);
    free(reaper);
}

enum err_code connection_reaper_start(struct connection_reaper **out, struct err *err)
{
    struct connection_reaper *const reaper = calloc(1, sizeof *reaper);
    if (!reaper)
        return err_nomem(err);
    pthread_mutex_init(&reaper->lock, NULL);
    /* A quarter of the descriptors is for what is not a connection. */
    struct rlimit files;
    if (!getrlimit(RLIMIT_NOFILE, &files) && files.rlim_cur / 4 * 3 < CONNECTIONS_MAX)
        reaper->connections.most = (size_t)files.rlim_cur / 4 * 3;
    reaper->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    reaper->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    int sys = errno;
    if (reaper->epoll_fd >= 0 && reaper->wake_fd >= 0) {
        sys = watch_fd(reaper, reaper->wake_fd, EPOLLIN, WAKE) == 0
                  ? pthread_create(&reaper->thread, NULL, watch_connections, reaper)
                  : errno;
        if (sys == 0) {
            *out = reaper;
            return ERR_OK;
        }
    }
    destroy_reaper(reaper);
    return err_sys(err, sys, "cannot watch connections");
}

void connection_reaper_stop(struct connection_reaper *reaper)
{
    if (!reaper)
        return;
    pthread_mutex_lock(&reaper->lock);
    reaper->is_ending = true;
    pthread_mutex_unlock(&reaper->lock);
    wake_thread(reaper);
    pthread_join(reaper->thread, NULL);
    destroy_reaper(reaper);
}

bool connection_reaper_has_room(struct connection_reaper *reaper)
{
    pthread_mutex_lock(&reaper->lock);
    const bool has_room = reaper->connections.used < CONNECTIONS_ROOM;
    pthread_mutex_unlock(&reaper->lock);
    return has_room;
}

size_t connection_reaper_open(struct connection_reaper *reaper, const struct sockaddr *address,
                              int fd)
{
    struct connections *const all = &reaper->connections;
    struct network network;
    size_t goes = CONNECTIONS_NONE;
    client_network(address, fd, &network);
    pthread_mutex_lock(&reaper->lock);
    const size_t at = connections_open(all, &network, fd, clock_now_ns(), &goes);
    end_connection(reaper, goes);
    const bool is_first = all->used == 1;
    if (at == CONNECTIONS_NONE)
        shutdown(fd, SHUT_RDWR);
    else if (watch_fd(reaper, fd, EPOLLRDHUP | EPOLLONESHOT, mark_of(&all->items[at], at)) != 0)
        end_connection(reaper, at);
    pthread_mutex_unlock(&reaper->lock);
    if (is_first)
        wake_thread(reaper);
    return at;
}

void connection_reaper_close(struct connection_reaper *reaper, size_t at)
{
    if (at == CONNECTIONS_NONE)
        return;
    pthread_mutex_lock(&reaper->lock);
    connections_close(&reaper->connections, at);
    pthread_mutex_unlock(&reaper->lock);
}

void connection_reaper_know(struct connection_reaper *reaper, size_t at,
                            enum client_standing standing)
{
    if (at == CONNECTIONS_NONE)
        return;
    pthread_mutex_lock(&reaper->lock);
    end_connection(reaper, connections_know(&reaper->connections, at, standing));
    pthread_mutex_unlock(&reaper->lock);
}

void connection_reaper_enter(struct connection_reaper *reaper, size_t at,
                             enum connection_phase phase)
{
    if (at == CONNECTIONS_NONE)
        return;
    pthread_mutex_lock(&reaper->lock);
    connections_enter(&reaper->connections, at, phase, clock_now_ns());
    pthread_mutex_unlock(&reaper->lock);
}

void connection_reaper_begin(struct connection_reaper *reaper, size_t at)
{
    if (at == CONNECTIONS_NONE)
        return;
    pthread_mutex_lock(&reaper->lock);
    connections_begin(&reaper->connections, at, clock_now_ns());
    pthread_mutex_unlock(&reaper->lock);
}

void connection_reaper_finish(struct connection_reaper *reaper, size_t at)
{
    if (at == CONNECTIONS_NONE)
        return;
    pthread_mutex_lock(&reaper->lock);
    connections_finish(&reaper->connections, at, clock_now_ns());
    pthread_mutex_unlock(&reaper->lock);
}

void connection_reaper_receive(struct connection_reaper *reaper, size_t at, size_t bytes)
{
    if (at == CONNECTIONS_NONE)
        return;
    pthread_mutex_lock(&reaper->lock);
    connections_receive(&reaper->connections, at, bytes);
    pthread_mutex_unlock(&reaper->lock);
}
