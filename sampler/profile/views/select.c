#include "sampler/profile/views/select.h"

#include <fnmatch.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "sampler/profile/views/view.h"

static bool is_named(const struct profile_snapshot *snapshot, const char *pattern, str_id name)
{
    return !pattern || fnmatch(pattern, profile_string(snapshot, name).text, 0) == 0;
}

static bool is_meant(const struct profile_snapshot *snapshot, const struct select_key *key,
                     thread_id id)
{
    const struct profile_thread thread = profile_thread_at(snapshot, id);
    const struct profile_process process = profile_process_at(snapshot, thread.process);
    return (!key->pid || key->pid == process.pid) && (!key->tid || key->tid == thread.tid) &&
           is_named(snapshot, key->thread, thread.name) &&
           is_named(snapshot, key->process, process.name);
}

enum err_code select_threads(struct selection *selection,
                             const struct profile_snapshot *snapshot,
                             const struct select_key *key, struct err *err)
{
    const uint32_t threads = snapshot->sizes.threads;
    *selection = (struct selection){ .threads = malloc(((size_t)threads + 1) *
                                                       sizeof *selection->threads) };
    if (!selection->threads)
        return err_nomem(err);
    for (thread_id id = 0; id < threads; id++)
        if (is_meant(snapshot, key, id))
            selection->threads[selection->count++] = id;
    return ERR_OK;
}

void selection_deinit(struct selection *selection)
{
    free(selection->threads);
    memset(selection, 0, sizeof *selection);
}

void select_recent(struct view_query *query, const struct profile_snapshot *snapshot,
                   uint64_t recent_ns)
{
    query->from_ns = snapshot->end_ns > recent_ns ? snapshot->end_ns - recent_ns : 0;
    query->to_ns = 0;
}
