/*
 * debug_file - finds the file that holds the symbols of a stripped ELF file.
 *
 * Debian, Fedora and others put it into packages of their own.  It is searched by the build id
 * (/usr/lib/debug/.build-id) and by the name in .gnu_debuglink, only beneath the root directory of the
 * target, and it counts only if its build id or its CRC-32 matches, and if the user of the target could read it.
 *
 * Ownership: the caller closes the descriptor and the elf.
 * Threads: any; reads files, so it may take as long as the file system does.
 * Limits: the deadline of the elf; DEBUG_FILE_MAX_CRC_BYTES of a file whose CRC must be computed.
 */
#ifndef SAMPLER_NATIVE_DEBUG_FILE_H
#define SAMPLER_NATIVE_DEBUG_FILE_H

#include <stdbool.h>
#include <sys/types.h>

#include "sampler/base/clock.h"

struct elf;

enum { DEBUG_FILE_MAX_CRC_BYTES = 512 << 20 };

/* The place of the stripped file. */
struct debug_file_place {
    int root_fd;      /* the root directory of the target */
    const char *path; /* of the file, beneath that root */
    uid_t user;       /* who could read the other file, too; 0: anybody */
};

/* false: there is none. */
bool debug_file_find(struct elf *elf, const struct debug_file_place *place,
                     struct deadline deadline, int *fd_out, struct elf **out);

#endif /* SAMPLER_NATIVE_DEBUG_FILE_H */
