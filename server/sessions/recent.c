#include "server/sessions/recent.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { FIRST_ROOM = 64 };

struct recent {
    uint64_t span_ns;
    struct recent_window *open; /* of the sampling thread; NULL: there is no memory for it */
    uint64_t end_ns;            /* of the last window */
    pthread_mutex_t lock;       /* guards what follows */
    struct recent_window *windows[RECENT_MAX_WINDOWS]; /* closed ones, a ring */
    size_t first, count, runs;
};

enum err_code recent_create(uint64_t span_ns, struct recent **out, struct err *err)
{
    struct recent *const recent = calloc(1, sizeof *recent);
    if (!recent)
        return err_nomem(err);
    recent->span_ns = span_ns;
    pthread_mutex_init(&recent->lock, NULL);
    *out = recent;
    return ERR_OK;
}

void recent_release(struct recent_window *window)
{
    if (!window || atomic_fetch_sub(&window->users, 1) > 1)
        return;
    free(window->runs);
    free(window);
}

/* Forgets the oldest window.  The lock is held. */
static void drop_oldest(struct recent *recent)
{
    struct recent_window *const window = recent->windows[recent->first];
    recent->runs -= window->count;
    recent->first = (recent->first + 1) % RECENT_MAX_WINDOWS;
    recent->count--;
    recent_release(window);
}

void recent_destroy(struct recent *recent)
{
    if (!recent)
        return;
    while (recent->count > 0)
        drop_oldest(recent);
    recent_release(recent->open);
    pthread_mutex_destroy(&recent->lock);
    free(recent);
}

static struct recent_window *open_window(struct recent *recent)
{
    if (!recent->open) {
        recent->open = calloc(1, sizeof *recent->open);
        if (recent->open) {
            atomic_init(&recent->open->users, 1);
            recent->open->start_ns = recent->end_ns;
        }
    }
    return recent->open;
}

void recent_add(struct recent *recent, const struct run *run)
{
    struct recent_window *const window = open_window(recent);
    if (!window)
        return;
    if (window->count == window->room && window->room < RECENT_MAX_RUNS) {
        const size_t room = window->room ? 2 * window->room : FIRST_ROOM;
        struct run *const runs = realloc(window->runs, room * sizeof *runs);
        if (runs) {
            window->runs = runs;
            window->room = room;
        }
    }
    if (window->count < window->room)
        window->runs[window->count++] = *run;
    else
        window->lost += run->count;
}

void recent_seal(struct recent *recent, uint64_t end_ns, uint64_t period_ns,
                 const struct quality *quality)
{
    struct recent_window *const window = open_window(recent);
    recent->end_ns = end_ns;
    recent->open = NULL;
    if (!window)
        return;
    window->end_ns = end_ns;
    window->period_ns = period_ns;
    window->quality = *quality;
    pthread_mutex_lock(&recent->lock);
    while (recent->count > 0 &&
           (recent->count == RECENT_MAX_WINDOWS ||
            recent->runs + window->count > RECENT_MAX_RUNS ||
            recent->windows[recent->first]->end_ns + recent->span_ns < end_ns))
        drop_oldest(recent);
    recent->windows[(recent->first + recent->count++) % RECENT_MAX_WINDOWS] = window;
    recent->runs += window->count;
    pthread_mutex_unlock(&recent->lock);
}

size_t recent_take(struct recent *recent, uint64_t from_ns,
                   struct recent_window *out[RECENT_MAX_WINDOWS])
{
    size_t count = 0;
    pthread_mutex_lock(&recent->lock);
    for (size_t i = 0; i < recent->count; i++) {
        struct recent_window *const window =
            recent->windows[(recent->first + i) % RECENT_MAX_WINDOWS];
        if (window->end_ns <= from_ns)
            continue;
        atomic_fetch_add(&window->users, 1);
        out[count++] = window;
    }
    pthread_mutex_unlock(&recent->lock);
    return count;
}
