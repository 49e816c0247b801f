/*
 * query - the parameters of a URL, as a table of settings, and the struct they fill.
 *
 * A route lists the parameters that it accepts.  Another parameter, an invalid value, and a repeated
 * single parameter are errors that name the parameter.
 * server/openapi.json describes each of them.
 *
 * Ownership: plain data; the view points into the struct, which must not move.
 */
#ifndef SERVER_API_QUERY_H
#define SERVER_API_QUERY_H

#include <stdbool.h>
#include <stdint.h>

#include "sampler/base/err.h"
#include "sampler/profile/views/frame_filters.h"
#include "sampler/profile/views/request_choice.h"
#include "sampler/profile/views/view.h"
#include "sampler/session.h"
#include "server/http/request.h"
#include "server/settings/setting.h"

enum query_parameter {
    QUERY_SINCE = 1 << 0,
    QUERY_FROM = 1 << 1,
    QUERY_TO = 1 << 2,
    QUERY_THREAD = 1 << 3,
    QUERY_PROCESS = 1 << 4,
    QUERY_FORMAT = 1 << 5,
    QUERY_STATE = 1 << 6, /* state, parts, and the choice of requests */
    QUERY_SLOTS = 1 << 7,
    QUERY_FOCUS = 1 << 8,
    QUERY_IGNORE = 1 << 9,
    QUERY_HIDE = 1 << 10,
    QUERY_SHOW = 1 << 11,
    QUERY_OFFSET = 1 << 12,
    QUERY_LIMIT = 1 << 13,
    QUERY_SEARCH = 1 << 14,
    QUERY_HOST = 1 << 15,
    QUERY_LABEL = 1 << 16,
    QUERY_TITLE = 1 << 17,
    QUERY_FUNCTION = 1 << 18,
    QUERY_BASELINE = 1 << 19,
    QUERY_ANONYMIZE = 1 << 20,
    QUERY_DUMP = 1 << 21, /* tasks, locals */
    QUERY_PULL = 1 << 22, /* pid, seconds, rate_hz */
    QUERY_MEASURE = 1 << 23,
    QUERY_SHOW_FROM = 1 << 25,
    QUERY_NATIVE = 1 << 26,
    QUERY_OWN = 1 << 27,
    QUERY_BLOCKS = 1 << 28,
    QUERY_MARKS = 1 << 29, /* waits, contexts */
    QUERY_NOTE = 1 << 30,
    QUERY_PAGE = QUERY_OFFSET | QUERY_LIMIT,
    QUERY_CAPTURES =
        QUERY_PAGE | QUERY_SEARCH | QUERY_HOST | QUERY_LABEL | QUERY_FROM | QUERY_TO,
    QUERY_FILTERS = QUERY_FOCUS | QUERY_IGNORE | QUERY_HIDE | QUERY_SHOW | QUERY_SHOW_FROM |
                    QUERY_NATIVE | QUERY_MARKS,
    QUERY_VIEW = QUERY_FROM | QUERY_TO | QUERY_THREAD | QUERY_PROCESS | QUERY_STATE,
};

enum { QUERY_MAX_LIMIT = 4096, QUERY_MAX_SECONDS = 300, QUERY_MAX_PULL_HZ = 1000 };

struct query {
    struct view_query view;
    const char *format;                                   /* NULL: not given */
    const char *search, *host, *label, *title, *baseline; /* so are these */
    const char *measure;                                  /* its name; so is this */
    uint32_t offset, limit;                               /* of a list; limit 0: not given */
    uint32_t slots;                                       /* 0: not given */
    function_id function;                                 /* 0: not given */
    uint32_t pid, seconds, pull_hz;                       /* 0: not given */
    uint32_t note;                                        /* so is this */
    bool anonymizes, wants_tasks, wants_blocks;
    struct request_choice requests;
    enum session_locals_mode locals;
    struct frame_filters filters;
    struct setting_ids threads, processes;
    struct setting_texts own; /* patterns of paths */
};

/* accepted: query_parameter bits. */
MUST_CHECK enum err_code query_read(const struct request *request, unsigned accepted,
                                    struct query *query, struct err *err);

/* For a route that takes no parameters. */
MUST_CHECK enum err_code query_read_none(const struct request *request, struct err *err);

/* Equal queries give equal numbers, whatever their spelling. */
uint64_t query_hash(const struct query *query);

#endif /* SERVER_API_QUERY_H */
