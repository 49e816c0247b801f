#include "server/source/prefetch.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <unistd.h>

#include "sampler/base/buffer.h"
#include "sampler/base/hash.h"
#include "sampler/base/thread.h"
#include "sampler/profile/packages.h"
#include "sampler/profile/views/code_origin.h"
#include "sampler/profile/views/own_code.h"
#include "sampler/profile/views/view.h"
#include "sampler/session.h"
#include "server/source/cache.h"
#include "server/source/checkout.h"
#include "server/source/distribution.h"
#include "server/source/fetch.h"
#include "server/source/file_origins.h"
#include "server/source/hot_files.h"

/* A window of samples is seen after a quarter of a second. */
enum { FIRST_MS = 300, NEXT_MS = 1000, SOON_MS = 100, FETCHES_AT_ONCE = 64 };
/* Beyond so many nodes the heat of what a function calls is not added up. */
enum { MAX_TOTALS = 1 << 20 };
/* Lowers the thread's priority. */
enum { NICE = 10 };

/* Files that a round leaves to be fetched: none, some that were busy, some that it did not come
 * to. */
enum left { LEFT_NONE, LEFT_BUSY, LEFT_MORE };

/* A file that stays busy is tried so often, and then again with the next new file. */
enum { MAX_TRIES = 15 };

struct progress {
    uint32_t functions; /* so many are done with */
    int tries;          /* in a row that left busy files */
};

struct round {
    struct prefetch *prefetch;
    struct profile_snapshot snapshot;
    uint64_t *self, *total; /* by function */
    unsigned char *own;     /* by function: is it your code? */
    bool has_one_owner;
    function_id *functions; /* with an origin, by file */
    size_t function_count;
    struct hot_file *files; /* hottest first */
    size_t file_count;
};

static bool allocate_round(struct round *round)
{
    const size_t count = round->snapshot.sizes.functions + 1u;
    round->self = calloc(count, sizeof *round->self);
    round->total = calloc(count, sizeof *round->total);
    round->own = calloc(count, sizeof *round->own);
    round->functions = calloc(count, sizeof *round->functions);
    round->files = calloc(count, sizeof *round->files);
    return round->self && round->total && round->own && round->functions && round->files;
}

static function_id function_of(const struct round *round, node_id node)
{
    const struct profile_snapshot *const snapshot = &round->snapshot;
    return profile_frame_at(snapshot, profile_node_at(snapshot, node).frame).function;
}

static bool add_heat(struct round *round)
{
    const struct view_query everything = { 0 };
    struct view view;
    if (view_init(&view, &round->snapshot, &everything, NULL))
        return false;
    for (size_t i = 0; i < view.count; i++)
        round->self[function_of(round, view.node[i])] += view.self[i];

    const uint32_t nodes = round->snapshot.sizes.nodes;
    uint64_t *const totals = nodes <= MAX_TOTALS ? calloc(nodes + 1u, sizeof *totals) : NULL;
    if (totals) {
        view_totals(&view, &round->snapshot, totals);
        for (node_id node = 0; node < nodes; node++)
            round->total[function_of(round, node)] += totals[node];
    }
    free(totals);

    view_deinit(&view);
    return true;
}

static bool is_stopping(const struct prefetch *prefetch)
{
    struct pollfd stop = { .fd = prefetch->stop_fd, .events = POLLIN };
    return poll(&stop, 1, 0) != 0;
}

/* False: it is too slow or in use, or cannot be asked for now, and may not be so later. */
static bool fetch_text(struct round *round, const struct file_origins *origins, uint32_t rank,
                       struct buffer *text)
{
    struct prefetch *const prefetch = round->prefetch;
    uint64_t changed_ns = 0;
    const enum err_code rc = fetch_file(prefetch->fetcher, origins, prefetch->stop_fd, text,
                                        &changed_ns, NULL, NULL);
    if (!rc)
        cache_put(prefetch->cache, &origins->key, rank, text, changed_ns);
    else if (rc != ERR_LIMIT && rc != ERR_GONE && rc != ERR_SYS)
        cache_put(prefetch->cache, &origins->key, rank, NULL, 0);
    return rc != ERR_LIMIT && rc != ERR_SYS;
}

static bool is_settled(const struct prefetch *prefetch, const struct prefetch_settled *folder)
{
    for (size_t i = 0; i < prefetch->settled_count; i++)
        if (prefetch->settled[i].owner == folder->owner &&
            prefetch->settled[i].hash == folder->hash)
            return true;
    return false;
}

/* Says so of the file, or of all in its folder, if it is of a package or of the project against what its path says. */
static void note_distribution(struct round *round, const struct strtab_string *path,
                              enum code_origin_kind kind,
                              const struct source_distribution *found)
{
    const char *const slash = strrchr(path->text, '/');
    const size_t scope = found->has_folder ? (size_t)(slash - path->text) : path->length;
    const char *const top = path->text + found->root_length + 1;
    const size_t top_length = strcspn(top, "/");
    const bool is_module =
        top_length > 3 && top[top_length] == '\0' && strcmp(top + top_length - 3, ".py") == 0;
    char name[PACKAGES_MAX_NAME + 1] = "";
    char file[PATH_MAX];
    if ((found->owner == SOURCE_OF_PACKAGE) == (kind == CODE_PACKAGE) ||
        snprintf(file, sizeof file, "%.*s", (int)scope, path->text) >= (int)sizeof file)
        return;
    if (found->owner == SOURCE_OF_PACKAGE)
        snprintf(name, sizeof name, "%.*s", (int)(top_length - (is_module ? 3 : 0)), top);
    (void)!packages_add(profile_packages(round->snapshot.profile), file, name, NULL);
}

/* Asks the metadata of installed packages about a file. */
static void find_distribution(struct round *round, const struct hot_file *file,
                              const struct file_origins *origins)
{
    struct prefetch *const prefetch = round->prefetch;
    const struct strtab_string path = origins->key.path;
    const char *const slash = strrchr(path.text, '/');
    const struct prefetch_settled folder = {
        origins->key.owner, hash_bytes(path.text, (size_t)(slash - path.text), HASH_SEED)
    };
    const struct profile_function function =
        profile_function_at(&round->snapshot, round->functions[file->first]);
    const enum code_origin_kind kind = code_origin_of(NULL, "", path.text, NULL).kind;
    struct file_origins wanted = *origins;
    struct source_distribution found;
    struct buffer answer = { 0 };
    uint64_t ignored = 0;
    if (!round->has_one_owner || function.library || kind == CODE_STANDARD ||
        is_settled(prefetch, &folder))
        return;
    wanted.request.want = RELAY_DISTRIBUTION;
    const enum err_code rc = fetch_file(prefetch->fetcher, &wanted, prefetch->stop_fd, &answer,
                                        &ignored, NULL, NULL);
    if (!rc && answer.length == sizeof found) {
        memcpy(&found, answer.data, sizeof found);
        if (distribution_is_valid(&found, path.text)) {
            if (found.owner != SOURCE_OF_UNKNOWN)
                note_distribution(round, &path, kind, &found);
            if (found.has_folder && prefetch->settled_count < PREFETCH_MAX_SETTLED)
                prefetch->settled[prefetch->settled_count++] = folder;
        }
    }
    buffer_deinit(&answer);
}

static enum left fetch_files(struct round *round)
{
    struct buffer text = { 0 };
    size_t fetches = 0;
    enum left left = LEFT_NONE;
    cache_begin_ranking(round->prefetch->cache);
    for (uint32_t i = 0; i < round->file_count && i < CACHE_MAX_FILES; i++) {
        const struct hot_file *const file = &round->files[i];
        struct file_origins origins;
        if (file_origins_find(&round->snapshot, &round->functions[file->first], file->count,
                              RELAY_TEXT, &origins, NULL) ||
            cache_rank(round->prefetch->cache, &origins.key, i))
            continue;
        if (fetches++ == FETCHES_AT_ONCE || is_stopping(round->prefetch)) {
            left = LEFT_MORE;
            break;
        }
        find_distribution(round, file, &origins);
        if (!round->prefetch->keeps_texts) {
            cache_put(round->prefetch->cache, &origins.key, i, NULL, 0);
            continue;
        }
        if (!fetch_text(round, &origins, i, &text))
            left = LEFT_BUSY;

        /* Asks git about the file, if it is the first of your code that is in a checkout. */
        struct prefetch *const prefetch = round->prefetch;
        struct file_origins wanted = origins;
        struct source_checkout found;
        struct buffer answer = { 0 };
        uint64_t ignored = 0;
        if (prefetch->has_checkout || prefetch->checkout_tries == PREFETCH_MAX_TRIES ||
            !round->own[round->functions[file->first]])
            continue;
        prefetch->checkout_tries++;
        wanted.request.want = RELAY_CHECKOUT;
        const enum err_code rc = fetch_file(prefetch->fetcher, &wanted, prefetch->stop_fd,
                                            &answer, &ignored, NULL, NULL);
        if (!rc && answer.length == sizeof found) {
            memcpy(&found, answer.data, sizeof found);
            if (checkout_is_valid(&found)) {
                prefetch->checkout = found;
                prefetch->has_checkout = true;
            }
        }
        buffer_deinit(&answer);
    }
    buffer_deinit(&text);
    return left;
}

/* Fetches what is new. */
static enum left keep_new_files(struct prefetch *prefetch, struct progress *progress)
{
    struct session *const session = prefetch->fetcher->session;
    struct round round = { .prefetch = prefetch };
    enum left left = LEFT_NONE;
    if (profile_snapshot(session_profile(session), &round.snapshot, NULL))
        return left;
    const uint32_t functions = round.snapshot.sizes.functions;
    if (functions != progress->functions && allocate_round(&round) && add_heat(&round)) {
        own_code_mark_files(&round.snapshot, 1, round.own);
        round.has_one_owner = file_origins_have_one_owner(&round.snapshot);

        const struct profile_snapshot *const snapshot = &round.snapshot;
        for (function_id id = 0; id < snapshot->sizes.functions; id++)
            if (profile_function_at(snapshot, id).origin != PROFILE_ORIGIN_NONE)
                round.functions[round.function_count++] = id;
        hot_files_order(snapshot, round.functions, round.function_count);
        for (size_t i = 0; i < round.function_count; i++) {
            const function_id id = round.functions[i];
            const str_id file = profile_function_at(snapshot, id).file;
            if (round.file_count == 0 || round.files[round.file_count - 1].file != file)
                round.files[round.file_count++] = (struct hot_file){ .file = file, .first = i };
            struct hot_file *const last = &round.files[round.file_count - 1];
            last->count++;
            last->self += round.self[id];
            last->total += round.total[id];
        }
        qsort(round.files, round.file_count, sizeof *round.files, hot_files_compare);

        left = fetch_files(&round);
        progress->tries = left == LEFT_BUSY ? progress->tries + 1 : 0;
        progress->functions = left == LEFT_NONE || progress->tries > MAX_TRIES ? functions : 0;
    }

    profile_snapshot_release(&round.snapshot);
    free(round.self);
    free(round.total);
    free(round.own);
    free(round.functions);
    free(round.files);
    return left;
}

static void *run_prefetch(void *context)
{
    struct prefetch *const prefetch = context;
    struct pollfd events[] = { { prefetch->stop_fd, POLLIN, 0 },
                               { session_end_fd(prefetch->fetcher->session), POLLIN, 0 } };
    struct progress progress = { .functions = 0 };
    int pause_ms = FIRST_MS;
    bool is_last = false;
    pthread_setname_np(pthread_self(), "source");
    (void)setpriority(PRIO_PROCESS, (id_t)gettid(), NICE);
    while (poll(events, 2, pause_ms) >= 0 && !events[0].revents) {
        if (events[1].revents && !is_last)
            progress = (struct progress){ .functions = 0 };
        is_last = events[1].revents != 0;
        const enum left left = keep_new_files(prefetch, &progress);
        if (is_last && left != LEFT_MORE)
            break;
        pause_ms = left == LEFT_MORE ? SOON_MS : NEXT_MS;
    }
    return NULL;
}

enum err_code prefetch_start(struct prefetch *prefetch, struct fetcher *fetcher,
                             struct cache *cache, bool keeps_texts, struct err *err)
{
    prefetch->keeps_texts = keeps_texts;
    prefetch->fetcher = fetcher;
    prefetch->cache = cache;
    prefetch->stop_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (prefetch->stop_fd < 0)
        return err_sys(err, errno, "cannot make an event descriptor");
    const int sys = thread_start(&prefetch->thread, run_prefetch, prefetch);
    prefetch->is_started = sys == 0;
    if (sys == 0)
        return ERR_OK;
    close(prefetch->stop_fd);
    return err_sys(err, sys, "cannot start the thread that fetches source files");
}

const struct source_checkout *prefetch_checkout(const struct prefetch *prefetch)
{
    return prefetch->has_checkout ? &prefetch->checkout : NULL;
}

void prefetch_stop(struct prefetch *prefetch)
{
    if (!prefetch->is_started)
        return;
    eventfd_write(prefetch->stop_fd, 1);
    pthread_join(prefetch->thread, NULL);
    close(prefetch->stop_fd);
    prefetch->is_started = false;
}
