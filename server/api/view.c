/* The tables of a session, and its samples by node. */
#include "sampler/profile/views/view.h"

#include <stdlib.h>

#include "server/api/api.h"
#include "server/api/session_request.h"
#include "server/http/document.h"
#include "server/report/diff/blocks.h"
#include "server/sessions/sessions.h"
#include "server/wire/measure.h"
#include "server/wire/reshaped.h"
#include "server/wire/tree.h"

static void write_column(struct json *json, const char *key, const struct view *views,
                         size_t count, uint64_t (*of)(const struct view *view, size_t row))
{
    json_member_array(json, key);
    for (size_t i = 0; i < count; i++)
        for (size_t row = 0; row < views[i].count; row++)
            json_uint(json, of(&views[i], row));
    json_end(json);
}

static uint64_t node_of(const struct view *view, size_t row)
{
    return view->node[row];
}

static uint64_t self_of(const struct view *view, size_t row)
{
    return view->self[row];
}

/* Views of slices of time. */
struct sliced {
    struct blocks blocks;
    struct view views[BLOCKS_MAX];
};

static void sliced_deinit(struct sliced *sliced)
{
    for (size_t i = 0; sliced && i < BLOCKS_MAX; i++)
        view_deinit(&sliced->views[i]);
    free(sliced);
}

static enum err_code sliced_create(struct sliced **out, const struct session_request *asked,
                                   struct err *err)
{
    const struct view_query *const all = &asked->query.view;
    const uint64_t end_ns = asked->snapshot.end_ns;
    struct sliced *const sliced = calloc(1, sizeof *sliced);
    enum err_code rc = sliced ? ERR_OK : err_nomem(err);
    if (rc)
        return rc;
    blocks_cut(&sliced->blocks, &asked->snapshot, all->from_ns,
               all->to_ns && all->to_ns < end_ns ? all->to_ns : end_ns);
    for (size_t i = 0; i < sliced->blocks.count && !rc; i++) {
        struct view_query query = *all;
        query.since = 0;
        query.from_ns = sliced->blocks.items[i].from_ns;
        query.to_ns = sliced->blocks.items[i].to_ns;
        rc = view_init(&sliced->views[i], &asked->snapshot, &query, err);
    }
    if (!rc)
        *out = sliced;
    else
        sliced_deinit(sliced);
    return rc;
}

/* in_jit: of its samples, those that code of CPython's JIT executed. tree: what the nodes are of; NULL: the
 * session's own.  returned: of memory growth, what was given back meanwhile; NULL: nobody knows. */
static void write_view(struct json *json, const struct session_request *asked,
                       const struct view *view, const struct view *in_jit,
                       const struct view *returned, const struct sliced *sliced,
                       const struct profile_snapshot *tree)
{
    const char *const epoch = asked->epoch;
    json_object(json);
    json_member_text(json, "epoch", epoch);
    json_member_uint(json, "generation", asked->snapshot.generation);
    json_member_uint(json, "since", asked->query.view.since);
    json_member_uint(json, "total", view->total);
    write_column(json, "node", view, 1, node_of);
    write_column(json, "self", view, 1, self_of);

    /* Writes what samples stand for: all the same, or each row something else. */
    const enum measure measure = asked->snapshot.measure;
    const bool is_time = measure == MEASURE_TIME;
    const unsigned decimals = is_time ? NS_DECIMALS : 0;
    if (is_time) {
        json_member_ns(json, "seconds", view->total_ns);
    } else {
        json_key(json, "measure");
        measure_write(json, profile_measure(&asked->snapshot, measure), view->total_ns);
        if (returned)
            json_member_uint(json, "returned", returned->total_ns);
    }
    if (json_member_if(json, "period", view->period_ns))
        json_decimal(json, view->period_ns, decimals);
    if (view->self_ns) {
        json_member_array(json, is_time ? "self_seconds" : "self_value");
        for (size_t i = 0; i < view->count; i++)
            json_decimal(json, view->self_ns[i], decimals);
        json_end(json);
    }

    if (in_jit->count) {
        json_member_object(json, "in_jit");
        write_column(json, "node", in_jit, 1, node_of);
        write_column(json, "self", in_jit, 1, self_of);
        json_end(json);
    }
    if (sliced) {
        /* The rows of all blocks, one block after the other. */
        const struct view *const views = sliced->views;
        json_member_object(json, "blocks");
        json_member_array(json, "rows");
        for (size_t i = 0; i < sliced->blocks.count; i++)
            json_uint(json, views[i].count);
        json_end(json);
        json_member_array(json, "seconds");
        for (size_t i = 0; i < sliced->blocks.count; i++)
            json_decimal(json, sliced->blocks.items[i].to_ns - sliced->blocks.items[i].from_ns,
                         NS_DECIMALS);
        json_end(json);
        write_column(json, "node", views, sliced->blocks.count, node_of);
        write_column(json, "self", views, sliced->blocks.count, self_of);
        json_end(json);
    }
    if (tree) {
        json_key(json, "tree");
        tree_write(json, tree, epoch, 0, NULL);
    }
    json_end(json);
}

/* The view of what was given back, up to the generation of the answer: the client asks for what comes later. */
static enum err_code sum_returned(struct view *out, const struct session_request *asked,
                                  const struct view_query *query, struct err *err)
{
    struct profile_snapshot snapshot;
    enum err_code rc =
        profile_snapshot_measured(asked->snapshot.profile, MEASURE_RETURNED, &snapshot, err);
    if (rc)
        return rc;
    const size_t count = snapshot.window_count;
    while (snapshot.window_count &&
           snapshot.windows[snapshot.window_count - 1]->generation > asked->snapshot.generation)
        snapshot.window_count--;
    rc = view_init(out, &snapshot, query, err);
    snapshot.window_count = count;
    profile_snapshot_release(&snapshot);
    return rc;
}

/* The samples of a query over `snapshot`: the session's, or with its own tree. */
static enum err_code send_view(const struct session_request *asked,
                               const struct profile_snapshot *snapshot,
                               const struct view_query *query, const struct sliced *sliced,
                               struct response *response, struct err *err)
{
    struct view view, in_jit, returned;
    enum err_code rc = view_init(&view, snapshot, query, err);
    if (rc)
        return rc;

    /* Samples that code of CPython's JIT executed: most programs have none. */
    struct view_query jit_query = *query;
    jit_query.states.require |= STATE_IN_JIT;
    in_jit = returned = (struct view){ 0 };
    if (view.states & STATE_IN_JIT)
        rc = view_init(&in_jit, snapshot, &jit_query, err);
    /* A filter of the frames that grow says nothing of those that give back. */
    const bool has_returned = snapshot == &asked->snapshot &&
                              snapshot->measure == MEASURE_PAGE_FAULTS &&
                              measure_set_has(snapshot->measures, MEASURE_RETURNED);
    if (!rc && has_returned)
        rc = sum_returned(&returned, asked, query, err);

    if (!rc) {
        struct document document;
        document_begin(&document);
        write_view(&document.json, asked, &view, &in_jit, has_returned ? &returned : NULL,
                   sliced, snapshot == &asked->snapshot ? NULL : snapshot);
        rc = document_send(&document, response, err);
    }
    view_deinit(&returned);
    view_deinit(&in_jit);
    view_deinit(&view);
    return rc;
}

enum err_code api_get_view(const struct handler_context *handler, struct response *response,
                           struct err *err)
{
    struct session_request asked;
    enum err_code rc =
        session_request_begin(&asked, handler,
                              QUERY_SINCE | QUERY_VIEW | (QUERY_FILTERS & ~QUERY_MARKS) |
                                  QUERY_BLOCKS | QUERY_MEASURE,
                              err);
    if (rc)
        return rc;
    /* Nodes are those of /tree. */
    asked.query.filters.shows_contexts = true;
    const bool is_reshaped = reshape_is_needed(&asked.snapshot, &asked.query.filters);
    if (is_reshaped && asked.query.wants_blocks) {
        session_request_end(&asked);
        return err_set(err, ERR_INVALID,
                       "parameter \"blocks\" needs native=everything and no filters");
    }
    asked.query.view.since =
        is_reshaped ? 0 : profile_snapshot_since(&asked.snapshot, asked.query.view.since);
    if (session_request_is_fresh(&asked, handler, response)) {
        session_request_end(&asked);
        return ERR_OK;
    }
    if (is_reshaped) {
        /* Stacks that the session does not have come with a tree of their own. */
        const struct view_query everything = { 0 };
        struct reshaped reshaped;
        rc = reshaped_init(&reshaped, &asked.snapshot, &asked.query.view, &asked.query.filters,
                           RESHAPED_SUM, err);
        if (!rc)
            rc = send_view(&asked, &reshaped.snapshot, &everything, NULL, response, err);
        reshaped_deinit(&reshaped);
    } else {
        struct sliced *sliced = NULL;
        rc = asked.query.wants_blocks ? sliced_create(&sliced, &asked, err) : ERR_OK;
        if (!rc)
            rc = send_view(&asked, &asked.snapshot, &asked.query.view, sliced, response, err);
        sliced_deinit(sliced);
    }
    session_request_end(&asked);
    return rc;
}

static enum err_code write_tree(const struct session_request *asked, struct json *json,
                                struct err *err)
{
    (void)err;
    tree_write_tables(json, &asked->snapshot, asked->query.view.since, NULL);
    return ERR_OK;
}

enum err_code api_get_tree(const struct handler_context *handler, struct response *response,
                           struct err *err)
{
    return session_request_answer(handler, QUERY_SINCE, write_tree, response, err);
}
