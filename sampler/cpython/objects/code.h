/*
 * code - code objects of the target, read once and checked before every use.
 *
 * A code object is found by its address.  Python uses addresses again.  So before a stack is
 * accepted, the fingerprint of each of its code objects is compared with the one that was read
 * first: the bytes from the first line to the location table, and in 3.11 and older the hash of the
 * name.  (In 3.12 and later these bytes include a version number.)  From 3.14 on the interpreter
 * counts the code objects it frees; while that generation is the same, no comparison is needed.
 *
 * The kernel engine sees for itself when another code object has taken a place.  While is_described is set,
 * what code_learn read last is right, and no code object is compared with the process.
 *
 * From 3.14 on, free-threaded builds give each thread a copy of the instructions, and the thread's
 * frames point into it.  The table then has one entry for each copy; the entries differ in their
 * instructions only.
 *
 * The location table of a code object is stored undecoded; code_place searches it.
 *
 * An id is never given to another code object, and the entry of a forgotten one stays for the holders
 * of its id.  So a program that creates code objects for days fills the table.  The owner of the
 * table checks code_table_is_full from time to time, and clears the table with all stored ids.
 *
 * Ownership: the table owns everything; strings are interned into the caller's strtab.
 * Threads: none.
 * Limits: CODE_MAX code objects, CODE_MAX_FORGOTTEN forgotten ones, CODE_MAX_BYTES of location
 * tables and places together.  At one of these the table is full: code objects that still fit are
 * loaded, and the lines of a location table that does not fit are unknown.  CODE_MAX_UNITS
 * instructions of a code object.
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
#include "sampler/cpython/objects/frozen.h"
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
    CODE_FINGERPRINT_BYTES = 128,
    CODE_MAX_PREDICTIONS = 32,
    CODE_PREDICTED_EPOCHS = 4, /* in which code_check was not asked about a code object */
    CODE_UNIT_BYTES = 2,
};

struct code_place;

struct code {
    remote_addr addr;
    remote_addr instructions;
    remote_addr qualname;
    uint32_t units;
    uint32_t
        instructions_copy; /* number of the thread's copy; 0: the object's own instructions */
    uint32_t frame_words;  /* size of its frames */
    uint32_t first_traceable; /* unit; a frame before it is still being set up */
    bool is_shim;             /* the interpreter's code below a class's __init__ */
    str_id name, file;
    int32_t first_line;
    uint32_t tag;             /* for the caller; 0 at first */
    unsigned char wait_site;  /* the same */
    unsigned char framework;  /* the same */
    unsigned char loop_place; /* the same, of the instruction at loop_unit */
    uint32_t loop_unit;
    uint64_t checked_epoch; /* 0: forgotten, because another object is there by now */
    uint64_t asked_epoch;   /* when code_check was last asked about it */
    bool is_predicted;
    unsigned char *table; /* location table */
    uint32_t table_bytes;
    uint32_t place_count, last_place;
    size_t place_room;
    struct code_place *places; /* sorted by unit; see code_place.h */
    unsigned char fingerprint[CODE_FINGERPRINT_BYTES];
};

/* A code object, and what is in the place of its fingerprint now. */
struct code_check {
    code_id id;
    unsigned char now[CODE_FINGERPRINT_BYTES];
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
    const struct opcode *opcodes; /* of the version; NULL: unknown */
    char *command;                /* the text of python -c; NULL: none */
    remote_addr interp;           /* that has the modules of notebooks; 0: unknown */
    struct frozen frozen;         /* which modules are of the library */
    remote_addr code_type;        /* address of the type named "code"; 0: not seen yet */
    uint64_t epoch;               /* code objects checked in this epoch need no other check */
    bool is_described;  /* code_learn says when another object takes a place: none is checked */
    size_t bytes;       /* of location tables and places */
    uint32_t forgotten; /* code objects forgotten since the table was empty */
    struct code_check predictions[CODE_MAX_PREDICTIONS]; /* asked about lately */
    size_t prediction_count, planned_count;              /* planned: those of the last plan */
    bool lacks_room;                                     /* something did not fit */
    struct object_bytes scratch;
    struct code_counters counters;
};

void code_table_init(struct code_table *table, struct memory *memory,
                     const struct layout *layout, struct strtab *strings);
void code_table_deinit(struct code_table *table);
/* The command line of the process, whose text may be what functions are in (command_text.h). */
MUST_CHECK enum err_code code_table_set_command(struct code_table *table, size_t argc,
                                                char *const *argv);

/* Is it time to clear the table? */
bool code_table_is_full(const struct code_table *table);
/* Forgets everything: all values of code_id, and all tags of codes and places, become invalid.
 * Counters and the epoch go on. */
void code_table_clear(struct code_table *table);

/* The code object last read at addr, with that copy of its instructions (0: its own); CODE_NONE:
 * none.  Does not read memory, so another object may be there now. */
code_id code_find(const struct code_table *table, remote_addr addr, uint32_t instructions_copy);

/* The known code object that has the instruction at `instr`; CODE_NONE: none. */
code_id code_holding(struct code_table *table, remote_addr instr);

/* Reads the code object at addr, also if one is known there; code_find then returns it.
 * ERR_CORRUPT: no code object, or no such copy, is there.  ERR_LIMIT: the table holds CODE_MAX. */
MUST_CHECK enum err_code code_load(struct code_table *table, remote_addr addr,
                                   uint32_t instructions_copy, code_id *id_out);

/* Reads the code object at addr from `memory`, which may be a copy of an earlier instant, in place of the one
 * that is known there.  ERR_CORRUPT or ERR_FAULT: there is none; then none is known at addr. */
MUST_CHECK enum err_code code_learn(struct code_table *table, struct memory *memory,
                                    remote_addr addr);

/* The bytes that tell a code object from another at its address. */
static inline size_t code_fingerprint_bytes(const struct layout *layout)
{
    return layout->code_linetable + sizeof(uint64_t) - layout->code_firstlineno;
}

/* Does the fingerprint include the first words of the name, from its length on? */
static inline bool code_has_name_fingerprint(const struct layout *layout)
{
    return !layout->has_code_version;
}

/* Is the copy of the instructions still where it was? */
bool code_copy_is_valid(const struct code_table *table, code_id id);

/* Are these code objects still the ones that were read?  If not, forgets those that are not (code_find
 * no longer returns them) and returns false.  One or two system calls for up to MEMORY_MAX_SPANS / 2
 * code objects; none if all were checked in this epoch, or while is_described. */
bool code_check(struct code_table *table, const code_id *ids, size_t count);

/* Begins an epoch: everything must be checked again. */
void code_begin_epoch(struct code_table *table);

/* Predicted checks, for a caller that reads stacks and their code objects in one call.  Fills at most
 * 2 * CODE_MAX_PREDICTIONS spans: code objects that code_check was asked about lately.  When these have
 * been read, code_settle_checks begins an epoch and notes which of them are unchanged. */
size_t code_plan_checks(struct code_table *table, struct memory_span *spans);
void code_settle_checks(struct code_table *table, size_t arrived);

static inline struct code *code_at(const struct code_table *table, code_id id)
{
    return pool_at(&table->codes, id);
}

/* How many variables its frames have: the value stack lies behind them. */
static inline uint32_t code_variables(const struct code *code)
{
    enum { NLOCALSPLUS_AFTER_FIRSTLINENO = 4 };
    return field_u32(code->fingerprint, NLOCALSPLUS_AFTER_FIRSTLINENO);
}

/* Can `instr` be an instruction of this code object?  In 3.11 and 3.12 a frame that has not begun is
 * one unit before the start. */
bool code_holds(const struct code *code, remote_addr instr);

#endif /* SAMPLER_CPYTHON_OBJECTS_CODE_H */
