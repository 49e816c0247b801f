/*
 * callee - says of a callable object whether it runs C code, and its name.
 *
 * C functions have the names that Python code uses: sorted, time.sleep, list.append,
 * _json.Encoder.__call__.  Python frees objects and uses their addresses again, so an object is
 * compared with what was read of it.  Functions of a module and methods of a type live as long as
 * these do, so they are compared every CALLEE_TRUSTED_USES uses only.  Others, such as bound methods,
 * are compared at each use; so are objects without a name, because the next one there may have one.  A use in
 * a copy of memory needs no comparison if there was one since the copy was made.
 *
 * All lengths are bounded, and names must be plain text.  An object whose name cannot be read may
 * still be known to be C.
 *
 * Ownership: the caller's storage; names are interned into the caller's strtab.
 * Threads: none.
 * Limits: CALLEE_MAX addresses, then all are forgotten; CALLEE_MAX_NAME_BYTES a name.
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
    CALLEE_MAX_FINGERPRINT_BYTES = 40,
    CALLEE_TRUSTED_USES = 256,
};

#define CALLEE_PREFIX "<native> "

struct callee {
    remote_addr addr;
    enum three_valued is_c;
    bool is_permanent;         /* its address is very likely never reused */
    uint8_t fingerprint_bytes; /* after the reference count */
    uint32_t uses;
    uint64_t epoch;      /* of the table, when it was read first */
    uint64_t checked_ns; /* when it was compared last; 0: it is not the one that was read */
    str_id name;         /* CALLEE_PREFIX and the name; 0: none */
    remote_addr code;    /* the C function; 0: unknown */
    unsigned char fingerprint[CALLEE_MAX_FINGERPRINT_BYTES];
};

struct callee_table {
    struct memory *memory;
    const struct layout *layout;
    struct strtab *strings;
    struct pool callees; /* of struct callee */
    struct idmap by_addr;
    struct object_bytes scratch;
    uint64_t epoch;    /* set by the caller */
    uint64_t taken_ns; /* the same: when the copy was made that is read; 0: none is */
};

void callee_table_init(struct callee_table *table, struct memory *memory,
                       const struct layout *layout, struct strtab *strings);
void callee_table_deinit(struct callee_table *table);

/* The callable at addr; valid until the next call.  ERR_FAULT, ERR_CORRUPT: no object is there.  Does
 * not read memory for an object that is known and trusted. */
MUST_CHECK enum err_code callee_read(struct callee_table *table, remote_addr addr,
                                     const struct callee **out);

/* The bytes that distinguish the object from others, for the caller to read into `now`
 * (CALLEE_MAX_FINGERPRINT_BYTES) and to compare with the fingerprint. */
struct memory_span callee_fingerprint_span(const struct callee_table *table,
                                           const struct callee *callee, unsigned char *now);

#endif /* SAMPLER_CPYTHON_OBJECTS_CALLEE_H */
