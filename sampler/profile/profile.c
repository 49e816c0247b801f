#include "sampler/profile/profile.h"

#include <stdlib.h>
#include <string.h>

#include "sampler/base/hash.h"
#include "sampler/base/vec.h"
#include "sampler/profile/profile_parts.h"
#include "sampler/profile/window.h"

/* The part of the memory that runs may take. */
enum { RUNS_PART = 4 };

enum err_code profile_create(struct profile **out, struct err *err)
{
    struct profile *const profile = calloc(1, sizeof *profile);
    if (!profile)
        return err_nomem(err);
    publication_init(&profile->published);
    open_window_init(&profile->open);
    enum err_code rc = tables_init(&profile->tables, err);
    if (!rc) {
        /* No library, and the root's function, frame and node, are rows 0 of their tables.  The root node is not in the index,
         * so that a node of the root's frame below the root is another one. */
        uint32_t id;
        rc = profile_library(profile, &(struct profile_library){ 0 }, &id, err);
        if (!rc)
            rc = profile_function(profile, 0, 0, 0, &id, err);
        if (!rc)
            rc = profile_frame(profile, id, 0, &id, err);
        if (!rc)
            rc = pool_push(&profile->tables.nodes.rows, &(struct profile_node){ 0, 0 }, &id,
                           err);
    }
    if (rc) {
        profile_destroy(profile);
        return rc;
    }
    profile->sealed = tables_sizes(&profile->tables);
    *out = profile;
    return ERR_OK;
}

void profile_destroy(struct profile *profile)
{
    if (!profile)
        return;
    open_window_deinit(&profile->open);
    for (size_t i = 0; i < MEASURE_COUNT; i++)
        if (profile->measured[i]) {
            open_window_deinit(profile->measured[i]);
            free(profile->measured[i]);
        }
    tables_deinit(&profile->tables);
    publication_deinit(&profile->published);
    packages_deinit(&profile->packages);
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

static enum err_code check_id(uint32_t id, uint32_t count, const char *what, struct err *err)
{
    return id < count ? ERR_OK : err_set(err, ERR_INVALID, "there is no %s %u", what, id);
}

static enum err_code check_string(const struct profile *profile, str_id id, struct err *err)
{
    return check_id(id, profile->tables.strings.strings.count, "string", err);
}

enum err_code profile_library(struct profile *profile, const struct profile_library *library,
                              library_id *id_out, struct err *err)
{
    const uint32_t hash =
        hash_mix((uint64_t)library->path << 32 | library->build_id, library->flags);
    enum err_code rc = check_string(profile, library->path, err);
    if (!rc)
        rc = check_string(profile, library->build_id, err);
    if (!rc && (library->flags & ~(uint32_t)PROFILE_LIBRARY_FLAGS))
        rc = err_set(err, ERR_INVALID, "a library has unknown flags");
    return rc ? rc : table_intern(&profile->tables.libraries, hash, library, id_out, err);
}

/* The cause of the mark that the row is. */
static enum wait_cause cause_of(const struct profile *profile,
                                const struct profile_function *row)
{
    struct wait_text wait;
    if (row->library || row->first_line ||
        strcmp(strtab_get(&profile->tables.strings, row->file).text, "~") != 0 ||
        !wait_read_name(strtab_get(&profile->tables.strings, row->name).text, &wait))
        return WAIT_UNKNOWN;
    return wait.cause;
}

enum err_code profile_function_row(struct profile *profile, const struct profile_function *row,
                                   function_id *id_out, struct err *err)
{
    struct profile_function interned = *row;
    const uint32_t hash = hash_mix((uint64_t)row->name << 32 | row->file,
                                   (uint64_t)row->library << 32 | (uint32_t)row->first_line);
    enum err_code rc = check_string(profile, row->name, err);
    interned.origin = PROFILE_ORIGIN_NONE;
    interned.entry = 0;
    if (!rc)
        rc = check_string(profile, row->file, err);
    if (!rc)
        rc = check_id(row->library, table_count(&profile->tables.libraries), "library", err);
    if (rc)
        return rc;
    interned.waits = cause_of(profile, row);
    return table_intern(&profile->tables.functions, hash, &interned, id_out, err);
}

enum err_code profile_function(struct profile *profile, str_id name, str_id file,
                               int32_t first_line, function_id *id_out, struct err *err)
{
    const struct profile_function row = { .name = name,
                                          .file = file,
                                          .first_line = first_line };
    return profile_function_row(profile, &row, id_out, err);
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

void profile_set_entry(struct profile *profile, function_id function, uint64_t entry)
{
    struct profile_function *const row = pool_at(&profile->tables.functions.rows, function);
    if (!row->entry)
        __atomic_store_n(&row->entry, entry, __ATOMIC_RELAXED);
}

enum err_code profile_frame(struct profile *profile, function_id function, int32_t line,
                            frame_id *id_out, struct err *err)
{
    const struct profile_frame row = { function, line };
    const uint32_t hash = hash_mix(function, (uint32_t)line);
    const enum err_code rc =
        check_id(function, table_count(&profile->tables.functions), "function", err);
    return rc ? rc : table_intern(&profile->tables.frames, hash, &row, id_out, err);
}

enum err_code profile_node(struct profile *profile, node_id parent, frame_id frame,
                           node_id *id_out, struct err *err)
{
    const struct profile_node row = { parent, frame };
    const uint32_t hash = hash_mix(parent, frame);
    enum err_code rc = check_id(parent, table_count(&profile->tables.nodes), "node", err);
    if (!rc)
        rc = check_id(frame, table_count(&profile->tables.frames), "frame", err);
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
        check_id(thread->process, table_count(&profile->tables.processes), "process", err);
    if (!rc)
        rc = check_string(profile, thread->name, err);
    return rc ? rc : table_intern(&profile->tables.threads, hash, thread, id_out, err);
}

/* open: the window of the samples. */
static enum err_code add_samples(struct profile *profile, struct open_window *open,
                                 thread_id thread, state_bits state, node_id node,
                                 uint32_t count, uint64_t ns, struct err *err)
{
    enum err_code rc = check_id(thread, table_count(&profile->tables.threads), "thread", err);
    if (!rc)
        rc = check_id(node, table_count(&profile->tables.nodes), "node", err);
    if (rc || !count || profile->drops_samples)
        return rc;
    return open_window_add(open, thread, state, node, count, ns, err);
}

enum err_code profile_add(struct profile *profile, thread_id thread, state_bits state,
                          node_id node, uint32_t count, struct err *err)
{
    return add_samples(profile, &profile->open, thread, state, node, count,
                       count * profile->open.period_ns, err);
}

enum err_code profile_add_timed(struct profile *profile, thread_id thread, state_bits state,
                                node_id node, uint32_t count, uint64_t ns, struct err *err)
{
    profile->open.is_timed |= ns != count * profile->open.period_ns;
    return add_samples(profile, &profile->open, thread, state, node, count, ns, err);
}

/* Makes the open window of a measure when it is first used. */
static enum err_code find_measured(struct profile *profile, enum measure measure,
                                   struct open_window **out, struct err *err)
{
    if (measure == MEASURE_TIME || measure >= MEASURE_COUNT)
        return err_set(err, ERR_INVALID, "there is no such measure");
    if (!profile->measured[measure]) {
        struct open_window *const open = malloc(sizeof *open);
        if (!open)
            return err_nomem(err);
        open_window_init(open);
        open->start_ns = profile->open.start_ns;
        profile->measured[measure] = open;
    }
    *out = profile->measured[measure];
    return ERR_OK;
}

enum err_code profile_add_measured(struct profile *profile, enum measure measure,
                                   thread_id thread, state_bits state, node_id node,
                                   uint32_t count, struct err *err)
{
    struct open_window *open;
    const enum err_code rc = find_measured(profile, measure, &open, err);
    return rc ? rc : add_samples(profile, open, thread, state, node, count, 0, err);
}

void profile_order(struct profile *profile, const struct run *run)
{
    if (!profile->drops_samples)
        open_window_order(&profile->open, run);
}

enum err_code profile_spot(struct profile *profile, const struct profile_spot *spot,
                           spot_id *id_out, struct err *err)
{
    const uint32_t hash = hash_mix(
        (uint64_t)spot->function << 32 | (uint32_t)spot->line,
        (uint64_t)(uint32_t)spot->column << 32 |
            (spot->opcode ^ (uint32_t)spot->end_column << 16 ^ spot->caller * 2654435761u));
    enum err_code rc =
        check_id(spot->function, table_count(&profile->tables.functions), "function", err);
    if (!rc)
        rc = check_string(profile, spot->opcode, err);
    if (!rc)
        rc = check_string(profile, spot->base, err);
    if (!rc && spot->caller)
        rc = check_id(spot->caller - 1, table_count(&profile->tables.spots), "spot", err);
    return rc ? rc : table_intern(&profile->tables.spots, hash, spot, id_out, err);
}

enum err_code profile_add_spot(struct profile *profile, node_id node, spot_id spot,
                               uint32_t count, struct err *err)
{
    enum err_code rc = check_id(node, table_count(&profile->tables.nodes), "node", err);
    if (!rc)
        rc = check_id(spot, table_count(&profile->tables.spots), "spot", err);
    if (rc || !count || profile->drops_samples)
        return rc;
    return open_window_add_spot(&profile->open, node, spot, count, err);
}

size_t profile_table_bytes(const struct profile *profile)
{
    return tables_bytes(&profile->tables);
}

void profile_set_memory(struct profile *profile, size_t bytes)
{
    profile->memory_bytes = bytes;
}

void profile_drop_samples(struct profile *profile)
{
    profile->drops_samples = true;
}

void profile_keep_open(struct profile *profile)
{
    profile->is_kept_open = true;
}

void profile_set_period(struct profile *profile, uint64_t period_ns)
{
    profile->open.period_ns = period_ns;
}

static void tick_bin(struct profile *profile, uint64_t bin, enum part part, uint32_t count)
{
    if (!count || series_pend(&profile->pending, bin, part, count))
        return;
    publication_flush_series(&profile->published, &profile->pending);
    (void)series_pend(&profile->pending, bin, part, count);
}

void profile_tick(struct profile *profile, uint64_t from_ns, uint64_t to_ns, enum part part,
                  uint32_t count)
{
    const uint64_t first = from_ns / SERIES_BIN_NS;
    uint64_t bins = to_ns > from_ns ? to_ns / SERIES_BIN_NS - first + 1 : 1;
    if (bins > SERIES_PENDING_BINS)
        bins = SERIES_PENDING_BINS;
    uint64_t done = 0;
    for (uint64_t i = 0; i < bins && !profile->drops_samples; i++) {
        const uint64_t due = count * (i + 1) / bins;
        tick_bin(profile, first + i, part, (uint32_t)(due - done));
        done = due;
    }
}

/* The tables grow by doubling: if closed here, they stay below three quarters of the memory. */
static void close_tables(struct profile *profile)
{
    if (profile->is_closed || profile->is_kept_open || !profile->memory_bytes ||
        tables_bytes(&profile->tables) < profile->memory_bytes / 8 * 3)
        return;
    tables_close(&profile->tables);
    profile->is_closed = true;
}

bool profile_is_full(const struct profile *profile)
{
    return profile->is_closed;
}

/* Bytes above the memory of the profile. */
static size_t excess_of(const struct profile *profile)
{
    const size_t bytes =
        publication_bytes(&profile->published) + tables_bytes(&profile->tables);
    return profile->memory_bytes && bytes > profile->memory_bytes
               ? bytes - profile->memory_bytes
               : 0;
}

static bool has_news(const struct profile *profile)
{
    const struct profile_sizes now = tables_sizes(&profile->tables);
    return profile->open.cells.count || profile->has_measured ||
           memcmp(&now, &profile->sealed, sizeof now) != 0;
}

enum err_code profile_seal(struct profile *profile, uint64_t now_ns, struct err *err)
{
    struct window *window = NULL;
    enum err_code rc = ERR_OK;
    if (now_ns < profile->open.start_ns)
        now_ns = profile->open.start_ns;
    if (profile->drops_samples) {
        profile->sealed = tables_sizes(&profile->tables);
        publication_add_rows(&profile->published, &profile->sealed, now_ns, &profile->quality,
                             tables_bytes(&profile->tables));
        profile->open.start_ns = now_ns;
        close_tables(profile);
        return ERR_OK;
    }
    if (has_news(profile))
        rc = open_window_close(&profile->open, now_ns, &window, err);
    if (window)
        window->sizes = tables_sizes(&profile->tables);
    if (!rc)
        rc = publication_add(&profile->published, window, &profile->quality,
                             tables_bytes(&profile->tables), &profile->pending, err);
    if (rc) {
        window_unref(window);
        return rc;
    }
    profile->sealed = tables_sizes(&profile->tables);
    profile->has_measured = false;
    open_window_clear(&profile->open, now_ns);

    close_tables(profile);
    const bool is_merged = publication_merge_old(&profile->published, now_ns);

    const size_t room = profile->memory_bytes / RUNS_PART;
    const size_t bytes = profile->published.history.run_bytes;
    const size_t excess = excess_of(profile);
    const size_t above = profile->memory_bytes && bytes > room ? bytes - room : 0;
    const size_t runs = above > excess ? above : excess;
    if ((!runs || !publication_drop_runs(&profile->published, runs)) && is_merged &&
        excess_of(profile))
        (void)publication_halve_ages(&profile->published);
    return ERR_OK;
}

enum err_code profile_seal_measured(struct profile *profile, enum measure measure,
                                    uint64_t now_ns, uint64_t period, struct err *err)
{
    struct open_window *open;
    struct window *window = NULL;
    enum err_code rc = find_measured(profile, measure, &open, err);
    if (rc)
        return rc;
    if (now_ns < open->start_ns)
        now_ns = open->start_ns;
    open->period_ns = period;
    if (open->cells.count)
        rc = open_window_close(open, now_ns, &window, err);
    if (window) {
        window->sizes = tables_sizes(&profile->tables);
        rc = publication_add_measured(&profile->published, measure, window, err);
    }
    if (rc) {
        window_unref(window);
        return rc;
    }
    profile->has_measured |= window != NULL;
    open_window_clear(open, now_ns);
    return ERR_OK;
}

void profile_extend(struct profile *profile, uint64_t end_ns)
{
    publication_extend(&profile->published, end_ns);
}

enum err_code profile_add_memory(struct profile *profile, const struct memory_step *step,
                                 const struct memory_use *uses, struct err *err)
{
    for (uint32_t i = 0; i < step->count; i++)
        if (uses[i].process != MEMORY_OTHERS &&
            uses[i].process >= table_count(&profile->tables.processes))
            return err_set(err, ERR_INVALID, "there is no process %u", uses[i].process);
    return profile->drops_samples
               ? ERR_OK
               : publication_add_memory(&profile->published, step, uses, err);
}

enum err_code profile_copy_memory(struct profile *profile, uint64_t from_ns, uint64_t to_ns,
                                  struct memory_log *out, struct err *err)
{
    return publication_copy_memory(&profile->published, from_ns, to_ns, out, err);
}

enum err_code profile_copy_series(struct profile *profile, uint64_t first, uint64_t end,
                                  struct series *out, struct err *err)
{
    return publication_copy_series(&profile->published, first, end, out, err);
}
