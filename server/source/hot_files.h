/*
 * hot_files - the order of files by the samples of their functions.
 *
 * Ownership: plain data.
 * Threads: none.
 */
#ifndef SERVER_SOURCE_HOT_FILES_H
#define SERVER_SOURCE_HOT_FILES_H

#include <stddef.h>
#include <stdint.h>

#include "sampler/profile/profile.h"

/* A file, as the functions that name it. */
struct hot_file {
    str_id file;
    size_t first, count; /* in functions */
    uint64_t self, total;
};

/* Puts functions of one file next to each other. */
void hot_files_order(const struct profile_snapshot *snapshot, function_id *functions,
                     size_t count);
/* The hottest first: for qsort, of structures that begin with a hot_file. */
int hot_files_compare(const void *left, const void *right);

#endif /* SERVER_SOURCE_HOT_FILES_H */
