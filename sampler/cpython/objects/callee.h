/*
 * callee - what Python code calls, by address: is it C, and what is its name?
 *
 * C functions are named as Python code knows them: sorted, time.sleep, list.append,
 * _json.Encoder.__call__.  Objects are freed and their addresses used again.  Functions of a
 * module and methods of a type live as long as those do and are compared with what they were
 * every CALLEE_TRUSTED_USES uses, and so is what has no name; others (bound methods) at each use.
 *
 * Everything read is bounded and must be plain text; what cannot be named is known as C or not
 * at all.
 *
 * Ownership: the caller's storage; names are interned into the strtab that was given.
 * Threads: none.
 * Limits: CALLEE_MAX addresses, then all are forgotten; CALLEE_MAX_NAME_BYTES a name.
 * Depends on: base, memory, layout, object.
 */
#ifndef SAMPLER_CPYTHON_OBJECTS_CALLEE_H
#define SAMPLER_CPYTHON_OBJECTS_CALLEE_H

#include <stdbool.h>
#include <stdint.h>

#include "sampler/base/err.h"
#include "sampler/base/idmap.h"
#include "sampler/base/pool.h"
#include "sampler/base/strtab.h"
#include "sampler/base/three_valued.h"
#include "sampler/cpython/layout/layout.h"
#include "sampler/cpython/objects/object.h"
#include "sampler/process/memory.h"

enum {
    CALLEE_MAX = 1 << 16,
    CALLEE_MAX_NAME_BYTES = 256,
    CALLEE_MAX_PRINT_BYTES = 40,
    CALLEE_TRUSTED_USES = 256,
};

#define CALLEE_PREFIX "<native> "

struct callee {
    remote_addr addr;
    enum three_valued is_c;
    bool is_kept;        /* its address is not used again while the program runs, very likely */
    uint8_t print_bytes; /* behind the count of references */
    uint32_t uses;
    str_id name; /* CALLEE_PREFIX and the name; 0: none */
    unsigned char print[CALLEE_MAX_PRINT_BYTES];
};

struct callee_table {
    struct memory *memory;
    const struct layout *layout;
    struct strtab *strings;
    struct pool callees; /* of struct callee */
    struct idmap by_addr;
    struct object_bytes scratch;
};

void callee_table_init(struct callee_table *table, struct memory *memory,
                       const struct layout *layout, struct strtab *strings);
void callee_table_deinit(struct callee_table *table);

/* What is called at addr; good until the next call.  ERR_FAULT, ERR_CORRUPT: no object is there.
 * No read for one that is known and trusted. */
MUST_CHECK enum err_code callee_read(struct callee_table *table, remote_addr addr,
                                     const struct callee **out);

/* What of the object tells it from others, to be read into `now` (CALLEE_MAX_PRINT_BYTES) and
 * compared with its print. */
struct memory_span callee_print_span(const struct callee_table *table,
                                     const struct callee *callee, unsigned char *now);

#endif /* SAMPLER_CPYTHON_OBJECTS_CALLEE_H */
