/*
 * helper - a separate process that reads source files with the rights of the targets that name them,
 * so that the program itself need not be able to become another user.
 *
 * There is one for the whole program.  It must be started before the program has threads and before
 * it drops rights.  If it ends, or was never started, source text is unavailable, and the error
 * says so.
 *
 * Threads: start and stop from one; reading from any.
 * Limits: SOURCE_DEADLINE_MS for a file (request.h), then ERR_LIMIT.
 */
#ifndef SERVER_SOURCE_HELPER_H
#define SERVER_SOURCE_HELPER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "sampler/base/err.h"
#include "sampler/base/strtab.h"

struct buffer;
struct pulse;
struct session_origin;
struct source_place;

/* The requested thing: a source file, or that of a function of a library, or the places of
 * several. */
struct helper_request {
    struct strtab_string path;
    const uint64_t *entries;       /* of functions of the library at the path, as linked */
    size_t entry_count;            /* at most SOURCE_MAX_PLACES; 0: it is a source file */
    bool wants_places;             /* of all entries; otherwise the text of the first */
    struct strtab_string build_id; /* of that library, in hexadecimal digits; empty: unknown */
    bool wants_checkout;           /* instead of the text a struct source_checkout */
    bool wants_distribution;       /* instead of the text a struct source_distribution */
};

MUST_CHECK enum err_code source_helper_start(struct err *err);
/* In two parts, for a process that starts it again when it ends: start it at one end of a socket pair (SOCK_SEQPACKET), and
 * have another process ask it at the other end.  The caller of the first holds both ends, so requests wait while there is
 * none.  source_helper_fork returns what fork returns; pulse: that it takes requests; NULL: none. */
pid_t source_helper_fork(int socket, struct pulse *pulse);
MUST_CHECK enum err_code source_helper_adopt(int socket, struct err *err);
/* Pending reads fail at once.  Does nothing if none was started. */
void source_helper_stop(void);
/* 0: none was started. */
pid_t source_helper_pid(void);

/* The text of the file, as the process sees it, or the places (request.h).  Replaces the content of `out`.  Reading is cancelled
 * once cancel_fd is readable; -1: never.  place_out: where debug information places the function, also if that
 * file cannot be read; may be NULL for a source file.
 * ERR_GONE: the process has ended, or runs another program. */
MUST_CHECK enum err_code source_helper_read(const struct session_origin *of,
                                            const struct helper_request *wanted, int cancel_fd,
                                            struct buffer *out, uint64_t *changed_ns_out,
                                            struct source_place *place_out, struct err *err);

#endif /* SERVER_SOURCE_HELPER_H */
