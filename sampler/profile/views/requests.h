/*
 * requests - how long each value of a context lasted (context.h): a request of a server, a span, a job.
 *
 * A request lasts from its first to its last sample, on whatever threads and tasks these were, and a period more: half of
 * one before the first sample and half of one after the last, so its duration is right within a period either way.
 * Samples of an idle worker, of an event loop, and of a main thread that waits for the others belong to no request: a
 * variable often keeps its value when the request is over.
 *
 * A request that the recording began or ended in lasted at least that long (is_cut).  Where windows have lost the order
 * of their samples (window.h), a request begins and ends with its windows, and its error is their widths (is_rough).
 * Percentiles are those of the other requests, with the 95 % interval of order statistics.
 *
 * Ownership: requests_deinit accepts a zeroed one.
 * Threads: any, each on its own snapshot.
 * Cost: proportional to the runs and cells of the whole snapshot, plus its nodes.
 * Units: nanoseconds since the profile was created.
 */
#ifndef SAMPLER_PROFILE_VIEWS_REQUESTS_H
#define SAMPLER_PROFILE_VIEWS_REQUESTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sampler/base/err.h"
#include "sampler/profile/context.h"
#include "sampler/profile/part.h"
#include "sampler/profile/profile_rows.h"

struct request {
    function_id context; /* the mark of the value */
    bool is_cut, is_rough;
    uint64_t first_ns, last_ns; /* its first and last sample */
    uint64_t duration_ns, error_ns;
    uint64_t samples;
    uint64_t parts_ns[PART_COUNT]; /* of all its threads together */
    uint64_t awaits_ns;            /* of its waiting tasks */
};

struct requests {
    size_t count;
    struct request *items;                        /* slowest first */
    uint64_t samples_by_mark[CONTEXT_MARK_COUNT]; /* of the whole snapshot, idle ones aside */
    size_t cut, rough;                            /* a rough one may be cut besides */
    size_t whole;                                 /* neither cut nor rough */
    uint64_t *whole_ns;                           /* durations of these, ascending */
};

MUST_CHECK enum err_code requests_init(struct requests *requests,
                                       const struct profile_snapshot *snapshot,
                                       struct err *err);
void requests_deinit(struct requests *requests);

/* Keeps those that have a time between the two; to_ns 0: no end. */
void requests_keep_range(struct requests *requests, uint64_t from_ns, uint64_t to_ns);

/* A quantile of the durations of whole requests, and between which durations it lies with a chance of 95 %. */
struct requests_quantile {
    uint64_t duration_ns;
    bool has_low, has_high; /* false: there are too few requests to say */
    uint64_t low_ns, high_ns;
};
/* share: above 0 and below 1.  false: there is no whole request. */
bool requests_quantile(const struct requests *requests, double share,
                       struct requests_quantile *out);

/* More of one request. */
struct request_detail {
    uint64_t causes_ns[WAIT_CAUSE_COUNT]; /* of the samples that are blocked */
    frame_id top; /* the innermost line of Python with most time; 0: none */
    uint64_t top_ns;
    function_id
        view; /* the function that a web framework called for it, by the names of frames: a guess; 0: none */
};

/* Fills one for each of the first `count` requests. */
MUST_CHECK enum err_code requests_detail(const struct requests *requests,
                                         const struct profile_snapshot *snapshot, size_t count,
                                         struct request_detail *details, struct err *err);

/* The pieces of one request in the order of time. */
enum { REQUEST_MAX_PIECES = 2000 };
struct request_pieces {
    size_t count, left_out; /* the shortest ones are left out */
    struct request_piece {
        uint64_t start_ns, end_ns;
        thread_id thread;
        bool awaits; /* a waiting task, which is in no part */
        enum part part;
        enum wait_cause cause; /* of the parts blocked and idle */
        frame_id top;          /* the innermost line of Python; 0: none */
    } * items;
};

/* Keeps at most `most`.  Windows that have lost the order of their samples have no pieces. */
MUST_CHECK enum err_code request_pieces_init(struct request_pieces *pieces,
                                             const struct profile_snapshot *snapshot,
                                             function_id mark, size_t most, struct err *err);
void request_pieces_deinit(struct request_pieces *pieces);

/* By node: the mark of the value that its samples work for; 0: none, or they are idle.  free() it. */
MUST_CHECK enum err_code requests_by_node(const struct profile_snapshot *snapshot,
                                          function_id **out, struct err *err);

#endif /* SAMPLER_PROFILE_VIEWS_REQUESTS_H */
