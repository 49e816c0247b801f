/*
 * view_series - the samples of a query in the bins of a series (series.h), which has none of threads, states and requests.
 *
 * Samples are in the bins in which they were taken.  Those of a window that has lost their order are spread over its
 * bins.  Waiting tasks are no threads.
 *
 * Ownership: the series belongs to the caller; series_deinit frees it.
 * Threads: any, each on its own snapshot.
 * Cost: proportional to the samples of the query's time, and to the cells of the snapshot.
 * Limits: VIEW_SERIES_MAX_SECONDS, then ERR_LIMIT.
 */
#ifndef SAMPLER_PROFILE_VIEWS_VIEW_SERIES_H
#define SAMPLER_PROFILE_VIEWS_VIEW_SERIES_H

#include <stdint.h>

#include "sampler/base/err.h"

struct profile_snapshot;
struct series;
struct view_query;

enum { VIEW_SERIES_MAX_SECONDS = 900 };

/* Takes the seconds from `first` to before `end`, whatever range of time and generations the query has. */
MUST_CHECK enum err_code view_series_init(struct series *series,
                                          const struct profile_snapshot *snapshot,
                                          const struct view_query *query, uint64_t first,
                                          uint64_t end, struct err *err);

#endif /* SAMPLER_PROFILE_VIEWS_VIEW_SERIES_H */
