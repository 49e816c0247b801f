/*
 * native_place - where the source of a function of a library is.
 *
 * The library's debug information is found here, and read by a child process that can only compute
 * (confine.h), because it is hostile.  What that process answers is hostile too.
 *
 * Private to the folder.
 *
 * Threads: for the reader's process.
 * Limits: those of confine and debug_lines.
 * Depends on: confine, debug_lines, request.
 */
#ifndef SERVER_SOURCE_NATIVE_PLACE_H
#define SERVER_SOURCE_NATIVE_PLACE_H

#include "server/source/request.h"

/* root: of the process; library: the open file.  The name in *out ends with a NUL. */
enum source_outcome native_place_find(const struct source_request *request, int root,
                                      int library, struct debug_line *out);

#endif /* SERVER_SOURCE_NATIVE_PLACE_H */
