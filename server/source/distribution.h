/*
 * distribution - the distribution that installed a file, as the metadata beside it say.
 *
 * Walks from the file's folder up to the first that has *.dist-info in it, also in an archive. The RECORD of a distribution lists its files: a file
 * in one is of that distribution, a file in none is of nobody's, so it is the project's: alone, if its folder or one below has files of a distribution.  So is a file of a distribution that was installed
 * from a folder, as direct_url.json says.  Where a list lacks, as in Debian's packages and in eggs, nothing is known of files in none.
 *
 * All of these files are hostile; one answer of three and a length get out.
 *
 * Private to the folder.
 *
 * Limits: DISTRIBUTION_MAX_DEPTH folders; DISTRIBUTION_MAX distributions in one; SOURCE_MAX_BYTES of a list, DISTRIBUTION_MAX_BYTES of all, DISTRIBUTION_MAX_MS for them.
 * Beyond these nothing is known.
 * Threads: one at a time.
 * Source: PEP 376, PEP 610, and the specification of recording installed projects of the PyPA.
 */
#ifndef SERVER_SOURCE_DISTRIBUTION_H
#define SERVER_SOURCE_DISTRIBUTION_H

#include "server/source/source_reader.h"

enum {
    DISTRIBUTION_MAX_DEPTH = 32,
    DISTRIBUTION_MAX = 2048,
    DISTRIBUTION_MAX_BYTES = 64 << 20,
    DISTRIBUTION_MAX_MS =
        1000 /* less than a reader has for a file, so that its owner's are not left alone */
};

/* root: of the process; path: absolute. */
void distribution_find(int root, const char *path, struct source_distribution *out);

/* The answer may be one about this path. */
bool distribution_is_valid(const struct source_distribution *distribution, const char *path);

#endif /* SERVER_SOURCE_DISTRIBUTION_H */
