/*
 * packages - what metadata beside files say of the package that they are of, where their paths say otherwise.
 *
 * A row is a file, or a folder for the files directly in it, and a package; "" stands for your code.
 * views/code_origin.h asks it before it judges by the path.
 *
 * Ownership: the caller's storage; texts are good until packages_deinit, which accepts a zeroed one.
 * Threads: one at a time adds; any read meanwhile.
 * Limits: PACKAGES_MAX rows; PACKAGES_MAX_NAME bytes of a package's name.
 */
#ifndef SAMPLER_PROFILE_PACKAGES_H
#define SAMPLER_PROFILE_PACKAGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sampler/base/err.h"

enum { PACKAGES_MAX = 512, PACKAGES_MAX_NAME = 255 };

struct packages {
    uint32_t count; /* of rows that may be read */
    struct packages_row {
        uint64_t hash; /* of the path */
        char *path;
        char *package;
    } rows[PACKAGES_MAX];
};

void packages_deinit(struct packages *packages);

/* Does nothing if the path has a row.  ERR_LIMIT: there are too many; ERR_INVALID: the path is not absolute or has PATH_MAX bytes, or the name of the package is
 * too long or has a slash. */
MUST_CHECK enum err_code packages_add(struct packages *packages, const char *path,
                                      const char *package, struct err *err);
/* Rows that are there, and stay: those before it. */
uint32_t packages_count(const struct packages *packages);
/* The texts of all rows, with room for PACKAGES_MAX; returns how many. */
uint32_t packages_list(const struct packages *packages, const char **paths, const char **names);
/* NULL: no row is about the file. */
const struct packages_row *packages_row_of(const struct packages *packages, const char *file);
/* The package of a file; NULL: no row is about it. */
const char *packages_find(const struct packages *packages, const char *file);

#endif /* SAMPLER_PROFILE_PACKAGES_H */
