/*
 * own_code - which functions are your code.  There is always some, if Python code was sampled: the first of these levels that has
 * enough of the samples, or the last.
 *
 *     files      Python code that is neither of the standard library nor of a package (code_origin.h): of a file, of a notebook, of a
 *                terminal, of `python -c`, of functions that cloudpickle sent; not the script in bin/ that starts a package
 *     cells      the same, if all of it is of a notebook
 *     dynamic    code made of text, such as <string>, that runs as a program does: as the outermost of a thread, or as a module
 *                that calls or has several lines
 *     program    the packages that programs were started in: by a script in bin/, by `python -m`, or as a pex or a shiv
 *     packages   the outermost packages of all stacks
 *     library    the standard library
 *
 * A text that is too long for a path names no file.  The page has the same rule (web/model/code/own.js), but gets the levels from
 * the server; tests/origins.json holds cases for both.
 *
 * Ownership: the names of packages point into the profile.
 * Threads: any, each on its own snapshot.
 * Cost: each function and each node once.
 * Limits: OWN_CODE_MAX_PACKAGES packages of a level.
 */
#ifndef SAMPLER_PROFILE_VIEWS_OWN_CODE_H
#define SAMPLER_PROFILE_VIEWS_OWN_CODE_H

#include <stdbool.h>
#include <stddef.h>

#include "sampler/base/err.h"
#include "sampler/profile/profile.h"
#include "sampler/profile/views/code_origin.h"

enum {
    OWN_CODE_MAX_PACKAGES = 64,
    OWN_CODE_MAX_LEVELS = 5,
    OWN_CODE_LEAST_PERCENT = 1, /* of the samples: so many are enough */
};

#define OWN_CODE_KINDS(X)   \
    X(FILES, "files")       \
    X(CELLS, "cells")       \
    X(DYNAMIC, "dynamic")   \
    X(PROGRAM, "program")   \
    X(PACKAGES, "packages") \
    X(LIBRARY, "library")

enum own_code_kind {
#define X(name, text) OWN_CODE_##name,
    OWN_CODE_KINDS(X)
#undef X
};

struct own_code {
    size_t count; /* 0: there is no Python code */
    struct own_code_level {
        enum own_code_kind kind;
        struct code_origin packages[OWN_CODE_MAX_PACKAGES];
        size_t package_count; /* 0, but of PROGRAM and PACKAGES */
    } levels[OWN_CODE_MAX_LEVELS];
};

/* own[id]: a bit, 1 << LEVEL, for each level that the function is of; NULL: not asked. */
MUST_CHECK enum err_code own_code_find(const struct profile_snapshot *snapshot,
                                       struct own_code *out, unsigned char *own,
                                       struct err *err);

/* Sets own[id] for each function from `first` on: whether it is of the kinds FILES and CELLS, whatever started the
 * program. */
void own_code_mark_files(const struct profile_snapshot *snapshot, function_id first,
                         unsigned char *own);

/* By value (base/enum_text.h). */
extern const char *const own_code_kind_texts[];

#endif /* SAMPLER_PROFILE_VIEWS_OWN_CODE_H */
