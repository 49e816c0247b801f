/*
 * pattern - names and files as people write them.
 *
 * With any of * ? [ it is a shell pattern (fnmatch) of the whole; * matches / and . too.
 * Otherwise a file matches by its end, on a boundary or not ("app.py" is any .../app.py and
 * .../myapp.py, as in dask), and a qualified name if it is that name or ends in it after a dot
 * ("run" is any Thread.run).
 *
 * Threads: any.
 * Depends on: libc.
 */
#ifndef SAMPLER_PROFILE_VIEWS_PATTERN_H
#define SAMPLER_PROFILE_VIEWS_PATTERN_H

#include <stdbool.h>

bool pattern_matches_file(const char *pattern, const char *file);
bool pattern_matches_name(const char *pattern, const char *name);

#endif /* SAMPLER_PROFILE_VIEWS_PATTERN_H */
