/*
 * jit_dump - the names of generated code in a jitdump, the binary file that JIT compilers write for perf.
 *
 * A header, then records, each with its size; those of loaded code have its address, size and name.
 * CPython writes them with `-X perf_jit`.  The file is hostile.
 *
 * Ownership: names are copied into the map.
 * Threads: one.
 * Limits: those of perf_map; a record that is not whole in the bytes waits for the next ones.
 */
#ifndef SAMPLER_NATIVE_JIT_DUMP_H
#define SAMPLER_NATIVE_JIT_DUMP_H

#include <stddef.h>

struct perf_map;

/* Takes the next bytes of the file, from its header or a record on.  Returns how many are done with; 0: there is no
 * whole record, or what is there is no jitdump. */
size_t jit_dump_take(struct perf_map *map, const char *bytes, size_t count);

#endif /* SAMPLER_NATIVE_JIT_DUMP_H */
