/*
 * perf_map - the names of code that a process makes while it runs, as it writes them for perf: lines of
 * /tmp/perf-PID.map, or records of /tmp/jit-PID.dump.
 *
 * Each line is "START SIZE NAME", the numbers in hexadecimal; each record has its size, and those of loaded code have
 * its address, size and name.  JIT compilers write such files, and CPython does with `-X perf` and `-X perf_jit`: its names "py::NAME:FILE" are the trampolines of Python
 * functions.
 *
 * The process writes the files, so they are hostile.  They are opened beneath the root directory of the
 * process, without symbolic links, only if they are regular files of the user of the process that have no other
 * name, and are read with pread.  They grow while the process runs:
 * perf_map_update reads what is new, at most once in PERF_MAP_INTERVAL_NS.
 *
 * A file that was written for the last time before the process began is that of an earlier process with the
 * same id, and is not read.  CPython appends to such a file, and programs that execute themselves again do
 * too.  So of names of overlapping code the last one counts, and a name may be that of code that is gone.
 *
 * Ownership: the caller's storage; perf_map_deinit accepts a zeroed one.  Names stay where they are until
 * the next update.
 * Threads: one.
 * Limits: PERF_MAP_MAX_BYTES of each file, PERF_MAP_MAX_ENTRIES names, PERF_MAP_MAX_NAME bytes of a name;
 * PERF_MAP_STEP_BYTES of each are read in one update.
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
    PERF_MAP_MAX_CODE_BYTES = 1 << 30, /* more is a mistake, or an attempt to name all code */
};
#define PERF_MAP_INTERVAL_NS NS_PER_S

struct perf_map_entry {
    uint64_t start, bytes;
    uint32_t name;  /* offset in the text */
    uint32_t order; /* of overlapping entries, the last one is valid */
};

/* A file, and how far it has been read. */
struct perf_map_file {
    uint64_t device, inode, read_bytes;
};

/* Whose names are read. */
struct perf_map_process {
    int root_fd;
    int inner_pid; /* in its own pid namespace */
    uid_t user;
    uint64_t started_ns; /* since 1970; 0: unknown */
};

struct perf_map {
    struct perf_map_entry *entries; /* by address; they do not overlap */
    size_t count, room;
    char *text; /* names, each with a NUL */
    size_t text_bytes, text_room;
    struct perf_map_file lines, dump;
    uint64_t next_ns;
    uint32_t names; /* so many were taken */
    bool is_full;
};

struct perf_map_name {
    const char *name; /* of a Python function without "py::" and the file */
    size_t name_bytes;
    const char *file; /* of a Python function; NULL: another function */
    uint64_t start, bytes;
};

void perf_map_deinit(struct perf_map *map);
/* The bytes of memory that the map takes. */
size_t perf_map_bytes(const struct perf_map *map);
/* Has the interval passed since the last update? */
bool perf_map_is_due(const struct perf_map *map, uint64_t now_ns);
/* Reads what is new.
 * false: nothing was read, because it is too early, nothing is new, or there is no such file. */
bool perf_map_update(struct perf_map *map, const struct perf_map_process *process,
                     uint64_t now_ns);
/* Reads lines; the last one may be incomplete.  Returns the bytes of the complete ones. */
size_t perf_map_add_lines(struct perf_map *map, const char *lines, size_t bytes);
/* Reads a jitdump, the binary file of JIT compilers, from its header or a record on.  Returns the bytes of whole records;
 * 0: there is none, or what is there is no jitdump. */
size_t perf_map_add_records(struct perf_map *map, const char *bytes, size_t count);
bool perf_map_find(const struct perf_map *map, uint64_t address, struct perf_map_name *out);

#endif /* SAMPLER_NATIVE_PERF_MAP_H */
