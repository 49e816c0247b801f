/*
 * source - the text of source files for the views and reports of one session.
 *
 * A file is read with the rights of a process in which a function of the file was sampled (helper.h),
 * while that process runs.  If processes of several owners ran the function, the file is not read.
 * Texts are fetched while their process runs, so that they are available when it has ended: the hottest
 * files first, shortly after the first samples, and then as new files appear.
 *
 * Meanwhile the checkout of your code (own_code.h) is looked for, with the same rights: links to a repository need
 * its commit.
 *
 * The source of native code whose file is unknown is where the debug information of its library says, if there
 * is any.  It is searched only when somebody asks for it, and only while the process runs.
 *
 * Ownership: source_create makes, source_destroy frees; it borrows the sampler.
 * Threads: any may read; a thread of the session fetches.
 * Limits: SOURCE_MAX_BYTES for a file; SOURCE_MAX_PLACES at once; CACHE_MAX_FILES files and CACHE_MAX_BYTES for a session.
 */
#ifndef SERVER_SOURCE_SOURCE_H
#define SERVER_SOURCE_SOURCE_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sampler/base/err.h"
#include "sampler/profile/profile.h"

struct buffer;
struct sampler;
struct source;

enum { SOURCE_MAX_BYTES = 4 << 20, SOURCE_MAX_PLACES = 64 };
enum { SOURCE_MAX_CHECKOUT = 1024, SOURCE_COMMIT_BYTES = 65 };

/* The place of a function according to debug information. */
struct source_place {
    char path[PATH_MAX]; /* "": the file that the function names */
    int32_t line;        /* 0: unknown */
};

/* A git checkout that your code is in. */
struct source_checkout {
    char root[SOURCE_MAX_CHECKOUT];   /* its folder, as the process names it */
    char commit[SOURCE_COMMIT_BYTES]; /* hexadecimal */
};

/* The owner of a source file according to metadata beside it. */
enum source_owner { SOURCE_OF_UNKNOWN, SOURCE_OF_PROJECT, SOURCE_OF_PACKAGE };
struct source_distribution {
    uint32_t owner;       /* enum source_owner */
    uint32_t root_length; /* of the path: of the folder with the metadata */
    uint32_t has_folder;  /* 1: the same is true of all files in the file's folder */
};

/* Gets a function whose place is known. */
typedef void source_found(void *context, function_id function,
                          const struct source_place *place);

/* The state of a text. */
struct source_state {
    uint64_t changed_ns; /* the file was last written, since 1970 */
    bool is_part;        /* lines were left out: they are empty */
};

/* The source of texts and places for views and reports. locate: NULL: there are no places. */
struct source_reader {
    enum err_code (*read)(void *context, const struct profile_snapshot *snapshot,
                          const function_id *functions, size_t count, struct buffer *out,
                          struct source_state *state_out, struct source_place *place_out,
                          struct err *err);
    enum err_code (*locate)(void *context, const struct profile_snapshot *snapshot,
                            const function_id *functions, size_t count, source_found *found,
                            void *found_context, struct err *err);
    void *context;
};

/* Texts that a session asks for while processes run. */
enum source_keeping { SOURCE_KEEPS_NOTHING, SOURCE_KEEPS_PACKAGES, SOURCE_KEEPS_TEXTS };

MUST_CHECK enum err_code source_create(struct sampler *sampler, enum source_keeping keeping,
                                       struct source **out, struct err *err);
/* No thread reads afterwards.  NULL is fine. */
void source_destroy(struct source *source);
struct source_reader source_reader_of(struct source *source);
/* The text of a file for a capture that ends: as it was fetched before, else as it is.  asks: whether processes may
 * be asked; otherwise ERR_LIMIT. */
MUST_CHECK enum err_code source_take(struct source *source,
                                     const struct profile_snapshot *snapshot,
                                     const function_id *functions, size_t count, bool asks,
                                     struct buffer *out, uint64_t *changed_ns_out,
                                     struct err *err);
/* The checkout of the hottest file of your code that is in one, until source_destroy; NULL: none is known, or
 * not yet. */
const struct source_checkout *source_checkout(const struct source *source);

/* Reads the file that contains all these functions.  Replaces the content of `out`.  place_out: NULL: native code whose
 * file is unknown has no text; otherwise it may have, if it is the only function.  reader: NULL: there are no texts.
 * ERR_NOT_FOUND: no such file; ERR_PERM; ERR_GONE: all its processes have ended; ERR_LIMIT: too large or
 * too slow; ERR_INVALID: not an absolute path, or not a regular file. */
MUST_CHECK enum err_code source_read(const struct source_reader *reader,
                                     const struct profile_snapshot *snapshot,
                                     const function_id *functions, size_t count,
                                     struct buffer *out, struct source_state *state_out,
                                     struct source_place *place_out, struct err *err);

/* True if the source file of a function is known: native code may have the path of its library
 * only. */
bool source_is_known(const struct profile_snapshot *snapshot, function_id function);

/* Finds the places, according to debug information, of native functions of one library whose
 * source is unknown: at most SOURCE_MAX_PLACES. Files may lack, as nothing but the debug
 * information is read. ERR_NOT_FOUND: there is none; otherwise as source_read. */
MUST_CHECK enum err_code source_locate(const struct source_reader *reader,
                                       const struct profile_snapshot *snapshot,
                                       const function_id *functions, size_t count,
                                       source_found *found, void *context, struct err *err);

#endif /* SERVER_SOURCE_SOURCE_H */
