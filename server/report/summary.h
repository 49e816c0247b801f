/*
 * summary - a profile in at most 40 lines (more if settings.limit asks for more): what was observed, the hottest
 * lines and functions, where it waits and why, the GIL, garbage collection, native code, and how far the numbers
 * can be trusted.
 *
 * Hot means of samples that run, waiting of those that need the GIL or a processor or are blocked; idle ones are only
 * counted.  Shares of hot and waiting rows are of all samples but the idle ones.  Waiting tasks are in no part of time
 * and are left out.  formats/summary_*.c write it.
 *
 * Ownership: plain data; texts are borrowed from the source, which must have its header.
 * Threads: any, on a snapshot of one's own.
 * Cost: a few views of the source.
 */
#ifndef SERVER_REPORT_SUMMARY_H
#define SERVER_REPORT_SUMMARY_H

#include "sampler/base/err.h"
#include "server/report/summary_facts.h"

struct json;
struct report_source;
struct session_info;

MUST_CHECK enum err_code summary_init(struct summary *summary,
                                      const struct report_source *source, struct err *err);

/* Writes the Summary document of openapi.json as a value. */
MUST_CHECK enum err_code summary_write_json(struct json *json,
                                            const struct report_source *source,
                                            struct err *err);

/* How far the numbers can be trusted: one sentence without its full stop, about the whole session. */
void summary_quality_text(const struct session_info *info, char out[SUMMARY_QUALITY_BYTES]);

#endif /* SERVER_REPORT_SUMMARY_H */
