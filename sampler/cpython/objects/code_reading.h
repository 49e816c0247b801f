/*
 * code_reading - one code object, read from the target.
 *
 * Ownership: the caller frees code->table, after an error too.
 * Threads: none.
 */
#ifndef SAMPLER_CPYTHON_OBJECTS_CODE_READING_H
#define SAMPLER_CPYTHON_OBJECTS_CODE_READING_H

#include "sampler/cpython/objects/code.h"

enum { NAME_FINGERPRINT_BYTES = 16 };

/* ERR_CORRUPT: no code object is there.  The strings are interned into the table's strtab. */
MUST_CHECK enum err_code code_read(struct code_table *table, remote_addr addr,
                                   struct code *out);
/* Only what distinguishes it from another code object at that address: name and fingerprint. */
MUST_CHECK enum err_code code_read_identity(struct code_table *table, remote_addr addr,
                                            struct code *out);

#endif /* SAMPLER_CPYTHON_OBJECTS_CODE_READING_H */
