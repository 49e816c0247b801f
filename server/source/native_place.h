/*
 * native_place - where the source of functions of a library is.
 *
 * The library's debug information is found here, and read by a child process that can only compute
 * (confine.h), because it is hostile.  What that process answers is hostile too.
 *
 * Private to the folder.
 *
 * Threads: for the reader's process.
 * Limits: those of confine and debug_lines.
 */
#ifndef SERVER_SOURCE_NATIVE_PLACE_H
#define SERVER_SOURCE_NATIVE_PLACE_H

#include "server/source/request.h"

/* Gets a function, in the order of the request; the name in *place ends with a NUL.
 * SOURCE_NO_LINE: it has no place. */
typedef void native_place_found(void *context, enum source_outcome outcome,
                                const struct debug_line *place);

/* Finds the places of the request's functions, or of the first of them, until time or memory
 * run out. root: of the process; library: the open file. SOURCE_DONE: it searched for at least
 * one. */
enum source_outcome native_place_find(const struct source_request *request, int root,
                                      int library, native_place_found *found, void *context);

#endif /* SERVER_SOURCE_NATIVE_PLACE_H */
