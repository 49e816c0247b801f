/*
 * perf_map - the names of code that a process makes while it runs, as it writes them to
 * /tmp/perf-PID.map for perf.
 *
 * Each line is "START SIZE NAME", the numbers in hexadecimal.  JIT compilers write such files, and
 * CPython does with `-X perf`: its lines "py::NAME:FILE" are the trampolines of Python functions.
 *
 * The process writes the file, so it is hostile.  It is opened beneath the root directory of the
 * process, without symbolic links, only if it is a regular file of the user of the process, and is read with
 * pread.  It grows while the process runs:
 * perf_map_update reads what is new, at most once in PERF_MAP_INTERVAL_NS.
 *
 * CPython appends to a file that an earlier process with its id left, so the last line of an address counts,
 * and a line may name code that is gone.
 *
 * Ownership: the caller's storage; perf_map_deinit accepts a zeroed one.  Names stay where they are until
 * the next update.
 * Threads: one.
 * Limits: PERF_MAP_MAX_BYTES of the file, PERF_MAP_MAX_ENTRIES lines, PERF_MAP_MAX_NAME bytes of a name;
 * PERF_MAP_STEP_BYTES are read in one update.
 * Depends on: clock, utf8, vec, file_below.
 */
#ifndef SAMPLER_NATIVE_PERF_MAP_H
#define SAMPLER_NATIVE_PERF_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "sampler/base/clock.h"

enum {
    PERF_MAP_MAX_BYTES = 64 << 20,
    PERF_MAP_MAX_ENTRIES = 1 << 17,
    PERF_MAP_MAX_NAME = 511,
    PERF_MAP_STEP_BYTES = 8 << 20,
};
#define PERF_MAP_INTERVAL_NS NS_PER_S

struct perf_map_entry {
    uint64_t start, bytes;
    uint32_t name;  /* offset in the text */
    uint32_t order; /* of two entries at one address, the later one is valid */
};

struct perf_map {
    struct perf_map_entry *entries; /* by address, none of them twice */
    size_t count, room;
    char *text; /* names, each with a NUL */
    size_t text_bytes, text_room;
    uint64_t device, inode, read_bytes; /* of the file that was read */
    uint64_t next_ns;
    uint32_t lines;
    bool is_full;
};

struct perf_map_name {
    const char *name; /* of a Python function without "py::" and the file */
    size_t name_bytes;
    const char *file; /* of a Python function; NULL: another function */
    uint64_t start, bytes;
};

void perf_map_deinit(struct perf_map *map);
/* Reads what is new.  inner_pid: the process's id in its own pid namespace; owner: its user.
 * false: nothing was read, because it is too early, nothing is new, or there is no such file. */
bool perf_map_update(struct perf_map *map, int root_fd, int inner_pid, uid_t owner,
                     uint64_t now_ns);
/* Reads lines; the last one may be incomplete.  Returns the bytes of the complete ones. */
size_t perf_map_add_lines(struct perf_map *map, const char *lines, size_t bytes);
bool perf_map_find(const struct perf_map *map, uint64_t address, struct perf_map_name *out);

#endif /* SAMPLER_NATIVE_PERF_MAP_H */
