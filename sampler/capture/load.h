/*
 * load - makes the windows of a capture those of a profile.
 *
 * Private to the folder.
 */
#ifndef SAMPLER_CAPTURE_LOAD_H
#define SAMPLER_CAPTURE_LOAD_H

#include <stdint.h>

#include "sampler/base/err.h"

struct profile;
struct reader_window;

/* The profile has the rows of the window.  last_ns: 0 at first; when the last window ended. */
MUST_CHECK enum err_code load_window(struct profile *profile,
                                     const struct reader_window *window, uint64_t *last_ns,
                                     struct err *err);

#endif /* SAMPLER_CAPTURE_LOAD_H */
