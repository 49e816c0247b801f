/*
 * made_core - a small core file: two threads, a mapped file of which it has the first page, memory of its own.
 *
 * Ownership: the caller frees what made_core returns.
 */
#ifndef TESTS_SUPPORT_MADE_CORE_H
#define TESTS_SUPPORT_MADE_CORE_H

#include <stddef.h>
#include <stdint.h>

#define MADE_CORE_FILE \
    UINT64_C(0x400000) /* the mapped file: its first page is in the core, the second is not */
#define MADE_CORE_DATA \
    UINT64_C(0x402000) /* its data, which could be written and are not in the core */
#define MADE_CORE_MEMORY UINT64_C(0x7f0000) /* a page of bytes 1 to 255, again and again */

enum {
    MADE_CORE_PAGE = 4096,
    MADE_CORE_PID = 4711,
    MADE_CORE_OTHER = 4713, /* a thread that waited in a futex, until a time */
    MADE_CORE_HEADER_BYTES = 64 + 5 * 56,
};

/* path: the mapped file.  file: its first page. */
unsigned char *made_core(const char *path, const unsigned char file[MADE_CORE_PAGE],
                         size_t *bytes_out);
/* The first page of an ELF file. */
void made_core_page(unsigned char out[MADE_CORE_PAGE]);

#endif /* TESTS_SUPPORT_MADE_CORE_H */
