/*
 * summary_rows - the lines and functions with most samples of a query.
 */
#ifndef SERVER_REPORT_SUMMARY_ROWS_H
#define SERVER_REPORT_SUMMARY_ROWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sampler/base/err.h"
#include "server/report/summary_facts.h"

struct view_query;

/* The lines of your code with most samples of a query; own_out: samples with your code on the stack. */
MUST_CHECK enum err_code summary_find_lines(const struct report_source *source,
                                            const struct view_query *query, size_t most,
                                            struct summary_rows *rows, uint64_t *own_out,
                                            struct err *err);
/* The functions with most samples of their own. */
MUST_CHECK enum err_code summary_find_functions(const struct report_source *source,
                                                const struct view_query *query, size_t most,
                                                struct summary_rows *rows, struct err *err);
/* The query, of some parts of time only; false: it has none of them. */
bool summary_narrow(const struct report_source *source, part_set parts, struct view_query *out);

#endif /* SERVER_REPORT_SUMMARY_ROWS_H */
