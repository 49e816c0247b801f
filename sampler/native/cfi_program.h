/*
 * cfi_program - the instructions of unwinding tables, run up to an address.
 *
 * The caller's own registers are followed, expressions only in the forms that compilers and linkers
 * write: nothing is evaluated.
 *
 * Limits: CFI_MAX_INSTRUCTIONS instructions, CFI_MAX_REMEMBERED remembered rows, expressions of
 * CFI_MAX_EXPRESSION_BYTES bytes.
 */
#ifndef SAMPLER_NATIVE_CFI_PROGRAM_H
#define SAMPLER_NATIVE_CFI_PROGRAM_H

#include <stdint.h>

#include "sampler/base/err.h"
#include "sampler/native/rule.h"
#include "sampler/native/table_reader.h"

enum {
    CFI_MAX_INSTRUCTIONS = 1 << 16,
    CFI_MAX_REMEMBERED = 16,
    CFI_MAX_EXPRESSION_BYTES = 24,
};

/* A row of the table that the instructions stand for. */
struct cfi_row {
    struct rule rule;
    /* Known: where a call pushes it, or as the rule has it for a register. */
    enum { CFI_RETURN_UNKNOWN, CFI_RETURN_KNOWN, CFI_RETURN_NONE } return_address;
};

struct cfi_program {
    uint64_t code_factor;
    int64_t data_factor;
    unsigned encoding;      /* of addresses */
    struct cfi_row initial; /* what instructions restore registers to */
};

/* Runs instructions until the row of `target` is complete; `row` is that of `location` at first.
 * ERR_CORRUPT: the instructions make no sense, or pass a limit. */
MUST_CHECK enum err_code cfi_program_run(const struct cfi_program *program,
                                         struct table_reader *instructions,
                                         remote_addr location, remote_addr target,
                                         struct cfi_row *row);

#endif /* SAMPLER_NATIVE_CFI_PROGRAM_H */
