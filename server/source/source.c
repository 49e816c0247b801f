#include "server/source/source.h"

#include <stdlib.h>
#include <string.h>

#include "sampler/base/buffer.h"
#include "sampler/profile/profile.h"
#include "sampler/session.h"
#include "server/source/cache.h"
#include "server/source/fetch.h"
#include "server/source/file_origins.h"
#include "server/source/prefetch.h"
#include "server/source/request.h"

struct source {
    struct fetcher fetcher;
    struct cache cache;
    struct prefetch prefetch;
};

enum err_code source_create(struct session *session, enum source_keeping keeping,
                            struct source **out, struct err *err)
{
    struct source *const source = calloc(1, sizeof *source);
    if (!source)
        return err_nomem(err);
    fetcher_init(&source->fetcher, session);
    cache_init(&source->cache);
    const enum err_code rc =
        keeping == SOURCE_KEEPS_NOTHING
            ? ERR_OK
            : prefetch_start(&source->prefetch, &source->fetcher, &source->cache,
                             keeping == SOURCE_KEEPS_TEXTS, err);
    if (!rc)
        *out = source;
    else
        source_destroy(source);
    return rc;
}

void source_destroy(struct source *source)
{
    if (!source)
        return;
    prefetch_stop(&source->prefetch);
    cache_deinit(&source->cache);
    fetcher_deinit(&source->fetcher);
    free(source);
}

static enum err_code not_fetched(struct err *err)
{
    return err_set(err, ERR_GONE,
                   "the process that has the source file has ended, and its text was not "
                   "fetched before");
}

static bool is_same_text(const struct profile_snapshot *one, str_id text,
                         const struct profile_snapshot *other, str_id same)
{
    const struct strtab_string a = profile_string(one, text), b = profile_string(other, same);
    return a.length == b.length && memcmp(a.text, b.text, a.length) == 0;
}

static bool is_same_function(const struct profile_snapshot *one, function_id function,
                             const struct profile_snapshot *other, function_id same)
{
    const struct profile_function a = profile_function_at(one, function);
    const struct profile_function b = profile_function_at(other, same);
    return a.first_line == b.first_line && a.entry == b.entry && !a.library == !b.library &&
           is_same_text(one, a.name, other, b.name) &&
           is_same_text(one, a.file, other, b.file) &&
           (!a.library || is_same_text(one, profile_library_at(one, a.library).path, other,
                                       profile_library_at(other, b.library).path));
}

/* Requests name functions by their numbers in the session's own profile.  A report may be of a copy with other stacks, whose
 * functions have other numbers. */
static enum err_code name_functions(const struct source *source,
                                    const struct profile_snapshot *snapshot,
                                    struct relay_request *request, struct err *err)
{
    struct profile *const own = session_profile(source->fetcher.session);
    function_id wanted[SOURCE_MAX_PLACES]; /* 0: found */
    size_t left = request->count;
    struct profile_snapshot named;
    if (snapshot->profile == own)
        return ERR_OK;
    const enum err_code rc = profile_snapshot(own, &named, err);
    if (rc)
        return rc;
    memcpy(wanted, request->functions, request->count * sizeof *wanted);
    for (function_id id = 1; id < named.sizes.functions && left > 0; id++)
        for (size_t i = 0; i < request->count; i++)
            if (wanted[i] && is_same_function(snapshot, wanted[i], &named, id)) {
                request->functions[i] = id;
                wanted[i] = 0;
                left--;
            }
    profile_snapshot_release(&named);
    return left > 0 ? err_set(err, ERR_NOT_FOUND, "the session has no such function") : ERR_OK;
}

/* Texts that were fetched before serve when nobody is left to ask. */
static enum err_code read_one(void *context, const struct profile_snapshot *snapshot,
                              const function_id *functions, size_t count, struct buffer *out,
                              struct source_state *state_out, struct source_place *place_out,
                              struct err *err)
{
    struct source *const source = context;
    struct file_origins origins;
    enum err_code rc = file_origins_find(
        snapshot, functions, count, place_out ? RELAY_NATIVE_TEXT : RELAY_TEXT, &origins, err);
    if (!rc)
        rc = name_functions(source, snapshot, &origins.request, err);
    if (rc)
        return rc;
    rc =
        fetch_file(&source->fetcher, &origins, -1, out, &state_out->changed_ns, place_out, err);
    if (rc != ERR_GONE || origins.entry_count)
        return rc;
    if (cache_get(&source->cache, &origins.key, out, &state_out->changed_ns))
        return ERR_OK;
    return not_fetched(err);
}

enum err_code source_take(struct source *source, const struct profile_snapshot *snapshot,
                          const function_id *functions, size_t count, bool asks,
                          struct buffer *out, uint64_t *changed_ns_out, struct err *err)
{
    struct file_origins origins;
    enum err_code rc = file_origins_find(snapshot, functions, count, RELAY_TEXT, &origins, err);
    if (rc || cache_get(&source->cache, &origins.key, out, changed_ns_out))
        return rc;
    if (!asks)
        return err_set(err, ERR_LIMIT, "there was no time to read the source file");
    rc = fetch_file(&source->fetcher, &origins, -1, out, changed_ns_out, NULL, err);
    return rc == ERR_GONE ? not_fetched(err) : rc;
}

const struct source_checkout *source_checkout(const struct source *source)
{
    return source ? prefetch_checkout(&source->prefetch) : NULL;
}

static enum err_code locate_functions(void *context, const struct profile_snapshot *snapshot,
                                      const function_id *functions, size_t count,
                                      source_found *found, void *found_context, struct err *err)
{
    struct source *const source = context;
    struct file_origins origins;
    struct source_place ignored;
    struct buffer text = { 0 };
    uint64_t changed_ns = 0;
    enum err_code rc =
        file_origins_find(snapshot, functions, count, RELAY_PLACES, &origins, err);
    if (!rc)
        rc = name_functions(source, snapshot, &origins.request, err);
    if (!rc)
        rc = fetch_file(&source->fetcher, &origins, -1, &text, &changed_ns, &ignored, err);
    if (!rc) {
        /* The answer's places are in the order of the request; those at its end may lack. */
        struct source_found_row row;
        struct source_place place;
        size_t at = 0;
        for (size_t i = 0; i < count && text.length - at >= sizeof row; i++) {
            memcpy(&row, text.data + at, sizeof row);
            at += sizeof row;
            if (row.path_length >= sizeof place.path || row.path_length > text.length - at)
                break;
            memcpy(place.path, text.data + at, row.path_length);
            place.path[row.path_length] = '\0';
            place.line = row.line;
            at += row.path_length;
            if (place.path[0] && place.line > 0)
                found(found_context, functions[i], &place);
        }
    }
    buffer_deinit(&text);
    return rc;
}

struct source_reader source_reader_of(struct source *source)
{
    return (struct source_reader){ .read = read_one,
                                   .locate = locate_functions,
                                   .context = source };
}
