/*
 * cfi - finds the rule of an address of code in the unwinding tables of an image.
 *
 * .eh_frame_hdr is a sorted table of functions, and leads to their entries in .eh_frame.  Both are
 * loaded with the code, and are read from the process's memory.  Only one entry is read for an address.
 *
 * The tables may be hostile: nothing outside the image is read, and every length is bounded.
 *
 * Threads: one at a time.
 * Limits: CFI_MAX_ENTRY_BYTES bytes an entry, and those of cfi_program.
 */
#ifndef SAMPLER_NATIVE_CFI_H
#define SAMPLER_NATIVE_CFI_H

#include <stdint.h>

#include "sampler/base/err.h"
#include "sampler/native/blocks.h"
#include "sampler/native/rule.h"

enum { CFI_MAX_ENTRY_BYTES = 1 << 18 };

struct cfi_tables {
    remote_addr low, high; /* the mappings of the image */
    remote_addr header;
    remote_addr functions; /* pairs of 32-bit offsets from the header: function, entry */
    uint32_t function_count;
};

/* ERR_CORRUPT: the table makes no sense, or leaves the image.  ERR_UNSUPPORTED: it has another form
 * than linkers write. */
MUST_CHECK enum err_code cfi_open(struct blocks *blocks, remote_addr low, remote_addr high,
                                  remote_addr header, uint64_t header_bytes,
                                  struct cfi_tables *out);

/* RULE_NONE: no entry holds pc, or, if there is a function, its form is unknown here.  ERR_CORRUPT: the entry makes no sense.
 * *function_out: the start of the function; 0: unknown. */
MUST_CHECK enum err_code cfi_find(struct blocks *blocks, const struct cfi_tables *tables,
                                  remote_addr pc, struct rule *rule_out,
                                  remote_addr *function_out);

#endif /* SAMPLER_NATIVE_CFI_H */
