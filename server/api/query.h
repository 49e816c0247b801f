/*
 * query - the parameters of a URL as a view query.
 *
 * A route says which parameters it takes; anything else, a number that is none and a repeated
 * single parameter are errors that name the parameter.
 *
 *     since=G            only what was added after generation G
 *     from=S, to=S       seconds since the session began
 *     thread=ID ...      may be repeated
 *     process=ID ...     may be repeated
 *     state=WORDS        what the thread was doing (state_words.h)
 *     buckets=N          slots of a timeline
 *     function=ID            of the tree
 *     format=NAME        an output format
 *     redact=1           without what tells whose it is (report/redact.h); 0: with it
 *     tasks=1            with the asyncio tasks; 0: without
 *     base=ID            the session to compare with
 *     offset=N, limit=N  a part of a list
 *     search=, host=, label=, title=TEXT
 *     omit=, below=, at=, hide=WORD ...
 *                        what to make of stacks (rules.h); may be repeated
 *
 * Ownership: plain data; the view points into the struct, which must not move.
 * Depends on: err, request, profile/view, rules, state_words.
 */
#ifndef SERVER_API_QUERY_H
#define SERVER_API_QUERY_H

#include <stdbool.h>
#include <stdint.h>

#include "sampler/base/err.h"
#include "sampler/profile/views/view.h"
#include "server/http/request.h"
#include "server/wire/rules.h"

enum query_parameter {
    QUERY_SINCE = 1 << 0,
    QUERY_FROM = 1 << 1,
    QUERY_TO = 1 << 2,
    QUERY_THREAD = 1 << 3,
    QUERY_PROCESS = 1 << 4,
    QUERY_FORMAT = 1 << 5,
    QUERY_STATE = 1 << 6,
    QUERY_BUCKETS = 1 << 7,
    QUERY_OMIT = 1 << 8,
    QUERY_BELOW = 1 << 9,
    QUERY_AT = 1 << 10,
    QUERY_HIDE = 1 << 11,
    QUERY_OFFSET = 1 << 12,
    QUERY_LIMIT = 1 << 13,
    QUERY_SEARCH = 1 << 14,
    QUERY_HOST = 1 << 15,
    QUERY_LABEL = 1 << 16,
    QUERY_TITLE = 1 << 17,
    QUERY_FUNCTION = 1 << 18,
    QUERY_BASE = 1 << 19,
    QUERY_REDACT = 1 << 20,
    QUERY_TASKS = 1 << 21,
    QUERY_PAGE = QUERY_OFFSET | QUERY_LIMIT,
    QUERY_CAPTURES =
        QUERY_PAGE | QUERY_SEARCH | QUERY_HOST | QUERY_LABEL | QUERY_FROM | QUERY_TO,
    QUERY_RULES = QUERY_OMIT | QUERY_BELOW | QUERY_AT | QUERY_HIDE,
    QUERY_VIEW = QUERY_FROM | QUERY_TO | QUERY_THREAD | QUERY_PROCESS | QUERY_STATE,
};

enum { QUERY_MAX_LIMIT = 4096 };

struct query {
    struct view_query view;
    const char *format;                               /* NULL: not given */
    const char *search, *host, *label, *title, *base; /* so are these */
    uint32_t offset, limit;                           /* of a list; limit 0: not given */
    uint32_t buckets;                                 /* 0: not given */
    function_id function;                             /* 0: not given */
    bool redacts, wants_tasks;
    struct rules rules;
    thread_id threads[REQUEST_MAX_QUERY];
    process_id processes[REQUEST_MAX_QUERY];
};

/* accepted: query_parameter bits. */
MUST_CHECK enum err_code query_read(const struct request *request, unsigned accepted,
                                    struct query *query, struct err *err);

/* Equal queries give equal numbers, whatever their spelling. */
uint64_t query_hash(const struct query *query);

#endif /* SERVER_API_QUERY_H */
