#include "server/source/fetch.h"

#include <stdbool.h>
#include <string.h>

#include "sampler/base/clock.h"
#include "server/source/file_origins.h"
#include "server/source/relay.h"
#include "server/source/request.h"

/* So long nothing more is read after a file that took that long, as one on a file system of the
 * owner's own making may. */
static const uint64_t SLOW_NS = (SOURCE_DEADLINE_MS - 100) * NS_PER_MS;
static const uint64_t STUCK_NS = 10 * NS_PER_S;

void fetcher_init(struct fetcher *fetcher, struct session *session)
{
    memset(fetcher, 0, sizeof *fetcher);
    fetcher->session = session;
    pthread_mutex_init(&fetcher->mutex, NULL);
}

void fetcher_deinit(struct fetcher *fetcher)
{
    pthread_mutex_destroy(&fetcher->mutex);
}

static bool is_stuck(struct fetcher *fetcher, unsigned owner)
{
    pthread_mutex_lock(&fetcher->mutex);
    const uint64_t until_ns = fetcher->stuck_until_ns[owner % FETCH_STUCK_OWNERS];
    pthread_mutex_unlock(&fetcher->mutex);
    return clock_now_ns() < until_ns;
}

enum err_code fetch_file(struct fetcher *fetcher, const struct file_origins *origins,
                         int cancel_fd, struct buffer *out, uint64_t *changed_ns_out,
                         struct source_place *place_out, struct err *err)
{
    if (is_stuck(fetcher, origins->key.owner))
        return err_set(err, ERR_LIMIT,
                       "source files of this owner take too long to read: try again later");
    const uint64_t began_ns = clock_now_ns();
    const enum err_code rc = relay_read(fetcher->session, &origins->request, cancel_fd, out,
                                        changed_ns_out, place_out, err);
    if (rc && clock_now_ns() - began_ns >= SLOW_NS) {
        const unsigned owner = origins->key.owner;
        pthread_mutex_lock(&fetcher->mutex);
        fetcher->stuck_until_ns[owner % FETCH_STUCK_OWNERS] = clock_now_ns() + STUCK_NS;
        pthread_mutex_unlock(&fetcher->mutex);
    }
    return rc;
}
