#include "sampler/profile/profile.h"

#include <stdlib.h>

#include "sampler/base/hash.h"
#include "sampler/profile/cell_key.h"
#include "sampler/profile/profile_parts.h"
#include "sampler/profile/state.h"

/* The root's function, frame and node are rows 0 of their tables.  The root node is not in the index,
 * so that a node of the root's frame below the root is another one. */
static enum err_code add_root(struct profile *profile, struct err *err)
{
    uint32_t id;
    enum err_code rc = profile_function(profile, 0, 0, 0, &id, err);
    if (!rc)
        rc = profile_frame(profile, id, 0, &id, err);
    if (!rc)
        rc = pool_push(&profile->tables.nodes.rows, &(struct profile_node){ 0, 0 }, &id, err);
    return rc;
}

enum err_code profile_create(struct profile **out, struct err *err)
{
    struct profile *const profile = calloc(1, sizeof *profile);
    if (!profile)
        return err_nomem(err);
    pthread_mutex_init(&profile->lock, NULL);
    tally_init(&profile->open, PROFILE_MAX_CELLS);
    tally_init(&profile->open_spots, PROFILE_MAX_CELLS);
    enum err_code rc = tables_init(&profile->tables, err);
    if (!rc)
        rc = add_root(profile, err);
    if (rc) {
        profile_destroy(profile);
        return rc;
    }
    profile->sealed = tables_sizes(&profile->tables);
    history_init(&profile->published.history);
    series_init(&profile->published.series);
    *out = profile;
    return ERR_OK;
}

void profile_destroy(struct profile *profile)
{
    if (!profile)
        return;
    history_deinit(&profile->published.history);
    series_deinit(&profile->published.series);
    tally_deinit(&profile->open);
    tally_deinit(&profile->open_spots);
    tables_deinit(&profile->tables);
    pthread_mutex_destroy(&profile->lock);
    free(profile);
}

struct strtab *profile_strings(struct profile *profile)
{
    return &profile->tables.strings;
}

struct quality *profile_quality(struct profile *profile)
{
    return &profile->quality;
}

static enum err_code check(uint32_t id, uint32_t count, const char *what, struct err *err)
{
    return id < count ? ERR_OK : err_set(err, ERR_INVALID, "there is no %s %u", what, id);
}

static enum err_code check_string(const struct profile *profile, str_id id, struct err *err)
{
    return check(id, profile->tables.strings.strings.count, "string", err);
}

enum err_code profile_function(struct profile *profile, str_id name, str_id file,
                               int32_t first_line, function_id *id_out, struct err *err)
{
    const struct profile_function row = { .name = name,
                                          .file = file,
                                          .first_line = first_line };
    const uint32_t hash = hash_mix((uint64_t)name << 32 | file, (uint32_t)first_line);
    enum err_code rc = check_string(profile, name, err);
    if (!rc)
        rc = check_string(profile, file, err);
    return rc ? rc : table_intern(&profile->tables.functions, hash, &row, id_out, err);
}

profile_origin profile_origin_of(const struct profile *profile, function_id function)
{
    const struct profile_function *const row = table_at(&profile->tables.functions, function);
    return __atomic_load_n(&row->origin, __ATOMIC_ACQUIRE);
}

void profile_set_origin(struct profile *profile, function_id function, profile_origin origin)
{
    struct profile_function *const row = pool_at(&profile->tables.functions.rows, function);
    __atomic_store_n(&row->origin, origin, __ATOMIC_RELEASE);
}

enum err_code profile_frame(struct profile *profile, function_id function, int32_t line,
                            frame_id *id_out, struct err *err)
{
    const struct profile_frame row = { function, line };
    const uint32_t hash = hash_mix(function, (uint32_t)line);
    const enum err_code rc =
        check(function, table_count(&profile->tables.functions), "function", err);
    return rc ? rc : table_intern(&profile->tables.frames, hash, &row, id_out, err);
}

enum err_code profile_node(struct profile *profile, node_id parent, frame_id frame,
                           node_id *id_out, struct err *err)
{
    const struct profile_node row = { parent, frame };
    const uint32_t hash = hash_mix(parent, frame);
    enum err_code rc = check(parent, table_count(&profile->tables.nodes), "node", err);
    if (!rc)
        rc = check(frame, table_count(&profile->tables.frames), "frame", err);
    return rc ? rc : table_intern(&profile->tables.nodes, hash, &row, id_out, err);
}

enum err_code profile_process(struct profile *profile, int32_t pid, str_id name,
                              process_id *id_out, struct err *err)
{
    const struct profile_process row = { pid, name };
    const uint32_t hash = hash_mix((uint32_t)pid, name);
    const enum err_code rc = check_string(profile, name, err);
    return rc ? rc : table_intern(&profile->tables.processes, hash, &row, id_out, err);
}

enum err_code profile_thread(struct profile *profile, const struct profile_thread *thread,
                             thread_id *id_out, struct err *err)
{
    const uint32_t hash = hash_mix((uint64_t)thread->process << 32 | (uint32_t)thread->tid,
                                   thread->ident ^ (uint64_t)thread->name << 32);
    enum err_code rc =
        check(thread->process, table_count(&profile->tables.processes), "process", err);
    if (!rc)
        rc = check_string(profile, thread->name, err);
    return rc ? rc : table_intern(&profile->tables.threads, hash, thread, id_out, err);
}

static enum err_code add(struct profile *profile, thread_id thread, state_bits state,
                         node_id node, uint32_t count, uint64_t ns, struct err *err)
{
    enum err_code rc = check(thread, table_count(&profile->tables.threads), "thread", err);
    if (!rc)
        rc = check(node, table_count(&profile->tables.nodes), "node", err);
    if (rc || !count)
        return rc;
    return tally_add(&profile->open, cell_key(thread, state, node), count, ns, err);
}

enum err_code profile_add(struct profile *profile, thread_id thread, state_bits state,
                          node_id node, uint32_t count, struct err *err)
{
    return add(profile, thread, state, node, count, count * profile->period_ns, err);
}

enum err_code profile_add_timed(struct profile *profile, thread_id thread, state_bits state,
                                node_id node, uint32_t count, uint64_t ns, struct err *err)
{
    profile->is_timed |= ns != count * profile->period_ns;
    return add(profile, thread, state, node, count, ns, err);
}

enum err_code profile_spot(struct profile *profile, const struct profile_spot *spot,
                           spot_id *id_out, struct err *err)
{
    const uint32_t hash = hash_mix(
        (uint64_t)spot->function << 32 | (uint32_t)spot->line,
        (uint64_t)(uint32_t)spot->column << 32 |
            (spot->opcode ^ (uint32_t)spot->end_column << 16 ^ spot->caller * 2654435761u));
    enum err_code rc =
        check(spot->function, table_count(&profile->tables.functions), "function", err);
    if (!rc)
        rc = check_string(profile, spot->opcode, err);
    if (!rc)
        rc = check_string(profile, spot->base, err);
    if (!rc && spot->caller)
        rc = check(spot->caller - 1, table_count(&profile->tables.spots), "spot", err);
    return rc ? rc : table_intern(&profile->tables.spots, hash, spot, id_out, err);
}

enum err_code profile_add_spot(struct profile *profile, node_id node, spot_id spot,
                               uint32_t count, struct err *err)
{
    enum err_code rc = check(node, table_count(&profile->tables.nodes), "node", err);
    if (!rc)
        rc = check(spot, table_count(&profile->tables.spots), "spot", err);
    if (rc || !count)
        return rc;
    return tally_add(&profile->open_spots, spot_key(node, spot), count, 0, err);
}

size_t profile_table_bytes(const struct profile *profile)
{
    return tables_bytes(&profile->tables);
}

void profile_set_memory(struct profile *profile, size_t bytes)
{
    profile->memory_bytes = bytes;
}

void profile_set_period(struct profile *profile, uint64_t period_ns)
{
    profile->period_ns = period_ns;
}

static void flush_series(struct profile *profile)
{
    struct published *const published = &profile->published;
    pthread_mutex_lock(&profile->lock);
    series_flush(&published->series, &profile->pending, published->generation + 1);
    pthread_mutex_unlock(&profile->lock);
}

static void tick_bin(struct profile *profile, uint64_t bin, enum state_doing doing,
                     uint32_t count)
{
    if (!count || series_pend(&profile->pending, bin, doing, count))
        return;
    flush_series(profile);
    (void)series_pend(&profile->pending, bin, doing, count);
}

void profile_tick(struct profile *profile, uint64_t from_ns, uint64_t to_ns, state_bits state,
                  uint32_t count)
{
    const enum state_doing doing = state_doing_of(state);
    const uint64_t first = from_ns / SERIES_BIN_NS;
    uint64_t bins = to_ns > from_ns ? to_ns / SERIES_BIN_NS - first + 1 : 1;
    if (bins > SERIES_PENDING_BINS)
        bins = SERIES_PENDING_BINS;
    uint64_t done = 0;
    for (uint64_t i = 0; i < bins; i++) {
        const uint64_t due = count * (i + 1) / bins;
        tick_bin(profile, first + i, doing, (uint32_t)(due - done));
        done = due;
    }
}
