#include "server/source/source.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "sampler/base/buffer.h"
#include "sampler/base/clock.h"
#include "sampler/base/thread.h"
#include "sampler/sampler.h"
#include "server/source/helper.h"
#include "server/source/request.h"
#include "server/source/source_parts.h"

/* So long nothing more is read after a file that took that long, as one on a file system of the
 * owner's own making may. */
static const uint64_t SLOW_NS = (SOURCE_DEADLINE_MS - 100) * NS_PER_MS;
static const uint64_t STUCK_NS = 10 * NS_PER_S;

static enum err_code start_keeper(struct source *source, struct err *err)
{
    const int sys = thread_start(&source->keeper, keeper_main, source);
    source->has_keeper = sys == 0;
    return sys == 0 ? ERR_OK
                    : err_sys(err, sys, "cannot start the thread that fetches source files");
}

enum err_code source_create(struct sampler *sampler, bool keeps, struct source **out,
                            struct err *err)
{
    struct source *const source = calloc(1, sizeof *source);
    if (!source)
        return err_nomem(err);
    source->sampler = sampler;
    source->stop_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    cache_init(&source->cache);
    pthread_mutex_init(&source->mutex, NULL);
    enum err_code rc =
        source->stop_fd < 0 ? err_sys(err, errno, "cannot make an event descriptor") : ERR_OK;
    if (rc == ERR_OK && keeps)
        rc = start_keeper(source, err);
    if (rc == ERR_OK)
        *out = source;
    else
        source_destroy(source);
    return rc;
}

void source_destroy(struct source *source)
{
    if (!source)
        return;
    if (source->has_keeper) {
        eventfd_write(source->stop_fd, 1);
        pthread_join(source->keeper, NULL);
    }
    cache_deinit(&source->cache);
    pthread_mutex_destroy(&source->mutex);
    if (source->stop_fd >= 0)
        close(source->stop_fd);
    free(source);
}

static bool has_origin(const struct source_origins *origins, profile_origin origin)
{
    for (size_t i = 0; i < origins->count; i++)
        if (origins->items[i] == origin)
            return true;
    return false;
}

enum err_code source_find_origins(const struct profile_snapshot *snapshot,
                                  const function_id *functions, size_t count,
                                  struct source_origins *out, struct err *err)
{
    bool is_several = false, is_unknown = count == 0;
    *out = (struct source_origins){ .count = 0 };
    for (size_t i = 0; i < count; i++) {
        const struct profile_function row = profile_function_at(snapshot, functions[i]);
        const unsigned owner = sampler_origin_owner(row.origin);
        if (i == 0)
            out->key = (struct cache_key){ owner, profile_string(snapshot, row.file) };
        is_unknown |= row.origin == PROFILE_ORIGIN_NONE;
        is_several |= row.origin == PROFILE_ORIGIN_SEVERAL || owner != out->key.owner;
        if (out->count < SOURCE_MAX_ORIGINS && !has_origin(out, row.origin))
            out->items[out->count++] = row.origin;
    }
    if (is_several)
        return err_set(err, ERR_PERM,
                       "the source file is not read: processes of several owners run this "
                       "function");
    if (is_unknown)
        return err_set(err, ERR_NOT_FOUND, "no process is known that has the source file");
    if (out->key.path.length == 0 || out->key.path.text[0] != '/')
        return err_set(err, ERR_INVALID, "the path of the source file is not an absolute path");
    return ERR_OK;
}

static bool is_stuck(struct source *source, unsigned owner)
{
    pthread_mutex_lock(&source->mutex);
    const uint64_t until_ns = source->stuck_until_ns[owner % SOURCE_STUCK_OWNERS];
    pthread_mutex_unlock(&source->mutex);
    return clock_now_ns() < until_ns;
}

static void note_stuck(struct source *source, unsigned owner)
{
    pthread_mutex_lock(&source->mutex);
    source->stuck_until_ns[owner % SOURCE_STUCK_OWNERS] = clock_now_ns() + STUCK_NS;
    pthread_mutex_unlock(&source->mutex);
}

static enum err_code fetch_as(struct source *source, profile_origin origin,
                              const struct source_origins *origins, int cancel_fd,
                              struct buffer *out, uint64_t *changed_ns_out, struct err *err)
{
    struct sampler_origin process;
    enum err_code rc = sampler_origin(source->sampler, origin, &process, err);
    if (rc != ERR_OK)
        return rc;
    const uint64_t began_ns = clock_now_ns();
    rc = source_helper_read(&process, origins->key.path.text, origins->key.path.length,
                            cancel_fd, out, changed_ns_out, err);
    sampler_origin_close(&process);
    if (rc != ERR_OK && clock_now_ns() - began_ns >= SLOW_NS)
        note_stuck(source, origins->key.owner);
    return rc;
}

enum err_code source_fetch(struct source *source, const struct source_origins *origins,
                           int cancel_fd, struct buffer *out, uint64_t *changed_ns_out,
                           struct err *err)
{
    enum err_code rc = ERR_GONE;
    if (is_stuck(source, origins->key.owner))
        return err_set(err, ERR_LIMIT,
                       "source files of this owner take too long to read: try again later");
    for (size_t i = 0; i < origins->count && rc == ERR_GONE; i++)
        rc = fetch_as(source, origins->items[i], origins, cancel_fd, out, changed_ns_out, err);
    return rc;
}

/* What was fetched before is for when nobody is left to ask. */
static enum err_code read_one(void *context, const struct profile_snapshot *snapshot,
                              const function_id *functions, size_t count, struct buffer *out,
                              uint64_t *changed_ns_out, struct err *err)
{
    struct source *const source = context;
    struct source_origins origins;
    enum err_code rc = source_find_origins(snapshot, functions, count, &origins, err);
    if (rc != ERR_OK)
        return rc;
    rc = source_fetch(source, &origins, -1, out, changed_ns_out, err);
    if (rc != ERR_GONE)
        return rc;
    if (cache_get(&source->cache, &origins.key, out, changed_ns_out))
        return ERR_OK;
    return err_set(err, ERR_GONE,
                   "the process that has the source file has ended, and its text was not "
                   "fetched before");
}

struct source_reader source_reader_of(struct source *source)
{
    return (struct source_reader){ .read = read_one, .context = source };
}

enum err_code source_read(const struct source_reader *reader,
                          const struct profile_snapshot *snapshot, const function_id *functions,
                          size_t count, struct buffer *out, uint64_t *changed_ns_out,
                          struct err *err)
{
    if (!reader)
        return err_set(err, ERR_NOT_FOUND, "this session has no source text");
    return reader->read(reader->context, snapshot, functions, count, out, changed_ns_out, err);
}
