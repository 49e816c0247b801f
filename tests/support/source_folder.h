/*
 * source_folder - reads source files from a folder that stands for the root of the target.
 */
#ifndef TESTS_SUPPORT_SOURCE_FOLDER_H
#define TESTS_SUPPORT_SOURCE_FOLDER_H

#include "server/source/source.h"

/* Borrows the folder's path. */
struct source_reader source_folder(char *folder);

#endif /* TESTS_SUPPORT_SOURCE_FOLDER_H */
