/*
 * zip_member - one file of a zip archive, as Python imports modules from one.
 *
 * The archive may be hostile, and may change while it is read: it is read with pread and never mapped, and no length in
 * it is believed beyond the limits.  What precedes it, as the first line of a program does, is skipped as zipimport does.
 *
 * Private to the folder.
 *
 * Ownership: *text_out is the caller's (free).
 * Threads: any.
 * Limits: SOURCE_MAX_BYTES of the file; ZIP_MAX_DIRECTORY_BYTES of the archive's directory.  Stored and deflated files
 * are read; encrypted ones, other methods and Zip64 are not.  Names are compared byte by byte.
 * Source: PKWARE's APPNOTE.TXT 6.3.10, sections 4.3.7, 4.3.12 and 4.3.16; CPython's Lib/zipimport.py.
 */
#ifndef SERVER_SOURCE_ZIP_MEMBER_H
#define SERVER_SOURCE_ZIP_MEMBER_H

#include <stddef.h>

#include "server/source/request.h"

enum { ZIP_MAX_DIRECTORY_BYTES = 16 << 20 };

/* MISSING: it is no archive, or has no such file.  BAD_ARCHIVE: it is damaged, or not read (Limits). */
enum source_outcome zip_member_read(int fd, const char *name, char **text_out,
                                    size_t *length_out);

/* Gets the name of a file, which does not end with a NUL. */
typedef void zip_member_found(void *context, const char *name, size_t length);

/* Calls `found` for each member; its outcomes are those of zip_member_read. */
enum source_outcome zip_member_list(int fd, zip_member_found *found, void *context);

#endif /* SERVER_SOURCE_ZIP_MEMBER_H */
