#include "server/api/query.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "sampler/base/clock.h"
#include "sampler/base/hash.h"
#include "sampler/profile/views/timeline.h"
#include "server/wire/state_words.h"

/* A century; beyond it nanoseconds would not fit. */
#define MAX_SECONDS 3.2e9

struct parameter {
    const char *name;
    unsigned bit;
    bool repeats;
    /* A sentence in `why` is better than none. */
    bool (*set)(struct query *query, const char *value, struct err *why);
};

static bool read_id(const char *text, uint32_t *out)
{
    uint64_t value = 0;
    const size_t digits = strspn(text, "0123456789");
    if (digits == 0 || digits > 10 || text[digits] != '\0')
        return false;
    for (const char *c = text; *c; c++)
        value = value * 10 + (uint64_t)(*c - '0');
    *out = (uint32_t)value;
    return value <= UINT32_MAX;
}

static bool read_seconds(const char *text, uint64_t *ns_out)
{
    char *end = NULL;
    if (!*text || strlen(text) > 32 || text[strspn(text, "0123456789.")] != '\0')
        return false;
    const double seconds = strtod(text, &end);
    *ns_out = (uint64_t)(seconds * (double)NS_PER_S);
    return *end == '\0' && end != text && seconds <= MAX_SECONDS;
}

static bool set_since(struct query *query, const char *value, struct err *why)
{
    (void)why;
    return read_id(value, &query->view.since);
}

static bool set_from(struct query *query, const char *value, struct err *why)
{
    (void)why;
    return read_seconds(value, &query->view.from_ns);
}

static bool set_to(struct query *query, const char *value, struct err *why)
{
    (void)why;
    return read_seconds(value, &query->view.to_ns) && query->view.to_ns > 0;
}

static bool set_thread(struct query *query, const char *value, struct err *why)
{
    (void)why;
    query->view.threads = query->threads;
    return read_id(value, &query->threads[query->view.thread_count++]);
}

static bool set_process(struct query *query, const char *value, struct err *why)
{
    (void)why;
    query->view.processes = query->processes;
    return read_id(value, &query->processes[query->view.process_count++]);
}

static bool set_format(struct query *query, const char *value, struct err *why)
{
    (void)why;
    query->format = value;
    return *value != '\0';
}

static bool read_flag(const char *value, bool *out, struct err *why)
{
    *out = strcmp(value, "1") == 0;
    if (*out || strcmp(value, "0") == 0)
        return true;
    err_set(why, ERR_INVALID, "1 or 0");
    return false;
}

static bool set_redact(struct query *query, const char *value, struct err *why)
{
    return read_flag(value, &query->redacts, why);
}

static bool set_tasks(struct query *query, const char *value, struct err *why)
{
    return read_flag(value, &query->wants_tasks, why);
}

static bool set_buckets(struct query *query, const char *value, struct err *why)
{
    if (!read_id(value, &query->buckets))
        return false;
    if (query->buckets >= 1 && query->buckets <= TIMELINE_MAX_SLOTS)
        return true;
    err_set(why, ERR_INVALID, "a number from 1 to %d", TIMELINE_MAX_SLOTS);
    return false;
}

static bool set_function(struct query *query, const char *value, struct err *why)
{
    (void)why;
    return read_id(value, &query->function);
}

static bool add_omit(struct query *query, const char *value, struct err *why)
{
    return rules_add(&query->rules, RULE_OMIT, value, why) == ERR_OK;
}

static bool add_below(struct query *query, const char *value, struct err *why)
{
    return rules_add(&query->rules, RULE_BELOW, value, why) == ERR_OK;
}

static bool add_at(struct query *query, const char *value, struct err *why)
{
    return rules_add(&query->rules, RULE_AT, value, why) == ERR_OK;
}

static bool add_hide(struct query *query, const char *value, struct err *why)
{
    return rules_add(&query->rules, RULE_HIDE, value, why) == ERR_OK;
}

static bool set_state(struct query *query, const char *value, struct err *why)
{
    return state_words_read(value, &query->view.require, &query->view.exclude, why) == ERR_OK;
}

static bool set_offset(struct query *query, const char *value, struct err *why)
{
    (void)why;
    return read_id(value, &query->offset);
}

static bool set_limit(struct query *query, const char *value, struct err *why)
{
    if (!read_id(value, &query->limit))
        return false;
    if (query->limit >= 1 && query->limit <= QUERY_MAX_LIMIT)
        return true;
    err_set(why, ERR_INVALID, "a number from 1 to %d", QUERY_MAX_LIMIT);
    return false;
}

static bool set_search(struct query *query, const char *value, struct err *why)
{
    (void)why;
    query->search = value;
    return true;
}

static bool set_host(struct query *query, const char *value, struct err *why)
{
    (void)why;
    query->host = value;
    return true;
}

static bool set_label(struct query *query, const char *value, struct err *why)
{
    (void)why;
    query->label = value;
    return true;
}

static bool set_title(struct query *query, const char *value, struct err *why)
{
    (void)why;
    query->title = value;
    return true;
}

static bool set_base(struct query *query, const char *value, struct err *why)
{
    (void)why;
    query->base = value;
    return true;
}

static const struct parameter parameters[] = {
    { "since", QUERY_SINCE, false, set_since },
    { "from", QUERY_FROM, false, set_from },
    { "to", QUERY_TO, false, set_to },
    { "thread", QUERY_THREAD, true, set_thread },
    { "process", QUERY_PROCESS, true, set_process },
    { "state", QUERY_STATE, false, set_state },
    { "redact", QUERY_REDACT, false, set_redact },
    { "tasks", QUERY_TASKS, false, set_tasks },
    { "buckets", QUERY_BUCKETS, false, set_buckets },
    { "function", QUERY_FUNCTION, false, set_function },
    { "omit", QUERY_OMIT, true, add_omit },
    { "below", QUERY_BELOW, true, add_below },
    { "at", QUERY_AT, true, add_at },
    { "hide", QUERY_HIDE, true, add_hide },
    { "offset", QUERY_OFFSET, false, set_offset },
    { "limit", QUERY_LIMIT, false, set_limit },
    { "search", QUERY_SEARCH, false, set_search },
    { "host", QUERY_HOST, false, set_host },
    { "label", QUERY_LABEL, false, set_label },
    { "title", QUERY_TITLE, false, set_title },
    { "format", QUERY_FORMAT, false, set_format },
    { "base", QUERY_BASE, false, set_base },
};

static const struct parameter *find(const char *name, unsigned accepted)
{
    for (size_t i = 0; i < sizeof parameters / sizeof *parameters; i++)
        if ((parameters[i].bit & accepted) && strcmp(parameters[i].name, name) == 0)
            return &parameters[i];
    return NULL;
}

static int compare_ids(const void *a, const void *b)
{
    const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

static enum err_code set(const struct parameter *parameter, struct query *query,
                         const char *value, struct err *err)
{
    struct err why = { 0 };
    if (parameter->set(query, value, &why))
        return ERR_OK;
    if (why.message[0])
        return err_set(err, ERR_INVALID, "parameter \"%s\": %s", parameter->name, why.message);
    return err_set(err, ERR_INVALID, "bad value of parameter \"%s\": \"%.64s\"",
                   parameter->name, value);
}

enum err_code query_read(const struct request *request, unsigned accepted, struct query *query,
                         struct err *err)
{
    unsigned seen = 0;
    memset(query, 0, sizeof *query);
    for (size_t i = 0; i < request->query_count; i++) {
        const struct request_pair *const pair = &request->query[i];
        const struct parameter *const parameter = find(pair->name, accepted);
        if (!parameter)
            return err_set(err, ERR_INVALID, "unknown parameter \"%.64s\"", pair->name);
        if ((seen & parameter->bit) && !parameter->repeats)
            return err_set(err, ERR_INVALID, "parameter \"%s\" is given twice", pair->name);
        const enum err_code rc = set(parameter, query, pair->value, err);
        if (rc != ERR_OK)
            return rc;
        seen |= parameter->bit;
    }
    if (query->view.to_ns > 0 && query->view.to_ns <= query->view.from_ns)
        return err_set(err, ERR_INVALID, "parameter \"to\" must be later than \"from\"");
    qsort(query->threads, query->view.thread_count, sizeof *query->threads, compare_ids);
    qsort(query->processes, query->view.process_count, sizeof *query->processes, compare_ids);
    return ERR_OK;
}

uint64_t query_hash(const struct query *query)
{
    const struct view_query *const view = &query->view;
    uint64_t hash = HASH_SEED;
    hash = hash_bytes(&view->since, sizeof view->since, hash);
    hash = hash_bytes(&view->from_ns, sizeof view->from_ns, hash);
    hash = hash_bytes(&view->to_ns, sizeof view->to_ns, hash);
    hash = hash_bytes(&view->thread_count, sizeof view->thread_count, hash);
    hash = hash_bytes(query->threads, view->thread_count * sizeof *query->threads, hash);
    hash = hash_bytes(query->processes, view->process_count * sizeof *query->processes, hash);
    hash = hash_bytes(&query->buckets, sizeof query->buckets, hash);
    hash = hash_bytes(&query->function, sizeof query->function, hash);
    hash = hash_bytes(&view->require, sizeof view->require, hash);
    hash = hash_bytes(&view->exclude, sizeof view->exclude, hash);
    hash = hash_bytes(&query->redacts, sizeof query->redacts, hash);
    hash = rules_hash(&query->rules, hash);
    return query->format ? hash_bytes(query->format, strlen(query->format), hash) : hash;
}
