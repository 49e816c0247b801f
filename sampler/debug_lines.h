/*
 * debug_lines - where the source of native code is, from the debug information of its library.
 *
 * In two parts, because the files are hostile.  debug_lines_open finds the file with the debug information,
 * within bounds.  debug_lines_find reads it, which a damaged file may end: call it only in a process
 * that has nothing to lose (native/source_lines.h).
 *
 * Ownership: descriptors are the caller's.
 * Threads: debug_lines_open any, debug_lines_find none.
 * Limits: DEBUG_LINES_MAX_BYTES of the file with the debug information; the deadline.
 */
#ifndef SAMPLER_DEBUG_LINES_H
#define SAMPLER_DEBUG_LINES_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sampler/base/clock.h"
#include "sampler/base/err.h"

enum { DEBUG_LINES_MAX_BYTES = 256 << 20, DEBUG_LINES_BUILD_ID_BYTES = 2 * 64 + 1 };

struct debug_lines_file {
    int fd;
    size_t bytes;
};

struct debug_line {
    char file[PATH_MAX]; /* as the compiler saw it */
    int32_t line;
};

/* Was the program built with what reads debug information? */
bool debug_lines_are_supported(void);

/* root_fd: the root directory of the process; path: of the library, beneath it; build_id: in hexadecimal
 * digits, "": unknown.
 * ERR_GONE: the library is not an ELF file, or has another build id; ERR_NOT_FOUND: there is no debug
 * information; ERR_LIMIT: it is too large. */
MUST_CHECK enum err_code debug_lines_open(int library_fd, int root_fd, const char *path,
                                          const char *build_id, struct deadline deadline,
                                          struct debug_lines_file *out);

/* Gets each function, in the order asked for.  ERR_OK, or ERR_NOT_FOUND: the debug information does not
 * describe it.  false: no more are wanted. */
typedef bool debug_lines_found(void *context, enum err_code rc, const struct debug_line *line);

/* Finds the beginnings of the functions at addresses. vaddrs: as linked. Needs no system calls
 * but pread and those that allocate memory. ERR_NOMEM; ERR_SYS: the file cannot be read;
 * ERR_INVALID: the debug information is damaged; ERR_UNSUPPORTED. Then nothing was found. */
MUST_CHECK enum err_code debug_lines_find(const struct debug_lines_file *file,
                                          const uint64_t *vaddrs, size_t count,
                                          debug_lines_found *found, void *context);

#endif /* SAMPLER_DEBUG_LINES_H */
