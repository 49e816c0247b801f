/*
 * code_place - the places of code objects: the instructions that samples were at, with their source
 * locations.
 *
 * A place is made when a sample first needs it.
 *
 * Ownership: the code table owns the places.
 * Threads: none.
 * Limits: CODE_MAX_PLACES places of a code object; with more, its places are cleared.
 */
#ifndef SAMPLER_CPYTHON_OBJECTS_CODE_PLACE_H
#define SAMPLER_CPYTHON_OBJECTS_CODE_PLACE_H

#include <stdint.h>

#include "sampler/cpython/objects/code.h"
#include "sampler/cpython/objects/location.h"

enum { CODE_MAX_PLACES = 1 << 16 };

/* The effect of an instruction on the stack of frames. */
enum code_act { CODE_ACT_UNKNOWN, CODE_ACTS, CODE_RESUMES, CODE_RETURNS, CODE_YIELDS };

struct code_place {
    uint32_t unit;       /* code units from the start of the instructions */
    uint32_t tag;        /* for the caller; 0 at first */
    uint32_t leaf_place; /* for `leaf`; 0 at first */
    enum code_act act;
    struct location location;
};

/* The place of the instruction at a remote address.  An address outside of the code object, and
 * instructions without a line at its start, are on the first line of the function.  Valid until the
 * next call for this code object; NULL: no memory. */
struct code_place *code_place(struct code_table *table, code_id id, remote_addr instr);

/* Reads memory once for each place.  CODE_ACTS also: the instruction is unknown. */
enum code_act code_act_at(struct code_table *table, code_id id, remote_addr instr);

#endif /* SAMPLER_CPYTHON_OBJECTS_CODE_PLACE_H */
