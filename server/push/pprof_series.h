/*
 * pprof_series - a batch as requests that hold series of pprof files: what Pyroscope and Parca have in common.
 *
 * Each process is a series for each kind of values: process_cpu, wall, rss_growth and so on, which is the label __name__ too.  A profile that is too
 * large for one file becomes several.
 */
#ifndef SERVER_PUSH_PPROF_SERIES_H
#define SERVER_PUSH_PPROF_SERIES_H

#include <stdbool.h>
#include <stddef.h>

#include "server/push/encoders.h"

struct push_labels;

/* How a request is written.  All append to `out`. */
struct pprof_series_form {
    const char *begin, *end;
    /* The first: nothing precedes it in the request.  file: compressed. */
    void (*put)(struct buffer *out, bool is_first, const struct push_labels *labels,
                const char *name, const unsigned char *file, size_t bytes);
};

MUST_CHECK enum err_code pprof_series_encode(const struct push_batch *batch,
                                             const struct pprof_series_form *form,
                                             push_take *take, void *to, struct err *err);

#endif /* SERVER_PUSH_PPROF_SERIES_H */
