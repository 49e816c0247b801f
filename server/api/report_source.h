/*
 * report_source - the part of a session that a request asks for, as the source of a report.
 */
#ifndef SERVER_API_REPORT_SOURCE_H
#define SERVER_API_REPORT_SOURCE_H

#include "sampler/base/err.h"

struct report_source;
struct session_request;

/* Calls `use` with the source, its stacks as the filters make them, and with its header.  baseline: NULL:
 * none.  Returns what `use` returns, or an error before it. */
MUST_CHECK enum err_code report_source_use(
    const struct session_request *asked, const struct report_source *baseline,
    enum err_code (*use)(const struct report_source *source, void *context, struct err *err),
    void *context, struct err *err);

#endif /* SERVER_API_REPORT_SOURCE_H */
