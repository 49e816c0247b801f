/*
 * location - the location table of a code object (3.11 and later): where in the source each
 * instruction comes from.
 *
 * Format: Objects/locations.md of CPython ("Location table", PEP 657).  The bytes are untrusted:
 * a table that ends in the middle of an entry, or whose numbers overflow, ends there.
 *
 * Depends on: libc.
 */
#ifndef SAMPLER_CPYTHON_OBJECTS_LOCATION_H
#define SAMPLER_CPYTHON_OBJECTS_LOCATION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct location {
    int32_t line, end_line;     /* 0: unknown */
    int32_t column, end_column; /* UTF-8 bytes from the start of the line, -1: unknown */
};

/* The location of the instruction `unit` code units (2 bytes each) from the start.
 * false: the table does not reach that far. */
bool location_find(const unsigned char *table, size_t bytes, int32_t first_line, uint32_t unit,
                   struct location *out);

#endif /* SAMPLER_CPYTHON_OBJECTS_LOCATION_H */
