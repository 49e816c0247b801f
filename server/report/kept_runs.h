/*
 * kept_runs - in a report, what its busiest threads did in the order of time (thread_runs), for the stack chart.
 *
 * The busiest thread is the one with the most samples that do not wait.  It gets up to half of
 * KEPT_RUNS_MAX_ROWS rows, the next one up to half of what is left, and so on.
 */
#ifndef SERVER_REPORT_KEPT_RUNS_H
#define SERVER_REPORT_KEPT_RUNS_H

#include "sampler/base/err.h"

struct json;
struct report_source;

enum { KEPT_RUNS_MAX_THREADS = 8, KEPT_RUNS_MAX_ROWS = 10000 };

/* Writes the member `runs`, an array with one element for each thread (server/README.md).  Threads of which
 * no order is known are left out. */
MUST_CHECK enum err_code kept_runs_write(struct json *json, const struct report_source *source,
                                         struct err *err);

#endif /* SERVER_REPORT_KEPT_RUNS_H */
