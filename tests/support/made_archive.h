/*
 * made_archive - makes zip archives.
 *
 * A zeroed one is empty; `count` bytes before the first member, which `start` counts too, precede the archive.  A failing call
 * fails the test.
 */
#ifndef TESTS_SUPPORT_MADE_ARCHIVE_H
#define TESTS_SUPPORT_MADE_ARCHIVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { MADE_ARCHIVE_BYTES = 1 << 16 };

struct made_archive {
    unsigned char bytes[MADE_ARCHIVE_BYTES];
    size_t count, start, entries;
    unsigned char directory[1 << 12];
    size_t directory_bytes;
};

/* A number, the lowest byte first. */
void made_archive_put(unsigned char *at, uint64_t value, size_t bytes);
void made_archive_add(struct made_archive *archive, const char *name, const char *text,
                      bool deflated);
/* Returns where the end of the directory is. */
unsigned char *made_archive_finish(struct made_archive *archive, const char *comment);

#endif /* TESTS_SUPPORT_MADE_ARCHIVE_H */
