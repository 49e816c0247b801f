#include "server/api/query.h"

#include <stdlib.h>
#include <string.h>

#include "sampler/base/hash.h"
#include "sampler/profile/views/timeline.h"
#include "server/settings/view_settings.h"

struct parameter {
    struct setting setting;
    unsigned bit;
};

#define PARAMETER(name, kind, member, ...)                            \
    {                                                                 \
        SETTING(name, kind, struct query, member), .bit = __VA_ARGS__ \
    }
#define RANGE(least_, most_) .setting.least = (least_), .setting.most = (most_)
#define FILTER(name, kind)                                                  \
    {                                                                       \
        VIEW_FILTER(name, struct query, filters, kind), .bit = QUERY_##kind \
    }

static const struct parameter parameters[] = {
    { VIEW_FROM(struct query, view), .bit = QUERY_FROM },
    { VIEW_TO(struct query, view), .bit = QUERY_TO },
    { VIEW_STATE(struct query, view), .bit = QUERY_STATE },
    { VIEW_PARTS(struct query, view), .bit = QUERY_STATE },
    PARAMETER("slower_than", DURATION, requests.slower_ns, QUERY_STATE),
    PARAMETER("faster_than", DURATION, requests.faster_ns, QUERY_STATE),
    PARAMETER("slowest", PERCENT, requests.slowest, QUERY_STATE),
    PARAMETER("rest", FLAG, requests.is_rest, QUERY_STATE),
    { VIEW_CONTEXT_VALUE("context_value", struct query, requests), .bit = QUERY_STATE },
    FILTER("focus", FOCUS),
    FILTER("ignore", IGNORE),
    FILTER("hide", HIDE),
    FILTER("show", SHOW),
    FILTER("show_from", SHOW_FROM),
    { VIEW_NATIVE("native", struct query, filters), .bit = QUERY_NATIVE },
    { VIEW_WAITS(struct query, filters), .bit = QUERY_MARKS },
    PARAMETER("contexts", FLAG, filters.shows_contexts, QUERY_MARKS),
    PARAMETER("since", ID, view.since, QUERY_SINCE),
    PARAMETER("thread", IDS, threads, QUERY_THREAD),
    PARAMETER("process", IDS, processes, QUERY_PROCESS),
    PARAMETER("anonymize", FLAG, anonymizes, QUERY_ANONYMIZE),
    PARAMETER("tasks", FLAG, wants_tasks, QUERY_DUMP),
    PARAMETER("locals", CHOICE, locals, QUERY_DUMP, .setting.texts = session_locals_texts,
              .setting.least = SESSION_LOCALS_NAMES),
    PARAMETER("blocks", FLAG, wants_blocks, QUERY_BLOCKS),
    PARAMETER("slots", NUMBER, slots, QUERY_SLOTS, RANGE(1, TIMELINE_MAX_SLOTS)),
    PARAMETER("function", ID, function, QUERY_FUNCTION),
    PARAMETER("offset", ID, offset, QUERY_OFFSET),
    PARAMETER("limit", NUMBER, limit, QUERY_LIMIT, RANGE(1, QUERY_MAX_LIMIT)),
    PARAMETER("search", TEXT, search, QUERY_SEARCH),
    PARAMETER("host", TEXT, host, QUERY_HOST),
    PARAMETER("label", TEXT, label, QUERY_LABEL),
    PARAMETER("title", TEXT, title, QUERY_TITLE),
    PARAMETER("format", TEXT, format, QUERY_FORMAT),
    PARAMETER("measure", TEXT, measure, QUERY_MEASURE),
    PARAMETER("baseline", TEXT, baseline, QUERY_BASELINE),
    PARAMETER("own", TEXTS, own, QUERY_OWN),
    PARAMETER("pid", NUMBER, pid, QUERY_PULL, RANGE(1, INT32_MAX)),
    PARAMETER("note", NUMBER, note, QUERY_NOTE, RANGE(1, INT32_MAX)),
    PARAMETER("seconds", NUMBER, seconds, QUERY_PULL, RANGE(1, QUERY_MAX_SECONDS)),
    PARAMETER("rate_hz", NUMBER, pull_hz, QUERY_PULL, RANGE(1, QUERY_MAX_PULL_HZ)),
};

static int compare_ids(const void *a, const void *b)
{
    const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

/* NULL: none are given. */
static const uint32_t *sort_ids(struct setting_ids *ids, size_t *count_out)
{
    *count_out = ids->count;
    qsort(ids->items, ids->count, sizeof *ids->items, compare_ids);
    return ids->count ? ids->items : NULL;
}

enum err_code query_read(const struct request *request, unsigned accepted, struct query *query,
                         struct err *err)
{
    uint64_t seen = 0; /* a bit for each row */
    struct err why = { 0 };
    memset(query, 0, sizeof *query);
    for (size_t i = 0; i < request->query_count; i++) {
        const struct request_pair *const pair = &request->query[i];
        const struct parameter *parameter = parameters;
        const struct parameter *const end = parameters + sizeof parameters / sizeof *parameters;
        while (parameter < end && !((parameter->bit & accepted) &&
                                    strcmp(parameter->setting.name, pair->name) == 0))
            parameter++;
        if (parameter == end)
            return err_set(err, ERR_INVALID, "unknown parameter \"%.64s\"", pair->name);
        const uint64_t row = UINT64_C(1) << (parameter - parameters);
        if ((seen & row) && !setting_is_repeatable(&parameter->setting))
            return err_set(err, ERR_INVALID, "parameter \"%s\" is given twice", pair->name);
        if (setting_read(&parameter->setting, query, pair->value, &why))
            return err_set(err, ERR_INVALID, "invalid parameter \"%s\" (\"%.64s\"): %s",
                           pair->name, pair->value, why.message);
        seen |= row;
    }
    if (query->view.to_ns > 0 && query->view.to_ns <= query->view.from_ns)
        return err_set(err, ERR_INVALID, "parameter \"to\" must be later than \"from\"");
    if (request_choice_check(&query->requests, &why))
        return err_set(err, ERR_INVALID, "invalid choice of requests: %s", why.message);
    query->view.threads = sort_ids(&query->threads, &query->view.thread_count);
    query->view.processes = sort_ids(&query->processes, &query->view.process_count);
    return ERR_OK;
}

enum err_code query_read_none(const struct request *request, struct err *err)
{
    struct query query;
    return query_read(request, 0, &query, err);
}

uint64_t query_hash(const struct query *query)
{
    const struct view_query *const view = &query->view;
    uint64_t hash = HASH_SEED;
    hash = hash_bytes(&view->since, sizeof view->since, hash);
    hash = hash_bytes(&view->from_ns, sizeof view->from_ns, hash);
    hash = hash_bytes(&view->to_ns, sizeof view->to_ns, hash);
    hash = hash_bytes(&view->thread_count, sizeof view->thread_count, hash);
    hash = hash_bytes(view->threads, view->thread_count * sizeof *view->threads, hash);
    hash = hash_bytes(view->processes, view->process_count * sizeof *view->processes, hash);
    hash = hash_bytes(&query->slots, sizeof query->slots, hash);
    hash = hash_bytes(&query->function, sizeof query->function, hash);
    hash = hash_bytes(&view->states, sizeof view->states, hash);
    hash = hash_bytes(&query->limit, sizeof query->limit, hash);
    for (size_t i = 0; i < query->own.count; i++)
        hash = hash_bytes(query->own.items[i], strlen(query->own.items[i]) + 1, hash);
    hash = hash_bytes(&query->anonymizes, sizeof query->anonymizes, hash);
    hash = hash_bytes(&query->wants_blocks, sizeof query->wants_blocks, hash);
    hash = request_choice_hash(&query->requests, hash);
    hash = frame_filters_hash(&query->filters, hash);
    if (query->measure)
        hash = hash_bytes(query->measure, strlen(query->measure) + 1, hash);
    return query->format ? hash_bytes(query->format, strlen(query->format), hash) : hash;
}
