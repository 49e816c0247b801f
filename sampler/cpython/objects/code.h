/*
 * code - code objects of the target, read once and checked before every use.
 *
 * A code object is found by its address.  Addresses are re-used: before a stack is believed,
 * the identifying bytes of each code object in it (first line to location table, which include
 * the version number that 3.12 and later give every code object, and for 3.11 the hash of its
 * name) are compared with what they were when it was read.  From 3.14 on the interpreter counts
 * the code objects it frees, and nothing needs comparing while that count stands still.
 *
 * Free-threaded builds from 3.14 on give each thread a copy of the instructions, in which its frames
 * stand: a code object is known once for each copy, as if they were several that have all but
 * the instructions in common.
 *
 * Places are the distinct instructions seen in a code object, with their source location; the
 * location table is kept as it is and searched at the first sight of an instruction.
 *
 * An id is never given to another code object, and what is known of one that was forgotten
 * stays for those who hold its id; so a program that makes code objects for days fills the
 * table.  Who owns the table asks code_table_is_full now and then, and clears it with all that
 * holds ids.
 *
 * Ownership: the table owns everything; strings are interned into the strtab it was given.
 * Threads: none.
 * Limits: CODE_MAX code objects, CODE_MAX_FORGOTTEN forgotten ones, CODE_MAX_BYTES of location
 * tables and places together: at one of these the table is full, what still fits is loaded and
 * a location table that does not fit leaves lines unknown.  CODE_MAX_UNITS instructions of a
 * code object, CODE_MAX_PLACES places of one: those are then made anew.
 * Depends on: base, memory, layout, object, location.
 */
#ifndef SAMPLER_CPYTHON_OBJECTS_CODE_H
#define SAMPLER_CPYTHON_OBJECTS_CODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sampler/base/err.h"
#include "sampler/base/idmap.h"
#include "sampler/base/pool.h"
#include "sampler/base/strtab.h"
#include "sampler/cpython/layout/layout.h"
#include "sampler/cpython/objects/location.h"
#include "sampler/cpython/objects/object.h"
#include "sampler/cpython/objects/opcodes.h"
#include "sampler/process/memory.h"

typedef uint32_t code_id;

#define CODE_NONE UINT32_MAX

enum {
    CODE_MAX = 1 << 18,
    CODE_MAX_FORGOTTEN = 1 << 14,
    CODE_MAX_BYTES = 128 << 20,
    CODE_MAX_UNITS = 1 << 28,
    CODE_MAX_PLACES = 1 << 16,
    CODE_PRINT_BYTES = 128,
};

/* What an instruction does to the stack. */
enum code_act { CODE_ACT_UNKNOWN, CODE_ACTS, CODE_RESUMES, CODE_RETURNS, CODE_YIELDS };

struct code_place {
    uint32_t unit;       /* code units from the start of the instructions */
    uint32_t tag;        /* for the caller; 0 at first */
    uint32_t leaf_place; /* for `leaf`; 0 at first */
    enum code_act act;
    struct location location;
};

struct code {
    remote_addr addr;
    remote_addr instructions;
    remote_addr qualname;
    uint32_t units;
    uint32_t instructions_copy; /* of which thread, 0: the object's own */
    uint32_t frame_words;       /* size of its frames */
    uint32_t first_traceable;   /* unit; a frame before it is still being set up */
    bool is_shim;               /* the interpreter's own: it stands below a class's __init__ */
    str_id name, file;
    int32_t first_line;
    uint32_t tag;           /* for the caller; 0 at first */
    uint64_t checked_epoch; /* 0: found to be another by now */
    unsigned char *table;   /* location table */
    uint32_t table_bytes;
    uint32_t place_count, last_place;
    size_t place_room;
    struct code_place *places; /* sorted by unit */
    unsigned char print[CODE_PRINT_BYTES];
};

struct code_counters {
    uint64_t hits, misses, stale;
    uint64_t clears; /* of the whole table, because it was full */
};

struct code_table {
    struct memory *memory;
    const struct layout *layout;
    struct strtab *strings;
    struct pool codes; /* of struct code */
    struct idmap by_addr;
    code_id *sorted; /* the first sorted_count code objects by their instructions */
    size_t sorted_count;
    const struct opcode *opcodes; /* of the version, NULL: not known */
    remote_addr code_type;        /* address of the type named "code", 0: not seen yet */
    uint64_t epoch;               /* what was checked in this epoch needs no checking */
    size_t bytes;                 /* of location tables and places */
    uint32_t forgotten;           /* code objects, since the table was empty */
    bool lacks_room;              /* something did not fit */
    struct object_bytes scratch;
    struct code_counters counters;
};

void code_table_init(struct code_table *table, struct memory *memory,
                     const struct layout *layout, struct strtab *strings);
void code_table_deinit(struct code_table *table);

/* Is it time to clear the table? */
bool code_table_is_full(const struct code_table *table);
/* Forgets everything: every code_id, and every tag of a code or a place, means nothing from now
 * on.  Counters and the epoch go on. */
void code_table_clear(struct code_table *table);

/* The code object last read at addr, with that copy of its instructions (0: its own), CODE_NONE:
 * none.  Says nothing about what is there now. */
code_id code_find(const struct code_table *table, remote_addr addr, uint32_t instructions_copy);

/* The code object read before that has the instruction at `instr`, CODE_NONE: none. */
code_id code_holding(struct code_table *table, remote_addr instr);

/* Reads the code object at addr, also if one is known there, and makes it the one found.
 * ERR_CORRUPT: there is no code object, or no such copy.  ERR_LIMIT: the table holds CODE_MAX. */
MUST_CHECK enum err_code code_load(struct code_table *table, remote_addr addr,
                                   uint32_t instructions_copy, code_id *id_out);

/* Is the copy of the instructions still where it was? */
bool code_copy_stands(const struct code_table *table, code_id id);

/* Are these code objects still what they were read as?  Those that are not are forgotten (found
 * no more, whatever comes to lie there) and the answer is false.  One or two system calls for
 * any number up to MEMORY_MAX_SPANS / 2; none in an epoch in which all were checked. */
bool code_check(struct code_table *table, const code_id *ids, size_t count);

/* Begins an epoch: everything must be checked again. */
void code_begin_epoch(struct code_table *table);

static inline struct code *code_at(const struct code_table *table, code_id id)
{
    return pool_at(&table->codes, id);
}

/* Is `id` what is found at addr?  Cheaper than finding it. */
static inline bool code_is_at(const struct code_table *table, code_id id, remote_addr addr)
{
    const struct code *const code = code_at(table, id);
    return code->addr == addr && code->checked_epoch;
}

/* The place of the instruction at a remote address.  What has not come to a line of its own yet
 * is on the first line of its function: an address outside of the code object, and instructions
 * without a line at its start.  Good until the next call for this code object; NULL: no
 * memory. */
struct code_place *code_place(struct code_table *table, code_id id, remote_addr instr);

/* Read once for each place; CODE_ACTS also where it is not known. */
enum code_act code_act_at(struct code_table *table, code_id id, remote_addr instr);

/* Can `instr` be an instruction of this code object?  One unit before the start is a frame that
 * has not begun (3.11 and 3.12). */
bool code_holds(const struct code *code, remote_addr instr);

#endif /* SAMPLER_CPYTHON_OBJECTS_CODE_H */
