/*
 * location - a function, its file and its line, which several tools write as one text: "work (app.py:12)" of viztracer,
 * "work (https://a/b.js:12:3)" of Firefox, "work(b.js:12:3)" of Hermes, "read (in libc.so.6)" of perf.
 */
#ifndef SAMPLER_FOREIGN_LOCATION_H
#define SAMPLER_FOREIGN_LOCATION_H

#include <stdbool.h>
#include <stdint.h>

#include "sampler/foreign/gather.h"

/* The parts of a text, which point into it; line: 0: it has none.  false: it is a name alone, and nothing is set. */
bool location_split(struct gather_text text, struct gather_text *name, struct gather_text *file,
                    int64_t *line);
/* Takes a number with a mark before it, such as ":12", from the end of a text. */
bool location_cut_number(struct gather_text *text, char mark, int64_t *out);

#endif /* SAMPLER_FOREIGN_LOCATION_H */
