/*
 * maps - the mappings of a process, as /proc/PID/maps lists them.
 *
 * Ownership: the caller's storage; maps_deinit accepts a zeroed one.
 * Limits: MAPS_MAX mappings, then ERR_LIMIT.
 */
#ifndef SAMPLER_PROCESS_MAPS_H
#define SAMPLER_PROCESS_MAPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sampler/base/err.h"
#include "sampler/process/memory.h"

enum { MAPS_MAX = 1 << 17 };

struct mapping {
    remote_addr start, end;
    uint64_t offset; /* in the file */
    uint64_t inode;  /* 0: anonymous */
    uint32_t device_major, device_minor;
    bool readable, writable, executable, shared;
    char *path; /* "": anonymous; includes the kernel's suffix " (deleted)" */
};

struct maps {
    struct mapping *items;
    size_t count;
};

MUST_CHECK enum err_code maps_read(struct maps *maps, int pid, struct err *err);
/* Parses text that was read elsewhere. */
MUST_CHECK enum err_code maps_parse(struct maps *maps, const char *text, struct err *err);
void maps_deinit(struct maps *maps);
/* The mapping that holds addr; NULL: none. */
const struct mapping *maps_find(const struct maps *maps, remote_addr addr);
/* The path of the file whose data is at addr, zeroed data too; NULL: none. */
const char *maps_file_at(const struct maps *maps, remote_addr addr);

#endif /* SAMPLER_PROCESS_MAPS_H */
