/*
 * checkout - the git checkout that a file is in, and its commit, as git's files say.
 *
 * Walks from the file's folder up to the first with a .git: a folder, or the file that stands for it in a worktree
 * or a submodule.  The files are hostile: a commit is 40 or 64 hexadecimal digits, and nothing else of them gets out.
 *
 * Private to the folder.
 *
 * Limits: CHECKOUT_MAX_DEPTH folders; CHECKOUT_MAX_REFS bytes of packed refs; no refs in a reftable.
 */
#ifndef SERVER_SOURCE_CHECKOUT_H
#define SERVER_SOURCE_CHECKOUT_H

#include <stdbool.h>

#include "server/source/source_reader.h"

enum { CHECKOUT_MAX_DEPTH = 32, CHECKOUT_MAX_REFS = 1 << 20 };

/* root: of the process; path: absolute.  false: none, or its commit is unknown. */
bool checkout_find(int root, const char *path, struct source_checkout *out);

/* True for what checkout_find gives. */
bool checkout_is_valid(const struct source_checkout *checkout);

#endif /* SERVER_SOURCE_CHECKOUT_H */
