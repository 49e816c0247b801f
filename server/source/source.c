#include "server/source/source.h"

#include <stdlib.h>

#include "sampler/base/buffer.h"
#include "server/source/cache.h"
#include "server/source/fetch.h"
#include "server/source/keeper.h"

struct source {
    struct fetcher fetcher;
    struct cache cache;
    struct keeper keeper;
};

enum err_code source_create(struct sampler *sampler, bool keeps, struct source **out,
                            struct err *err)
{
    struct source *const source = calloc(1, sizeof *source);
    if (!source)
        return err_nomem(err);
    fetcher_init(&source->fetcher, sampler);
    cache_init(&source->cache);
    const enum err_code rc =
        keeps ? keeper_start(&source->keeper, &source->fetcher, &source->cache, err) : ERR_OK;
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
    keeper_stop(&source->keeper);
    cache_deinit(&source->cache);
    fetcher_deinit(&source->fetcher);
    free(source);
}

/* What was fetched before is for when nobody is left to ask. */
static enum err_code read_one(void *context, const struct profile_snapshot *snapshot,
                              const function_id *functions, size_t count, struct buffer *out,
                              uint64_t *changed_ns_out, struct source_place *place_out,
                              struct err *err)
{
    struct source *const source = context;
    struct file_origins origins;
    enum err_code rc =
        fetch_find_origins(snapshot, functions, count, place_out != NULL, &origins, err);
    if (rc != ERR_OK)
        return rc;
    rc = fetch_file(&source->fetcher, &origins, -1, out, changed_ns_out, place_out, err);
    if (rc != ERR_GONE || origins.entry)
        return rc;
    if (cache_get(&source->cache, &origins.key, out, changed_ns_out))
        return ERR_OK;
    return err_set(err, ERR_GONE,
                   "the process that has the source file has ended, and its text was not "
                   "fetched before");
}

const struct source_checkout *source_checkout(const struct source *source)
{
    return source ? keeper_checkout(&source->keeper) : NULL;
}

struct source_reader source_reader_of(struct source *source)
{
    return (struct source_reader){ .read = read_one, .context = source };
}

enum err_code source_read(const struct source_reader *reader,
                          const struct profile_snapshot *snapshot, const function_id *functions,
                          size_t count, struct buffer *out, uint64_t *changed_ns_out,
                          struct source_place *place_out, struct err *err)
{
    if (place_out)
        *place_out = (struct source_place){ .line = 0 };
    if (!reader)
        return err_set(err, ERR_NOT_FOUND, "this session has no source text");
    return reader->read(reader->context, snapshot, functions, count, out, changed_ns_out,
                        place_out, err);
}
