/*
 * read_at - reads a part of a file whole.
 *
 * Threads: any.
 */
#ifndef SAMPLER_BASE_READ_AT_H
#define SAMPLER_BASE_READ_AT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Reads as pread(2) does, but all of the bytes.  false: errno says why; 0: the file is shorter. */
bool read_at(int fd, void *out, size_t bytes, uint64_t offset);

#endif /* SAMPLER_BASE_READ_AT_H */
