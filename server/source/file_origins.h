/*
 * file_origins - the file that functions of a session name, and the processes with whose rights it may be read.
 *
 * Where another process samples, both processes find these: this one to know the owner, and the one that reads because it
 * trusts no request.
 *
 * Private to the folder.
 *
 * Ownership: the caller's storage; texts are the snapshot's.
 * Threads: any.
 */
#ifndef SERVER_SOURCE_FILE_ORIGINS_H
#define SERVER_SOURCE_FILE_ORIGINS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sampler/base/err.h"
#include "sampler/profile/profile.h"
#include "server/source/cache.h"
#include "server/source/relay_codec.h"
#include "server/source/source_reader.h"

/* Processes with whose rights one file is tried. */
enum { FILE_ORIGINS_MAX = 8 };

struct file_origins {
    struct cache_key key;
    struct relay_request
        request; /* asks for the same, with no more functions than that takes */
    uint64_t entries[SOURCE_MAX_PLACES]; /* of native functions whose library the key names */
    size_t entry_count;                  /* 0: a source file */
    struct strtab_string build_id;       /* of that library */
    profile_origin items[FILE_ORIGINS_MAX];
    size_t count;
};

/* ERR_PERM: they have several owners; ERR_NOT_FOUND: no process is known; ERR_INVALID: there is no such function, or they
 * are of several files. */
MUST_CHECK enum err_code file_origins_find(const struct profile_snapshot *snapshot,
                                           const function_id *functions, size_t count,
                                           enum relay_want want, struct file_origins *out,
                                           struct err *err);

/* All functions of the session that come from processes come from those of one owner, as far as is known. */
bool file_origins_have_one_owner(const struct profile_snapshot *snapshot);

#endif /* SERVER_SOURCE_FILE_ORIGINS_H */
