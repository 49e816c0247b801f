#include "server/command/options/selection.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sampler/base/clock.h"
#include "server/command/options/options.h"

/* Compares with the id of the thread or process, and with its name. */
static bool has_id_or_name(const struct profile_snapshot *snapshot, int32_t number, str_id name,
                           const char *word)
{
    char text[16];
    snprintf(text, sizeof text, "%d", (int)number);
    return strcmp(text, word) == 0 || strcmp(profile_string(snapshot, name).text, word) == 0;
}

static bool is_thread(const struct profile_snapshot *snapshot, uint32_t id, const char *word)
{
    const struct profile_thread row = profile_thread_at(snapshot, id);
    return has_id_or_name(snapshot, row.tid, row.name, word);
}

static bool is_process(const struct profile_snapshot *snapshot, uint32_t id, const char *word)
{
    const struct profile_process row = profile_process_at(snapshot, id);
    return has_id_or_name(snapshot, row.pid, row.name, word);
}

/* Several rows may have the same name. */
static enum err_code find_ids(const struct profile_snapshot *snapshot, const char *what,
                              uint32_t rows, const struct setting_texts *words,
                              bool (*is)(const struct profile_snapshot *snapshot, uint32_t id,
                                         const char *word),
                              uint32_t **ids_out, size_t *count_out, struct err *err)
{
    if (words->count == 0)
        return ERR_OK;
    uint32_t *const ids = malloc((words->count * rows + 1) * sizeof *ids);
    if (!ids)
        return err_nomem(err);
    *ids_out = ids;
    for (size_t i = 0; i < words->count; i++) {
        const size_t before = *count_out;
        for (uint32_t id = 0; id < rows; id++)
            if (is(snapshot, id, words->items[i]))
                ids[(*count_out)++] = id;
        if (*count_out == before)
            return err_set(err, ERR_INVALID, "the capture has no %s '%.64s'", what,
                           words->items[i]);
    }
    return ERR_OK;
}

static enum err_code choose_requests(struct selection *selection, const struct options *options,
                                     bool wants_rest, const struct profile_snapshot *snapshot,
                                     struct err *err)
{
    struct request_choice choice = options->view.requests;
    struct request_set *const set = &selection->requests;
    choice.is_rest = wants_rest;
    const enum err_code rc = request_set_init(set, snapshot, &choice, err);
    if (rc)
        return rc;
    if (set->requests == 0)
        return err_set(err, ERR_INVALID,
                       "the capture has no requests: record what threads work for, with "
                       "--context NAME (a ContextVar, such as request_id)");
    selection->query.requests = set;
    return ERR_OK;
}

enum err_code selection_init(struct selection *selection, const struct options *options,
                             bool wants_rest, const struct profile_snapshot *snapshot,
                             struct err *err)
{
    const struct options_view *const view = &options->view;
    struct view_query *const query = &selection->query;
    *selection = (struct selection){ .query = view->query };
    if (query->to_ns && query->to_ns <= query->from_ns)
        return err_set(err, ERR_INVALID, "--to must be after --from");
    if (query->from_ns > 0 && query->from_ns >= snapshot->end_ns)
        return err_set(err, ERR_INVALID, "the capture ends at %.2f s, before --from",
                       (double)snapshot->end_ns / (double)NS_PER_S);
    enum err_code rc = find_ids(snapshot, "thread", snapshot->sizes.threads, &view->threads,
                                is_thread, &selection->threads, &query->thread_count, err);
    if (!rc)
        rc = find_ids(snapshot, "process", snapshot->sizes.processes, &view->processes,
                      is_process, &selection->processes, &query->process_count, err);
    query->threads = selection->threads;
    query->processes = selection->processes;
    if (!rc && request_choice_is_set(&view->requests))
        rc = choose_requests(selection, options, wants_rest, snapshot, err);
    return rc;
}

void selection_deinit(struct selection *selection)
{
    free(selection->threads);
    free(selection->processes);
    request_set_deinit(&selection->requests);
    *selection = (struct selection){ 0 };
}

enum err_code selection_filters(const struct options *options,
                                const struct frame_filters *recorded, struct frame_filters *out,
                                struct err *err)
{
    struct frame_filters filters = options->view.filters;
    for (size_t i = 0; i < recorded->count; i++) {
        if (options->view.filter_kinds & 1U << recorded->items[i].kind)
            continue;
        if (filters.count == FRAME_FILTERS_MAX)
            return err_set(
                err, ERR_INVALID,
                "the options and the capture have more than %d filters together: "
                "an empty option, such as --hide '', leaves out those of the capture",
                FRAME_FILTERS_MAX);
        filters.items[filters.count++] = recorded->items[i];
    }
    *out = filters;
    return ERR_OK;
}
