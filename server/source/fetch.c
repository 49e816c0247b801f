#include "server/source/fetch.h"

#include <stdbool.h>
#include <string.h>

#include "sampler/base/buffer.h"
#include "sampler/base/clock.h"
#include "sampler/debug_lines.h"
#include "sampler/sampler.h"
#include "server/source/helper.h"
#include "server/source/relay.h"
#include "server/source/request.h"
#include "server/source/source.h"

/* So long nothing more is read after a file that took that long, as one on a file system of the
 * owner's own making may. */
static const uint64_t SLOW_NS = (SOURCE_DEADLINE_MS - 100) * NS_PER_MS;
static const uint64_t STUCK_NS = 10 * NS_PER_S;

void fetcher_init(struct fetcher *fetcher, struct sampler *sampler)
{
    memset(fetcher, 0, sizeof *fetcher);
    fetcher->sampler = sampler;
    pthread_mutex_init(&fetcher->mutex, NULL);
}

void fetcher_deinit(struct fetcher *fetcher)
{
    pthread_mutex_destroy(&fetcher->mutex);
}

static bool has_origin(const struct file_origins *origins, profile_origin origin)
{
    for (size_t i = 0; i < origins->count; i++)
        if (origins->items[i] == origin)
            return true;
    return false;
}

/* What to ask about it: where its library's debug information places it. */
static enum err_code locate(const struct profile_snapshot *snapshot,
                            const struct profile_function *function, struct file_origins *out,
                            struct err *err)
{
    if (!debug_lines_are_supported())
        return err_set(err, ERR_UNSUPPORTED,
                       "this program was built without libdw, which reads debug information");
    if (!function->entry)
        return err_set(err, ERR_NOT_FOUND, "no source file is known for this native function");
    if (out->entry_count == SOURCE_MAX_PLACES)
        return err_set(err, ERR_LIMIT, "too many native functions at once");
    out->entries[out->entry_count++] = function->entry;
    out->build_id =
        profile_string(snapshot, profile_library_at(snapshot, function->library).build_id);
    return ERR_OK;
}

enum err_code fetch_find_origins(const struct profile_snapshot *snapshot,
                                 const function_id *functions, size_t count,
                                 enum fetch_want want, struct file_origins *out,
                                 struct err *err)
{
    bool is_several = false, is_unknown = count == 0;
    *out = (struct file_origins){ .wants_places = want == FETCH_PLACES };
    for (size_t i = 0; i < count; i++) {
        const struct profile_function row = profile_function_at(snapshot, functions[i]);
        const unsigned owner = sampler_origin_owner(row.origin);
        const bool is_known = source_is_known(snapshot, functions[i]);
        if (!is_known && (want == FETCH_TEXT || (want == FETCH_NATIVE_TEXT && count > 1)))
            return err_set(err, ERR_NOT_FOUND,
                           "no source file is known for this native function");
        const enum err_code rc = is_known ? ERR_OK : locate(snapshot, &row, out, err);
        if (rc != ERR_OK)
            return rc;
        if (i == 0)
            out->key = (struct cache_key){ owner, profile_string(snapshot, row.file) };
        is_unknown |= row.origin == PROFILE_ORIGIN_NONE;
        is_several |= row.origin == PROFILE_ORIGIN_SEVERAL || owner != out->key.owner;
        if (out->count < FETCH_MAX_ORIGINS && !has_origin(out, row.origin))
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

static bool is_stuck(struct fetcher *fetcher, unsigned owner)
{
    pthread_mutex_lock(&fetcher->mutex);
    const uint64_t until_ns = fetcher->stuck_until_ns[owner % FETCH_STUCK_OWNERS];
    pthread_mutex_unlock(&fetcher->mutex);
    return clock_now_ns() < until_ns;
}

static void note_stuck(struct fetcher *fetcher, unsigned owner)
{
    pthread_mutex_lock(&fetcher->mutex);
    fetcher->stuck_until_ns[owner % FETCH_STUCK_OWNERS] = clock_now_ns() + STUCK_NS;
    pthread_mutex_unlock(&fetcher->mutex);
}

static enum err_code fetch_as(struct fetcher *fetcher, profile_origin origin,
                              const struct file_origins *origins, int cancel_fd,
                              struct buffer *out, uint64_t *changed_ns_out,
                              struct source_place *place_out, struct err *err)
{
    const struct source_wish wish = { .path = origins->key.path,
                                      .entries = origins->entries,
                                      .entry_count = origins->entry_count,
                                      .wants_places = origins->wants_places,
                                      .wants_checkout = origins->wants_checkout,
                                      .build_id = origins->build_id };
    const uint64_t began_ns = clock_now_ns();
    const enum err_code rc = relay_read(fetcher->sampler, origin, &wish, cancel_fd, out,
                                        changed_ns_out, place_out, err);
    if (rc != ERR_OK && clock_now_ns() - began_ns >= SLOW_NS)
        note_stuck(fetcher, origins->key.owner);
    return rc;
}

enum err_code fetch_file(struct fetcher *fetcher, const struct file_origins *origins,
                         int cancel_fd, struct buffer *out, uint64_t *changed_ns_out,
                         struct source_place *place_out, struct err *err)
{
    enum err_code rc = ERR_GONE;
    if (is_stuck(fetcher, origins->key.owner))
        return err_set(err, ERR_LIMIT,
                       "source files of this owner take too long to read: try again later");
    for (size_t i = 0; i < origins->count && rc == ERR_GONE; i++)
        rc = fetch_as(fetcher, origins->items[i], origins, cancel_fd, out, changed_ns_out,
                      place_out, err);
    return rc;
}
