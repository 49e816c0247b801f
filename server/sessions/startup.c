#include "server/sessions/startup.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "sampler/session.h"

struct startup {
    struct session_options options;
    atomic_bool is_cancelled;
    int done_fd;
    pthread_mutex_t lock; /* guards what follows */
    bool is_done, is_left;
    struct session *session;
    enum err_code rc;
    struct err err;
};

static void destroy_startup(struct startup *startup)
{
    if (startup->done_fd >= 0)
        close(startup->done_fd);
    pthread_mutex_destroy(&startup->lock);
    free(startup);
}

static void *run_startup(void *context)
{
    struct startup *const startup = context;
    const uint64_t one = 1;
    const enum err_code rc = session_start(&startup->options, &startup->session, &startup->err);
    pthread_mutex_lock(&startup->lock);
    startup->rc = rc;
    startup->is_done = true;
    const bool is_left = startup->is_left;
    (void)!write(startup->done_fd, &one, sizeof one);
    pthread_mutex_unlock(&startup->lock);
    if (is_left) {
        session_destroy(startup->session);
        destroy_startup(startup);
    }
    return NULL;
}

static enum err_code create_startup(const struct session_options *options, struct startup **out,
                                    struct err *err)
{
    struct startup *const startup = calloc(1, sizeof *startup);
    if (!startup)
        return err_nomem(err);
    startup->options = *options;
    startup->options.is_cancelled = &startup->is_cancelled;
    atomic_init(&startup->is_cancelled, false);
    pthread_mutex_init(&startup->lock, NULL);
    startup->done_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (startup->done_fd < 0) {
        const int sys = errno;
        destroy_startup(startup);
        return err_sys(err, sys, "cannot create an event descriptor");
    }
    *out = startup;
    return ERR_OK;
}

enum err_code startup_begin(const struct session_options *options, struct startup **out,
                            struct err *err)
{
    struct startup *startup = NULL;
    pthread_t thread;
    const enum err_code rc = create_startup(options, &startup, err);
    if (rc)
        return rc;
    const int sys = pthread_create(&thread, NULL, run_startup, startup);
    if (sys) {
        destroy_startup(startup);
        return err_sys(err, sys, "cannot start a thread");
    }
    pthread_detach(thread);
    *out = startup;
    return ERR_OK;
}

int startup_fd(const struct startup *startup)
{
    return startup->done_fd;
}

void startup_cancel(struct startup *startup)
{
    atomic_store(&startup->is_cancelled, true);
}

enum err_code startup_end(struct startup *startup, struct session **out, struct err *err)
{
    pthread_mutex_lock(&startup->lock);
    const bool is_left = !startup->is_done;
    startup->is_left = is_left;
    if (is_left)
        startup_cancel(startup);
    pthread_mutex_unlock(&startup->lock);
    /* From here on what is left is its thread's. */
    if (is_left)
        return err_set(err, ERR_SYS, "stopped before the interpreter was found");
    const enum err_code rc = startup->rc;
    if (!rc)
        *out = startup->session;
    else if (err)
        *err = startup->err;
    destroy_startup(startup);
    return rc;
}
